"""What the vendors that CuPy is made for have in their own way; a process has the CuPy of one of them."""

from __future__ import annotations

from typing import NamedTuple

from cupy.cuda import runtime


class Platform(NamedTuple):
    title: str  # as messages call its devices
    default_stream: int  # how protocols write the default stream, whose handle is 0
    end: int  # of a launch's `extra`
    dlpack: tuple[int, ...]  # device types of DLPack
    has_contexts: bool  # else the current device is all there is
    compiles_copies: bool  # whether CuPy fills and copies by kernels that it compiles; else by ours


CUDA = Platform("CUDA", 1, 0, (2, 13), True, False)  # kDLCUDA, kDLCUDAManaged
ROCM = Platform("ROCm", 0, 3, (10,), False, True)  # kDLROCM

PLATFORM = ROCM if runtime.is_hip else CUDA
