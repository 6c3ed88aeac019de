"""Products by cuBLAS, called as CuPy's binding is: on the thread's current stream, of matrices column by column.

It refuses what cuBLAS refuses, and every access outside of an allocation is a fault. `asked` has each call's
(function, stream, compute type).
"""

from __future__ import annotations

import ctypes

import numpy as np
from cupy import _machine
from cupy.cuda import get_current_stream, runtime
from cupy.cuda.device import get_cublas_handle

CUBLAS_GEMM_DEFAULT, CUBLAS_GEMM_DEFAULT_TENSOR_OP = -1, 99
CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_COMPUTE_32F_FAST_TF32 = 68, 69, 77
CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_64F_PEDANTIC = 70, 71
_DTYPES = {0: "f4", 1: "f8", 4: "c8", 5: "c16"}

asked: list[tuple[str, int, int]] = []


class CUBLASError(RuntimeError):
    pass


def gemmEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc, computeType,
           algo) -> None:  # fmt: skip
    if computeType not in ((70, 71) if Ctype in (1, 5) else (68, 69, 77)) or algo not in (-1, 99):
        raise CUBLASError("CUBLAS_STATUS_NOT_SUPPORTED")
    _multiply(
        "gemmEx", handle, transa, transb, m, n, k, alpha, (A, Atype, lda, 0), (B, Btype, ldb, 0), beta,
        (C, Ctype, ldc, 0), 1, computeType,
    )  # fmt: skip


def gemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb, strideB, beta,
                         C, Ctype, ldc, strideC, batchCount, computeType, algo) -> None:  # fmt: skip
    if computeType != Ctype or algo != -1:
        raise CUBLASError("CUBLAS_STATUS_NOT_SUPPORTED")
    _multiply(
        "gemmStridedBatchedEx", handle, transa, transb, m, n, k, alpha, (A, Atype, lda, strideA),
        (B, Btype, ldb, strideB), beta, (C, Ctype, ldc, strideC), batchCount, computeType,
    )  # fmt: skip


def _multiply(name, handle, transa, transb, m, n, k, alpha, a, b, beta, c, count, computing) -> None:
    stream, device = get_current_stream().ptr, _machine.here()
    if handle != get_cublas_handle():
        raise AssertionError("a handle of another thread or device")
    if runtime.streamIsCapturing(stream):
        raise NotImplementedError("calling cuBLAS API during stream capture is currently unsupported")
    shapes = (k, m) if transa else (m, k), (n, k) if transb else (k, n), (m, n)
    if min(m, n, k, count) < 1 or any(step < shape[0] for (_, _, step, _), shape in zip((a, b, c), shapes)):
        raise CUBLASError("CUBLAS_STATUS_INVALID_VALUE")
    for address, factor in ((alpha, 1), (beta, 0)):
        dtype = np.dtype(_DTYPES[c[1]])
        if np.frombuffer(ctypes.string_at(address, dtype.itemsize), dtype) != factor:
            raise AssertionError(f"a factor that is not {factor}")
    asked.append((name, stream, computing))

    def run() -> None:
        for number in range(count):
            first, second, result = (_matrix(device, *one, *shape, number) for one, shape in zip((a, b, c), shapes))
            result[...] = (first.T if transa else first) @ (second.T if transb else second)

    device.put(stream, run)


def _matrix(device, address, kind, step, stride, rows, columns, number) -> np.ndarray:
    """That number of a batch, in place."""
    dtype = np.dtype(_DTYPES[kind])
    size = ((columns - 1) * step + rows) * dtype.itemsize
    whole = runtime._bytes(device.memory, address + number * stride * dtype.itemsize, size)
    return np.ndarray((rows, columns), dtype, whole, 0, (dtype.itemsize, step * dtype.itemsize))
