"""The argument types that `Backend.compile_kernel` takes, as Numba's types: NumPy's, strings such as "float32[:, ::1]",
and Numba's own."""

from __future__ import annotations

import re
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType
from typing import Any

import numpy as np
from numba.core import types
from numba.core.errors import NumbaError
from numba.np.numpy_support import from_dtype

_PYTHON = {float: types.float64, int: types.int64, bool: types.boolean, complex: types.complex128}
_ARRAY = re.compile(r"\s*(\w+)\s*(?:\[\s*([:1,\s]*)\])?\s*")


def argument_types(function: FunctionType, signature: Any) -> tuple[types.Type, ...]:
    """The Numba type of each argument. Raises TypeError: no types, or another number than the function takes."""
    found = tuple(_numba_type(t) for t in _as_tuple(signature))
    _check_count(function, len(found))
    return found


def _as_tuple(signature: Any) -> tuple[Any, ...]:
    if not isinstance(signature, (tuple, list)):
        raise TypeError(f"a signature is a tuple of types, one an argument, got {signature!r}")
    return tuple(signature)


def _numba_type(given: Any) -> types.Type:
    if isinstance(given, types.Type):
        return given
    if isinstance(given, str):
        return _parse(given)
    if isinstance(given, type) and given in _PYTHON:
        return _PYTHON[given]
    if isinstance(given, np.dtype) or isinstance(given, type) and issubclass(given, np.generic):
        return _scalar(np.dtype(given), given)
    hint = "; write an array's as a string, such as 'float32[:, ::1]'" if given is np.ndarray else ""
    raise TypeError(f"{given!r} is not an argument type{hint}")


def _parse(text: str) -> types.Type:
    match = _ARRAY.fullmatch(text)
    if not match:
        raise TypeError(f"{text!r} is not an argument type; write one such as 'float32' or 'float32[:, ::1]'")
    try:
        element = _scalar(np.dtype(match[1]), text)
    except TypeError:
        raise TypeError(f"{text!r} is not an argument type: there is no dtype {match[1]!r}") from None
    if match[2] is None:
        return element
    dims = [dim.strip() for dim in match[2].split(",")]
    contiguous = [k for k, dim in enumerate(dims) if dim == "::1"]
    if any(dim not in (":", "::1") for dim in dims) or contiguous not in ([], [0], [len(dims) - 1]):
        raise TypeError(f"{text!r} is not an argument type: each dimension is ':', the first or last may be '::1'")
    layout = "A" if not contiguous else "C" if contiguous == [len(dims) - 1] else "F"
    return types.Array(element, len(dims), layout)


def _scalar(dtype: np.dtype, given: Any) -> types.Type:
    if dtype.kind not in "biufc":
        raise TypeError(f"{given!r} is not an argument type: {dtype} is not a number")
    try:
        return from_dtype(dtype)
    except NumbaError:
        raise TypeError(f"{given!r} is not an argument type that Numba compiles for") from None


def _check_count(function: FunctionType, count: int) -> None:
    code = function.__code__
    if code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        return
    names = code.co_varnames[: code.co_argcount]
    least = len(names) - len(function.__defaults__ or ())
    if not least <= count <= len(names):
        takes = f"{least} to {len(names)}" if least < len(names) else str(len(names))
        plural = "s" * (len(names) != 1)
        raise TypeError(f"{function.__qualname__} takes {takes} argument{plural} ({', '.join(names)}), "
                        f"the signature has {count}")  # fmt: skip
