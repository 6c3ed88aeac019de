"""Devices and streams, of which each thread has a current one."""

from __future__ import annotations

import itertools

from cupy import _machine
from cupy.cuda import driver, function, memory, runtime
from cupy.cuda.memory import Memory, MemoryPointer, UnownedMemory

__all__ = [
    "Device", "Event", "Memory", "MemoryPointer", "Stream", "UnownedMemory", "driver", "function", "get_current_stream",
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


class Event:
    def __init__(self, block=False, disable_timing=False, interprocess=False):
        self.ptr = next(_handles)

    def record(self, stream=None) -> None:
        runtime.eventRecord(self.ptr, (stream or get_current_stream()).ptr)


class Graph:
    """What a stream has captured."""

    def __init__(self, work: list):
        self.work = work

    def launch(self, stream=None) -> None:
        for one in self.work:
            _machine.here().put((stream or get_current_stream()).ptr, one)


class Stream:
    """Current within `with`, on its device."""

    null: Stream

    def __init__(self, null: bool = False, non_blocking: bool = False):
        self.ptr = 0 if null else next(_handles)
        self.device_id = -1 if null else _machine.number()
        self._outer: list[tuple[int, int]] = []
        if non_blocking:
            _machine.non_blocking.add(self.ptr)

    @classmethod
    def from_external(cls, obj) -> Stream:
        stream = cls(null=True)
        version, stream.ptr = obj.__cuda_stream__()
        assert version == 0
        return stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.ptr

    def __enter__(self) -> Stream:
        device = _machine.number()
        if self.device_id not in (-1, device):
            raise RuntimeError(f"a stream of device {self.device_id}; the current device is {device}")
        self._outer.append((device, _machine.stream()))
        _machine.current.streams[device] = self.ptr
        return self

    def __exit__(self, *_) -> None:
        device, outer = self._outer.pop()
        _machine.current.streams[device] = outer

    def synchronize(self) -> None:
        runtime.streamSynchronize(self.ptr)

    def record(self, event=None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event) -> None:
        runtime.streamWaitEvent(self.ptr, event.ptr)

    def begin_capture(self, mode=None) -> None:
        _machine.here().captured[self.ptr] = []

    def end_capture(self) -> Graph:
        return Graph(_machine.here().captured.pop(self.ptr))


Stream.null = Stream(null=True)


def get_current_stream(device_id: int = -1) -> Stream:
    stream = Stream(null=True)
    stream.ptr = _machine.stream(None if device_id == -1 else device_id)
    return stream
