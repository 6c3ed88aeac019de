"""The CPU backend: built kernels of the levels that this processor has, called with NumPy's arrays."""

from .backend import CPUBackend

__all__ = ["CPUBackend"]
