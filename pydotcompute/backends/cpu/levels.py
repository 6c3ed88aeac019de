"""Which level of its architecture the processor has, and the features that code for `cpu:native` may need."""

from __future__ import annotations

from functools import cache
from itertools import takewhile
from typing import Callable, Collection, Mapping

from ...artifact.cpu_levels import (
    ARCHITECTURES,
    FLAGS,
    LEVELS,
    MACOS,
    PLATFORMS,
    TITLES,
    architecture,
    machine,
    name,
    parts,
    system,
)

# By NumPy's names, which have no older levels' features apart (every processor with AVX2 and FMA3 that lacks BMI or
# LZCNT is caught where NumPy knows those names, from 2.4 on).
_NEEDS = {
    "x86-64-v2": ("SSE3", "SSSE3", "SSE41", "SSE42", "POPCNT"),
    "x86-64-v3": ("AVX", "AVX2", "FMA3", "F16C"),
    "x86-64-v4": ("AVX512F", "AVX512CD", "AVX512BW", "AVX512DQ", "AVX512VL"),
    "aarch64-v8.2": ("FPHP", "ASIMDHP", "ASIMDDP"),  # whoever has these has all that 8.2 demands
}
_NEEDS_WHERE_KNOWN = {
    "x86-64-v2": ("CX16", "LAHF"),
    "x86-64-v3": ("BMI", "BMI2", "LZCNT", "MOVBE"),
}
# Shadow stacks and seeds from hardware change no code of ours, and Linux does not list them where it does not use them
# (the latter are broken in some processors).
_IRRELEVANT = frozenset(("shstk", "rdseed"))
# LLVM's name for a feature → Linux's, where they differ by more than a dot or dash.
_LINUX_NAMES = {
    "64bit": "lm", "cmov": "cmov", "crc32": "sse4_2", "lzcnt": "abm", "pclmul": "pclmulqdq", "prfchw": "3dnowprefetch",
    "rdrnd": "rdrand", "sahf": "lahf_lm", "sha": "sha_ni", "sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2",
    "sse4a": "sse4a", "x87": "fpu", "bmi": "bmi1", "fsgsbase": "fsgsbase", "mwaitx": "mwaitx", "avx512vpopcntdq":
    "avx512_vpopcntdq", "avx512vbmi2": "avx512_vbmi2", "avx512vnni": "avx512_vnni", "avx512bitalg": "avx512_bitalg",
    "avx512bf16": "avx512_bf16", "avx512fp16": "avx512_fp16", "avx512vp2intersect": "avx512_vp2intersect", "avxvnni":
    "avx_vnni", "amx-tile": "amx_tile", "amx-int8": "amx_int8", "amx-bf16": "amx_bf16", "cx8": "cx8", "cx16": "cx16",
    "neon": "asimd", "fp-armv8": "fp", "lse": "atomics", "rdm": "asimdrdm", "dotprod": "asimddp", "fullfp16": "asimdhp",
    "crc": "crc32", "rcpc": "lrcpc", "jsconv": "jscvt", "complxnum": "fcma", "i8mm": "i8mm", "sve": "sve",
}  # fmt: skip


@cache
def level() -> str:
    """The highest level of this processor, as NumPy found it when it was imported (the operating system's support for
    wide registers included), or as the system itself says. Empty: the architecture has none."""
    known = _numpy_features()
    found = [level_of(known, machine())] if known is not None else []
    if not found or system() == MACOS and machine() == "aarch64":  # there NumPy says what it was compiled for
        from .features import flags

        found.append(linux_level_of(flags(), machine()))
    return max(found, key=lambda one: LEVELS.index(one) if one else -1)


def unfit(target: str) -> str:
    """Why code for a target, one of LEVELS on some platform, cannot run on this machine; empty if it can."""
    wanted, platform = parts(target)
    if platform != system():
        return f"this machine runs {TITLES.get(system(), system())}"
    if architecture(wanted) != machine():
        return f"this processor is {machine()}"
    return "" if LEVELS.index(wanted) <= LEVELS.index(level()) else f"this processor has the level {level()}"


def usual_target() -> str:
    """What a user of this machine would build: its highest level, else code for this very processor."""
    return name(level(), system()) if level() and machine() in PLATFORMS.get(system(), ()) else "cpu:native"


def level_of(features: Mapping[str, bool], architecture: str = "x86-64") -> str:
    """The level of an architecture for NumPy's table of features; empty if it has none."""

    def has(name: str) -> bool:
        needed = [*_NEEDS[name], *(f for f in _NEEDS_WHERE_KNOWN.get(name, ()) if f in features)]
        return all(features.get(f) for f in needed)

    return _highest(architecture, has)


def linux_level_of(known: Collection[str], architecture: str = "x86-64") -> str:
    """The level of an architecture for the flags of /proc/cpuinfo; empty if it has none."""
    return _highest(architecture, lambda name: all(flag in known for flag in FLAGS[name]))


def _highest(architecture: str, has: Callable[[str], bool]) -> str:
    lowest, *higher = ARCHITECTURES.get(architecture, ("",))
    return (lowest, *takewhile(has, higher))[-1]


def missing_features(features: Collection[str], known: Collection[str] | None = None) -> list[str]:
    """Those of LLVM's features ("avx2", "+bmi") that this processor does not have, or that cannot be told. known: its
    flags."""
    if known is None:
        from .features import flags

        known = flags()
    missing = []
    for feature in features:
        name = feature.removeprefix("+")
        candidates = (_LINUX_NAMES.get(name, name), name.replace("-", "_").replace(".", "_"))
        if not feature.startswith("-") and name not in _IRRELEVANT and not any(c in known for c in candidates):
            missing.append(name)
    return missing


def _numpy_features() -> Mapping[str, bool] | None:
    try:
        from numpy._core._multiarray_umath import __cpu_features__
    except ImportError:  # before NumPy 2
        try:
            from numpy.core._multiarray_umath import __cpu_features__  # type: ignore[no-redef]
        except ImportError:
            return None
    return __cpu_features__
