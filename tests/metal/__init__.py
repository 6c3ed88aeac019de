"""The text of kernels for Metal, parsed and executed without Metal: as C++ for OpenCL, which has the same address spaces, by
the clang that makes code for AMD's GPUs, with a header that stands in for Metal's own."""

from .host import Program, missing, parsed

__all__ = ["Program", "missing", "parsed"]
