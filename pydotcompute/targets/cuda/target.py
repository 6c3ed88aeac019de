"""The target `cuda`: PTX (`cuda:compute_80`) and cubins (`cuda:sm_90`), from the kernel language or raw numba.cuda."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...declare.model import Kernel, Rendered, Specialisation
from ...errors import CompilerNotInstalledError, DeclarationError
from ..base import Clock, Job, Staged
from ..listing import Listing
from ..tools import package_version

if TYPE_CHECKING:
    from .compilation import Compilation


class CudaTarget(Staged):
    name = "cuda"
    default = "cuda:compute_80"
    pattern = "cuda:(?:compute|sm)_[1-9][0-9]{1,2}[af]?"
    # only to suggest one: which architectures there are is the toolchain's to say
    examples = ("cuda:compute_80", "cuda:sm_75", "cuda:sm_80", "cuda:sm_90", "cuda:sm_90a")
    expected = "a CUDA target is cuda:compute_NN (PTX) or cuda:sm_NN (cubin)"
    beside = ("llvm",)
    extra = "build-cuda"
    has_blocks = True
    has_debug_info = True
    comments = {".ptx": "//"}
    raw = "cuda"
    stages = {
        "lowered": "the Python that numba-cuda compiles",
        "ptx": "PTX",
        "sass": "the instructions of the GPU",
    }
    distributions = {
        "numba": ("numba",),
        "numba-cuda": ("numba_cuda",),
        "cuda-bindings": ("cuda_bindings",),
        "llvmlite": ("llvmlite",),
        "numpy": ("numpy",),
        "nvcc": ("nvidia_cuda_nvcc_cu12", "nvidia_cuda_nvcc"),
        "nvrtc": ("nvidia_cuda_nvrtc_cu12", "nvidia_cuda_nvrtc"),
        "nvjitlink": ("nvidia_nvjitlink_cu12", "nvidia_nvjitlink"),
        "nvvm": ("nvidia_nvvm",),
    }

    def missing(self) -> str:
        from . import toolchain

        try:
            toolchain.require(package_version("numpy"))
        except CompilerNotInstalledError as error:
            return str(error)
        return ""

    def lacks(self, target: str) -> str:
        from . import toolchain

        if self.missing():
            return ""
        try:
            toolchain.parse_target(target)
        except DeclarationError as error:
            return str(error)
        return ""

    def check(self, kernel: Kernel, specialisation: Specialisation, rendered: Rendered) -> None:
        super().check(kernel, specialisation, rendered)
        if rendered.raw:
            from .raw import check_raw

            check_raw(kernel, rendered)

    def disassembled(self, data: bytes, suffix: str) -> Listing:
        from .listing import built

        return built(data, suffix)

    def compilation(self, job: Job, clock: Clock) -> Compilation:
        from . import toolchain

        toolchain.require()
        from . import namespace  # noqa: F401  (which lowering imports once it begins)
        from .compilation import Compilation

        clock.tick("import")
        return Compilation(job, clock)


TARGET = CudaTarget()
