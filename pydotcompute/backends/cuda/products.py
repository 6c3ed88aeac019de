"""Products of matrices straight by cuBLAS, which is asked just as CuPy's `matmul` asks it, so that no bit differs.

CuPy finds out anew for each call how its factors lie and what that means to cuBLAS, which takes about as long as a
small product. Here that is done once for all calls of a form; what may change between two of them, the thread's handle
and how exact CuPy is told to be, is asked each time, and the stream by CuPy's binding itself.
"""

from __future__ import annotations

from typing import Any, Callable

import cupy
import numpy as np
from cupy.cuda import runtime
from cupy.cuda.device import get_cublas_handle

from .platform import CUDA, PLATFORM

Product = Callable[[int, int, int], None]  # of the addresses of both factors and of a C-contiguous result

_FACTORS = {letter: np.array([1, 0], letter) for letter in "fdFD"}  # of the product, and of what the result held


def product(a: cupy.ndarray, b: cupy.ndarray, capability: tuple[int, int]) -> Product | None:
    """What computes a @ b of arrays that lie as these do, on a device of this compute capability; None where cuBLAS
    alone does not: CuPy copies or converts them, compiles a kernel, or fills."""
    if PLATFORM is not CUDA or a.dtype.char not in _FACTORS or not a.size or not b.size:
        return None
    if max(a.ndim, b.ndim) <= 2:
        return _of_matrices(a, b, capability)
    return _of_batches(a, b) if a.shape[:-2] == b.shape[:-2] else None


def _of_matrices(a: cupy.ndarray, b: cupy.ndarray, capability: tuple[int, int]) -> Product | None:
    """As CuPy's `dot`. A matrix of cuBLAS goes column by column, so that it is given the product of the turned ones."""
    from cupy._core import _routines_linalg as settings
    from cupy_backends.cuda.libs import cublas

    a, b = a if a.ndim == 2 else a[None], b if b.ndim == 2 else b[:, None]
    (rows, depth), columns = a.shape, b.shape[1]
    first, second = _laid_out(a.T, 0), _laid_out(b, 1)
    if first is None or second is None:
        return None
    (turn_a, step_a), (turn_b, step_b) = first, second
    if a.dtype.char in "fF":
        exact, how = cublas.CUBLAS_COMPUTE_32F, {
            settings.COMPUTE_TYPE_PEDANTIC: cublas.CUBLAS_COMPUTE_32F_PEDANTIC,
            settings.COMPUTE_TYPE_TF32: cublas.CUBLAS_COMPUTE_32F_FAST_TF32,
        }
    else:
        exact, how = cublas.CUBLAS_COMPUTE_64F, {settings.COMPUTE_TYPE_PEDANTIC: cublas.CUBLAS_COMPUTE_64F_PEDANTIC}
    algorithm = cublas.CUBLAS_GEMM_DEFAULT_TENSOR_OP if capability >= (8, 0) else cublas.CUBLAS_GEMM_DEFAULT
    gemm, dtype, setting, chosen = cublas.gemmEx, a.dtype, settings.get_compute_type, how.get
    kind, one, zero = _kind_and_factors(dtype)

    def run(x: int, y: int, out: int) -> None:
        gemm(
            get_cublas_handle(), turn_b, turn_a, columns, rows, depth, one, y, kind, step_b, x, kind, step_a,
            zero, out, kind, columns, chosen(setting(dtype), exact), algorithm,
        )  # fmt: skip

    return run


def _laid_out(matrix: cupy.ndarray, turned: int) -> tuple[int, int] | None:
    """Whether cuBLAS is to turn a matrix, and how far its columns are apart; None where CuPy copies it first. turned:
    the answer for one that goes column by column, as one of a single row or column does too."""
    item = matrix.itemsize
    if matrix.flags.f_contiguous:
        return turned, max(matrix.strides[1] // item, matrix.shape[0])
    return (1 - turned, matrix.strides[0] // item) if matrix.flags.c_contiguous else None


def _of_batches(a: cupy.ndarray, b: cupy.ndarray) -> Product | None:
    """As CuPy's `matmul`, of as many matrices on both sides."""
    from cupy_backends.cuda.libs import cublas

    if not (a.flags.c_contiguous and b.flags.c_contiguous):
        return None
    (rows, depth), columns = a.shape[-2:], b.shape[-1]
    count = a.size // (rows * depth)
    gemm, default = cublas.gemmStridedBatchedEx, cublas.CUBLAS_GEMM_DEFAULT
    kind, one, zero = _kind_and_factors(a.dtype)

    def run(x: int, y: int, out: int) -> None:
        gemm(
            get_cublas_handle(), 0, 0, columns, rows, depth, one, y, kind, columns, depth * columns,
            x, kind, depth, rows * depth, zero, out, kind, columns, rows * columns, count, kind, default,
        )  # fmt: skip

    return run


def _kind_and_factors(dtype: Any) -> tuple[int, int, int]:
    """What cuBLAS calls a dtype, and where it finds the factors."""
    kinds = {"f": runtime.CUDA_R_32F, "d": runtime.CUDA_R_64F, "F": runtime.CUDA_C_32F, "D": runtime.CUDA_C_64F}
    factors = _FACTORS[dtype.char]
    return kinds[dtype.char], factors.ctypes.data, factors.ctypes.data + factors.itemsize
