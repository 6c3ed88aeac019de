"""Where the arrays of a case lie: between guards, aligned or not, and what a kernel left around and in them."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

from ..calls.arrays import contiguous_strides
from ..interpreter.runtime import poison

PAGE = mmap.PAGESIZE
GUARD = 64  # elements at least before and after every array that a kernel writes
REACH = 1 << 24  # bytes before and after the guards that nobody can read or write
GAP = 0xA5  # the byte that fills guards and the gaps between elements
LINE = 64  # bytes, to which nothing is aligned that is shifted

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def guarded(
    shape: tuple[int, ...], dtype: np.dtype, shift: int = 0, strides: tuple[int, ...] | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """An array of this shape (C-contiguous, or with these strides in bytes) that begins `shift` elements past a
    multiple of LINE, and the buffer around it.

    The buffer reaches GUARD elements and one step along any axis further than the array; whoever writes beyond it, in
    REACH, is killed by SIGSEGV. Raises MemoryError.
    """
    strides = strides if strides is not None else contiguous_strides(shape, dtype.itemsize)
    before = sum(-step * (n - 1) for step, n in zip(strides, shape) if step < 0 and n)
    after = sum(step * (n - 1) for step, n in zip(strides, shape) if step > 0 and n) + dtype.itemsize
    edge = _pages(GUARD * dtype.itemsize + max(map(abs, strides), default=0))
    start = edge + shift * dtype.itemsize
    buffer = _fenced(_pages(start + before + after + edge))
    buffer[...] = GAP
    return np.ndarray(shape, dtype, buffer, start + before, strides), buffer


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
    changed = buffer != GAP
    first = array.ctypes.data - buffer.ctypes.data
    np.ndarray((*array.shape, array.dtype.itemsize), bool, changed, first, (*array.strides, 1))[...] = False
    return int(np.count_nonzero(changed))


def unwritten(array: np.ndarray, second: bool = False) -> np.ndarray:
    """Which elements still hold the poison of a run, to the bit: booleans of the array's shape."""
    held = np.empty_like(array, order="C")
    poison(held, second)
    width = array.dtype.itemsize
    found, wanted = (
        np.ascontiguousarray(a).reshape(array.size).view(np.uint8).reshape(array.size, width) for a in (array, held)
    )
    return (found == wanted).all(axis=1).reshape(array.shape)


def _past(size: int, short: int) -> np.ndarray:
    """Bytes whose address is `short` less than a multiple of LINE."""
    whole = np.empty(size + 2 * LINE, np.uint8)
    first = (-short - whole.ctypes.data) % LINE
    return whole[first : first + size]


def _pages(size: int) -> int:
    """The same, rounded up to whole pages."""
    return -(-size // PAGE) * PAGE


def _fenced(size: int) -> np.ndarray:
    """That many bytes, whole pages, with REACH bytes before and after them that no access survives."""
    try:
        memory = mmap.mmap(-1, size + 2 * REACH, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError) as error:
        raise MemoryError(f"no {size} bytes: {error}") from error
    whole = np.frombuffer(memory, np.uint8)  # keeps the memory as long as a view of it lives
    for first in (0, REACH + size):
        if _libc.mprotect(whole.ctypes.data + first, REACH, 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    return whole[REACH : REACH + size]
