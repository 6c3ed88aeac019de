"""The CUDA backend: built kernels as cubins or PTX, called with CuPy's arrays."""

from .backend import CUDABackend

__all__ = ["CUDABackend"]
