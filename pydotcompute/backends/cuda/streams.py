"""Streams of CUDA: one that a call names, those that arrays of other packages are produced on, one that captures.

A call works on CuPy's current stream of its device. Arrays of other packages are produced, overwritten, freed and
consumed on streams of those packages: the device orders that before and after the call, and the host waits only where
nobody says which stream it is. While a stream captures, nothing is ordered beyond the graph: what it reads has to be
there when it is launched.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Sequence

import cupy
import numpy as np
from cupy.cuda import Event, get_current_stream, runtime

from .context import on
from .platform import PLATFORM

LEGACY = PLATFORM.default_stream  # which waits for all that are not non-blocking
UNORDERED = -1  # in place of a stream in `__dlpack__`: the caller sees to the order


class _Handle:
    """A stream of somebody else's, in the words that CuPy asks for."""

    def __init__(self, handle: int):
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


def handle(stream: Any) -> int:
    """The handle of a stream: an int, or an object with `__cuda_stream__`, `cuda_stream` (torch) or `ptr` (CuPy).

    Raises TypeError for what is no stream, ValueError for an int that is no handle."""
    if isinstance(stream, (int, np.integer)) and not isinstance(stream, bool):
        if stream < 0:
            raise ValueError(f"stream={stream!r} is not the handle of a stream")
        return int(stream)
    said = getattr(stream, "__cuda_stream__", None)
    if said is not None:
        version, found = said() if callable(said) else said
        if version != 0:
            raise TypeError(f"stream= speaks version {version} of the CUDA stream protocol; version 0 is known here")
        return int(found)
    for name in ("cuda_stream", "ptr"):
        if isinstance(found := getattr(stream, name, None), (int, np.integer)):
            return int(found)
    raise TypeError(
        "stream= must be the handle of a CUDA stream (an int), a stream of CuPy or torch, or an object with "
        f"__cuda_stream__; got {type(stream).__name__}"
    )


@contextmanager
def current(stream: Any, device: int) -> Iterator[None]:
    """Make a stream CuPy's current one of a device, for what runs within.

    Raises TypeError for what is no stream, ValueError for a stream of another device, if it says so."""
    number = handle(stream)
    other = getattr(stream, "device_id", getattr(stream, "device_index", None))
    if isinstance(other, int) and other >= 0 and other != device:
        raise ValueError(f"stream= is a stream of {PLATFORM.title} device {other}, but the call is for device {device}")
    with on(device), _of_cupy(stream, number, device):
        yield


def _of_cupy(stream: Any, number: int, device: int) -> Any:
    if isinstance(stream, cupy.cuda.Stream):
        return stream
    if number in (0, LEGACY):
        return cupy.cuda.Stream.null
    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(_Handle(number))
    return cupy.cuda.ExternalStream(number, device)  # CuPy 13


def captures(stream: int) -> bool:
    """Whether a stream records a graph, instead of doing what it is given. The default stream cannot."""
    return stream > LEGACY and runtime.streamIsCapturing(stream)


def wait_for(producer: Any, device: int) -> None:
    """Order what the current stream of a device is given from now on after all that `producer` was given: the handle
    of a stream, or None for any stream, for which the host waits."""
    mine = get_current_stream(device).ptr
    if captures(mine):
        return
    with on(device):
        if producer is None:
            runtime.deviceSynchronize()
        else:
            _order(int(producer), mine)


def hand_back(values: Sequence[Any], arrays: Sequence[Any], device: int) -> None:
    """Order what the packages of these arrays do with them from now on after all that the current stream was given:
    they may read what a call has written, and overwrite or free what it reads."""
    stream = get_current_stream(device)
    if captures(stream.ptr):
        return
    consumers = {stream_of(value, array) for value, array in zip(values, arrays) if array.device.id == device}
    with on(device):
        for consumer in consumers:
            if consumer is None:
                stream.synchronize()
            else:
                _order(stream.ptr, consumer)


def stream_of(value: Any, array: Any) -> int | None:
    """The stream that a package works on now with an array of its own, which was taken as `array`; None where it does
    not say."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return int(torch.cuda.current_stream(array.device.id).cuda_stream)
    return getattr(array, "produced_on", None)


def is_tensor(value: Any) -> bool:
    """Whether it is one of torch's own tensors, with nothing added to them."""
    torch = sys.modules.get("torch")
    return torch is not None and type(value) is getattr(torch, "Tensor", None)


def of_torch() -> Callable[[int], int]:
    """What tells torch's current stream of a device; its own compiler's way, where there is one, takes a tenth of the
    time."""
    torch = sys.modules["torch"]
    found = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    return found or (lambda device: int(torch.cuda.current_stream(device).cuda_stream))


def _order(first: int, then: int) -> None:
    if (first or LEGACY) == (then or LEGACY):
        return
    event = Event(disable_timing=True)
    runtime.eventRecord(event.ptr, first)
    runtime.streamWaitEvent(then, event.ptr)
