"""The ROCm backend: built kernels as code objects for AMD's GPUs, called with CuPy's arrays. What it shares with CUDA,
which is most of it, is there."""

from .backend import ROCmBackend

__all__ = ["ROCmBackend"]
