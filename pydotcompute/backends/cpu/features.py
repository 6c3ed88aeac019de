"""What the operating system says that the processor has, by Linux's names for it (/proc/cpuinfo)."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Callable

from ...artifact.cpu_levels import FLAGS, LINUX, MACOS, WINDOWS, system

# What macOS calls them otherwise: in the lists of an x86-64 processor, and each by a name of its own of Apple's.
_LISTS = ("machdep.cpu.features", "machdep.cpu.leaf7_features", "machdep.cpu.extfeatures")
_LISTED = {"sse3": "pni", "avx1.0": "avx", "lahf": "lahf_lm", "lzcnt": "abm"}
_SINGLE = {
    "hw.optional.floatingpoint": "fp", "hw.optional.AdvSIMD": "asimd", "hw.optional.arm.FEAT_LSE": "atomics",
    "hw.optional.arm.FEAT_RDM": "asimdrdm", "hw.optional.arm.FEAT_DotProd": "asimddp",
    "hw.optional.arm.FEAT_CRC32": "crc32", "hw.optional.arm.FEAT_FCMA": "fcma", "hw.optional.arm.FEAT_JSCVT": "jscvt",
    "hw.optional.arm.FEAT_I8MM": "i8mm", "hw.optional.arm.FEAT_LRCPC": "lrcpc",
}  # fmt: skip
_HALF = "hw.optional.arm.FEAT_FP16"  # of scalars and of vectors
# The numbers by which Windows is asked, and the level that each stands for: it tells no more of them.
_WINDOWS = {38: "x86-64-v2", 40: "x86-64-v3", 41: "x86-64-v4"}  # SSE4.2, AVX2, AVX-512F


@cache
def flags() -> frozenset[str]:
    """Of this machine's processor; none where its system tells none."""
    tell: dict[str, Callable[[], frozenset[str]]] = {LINUX: linux_flags, MACOS: macos_flags, WINDOWS: windows_flags}
    return tell.get(system(), frozenset)()


def linux_flags(path: str = "/proc/cpuinfo") -> frozenset[str]:
    """The flags of the first processor."""
    try:
        with open(path) as file:
            for line in file:
                if line.startswith(("flags", "Features")):  # x86-64's and AArch64's word
                    return frozenset(line.partition(":")[2].split())
    except OSError:
        pass
    return frozenset()


def macos_flags(value: Callable[[str], bytes] | None = None) -> frozenset[str]:
    """value: what the system has under a name, as `sysctl`."""
    value = value or sysctl
    listed = b" ".join(value(name).rstrip(b"\0") for name in _LISTS).decode().lower().split()
    found = {_LISTED.get(word, word.replace(".", "_")) for word in listed}
    found |= {flag for name, flag in _SINGLE.items() if any(value(name))}
    return frozenset(found | ({"fphp", "asimdhp"} if any(value(_HALF)) else set()))


def windows_flags(present: Callable[[int], int] | None = None) -> frozenset[str]:
    """present: whether the processor has the feature of a number. What comes with it in every processor is taken to be
    there."""
    present = present or ctypes.PyDLL("kernel32").IsProcessorFeaturePresent
    return frozenset(flag for number, level in _WINDOWS.items() if present(number) for flag in FLAGS[level])


def sysctl(name: str) -> bytes:
    """What macOS has under a name; empty if there is none."""
    size, ask = ctypes.c_size_t(), ctypes.PyDLL(None).sysctlbyname
    if ask(name.encode(), None, ctypes.byref(size), None, ctypes.c_size_t(0)):
        return b""
    text = ctypes.create_string_buffer(size.value)
    if ask(name.encode(), text, ctypes.byref(size), None, ctypes.c_size_t(0)):
        return b""
    return text.raw[: size.value]
