"""`Backend.compile_kernel` of the CPU: a plain Numba function, compiled at once for the types of one signature.

The same request gives the same object; in a new process its machine code comes from the disk. A request is the same
if everything that the code depends on is (jit/fingerprint.py), so an edited helper is never served stale.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from functools import cache
from hashlib import sha256
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType
from typing import Any, Callable

import llvmlite
import numba
import numpy as np
from numba.core import types
from numba.core.compiler import CompileResult
from numba.core.errors import NumbaError
from numba.core.serialize import dumps
from numba.np.numpy_support import from_dtype

from ..errors import CompilationError
from .fingerprint import Unknown, fingerprint, type_text
from .store import FunctionStore

_PYTHON = {float: types.float64, int: types.int64, bool: types.boolean, complex: types.complex128}
_ARRAY = re.compile(r"\s*(\w+)\s*(?:\[\s*([:1,\s]*)\])?\s*")
_compiled: dict[tuple, Callable] = {}
_kept: list[Any] = []  # functions that are known by identity: their ids must not be given to others


def compile_function(func: Callable, signature: tuple[Any, ...], store: FunctionStore | None = None) -> Callable:
    """A compiled function for exactly these argument types.

    signature: a type an argument: a NumPy scalar type, dtype or Python's float, int, bool, complex (a scalar); a string
    such as "float32", "float32[:, ::1]"; or a Numba type. store: where machine code is kept (default: the user's).
    Raises TypeError for what is no function or no type, or for another number of arguments; CompilationError with the
    compiler's reason.
    """
    function = getattr(func, "py_func", func)
    if not isinstance(function, FunctionType):
        raise TypeError(f"only a Python function can be compiled, got {type(func).__qualname__}")
    wanted = argument_types(function, signature)
    try:
        key: tuple = (_key(fingerprint(function), wanted),)
    except Unknown:
        _kept.append(function)
        key = (id(function), wanted)
    if key not in _compiled:
        dispatcher = numba.njit(nogil=True)(function)
        if isinstance(key[0], str):
            dispatcher._cache = _Cache(key[0], store or FunctionStore())
        try:
            dispatcher.compile(wanted)
        except NumbaError as error:
            shown = ", ".join(str(t) for t in wanted)
            raise CompilationError(f"{function.__qualname__}({shown}) cannot be compiled: {_reason(error)}") from error
        dispatcher.disable_compile()
        _compiled.setdefault(key, dispatcher)
    return _compiled[key]


def argument_types(function: FunctionType, signature: Any) -> tuple[types.Type, ...]:
    """The Numba type of each argument. Raises TypeError: no types, or another number than the function takes."""
    found = tuple(_numba_type(t) for t in _as_tuple(signature))
    _check_count(function, len(found))
    return found


class _Cache:
    """What a Numba dispatcher asks before it compiles, and tells afterwards."""

    def __init__(self, key: str, store: FunctionStore):
        self.key, self.store = key, store

    def load_overload(self, signature: Any, target: Any) -> CompileResult | None:
        data = self.store.get(self.key)
        if data is None:
            return None
        target.refresh()
        return CompileResult._rebuild(target, *pickle.loads(data))

    def save_overload(self, signature: Any, result: CompileResult) -> None:
        if not result.lifted and not result.library.has_dynamic_globals:  # else it holds addresses of this process
            self.store.put(self.key, dumps(result._reduce()))


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


def _key(text: str, argument_types: tuple[types.Type, ...]) -> str:
    """Raises Unknown."""
    state = sha256()
    for part in ("2", text, *map(type_text, argument_types), *_environment()):
        state.update(b"%d:" % len(part.encode()))
        state.update(part.encode())
    return state.hexdigest()


@cache
def _environment() -> tuple[str, ...]:
    """What besides the request the machine code depends on."""
    import llvmlite.binding as llvm

    versions = [numba.__version__, llvmlite.__version__, np.__version__, sys.version, sys.platform]
    told = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("NUMBA_")]
    return (*versions, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), *told)


def _reason(error: NumbaError) -> str:
    """What the compiler says is wrong and where, without the list of its own steps."""
    lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
    lines = lines[1:] if len(lines) > 1 and lines[0].startswith("Failed in nopython mode") else lines
    ends = ("During:", "This error may have been caused")
    end = next((k for k, line in enumerate(lines) if k and line.startswith(ends)), len(lines))
    return "\n".join(lines[:end])
