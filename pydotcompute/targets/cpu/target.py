"""The target `cpu`: shared objects for the levels of x86-64 and AArch64, and for this very processor."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Mapping

from ...artifact import cpu_levels
from ...artifact.remedies import not_installed
from ...declare.model import Kernel
from .. import tools
from ..base import BOUNDS, Clock, Job, Staged
from ..listing import Listing

if TYPE_CHECKING:
    from .compilation import Compilation

# The tags of wheels that objects go into; macOS with its oldest version, as targets/cpu/processors.py names it.
TAGS = {
    (cpu_levels.LINUX, "x86-64"): ("manylinux_2_17_x86_64", "musllinux_1_2_x86_64"),
    (cpu_levels.LINUX, "aarch64"): ("manylinux_2_17_aarch64", "musllinux_1_2_aarch64"),
    (cpu_levels.MACOS, "x86-64"): ("macosx_10_13_x86_64",),
    (cpu_levels.MACOS, "aarch64"): ("macosx_11_0_arm64",),
    (cpu_levels.WINDOWS, "x86-64"): ("win_amd64",),
}
AVX512 = cpu_levels.FLAGS["x86-64-v4"]
ON_X86_64 = ("cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4")
ON_AARCH64 = ("cpu:aarch64", "cpu:aarch64-v8.2")


class CpuTarget(Staged):
    name = "cpu"
    # What nobody chose is for the machine that builds it.
    by_default = ON_AARCH64 if cpu_levels.machine() == "aarch64" else ON_X86_64
    default = "cpu:aarch64" if by_default is ON_AARCH64 else "cpu:x86-64-v3"
    pattern = r"cpu:(?:x86-64(?:-v[234])?(?:@(?:macos|windows))?|aarch64(?:-v8\.2)?(?:@macos)?|native)"
    examples = cpu_levels.NAMES
    beside = ("llvm",)
    has_bounds = True
    has_debug_info = True
    stages = {
        "lowered": "the Python that Numba compiles",
        "llvm": "LLVM IR, optimised for the target",
        "asm": "assembly",
    }
    distributions = {"numba": ("numba",), "llvmlite": ("llvmlite",), "numpy": ("numpy",)}

    def meant(self, text: str) -> str:
        return cpu_levels.meant(text)

    def platforms(self, target: str) -> tuple[str, ...]:
        # Its objects name no version of a C library, and of Linux's none at all: every process has one.
        level, platform = cpu_levels.parts(target)
        own = cpu_levels.machine() if level == "native" else cpu_levels.architecture(level)
        return TAGS[platform, own]

    def needs(self, target: str, meta: Mapping[str, Any]) -> tuple[str, ...]:
        level = cpu_levels.parts(target)[0]
        return cpu_levels.flags(level) if level in cpu_levels.LEVELS else super().needs(target, meta)

    def missing(self) -> str:
        return next((self._lacks(module) for module in ("numba", "llvmlite") if find_spec(module) is None), "")

    def has_avx512(self, target: str) -> bool:
        level = cpu_levels.parts(target)[0]
        return level == "x86-64-v4" or level == "native" and set(AVX512) <= set(processor().split())

    def fields(self, kernel: Kernel, target: str) -> dict[str, str]:
        if target.removesuffix(BOUNDS) == "cpu:native":
            return {"processor": processor()}
        # The setting names a linker for Linux alone.
        linker = f"ziglang {tools.package_version('ziglang')}"
        return {} if _is_for_linux(target) else {"linker of the platform": linker}

    def lacks(self, target: str) -> str:
        return "" if _is_for_linux(target) or find_spec("ziglang") else self._lacks("ziglang")

    def _lacks(self, module: str) -> str:
        return not_installed("building", module, self.extra)

    def tools(self, linker: str = "") -> dict[str, str]:
        linked = tools.command_version(linker) if linker else f"ziglang {tools.package_version('ziglang')}"
        return {**super().tools(linker), "linker": linked}

    def disassembled(self, data: bytes, suffix: str) -> Listing:
        from .disassembly import disassembled

        return disassembled(data)

    def compilation(self, job: Job, clock: Clock) -> Compilation:
        from .compilation import Compilation

        clock.tick("import")
        return Compilation(job, clock)


TARGET = CpuTarget()


def _is_for_linux(target: str) -> bool:
    return cpu_levels.platform_of(target) == cpu_levels.LINUX


# What /proc/cpuinfo tells a processor by, and which of its lines list features.
_TOLD = {
    "x86-64": ("vendor_id", "cpu family", "model", "stepping", "flags"),
    "aarch64": ("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features"),
}
_LISTS = ("flags", "Features")


@cache
def processor(path: str = "/proc/cpuinfo", machine: str = cpu_levels.machine()) -> str:
    """What `cpu:native` means here: the processor's identity and features, as Linux shows them."""
    wanted = _TOLD.get(machine, ())
    values: dict[str, str] = {}
    try:
        with open(path) as file:
            for line in file:
                if len(values) == len(wanted):
                    break
                name, _, value = line.partition(":")
                name = name.strip()
                if name in wanted and name not in values:  # the first processor stands for all
                    values[name] = " ".join(sorted(value.split())) if name in _LISTS else value.strip()
    except OSError:
        pass
    return " ".join(values.get(name, "?") for name in wanted)
