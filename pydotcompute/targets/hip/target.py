"""The target `hip`: code objects for AMD's GPUs (`hip:gfx90a`), which need no ROCm to be made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base import Clock, Job, Staged
from ..listing import Listing

if TYPE_CHECKING:
    from .compilation import Compilation


class HIPTarget(Staged):
    name = "hip"
    default = "hip:gfx90a"
    pattern = "hip:gfx[0-9a-f]{3,4}"
    examples = ("hip:gfx90a", "hip:gfx942", "hip:gfx1030", "hip:gfx1100", "hip:gfx1201")
    expected = "a HIP target is hip:gfxNNN, as rocminfo names the GPU: hip:gfx90a"
    beside = ("opencl", "text")
    has_blocks = True
    stages = {"text": "OpenCL C", "asm": "the instructions of the GPU"}
    distributions = {"numpy": ("numpy",), "ziglang": ("ziglang",)}

    def meant(self, text: str) -> str:
        return self.default if text in ("rocm", "amd", "amdgpu") else ""

    def missing(self) -> str:
        from .toolchain import missing

        return missing()

    def lacks(self, target: str) -> str:
        from . import toolchain

        known = () if self.missing() else toolchain.architectures()
        if not known or toolchain.architecture(target) in known:
            return ""
        return f"the clang of ziglang makes no code for {toolchain.architecture(target)}; it knows {', '.join(known)}"

    def disassembled(self, data: bytes, suffix: str) -> Listing:
        from .listing import disassembled

        return disassembled(data)

    def compilation(self, job: Job, clock: Clock) -> Compilation:
        from .compilation import Compilation

        clock.tick("import")
        return Compilation(job, clock)


TARGET = HIPTarget()
