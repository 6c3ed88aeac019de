"""Devices as the CUDA runtime describes them, and waiting for them. Errors are raised as CuPy raises them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from cupy import _machine

from tests.ptx import PtxError

CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F = 0, 1, 4, 5
is_hip = bool(_machine.HIP)
_events: dict[int, Callable] = {}
_kept: list[np.ndarray] = []  # of the host, as long as the process lives
_TEXTS = {
    1: "cudaErrorInvalidValue: invalid argument",
    709: "cudaErrorContextIsDestroyed: context is destroyed",
    900: "cudaErrorStreamCaptureUnsupported: operation not permitted when stream is capturing",
    101: "cudaErrorInvalidDevice: invalid device ordinal",
    700: "cudaErrorIllegalAddress: an illegal memory access was encountered",
    716: "cudaErrorMisalignedAddress: misaligned address",
}


class CUDARuntimeError(RuntimeError):
    def __init__(self, status: int):
        self.status = status
        super().__init__(_TEXTS[status])


def check(device: _machine.Device) -> None:
    """A fault stays: every later call on the device says it again."""
    if device.fault:
        raise CUDARuntimeError(device.fault[0])


def getDeviceCount() -> int:
    return _machine.COUNT


def getDevice() -> int:
    if getattr(_machine.current, "context", 0) in _machine.destroyed:
        raise CUDARuntimeError(709)
    return _machine.number()


def setDevice(device: int) -> None:
    if not 0 <= device < _machine.COUNT:
        raise CUDARuntimeError(101)
    _machine.current.device, _machine.current.context = device, _machine.PRIMARY + device


def getDeviceProperties(device: int) -> dict[str, Any]:
    if not 0 <= device < _machine.COUNT:
        raise CUDARuntimeError(101)
    major, minor = _machine.capability(device)
    name = f"Emulated device {device}".encode()
    own = {"gcnArchName": f"{_machine.HIP}:sramecc+:xnack-".encode()} if is_hip else {}
    return {"name": name, "major": major, "minor": minor, "integrated": 0, "totalGlobalMem": _machine.TOTAL, **own}


def memGetInfo() -> tuple[int, int]:
    _machine.bind()
    check(_machine.here())
    return _machine.TOTAL - _machine.here().used, _machine.TOTAL


def deviceSynchronize() -> None:
    _machine.bind()
    if _machine.here().captured:
        raise CUDARuntimeError(900)
    _machine.here().run()
    check(_machine.here())


def streamSynchronize(stream: int) -> None:
    if stream in _machine.here().captured:
        raise CUDARuntimeError(900)
    _machine.here().run(stream)
    check(_machine.here())


def streamIsCapturing(stream: int) -> bool:
    check(_machine.here())
    return stream in _machine.here().captured


def eventRecord(event: int, stream: int) -> None:
    _events[event] = _machine.here().record(stream)


def streamWaitEvent(stream: int, event: int, flags: int = 0) -> None:
    if stream in _machine.here().captured:
        raise AssertionError("a stream that captures waits for one that does not: error 905")
    _machine.here().put(stream, _events[event])


def memsetAsync(ptr: int, value: int, size: int, stream: int) -> None:
    _machine.bind()
    check(_machine.here())
    memory = _machine.here().memory
    _machine.here().put(stream, lambda: _bytes(memory, ptr, size).fill(value))


def memcpyAsync(dst: int, src: int, size: int, kind: int, stream: int) -> None:
    _machine.bind()
    check(_machine.here())
    if kind != 3:
        raise CUDARuntimeError(1)
    memory = _machine.here().memory
    _machine.here().put(stream, lambda: np.copyto(_bytes(memory, dst, size), _bytes(memory, src, size)))


def memcpyPeerAsync(dst: int, dstDevice: int, src: int, srcDevice: int, size: int, stream: int) -> None:
    one, other = _machine.devices[dstDevice].memory, _machine.devices[srcDevice].memory
    _machine.here().put(stream, lambda: np.copyto(_bytes(one, dst, size), _bytes(other, src, size)))


def _bytes(memory: _machine.DeviceMemory, address: int, size: int) -> np.ndarray:
    """Of one allocation: anything else is a fault."""
    ends = memory.find(np.array([address, address + size - 1], np.uint64), "a copy")
    if len(ends) != 1:
        raise PtxError("a copy goes beyond an allocation")
    space, _, offsets = ends[0]
    space.check(offsets, 1, "a copy")
    return space.data[int(offsets[0]) : int(offsets[1]) + 1]


def pointerGetAttributes(pointer: int) -> SimpleNamespace:
    for device in _machine.devices:
        for start, space in zip(device.memory.starts, device.memory.spaces):
            if start <= pointer < start + space.size:
                return SimpleNamespace(device=device.number, devicePointer=pointer, hostPointer=0, type=2)
    return SimpleNamespace(device=-2, devicePointer=0, hostPointer=pointer, type=0)


def hostAlloc(size: int, flags: int) -> int:
    """Memory of the host that every device reaches by the address that it has here."""
    _machine.bind()
    check(_machine.here())
    if flags != 3:  # cudaHostAllocPortable, cudaHostAllocMapped
        raise CUDARuntimeError(1)
    memory = np.full(size, _machine.POISON, np.uint8)
    for device in _machine.devices:
        device.memory.add("memory of the host", memory)
    _kept.append(memory)
    return memory.__array_interface__["data"][0]
