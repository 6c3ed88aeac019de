"""One kernel, axpy, as others write it: for CuPy, for Numba and for Triton; and a device to measure them on."""

from __future__ import annotations

from typing import Any

from ..errors import BackendNotAvailableError

RAW = """
extern "C" __global__ void axpy(float a, const float* x, const float* y, float* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
"""
NUMBA = """
import numpy as np
from numba import cuda
@cuda.jit("void(float32, float32[::1], float32[::1], float32[::1])", cache=True)
def axpy(a, x, y, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i] = a * x[i] + y[i]
"""
TRITON = """
import torch, triton
import triton.language as tl
@triton.jit
def axpy(a, x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, a * tl.load(x + i, inside) + tl.load(y + i, inside), inside)
"""


def need_device() -> None:
    """Raises BackendNotAvailableError, with the reason, where there is no CUDA device."""
    from ..backends.cuda.backend import unavailable

    if reason := unavailable():
        raise BackendNotAvailableError(reason)


def module(name: str, folder: str, text: str) -> Any:
    """A module of a peer's kernel, from a file because their compilers want one. Raises what they raise."""
    from importlib import import_module

    with open(f"{folder}/axpy_of_{name}.py", "w") as file:
        file.write(text)
    return import_module(f"axpy_of_{name}")
