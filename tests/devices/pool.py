"""A complete backend as another package would bring it, with memory of its own; no line of ours is changed for it.

Its device is a pool of bytes in this process. Arrays are blocks of the pool; they go back when nothing refers to them.
"""

from __future__ import annotations

import weakref

import numpy as np

from pydotcompute import AllocationError, Backend
from pydotcompute.backends import DeviceInfo


class Block:
    """An array in the pool; what is in it can only be had through the backend."""

    def __init__(self, values: np.ndarray):
        self._values = values
        self.shape, self.dtype = values.shape, values.dtype


class Blocks:
    """What calls and `to_backend` need to know of these arrays: which they are."""

    @staticmethod
    def owns(value: object) -> bool:
        return isinstance(value, Block)


class PoolBackend(Backend):
    arrays = Blocks

    def __init__(self, size: int = 1 << 20):
        self.total, self.used = size, 0

    name = "pool"
    is_available = True

    def compile_kernel(self, func, signature):
        if not callable(func):
            raise TypeError(f"{func!r} is no function")

        def kernel(*args):
            if len(args) != len(signature):
                raise TypeError(f"the kernel takes {len(signature)} arguments, got {len(args)}")
            func(*(arg._values if isinstance(arg, Block) else arg for arg in args))

        return kernel

    def allocate(self, shape, dtype=np.float32):
        size = np.dtype(dtype).itemsize * int(np.prod(shape))
        if size < 0:
            raise ValueError(f"shape {shape} has a negative size")
        if size > self.total - self.used:
            cause = MemoryError(f"the pool has {self.total - self.used} of {self.total} bytes")
            raise AllocationError(f"no memory for {size} bytes: {cause}") from cause
        block = Block(np.zeros(shape, dtype))
        self.used += size
        weakref.finalize(block, self._release, size)
        return block

    def _release(self, size: int) -> None:
        self.used -= size

    def to_device(self, data):
        block = self.allocate(data.shape, data.dtype)
        block._values[...] = data
        return block

    def to_host(self, data):
        if not isinstance(data, Block):
            raise TypeError(f"the backend 'pool' has blocks, got {type(data).__name__}")
        return data._values.copy()

    def synchronize(self):
        pass

    def get_memory_info(self):
        return self.total - self.used, self.total

    def devices(self):
        free, total = self.get_memory_info()
        return (DeviceInfo(0, "a pool of bytes", total, free, unified_memory=True),)
