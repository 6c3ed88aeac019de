"""Devices and streams, of which each thread has a current one."""

from __future__ import annotations

import itertools

from cupy import _machine
from cupy.cuda import driver, function, memory, runtime
from cupy.cuda.memory import Memory, MemoryPointer, UnownedMemory

__all__ = [
    "Device", "Memory", "MemoryPointer", "Stream", "UnownedMemory", "driver", "function", "get_current_stream",
    "memory", "runtime",
]  # fmt: skip

_handles = itertools.count(0x1000, 0x10)


class Device:
    """Current within `with`; the outer one is current again after it."""

    def __init__(self, device: int | None = None):
        self.id = _machine.number() if device is None else int(device)
        self._outer: list[int] = []

    def __enter__(self) -> Device:
        outer = _machine.number()
        runtime.setDevice(self.id)
        self._outer.append(outer)
        return self

    def __exit__(self, *_) -> None:
        runtime.setDevice(self._outer.pop())

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def synchronize(self) -> None:
        with self:
            runtime.deviceSynchronize()


class Stream:
    """Current within `with`."""

    def __init__(self, null: bool = False, non_blocking: bool = False):
        self.ptr = 0 if null else next(_handles)
        self.device_id = _machine.number()
        self._outer: list[int] = []

    def __enter__(self) -> Stream:
        self._outer.append(getattr(_machine.current, "stream", 0))
        _machine.current.stream = self.ptr
        return self

    def __exit__(self, *_) -> None:
        _machine.current.stream = self._outer.pop()

    def synchronize(self) -> None:
        with Device(self.device_id):
            runtime.streamSynchronize(self.ptr)


def get_current_stream() -> Stream:
    stream = Stream(null=True)
    stream.ptr = getattr(_machine.current, "stream", 0)
    return stream
