"""The target `cuda`: PTX (`cuda:compute_80`) and cubins (`cuda:sm_90`), from the kernel language or raw numba.cuda."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...artifact.remedies import install
from ...artifact.signature import DTYPES
from ...declare.model import Kernel, Rendered, Specialisation
from ...errors import CompilerNotInstalledError, DeclarationError
from ..base import Answer, Clock, Inspection, Job, Target
from ..listing import Listing
from ..tools import package_version

if TYPE_CHECKING:
    from .compilation import Compilation

LLVM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "llvm")


class CudaTarget(Target):
    name = "cuda"
    default = "cuda:compute_80"
    pattern = "cuda:(?:compute|sm)_[1-9][0-9]{1,2}[af]?"
    # only to suggest one: which architectures there are is the toolchain's to say
    examples = ("cuda:compute_80", "cuda:sm_75", "cuda:sm_80", "cuda:sm_90", "cuda:sm_90a")
    expected = "a CUDA target is cuda:compute_NN (PTX) or cuda:sm_NN (cubin)"
    dtypes = frozenset(DTYPES)
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

    def code(self) -> tuple[str, ...]:
        return (*super().code(), LLVM)

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

    def compile(self, job: Job, clock: Clock) -> Answer:
        return self._compilation(job, clock).answer()

    def inspect(self, job: Job) -> Inspection:
        return self._compilation(job, Clock())

    def _compilation(self, job: Job, clock: Clock) -> Compilation:
        from . import toolchain

        toolchain.require()
        try:
            from . import namespace  # noqa: F401  (which lowering imports once it begins)
            from .compilation import Compilation
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("pydotcompute"):
                raise
            remedy = install("build-cuda", error.name)
            raise CompilerNotInstalledError(
                f"building needs {error.name}, which is not installed: {remedy}"
            ) from None
        clock.tick("import")
        return Compilation(job, clock)


TARGET = CudaTarget()
