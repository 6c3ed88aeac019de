"""The emulated devices: their memory, what waits on their streams, and the fault that ended their use.

Work waits until something synchronises, as late as a device could do it, so that a result that is read too early is
seen. Memory is exact: an access one byte outside of an allocation is a fault.
"""

from __future__ import annotations

import os
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable

import numpy as np

from tests.ptx import Memory
from tests.ptx.memory import Space
from tests.ptx.parse import PtxError

POISON = 0xA5  # what new memory holds
ALIGNMENT = 256
COUNT = int(os.environ.get("EMULATED_DEVICES", "1"))
CAPABILITIES = [tuple(map(int, c.split("."))) for c in os.environ.get("EMULATED_CAPABILITY", "9.0").split(",")]
DRIVER = int(os.environ.get("EMULATED_DRIVER", "12090"))
TOTAL = int(os.environ.get("EMULATED_MEMORY", str(1 << 28)))

current = threading.local()  # device, stream, and the devices whose context this thread has bound


class DeviceMemory(Memory):
    """Allocations at the addresses they have in this process."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.spaces: list[Space] = []

    def add(self, name: str, array: np.ndarray, writable: bool = True) -> int:
        data = array.reshape(-1).view(np.uint8)
        start = data.__array_interface__["data"][0]
        at = bisect_right(self.starts, start)
        self.starts.insert(at, start)
        self.spaces.insert(at, Space(data, name, writable, data.size))
        return start

    def remove(self, start: int) -> None:
        at = bisect_right(self.starts, start) - 1
        del self.starts[at], self.spaces[at]

    def find(self, addresses: np.ndarray, what: str):
        which = np.searchsorted(np.array(self.starts, np.uint64), addresses, "right")
        if not which.all():
            raise PtxError(f"{what}: address {int(addresses[which == 0][0]):#x} is in no array of the device")
        found = []
        for k in np.unique(which):
            chosen = None if (which == k).all() else np.flatnonzero(which == k)
            places = addresses if chosen is None else addresses[chosen]
            found.append((self.spaces[k - 1], chosen, places - np.uint64(self.starts[k - 1])))
        return found


class Device:
    def __init__(self, number: int):
        self.number, self.memory, self.used = number, DeviceMemory(), 0
        self.waiting: list[tuple[int, Callable]] = []  # (stream, work), in the order of the program
        self.freed: list[tuple[int, np.ndarray]] = []
        self.fault: tuple[int, str] | None = None  # (error, what the interpreter says)
        self.launched: list[tuple[str, int]] = []  # (entry, stream)

    def allocate(self, size: int, owner: object) -> int:
        """An address; the memory lives until its owner and all work that waits have ended."""
        whole = np.full(size + ALIGNMENT, POISON, np.uint8)
        skip = -whole.__array_interface__["data"][0] % ALIGNMENT
        data = whole[skip : skip + size]
        start = self.memory.add(f"an allocation of device {self.number}", data)
        self.used += size
        weakref.finalize(owner, self.free, start, data)
        return start

    def free(self, start: int, data: np.ndarray) -> None:
        self.freed.append((start, data))
        self.used -= len(data)
        if not self.waiting:
            self.finish()

    def run(self, stream: int | None = None) -> None:
        """Do what waits: on one stream, or on all. The default stream (0) waits for all, and all for it."""
        work, later = self.waiting, []
        if stream is not None and stream != 0:
            last = max((k for k, (s, _) in enumerate(work) if s == stream), default=-1)
            later = [one for k, one in enumerate(work) if k > last or one[0] not in (0, stream)]
            work = [one for k, one in enumerate(work) if k <= last and one[0] in (0, stream)]
        self.waiting = later
        for _, one in work:
            if self.fault is None:
                try:
                    one()
                except PtxError as error:
                    self.fault = 716 if "misaligned" in str(error) else 700, str(error)
        if not self.waiting:
            self.finish()

    def finish(self) -> None:
        while self.freed:
            start, data = self.freed.pop()
            self.memory.remove(start)
            data[:] = POISON


def capability(device: int) -> tuple[int, int]:
    """Devices may be of different kinds; those of which nothing is said are like the last one."""
    return CAPABILITIES[min(device, len(CAPABILITIES) - 1)]


devices = [Device(k) for k in range(COUNT)]


def reset() -> None:
    """Forget faults, launches and what waits: for tests, which on a GPU would need a new process each."""
    for device in devices:
        device.waiting, device.fault, device.launched = [], None, []
        device.finish()


def number() -> int:
    return getattr(current, "device", 0)


def here() -> Device:
    return devices[number()]


def bind() -> None:
    """The runtime binds a device's context to a thread when the thread first does something there; the driver does
    not."""
    current.bound = getattr(current, "bound", frozenset()) | {number()}


def is_bound() -> bool:
    return number() in getattr(current, "bound", ())


def start(work: Callable) -> None:
    """Put work on the current stream of the current device."""
    here().waiting.append((getattr(current, "stream", 0), work))
