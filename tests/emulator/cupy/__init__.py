"""The part of CuPy that pydotcompute uses, on emulated devices: for tests, in processes that tests/emulator prepares.

It is no GPU, and proves nothing about one. Its device memory is memory of the process, its kernels are run by the
interpreter of tests/ptx, and it is called as CuPy is: tests/backends/cuda/test_emulated_devices.py compares the two.
"""

from cupy import cuda
from cupy._arrays import (
    arange, array, asarray, asnumpy, broadcast_to, copyto, empty, from_dlpack, get_default_memory_pool, matmul,
    ndarray, zeros,
)  # fmt: skip
from numpy import float32, float64, int32, int64, uint8

__all__ = [
    "arange", "array", "asarray", "asnumpy", "broadcast_to", "copyto", "cuda", "empty", "float32", "float64",
    "from_dlpack", "get_default_memory_pool", "int32", "int64", "matmul", "ndarray", "uint8", "zeros",
]  # fmt: skip
