"""Where the arrays of a case lie: between guards, poisoned, aligned or not, and what a kernel left around them."""

from __future__ import annotations

import numpy as np

GUARD = 64  # elements before and after every array that a kernel writes
POISON = 0xA5  # the byte that fills guards and outputs: no plausible result in any type
LINE = 64  # bytes, to which nothing is aligned that is shifted


def guarded(shape: tuple[int, ...], dtype: np.dtype, shift: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A poisoned array of this shape that lies `shift` elements past a multiple of LINE, and the buffer around it."""
    count = int(np.prod(shape, dtype=np.int64))
    edge, size = GUARD * dtype.itemsize, count * dtype.itemsize
    buffer = _past(2 * edge + size, (edge - shift * dtype.itemsize) % LINE)
    buffer[...] = POISON
    return buffer[edge : edge + size].view(dtype).reshape(shape), buffer


def shifted(values: np.ndarray, past: int) -> np.ndarray:
    """A C-contiguous copy that lies `past` bytes past a multiple of LINE."""
    buffer = _past(values.nbytes, -past % LINE)
    result = np.ndarray(values.shape, values.dtype, buffer)
    result[...] = values
    return result


def overrun(array: np.ndarray, buffer: np.ndarray) -> int:
    """How many bytes of the guards around `array` have changed."""
    edge = GUARD * array.dtype.itemsize
    return int(np.count_nonzero(buffer[:edge] != POISON) + np.count_nonzero(buffer[len(buffer) - edge :] != POISON))


def unwritten(array: np.ndarray) -> int:
    """How many elements still hold the poison."""
    if array.size == 0:
        return 0
    rows = np.ascontiguousarray(array).view(np.uint8).reshape(array.size, array.dtype.itemsize)
    return int((rows == POISON).all(axis=1).sum())


def _past(size: int, short: int) -> np.ndarray:
    """Bytes whose address is `short` less than a multiple of LINE."""
    whole = np.empty(size + 2 * LINE, np.uint8)
    first = (-short - whole.ctypes.data) % LINE
    return whole[first : first + size]
