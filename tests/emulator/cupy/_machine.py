"""The emulated devices: their memory, what waits on their streams, and the fault that ended their use.

Work waits until something synchronises, as late as a device could do it, so that a result that is read too early is
seen. Memory is exact: an access one byte outside of an allocation is a fault.
"""

from __future__ import annotations

import functools
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
HIP = os.environ.get("EMULATED_ARCHITECTURE", "")  # of AMD's devices; empty: they are NVIDIA's
TOTAL = int(os.environ.get("EMULATED_MEMORY", str(1 << 28)))

current = threading.local()  # device, context, and the stream of each device
PRIMARY = 0x100  # the handle of a device's primary context is its number more
LEGACY = 1  # another name of the default stream, 0
contexts = {PRIMARY + k: k for k in range(COUNT)}  # handle → device
destroyed: set[int] = set()
non_blocking: set[int] = set()  # streams that the default one does not wait for


_lock = threading.RLock()  # programs have threads; the interpreter does one thing at a time


def alone(function: Callable) -> Callable:
    @functools.wraps(function)
    def run(*args):
        with _lock:
            return function(*args)

    return run


class Work:
    """What was put on a stream."""

    def __init__(self, stream: int, action: Callable):
        self.stream, self.action, self.done = stream, action, False


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
        self.waiting: list[Work] = []  # in the order of the program
        self.captured: dict[int, list[Callable]] = {}  # streams that capture → their graphs so far
        self.freed: list[tuple[int, np.ndarray]] = []
        self.fault: tuple[int, str] | None = None  # (error, what the interpreter says)
        self.launched: list[tuple[str, int]] = []  # (entry, stream)

    @alone
    def allocate(self, size: int, owner: object) -> int:
        """An address; the memory lives until its owner and all work that waits have ended."""
        if getattr(current, "context", 0) not in (0, PRIMARY + self.number):
            raise AssertionError("an allocation in a context that is not the primary one: it would end with that one")
        whole = np.full(size + ALIGNMENT, POISON, np.uint8)
        skip = -whole.__array_interface__["data"][0] % ALIGNMENT
        data = whole[skip : skip + size]
        start = self.memory.add(f"an allocation of device {self.number}", data)
        self.used += size
        weakref.finalize(owner, self.free, start, data)
        return start

    @alone
    def free(self, start: int, data: np.ndarray) -> None:
        self.freed.append((start, data))
        self.used -= len(data)
        if not self.waiting:
            self.finish()

    @alone
    def put(self, stream: int, action: Callable) -> None:
        """Give a stream something to do; one that captures does not do it."""
        if stream in self.captured:
            self.captured[stream].append(action)
        else:
            self.waiting.append(Work(0 if stream == LEGACY else stream, action))

    @alone
    def before(self, stream: int) -> list[Work]:
        """What is done when a stream has done all that it was given. The default stream waits for all, and all for it,
        but for non-blocking ones."""
        if stream in (0, LEGACY):
            return [w for w in self.waiting if w.stream not in non_blocking]
        last = max((k for k, w in enumerate(self.waiting) if w.stream == stream), default=-1)
        ours = {stream} if stream in non_blocking else {0, stream}
        return [w for k, w in enumerate(self.waiting) if k <= last and w.stream in ours]

    @alone
    def run(self, stream: int | None = None) -> None:
        """Do what waits: on one stream, or on all, where those that nothing orders come in the worst order."""
        if stream is None:
            self.perform(self.before(0))
            for other in sorted({w.stream for w in self.waiting}, reverse=True):
                self.perform(self.before(other))
        else:
            self.perform(self.before(stream))
        if not self.waiting:
            self.finish()

    @alone
    def perform(self, work: list[Work]) -> None:
        for one in work:
            if one.done:
                continue
            one.done = True
            if self.fault is None:
                try:
                    one.action()
                except PtxError as error:
                    self.fault = 716 if "misaligned" in str(error) else 700, str(error)
        self.waiting = [w for w in self.waiting if not w.done]

    def record(self, stream: int) -> Callable:
        """An event: what waits for it waits for all that the stream has now."""
        work = self.before(stream)
        return lambda: self.perform(work)

    @alone
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
        device.waiting, device.fault, device.launched, device.captured = [], None, [], {}
        device.finish()
    current.device, current.context, current.streams = 0, 0, {}


def number() -> int:
    context = getattr(current, "context", 0)
    return contexts[context] if context else getattr(current, "device", 0)


def here() -> Device:
    return devices[number()]


def stream(device: int | None = None) -> int:
    """The current stream of a device, which each thread has."""
    return getattr(current, "streams", {}).get(number() if device is None else device, 0)


def bind() -> None:
    """The runtime makes a device's primary context current in a thread that has none; the driver does not."""
    if not getattr(current, "context", 0):
        current.context = PRIMARY + number()


def start(work: Callable) -> None:
    """Put work on the current stream of the current device."""
    here().put(stream(), work)
