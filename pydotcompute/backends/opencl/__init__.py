"""The OpenCL backend: pyopencl's arrays, built kernels as OpenCL C that the device's driver compiles."""

from __future__ import annotations

from .backend import OpenCLBackend

__all__ = ["OpenCLBackend"]
