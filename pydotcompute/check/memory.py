"""Where the arrays of a case lie: between guards, poisoned, aligned or not, and what a kernel left around them."""

from __future__ import annotations

import numpy as np

GUARD = 64  # elements before and after every array that a kernel writes
POISON = 0xA5  # the byte that fills guards and outputs: no plausible result in any type
LINE = 64  # bytes, to which nothing is aligned that is shifted


def guarded(
    shape: tuple[int, ...], dtype: np.dtype, shift: int = 0, strides: tuple[int, ...] | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """A poisoned array of this shape (C-contiguous, or with these strides in bytes) that begins `shift` elements past a
    multiple of LINE, and the buffer around it."""
    strides = strides if strides is not None else contiguous(shape, dtype.itemsize)
    before = sum(-step * (n - 1) for step, n in zip(strides, shape) if step < 0 and n)
    after = sum(step * (n - 1) for step, n in zip(strides, shape) if step > 0 and n) + dtype.itemsize
    edge = GUARD * dtype.itemsize
    buffer = _past(2 * edge + before + after, (edge - shift * dtype.itemsize) % LINE)
    buffer[...] = POISON
    return np.ndarray(shape, dtype, buffer, edge + before, strides), buffer


def contiguous(shape: tuple[int, ...], step: int) -> tuple[int, ...]:
    """The strides of a C-contiguous array whose elements are `step` bytes apart."""
    strides = []
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def scattered(shape: tuple[int, ...], itemsize: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Strides of an array with gaps between all elements, axes in any order in memory, some of them backwards."""
    strides = [0] * len(shape)
    step = itemsize * int(rng.integers(2, 4))
    for axis in rng.permutation(len(shape)):
        strides[axis] = int(step * rng.choice((1, -1)))
        step *= max(shape[axis], 1)
    return tuple(strides)


def shifted(values: np.ndarray, past: int) -> np.ndarray:
    """A C-contiguous copy that lies `past` bytes past a multiple of LINE."""
    buffer = _past(values.nbytes, -past % LINE)
    result = np.ndarray(values.shape, values.dtype, buffer)
    result[...] = values
    return result


def overrun(array: np.ndarray, buffer: np.ndarray) -> int:
    """How many bytes of the buffer around `array`, and between its elements, have changed."""
    own = np.zeros(buffer.shape, bool)
    first = array.ctypes.data - buffer.ctypes.data
    np.ndarray((*array.shape, array.dtype.itemsize), bool, own, first, (*array.strides, 1))[...] = True
    return int(np.count_nonzero((buffer != POISON) & ~own))


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
