"""Modules and functions as objects."""

from __future__ import annotations

import numpy as np

from cupy import _machine
from cupy.cuda import driver


class Module:
    def load(self, cubin: bytes) -> None:
        if not isinstance(cubin, bytes):
            raise TypeError(f"Argument 'cubin' has incorrect type (expected bytes, got {type(cubin).__name__})")
        _machine.bind()
        self._module = driver.moduleLoadData(cubin)

    def get_function(self, name: str) -> Function:
        return Function(self, name)


class Function:
    def __init__(self, module: Module, funcname: str):
        self.module, self.ptr = module, driver.moduleGetFunction(module._module, funcname)

    def __call__(self, grid: tuple, block: tuple, args: tuple, shared_mem: int = 0, stream=None) -> None:
        """An int is a word of 64 bits; a NumPy scalar is what it is."""
        from cupy.cuda import get_current_stream

        _machine.bind()
        wanted = driver.sizes(self.ptr)
        given = [a.tobytes() if isinstance(a, np.generic) else np.int64(a).tobytes() for a in args]
        if [len(g) for g in given] != wanted:
            raise AssertionError(f"parameters of {wanted} bytes, given {[len(g) for g in given]}")
        grid, block = ((*sizes, 1, 1)[:3] for sizes in (grid, block))
        driver.launch(self.ptr, grid, block, given, (stream or get_current_stream()).ptr)
