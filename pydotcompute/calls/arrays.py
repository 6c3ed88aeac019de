"""What a call needs to know of arrays, for NumPy's. A backend with arrays of its own brings such a module or object.

    noun                         how messages call such an array
    module                       the name of the module whose asarray and ascontiguousarray messages advise, or ""
    owns(value) -> bool          whether a value is one
    plain(value) -> array        the same memory, without what a subclass adds (shape, strides, dtype, ndim, size);
                                 TypeError if it means more than its memory says
    place(array) -> str          where it lies: two arrays of one call must agree
    address(array) -> int
    is_contiguous(array), is_aligned(array), is_writable(array) -> bool
    overlap(one, other) -> bool  whether two arrays of one place share a byte
    empty(shape, dtype), fill(array, value)
    result(array)                what is returned for an output scalar that was not given

And, where they are of use:

    contiguous(array)            the array, or a copy that is C-contiguous, of its own place
    adopt(value)                 an array of another package as one of the backend's, once for a call; TypeError
    hand_back(values, arrays)    after a call with arrays that were adopted
"""

from __future__ import annotations

import sys
from typing import Any, cast

import numpy as np

from ..artifact.dtypes import numpy_dtype
from . import foreign

noun = "a NumPy array"
module = "np"


def owns(value: Any) -> bool:
    return isinstance(value, np.ndarray) or foreign.owns(value)


def adopt(value: Any) -> np.ndarray:
    return value if isinstance(value, np.ndarray) else foreign.adopt(value)


def hand_back(values: Any, arrays: Any) -> None:
    """Nothing is to be done: the call has ended, and it was in their own memory."""


def plain(value: Any) -> np.ndarray:
    kind = type(value)
    if kind is np.ndarray:
        return value
    if not isinstance(value, np.ndarray):
        return foreign.adopt(value)
    if kind not in plain_types:
        _require_plain(kind)
        plain_types[kind] = None
    return np.asarray(value)


plain_types: dict[type, None] = {}  # subclasses whose memory is all they mean, found so at their first call


def _require_plain(kind: type) -> None:
    """Refuse a subclass that gives its arrays a meaning of their own. What the class says is read, of no array."""
    ma = sys.modules.get("numpy.ma")
    if ma is not None and issubclass(kind, ma.MaskedArray):
        raise TypeError("is a masked array; kernels know no masks: pass its .data, or .filled(value)")
    for name in ("__array_ufunc__", "__array_function__"):
        if getattr(kind, name) is not getattr(np.ndarray, name):
            advice = "its .value" if hasattr(kind, "value") else "numpy.asarray of it"
            called = f"{kind.__module__}.{kind.__qualname__}"
            raise TypeError(f"is a {called}, which means more than its numbers (it has its own {name}): pass {advice}")


def place(array: np.ndarray) -> str:
    return "the host"


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def contiguous_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Those of a C-contiguous array whose elements are so many bytes apart."""
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def is_contiguous(array: np.ndarray) -> bool:
    return array.flags.c_contiguous


def is_aligned(array: np.ndarray) -> bool:
    return array.flags.aligned


def is_writable(array: np.ndarray) -> bool:
    return array.flags.writeable


def overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Exactly, as far as that can be found out in a moment; two that are too intricate count as overlapping."""
    if not np.may_share_memory(one, other):
        return False
    try:
        return np.shares_memory(one, other, max_work=100_000)  # type: ignore[arg-type]  # NumPy's stubs know 0 and -1 only
    except np.exceptions.TooHardError:
        return True


def empty(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.empty(shape, numpy_dtype(dtype))


def fill(array: np.ndarray, value: Any) -> None:
    array[...] = value


def contiguous(array: np.ndarray) -> np.ndarray:
    return np.asarray(array, order="C")


def result(array: np.ndarray) -> np.generic:
    return cast(np.generic, array[()])  # it has no dimensions


def number(array: np.ndarray) -> int:
    """The value of an array of an integer without dimensions; of a device, once it is computed."""
    return int(array[()])
