"""The ROCm backend: CuPy's arrays on AMD's GPUs, and built kernels as code objects."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Callable

from ...artifact.remedies import install
from ...errors import CompilationError
from ..base import Verdict
from ..cuda.backend import CUDABackend
from . import driver as rocm_driver

if TYPE_CHECKING:
    from ...cache.manifest import Artifact
    from .kernel import ROCmKernel

FEATURES = frozenset(("async", "atomics", "float64", "streams", "shared_memory", "fp16", "shared_atomics"))


class ROCmBackend(CUDABackend):
    """One AMD device, by the CuPy that is made for ROCm; streams, memory and arrays as CUDABackend has them.

    Raises BackendNotAvailableError (a RuntimeError) with the reason where ROCm cannot be used, TypeError or ValueError
    for a device that there is not. No machine with such a device has run it yet: it is tested on an emulated one.
    """

    title = "ROCm"
    driver = rocm_driver

    @property
    def name(self) -> str:
        return "rocm"

    @staticmethod
    def why_unavailable(start: bool = True) -> str:
        return unavailable(start)

    @staticmethod
    def on_device(number: int) -> ROCmBackend:
        return on_device(number)

    @property
    def architecture(self) -> str:
        """What code objects for the device are made for: "gfx90a"."""
        name = self._properties["gcnArchName"]
        return (name.decode() if isinstance(name, bytes) else str(name)).partition(":")[0]

    def supports_feature(self, feature: str) -> bool:
        """ "async", "atomics", "float64", "streams", "shared_memory", "fp16" and "shared_atomics", on every device."""
        return feature in FEATURES

    def compile_kernel(self, func: Callable, signature: tuple[Any, ...]) -> Callable:
        """Raises CompilationError: plain functions are numba.cuda's, whose compiler makes code for NVIDIA's GPUs."""
        raise CompilationError(
            f"{getattr(func, '__qualname__', func)} cannot be compiled for ROCm: plain functions are numba.cuda's; "
            "declare it in kernels.yaml, and build it for hip:gfx…"
        )

    @classmethod
    def unknown(cls, target: str) -> str:
        known = re.fullmatch(r"hip:gfx[0-9a-f]{3,4}", target)
        return "" if known else "one for ROCm is hip:gfxNNN, as rocminfo names the GPU"

    def usual_target(self) -> str:
        return f"hip:{self.architecture}"

    def own_target(self) -> str:
        return self.usual_target()

    def judge(self, artifact: Artifact) -> Verdict:
        """Code objects for this device's architecture, and no others."""
        made = artifact.target.removeprefix("hip:")
        if made == self.architecture:
            return Verdict(1)
        return Verdict(reason=f"this device is a {self.architecture}, and a code object for {made} runs on that alone")

    def load_kernel(self, artifact: Artifact) -> ROCmKernel:
        """Load a code object. Raises KernelNotBuiltError if it is damaged, ArtifactRefusedError, which is one, if the
        device does not load it."""
        from .kernel import ROCmKernel

        return ROCmKernel(artifact, self)


@cache
def on_device(number: int) -> ROCmBackend:
    """The backend that calls with arrays on this device run on."""
    return ROCmBackend(device_id=number)


def unavailable(start: bool = True) -> str:
    """Why no ROCm backend can be made here; empty if one can. Imports CuPy only where there is a device."""
    from importlib.util import find_spec

    if find_spec("cupy") is None:
        return f"CuPy is not installed; {install('rocm', 'cupy-rocm-7-0')}"
    if problem := rocm_driver.problem(start=start):
        return problem
    try:
        from cupy.cuda import runtime
    except ImportError as error:
        return f"CuPy does not work: {error}"
    if not runtime.is_hip:
        return f"the installed CuPy is for CUDA; {install('rocm', 'cupy-rocm-7-0')} in its place"
    return ""
