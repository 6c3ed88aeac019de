"""Memory that an address of 64 bits points into: global arrays, and windows for shared and local memory."""

from __future__ import annotations

import numpy as np

from .parse import PtxError

SHIFT = 40  # an address is (number of the array + 1) << SHIFT, plus an offset
SHARED_WINDOW = 1 << 60
LOCAL_WINDOW = 1 << 61
OFFSET = np.uint64((1 << SHIFT) - 1)
STORED, CONSTANT = 1, 2  # how a launch may use a byte of global memory: one way or the other


class Space:
    """Bytes, seen as elements of any size; `written` marks which may be read, None where all may."""

    def __init__(self, data: np.ndarray, name: str, writable: bool, size: int, written: np.ndarray | None = None):
        self.data, self.name, self.writable, self.size, self.written = data, name, writable, size, written
        self.views: dict = {}
        self.uses: np.ndarray | None = None  # by byte, in the launch that is running

    def view(self, item: int) -> np.ndarray:
        """As unsigned integers of `item` bytes; a shorter tail cannot be reached."""
        if item not in self.views:
            whole = self.data[: len(self.data) // item * item]
            self.views[item] = whole.view(f"u{item}")
        return self.views[item]

    def check(self, offsets: np.ndarray, item: int, what: str) -> None:
        bad = offsets > np.uint64(self.size - item) if self.size >= item else np.ones(len(offsets), bool)
        if bad.any():
            raise PtxError(f"{what}: byte {int(offsets[bad][0])} of {self.name}, which has {self.size}")
        if item > 1 and (offsets & np.uint64(item - 1)).any():
            raise PtxError(f"{what}: misaligned in {self.name}")

    def use(self, offsets: np.ndarray, item: int, how: int, what: str) -> None:
        """STORED or CONSTANT (.nc), which a launch must not mix; the offsets have been checked."""
        if self.uses is None:
            self.uses = np.zeros(-(-len(self.data) // 16) * 16, np.uint8)
        marks, elements = self.uses.view(f"u{item}"), (offsets // np.uint64(item)).astype(np.int64)
        before, ones = marks[elements], np.iinfo(marks.dtype).max // 255
        if (before & (STORED + CONSTANT - how) * ones).any():
            raise PtxError(f"{what}: {self.name} is stored to and read as constant (.nc)")
        marks[elements] = before | how * ones


class Memory:
    """Global memory of a launch."""

    def __init__(self) -> None:
        self.spaces: list[Space] = []

    def add(self, name: str, array: np.ndarray, writable: bool = True) -> int:
        """The address of a C-contiguous array, which is used in place. Reading it is always defined."""
        if not array.flags.c_contiguous:
            raise ValueError(f"{name} must be contiguous")
        data = array.reshape(-1).view(np.uint8)
        self.spaces.append(Space(data, name, writable, data.size))
        return len(self.spaces) << SHIFT

    def constant(self, name: str, data: bytes, writable: bool) -> int:
        return self.add(name, np.frombuffer(bytearray(data), np.uint8), writable)

    def find(self, addresses: np.ndarray, what: str) -> list[tuple[Space, np.ndarray | None, np.ndarray]]:
        """(array, which of the addresses, their offsets) for each array that they point into."""
        numbers = addresses >> np.uint64(SHIFT)
        first = int(numbers[0])
        if (numbers == numbers[0]).all():
            return [(self._space(first, addresses, what), None, addresses & OFFSET)]
        return [
            (self._space(int(k), addresses, what), chosen, addresses[chosen] & OFFSET)
            for k in np.unique(numbers)
            for chosen in [np.flatnonzero(numbers == k)]
        ]

    def _space(self, number: int, addresses: np.ndarray, what: str) -> Space:
        if not 1 <= number <= len(self.spaces):
            raise PtxError(f"{what}: address {int(addresses[0]):#x} is in no array")
        return self.spaces[number - 1]
