"""Where kernels on a CUDA device tell of an index outside of its array: a few words of the host's memory, which the
device writes to, and which cost a call as much as any other word to look at."""

from __future__ import annotations

import ctypes
from _thread import allocate_lock
from collections.abc import Iterator

from cupy.cuda import runtime

from ...artifact.launch import SLOT_WORDS
from ..faults import raise_told
from .context import on

PORTABLE, MAPPED = 1, 2  # cudaHostAllocPortable, cudaHostAllocMapped: with the address that it has in the process

_lock = allocate_lock()
# By device its address and words; as long as the process lives, for graphs may be launched at any time.
_slots: dict[int, tuple[int, memoryview]] = {}


def slot(device: int) -> tuple[int, memoryview]:
    """The address of a device's slot, and its words."""
    with _lock:
        if device not in _slots:
            with on(device):
                address = runtime.hostAlloc(8 * SLOT_WORDS, PORTABLE | MAPPED)
            ctypes.memset(address, 0, 8 * SLOT_WORDS)
            words = (ctypes.c_int64 * SLOT_WORDS).from_address(address)
            _slots[device] = address, memoryview(words).cast("B").cast("q")
        return _slots[device]


def look(device: int) -> None:
    """Raise what a kernel has told on a device until now. IndexError."""
    if found := _slots.get(device):
        raise_told(found[1])


def devices() -> Iterator[int]:
    """Those on which a kernel may have told something."""
    yield from sorted(_slots)
