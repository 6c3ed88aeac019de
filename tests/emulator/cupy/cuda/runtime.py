"""Devices as the CUDA runtime describes them, and waiting for them. Errors are raised as CuPy raises them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from cupy import _machine

_TEXTS = {
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
    return _machine.number()


def setDevice(device: int) -> None:
    if not 0 <= device < _machine.COUNT:
        raise CUDARuntimeError(101)
    if device != _machine.number():
        _machine.current.device = device
        _machine.bind()


def getDeviceProperties(device: int) -> dict[str, Any]:
    if not 0 <= device < _machine.COUNT:
        raise CUDARuntimeError(101)
    major, minor = _machine.capability(device)
    name = f"Emulated device {device}".encode()
    return {"name": name, "major": major, "minor": minor, "integrated": 0, "totalGlobalMem": _machine.TOTAL}


def memGetInfo() -> tuple[int, int]:
    _machine.bind()
    check(_machine.here())
    return _machine.TOTAL - _machine.here().used, _machine.TOTAL


def deviceSynchronize() -> None:
    _machine.bind()
    _machine.here().run()
    check(_machine.here())


def streamSynchronize(stream: int) -> None:
    _machine.here().run(stream)
    check(_machine.here())


def pointerGetAttributes(pointer: int) -> SimpleNamespace:
    for device in _machine.devices:
        for start, space in zip(device.memory.starts, device.memory.spaces):
            if start <= pointer < start + space.size:
                return SimpleNamespace(device=device.number, devicePointer=pointer, hostPointer=0, type=2)
    return SimpleNamespace(device=-2, devicePointer=0, hostPointer=pointer, type=0)
