"""The text of kernels for AMD's GPUs, executed: compiled for this processor by the clang that makes their code objects,
with the same header, in which just the builtins of the GPU are other functions."""

from .host import Program, missing

__all__ = ["Program", "missing"]
