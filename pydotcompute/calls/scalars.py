"""Scalar arguments: Python's convert if the value fits, NumPy's same-kind. And what scalars say about types."""

from __future__ import annotations

from typing import Any, Sequence, cast

import numpy as np

from ..artifact.dtypes import STORED, dtype_name, kind as kind_of, nearest

MEANING = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
PYTHON = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def type_name(value: Any) -> str:
    """How a message calls the type of a value: `list`, `numpy.float64`, `torch.Tensor`."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def is_scalar(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic))


def convert(value: Any, dtype: str, who: str) -> np.generic:
    """The value as a scalar of `dtype`; of one that is stored in 16 bits the value that it holds, as float32. `who`
    names the argument in messages: `saxpy: argument 'a'`.

    Raises TypeError: it is of another kind, or no scalar; OverflowError: it does not fit.
    """
    wanted = np.dtype("float32" if dtype in STORED else dtype)
    number = value
    if isinstance(value, np.generic):
        kind = kind_of(value.dtype)
        if kind in "mM" and dtype == "int64":
            return cast(np.generic, value.view(np.int64))
        if kind not in PYTHON or not np.can_cast(value.dtype, wanted, "same_kind"):
            raise TypeError(f"{who} must be {dtype}, got {type_name(value)} ({_short(value)})")
        number = PYTHON[kind](value)
    elif not is_scalar(value):
        if isinstance(value, type):
            raise TypeError(f"{who} must be {dtype}, got the class {value.__qualname__}: give a value of it")
        if hasattr(value, "shape"):
            raise TypeError(f"{who} is a scalar ({dtype}), got an array of shape {tuple(value.shape)}")
        raise TypeError(f"{who} must be {dtype}, got {type_name(value)}")
    elif not _suits(value, wanted.kind):
        raise TypeError(f"{who} must be {dtype}, got {type_name(value)} ({_short(value)})")
    if wanted.kind in "iu":
        limits = np.iinfo(wanted)
        if not limits.min <= number <= limits.max:
            raise OverflowError(f"{who}: {_short(value)} does not fit {dtype} ({limits.min} to {limits.max})")
    elif wanted.kind in "fc":
        try:
            # Through float64, as the native entry points do it: an int is rounded twice on its way to a float32.
            number = number if isinstance(number, complex) else float(number)
        except OverflowError:
            raise OverflowError(f"{who}: {_short(value)} does not fit {dtype}") from None
    with np.errstate(over="ignore"):
        result = wanted.type(nearest(number, dtype) if dtype in STORED else number)
    if wanted.kind in "fc":
        given: Any = value if isinstance(value, np.generic) else number  # a longdouble may be beyond any float
        parts = (result.real, given.real), (result.imag, given.imag)
        if any(np.isinf(made) and not np.isinf(part) for made, part in parts):
            raise OverflowError(f"{who}: {_short(value)} does not fit {dtype}")
    return result


def choose(declared: Sequence[str], values: Sequence[Any]) -> str:
    """The dtype of a type variable that no array decides: a NumPy scalar's own, or the first that it converts to; a
    Python float means float64, an int int64 (the widest of several); where that is not declared, the first that is."""
    own = [value.dtype for value in values if isinstance(value, np.generic)]
    if own:
        same = (dtype_name(dtype) for dtype in own if dtype_name(dtype) in declared)
        close = (name for name in declared if all(_converts(dtype, name) for dtype in own))
        return next(same, None) or next(close, declared[0])
    for kind in (complex, float, int, bool):
        if any(isinstance(value, kind) and (kind is not int or type(value) is not bool) for value in values):
            return MEANING[kind] if MEANING[kind] in declared else declared[0]
    return declared[0]


def _converts(dtype: np.dtype[Any], name: str) -> bool:
    """Whether NumPy's scalars of one dtype become those of another."""
    return np.can_cast(dtype, "float32" if name in STORED else name, "same_kind")


def _suits(value: Any, kind: str) -> bool:
    """Whether a Python scalar may become one of this kind of dtype, its value apart."""
    if isinstance(value, int):
        return kind != "b" or isinstance(value, bool)
    return kind in "fc" if isinstance(value, float) else kind == "c"


def _short(value: Any) -> str:
    try:
        text = str(value)
    except ValueError:  # an int of thousands of digits
        return f"an integer of {value.bit_length()} bits"
    return text if len(text) <= 40 else text[:37] + "..."
