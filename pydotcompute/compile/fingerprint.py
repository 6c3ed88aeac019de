"""What a Python function means, as text: everything that can change what is compiled from it, and nothing else.

Its code, constants, defaults, closure, and the globals that it and what it calls refer to: an edited helper in another
module is another function. No path, line or address is in it. What cannot be told by its content, such as an object of
a class of the user's, raises Unknown: such a function is compiled anew in every process.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

# Modules whose content goes with a version that is in the key of whatever is compiled, or with Python's.
_VERSIONED = ("builtins", "cmath", "llvmlite", "math", "numba", "numpy", "operator")


class Unknown(ValueError):
    """Something that a function refers to has no content to tell it by."""


def fingerprint(function: types.FunctionType) -> str:
    """Equal texts: equal functions, whatever file, line or process they come from. Raises Unknown."""
    return "\n".join(_function(function, {}))


def _function(function: types.FunctionType, seen: dict[int, int]) -> Iterator[str]:
    if id(function) in seen:  # it calls itself, or was described before
        yield f"function {seen[id(function)]}"
        return
    seen[id(function)] = len(seen)
    yield f"function {seen[id(function)]} {function.__name__}"
    yield from _code(function.__code__, seen)
    yield from _value(function.__defaults__, seen)
    yield from _value(tuple(sorted((function.__kwdefaults__ or {}).items())), seen)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        yield f"closure {name}"
        try:
            yield from _value(cell.cell_contents, seen)
        except ValueError as error:
            if isinstance(error, Unknown):
                raise
            raise Unknown(f"{name} is not set") from None
    names = dict.fromkeys(_names(function.__code__))
    for name in names:
        if name in function.__globals__:
            yield f"global {name}"
            yield from _value(function.__globals__[name], seen, names)


def _code(code: types.CodeType, seen: dict[int, int]) -> Iterator[str]:
    yield f"code {code.co_code.hex()} {code.co_argcount} {code.co_kwonlyargcount} {code.co_flags}"
    yield f"{code.co_names} {code.co_varnames} {code.co_freevars} {code.co_cellvars}"
    yield f"exceptions {getattr(code, 'co_exceptiontable', b'').hex()}"
    for constant in code.co_consts:
        yield from _code(constant, seen) if isinstance(constant, types.CodeType) else _value(constant, seen)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _value(value: Any, seen: dict[int, int], names: dict[str, None] | None = None) -> Iterator[str]:
    if value is None or value is Ellipsis or isinstance(value, (bool, int, float, complex, str, bytes)):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, (tuple, list, frozenset)):
        yield f"{type(value).__name__} of {len(value)}"
        for item in sorted(value, key=repr) if isinstance(value, frozenset) else value:
            yield from _value(item, seen)
    elif isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.hasobject:
            raise Unknown("an array of objects")
        array = np.asarray(value)
        yield f"array {array.dtype.descr} {array.shape} {array.tobytes().hex()}"
    elif isinstance(value, np.dtype):
        yield f"dtype {value.descr}"
    elif isinstance(value, types.ModuleType):
        yield from _module(value, seen, names or {})
    elif isinstance(value, types.FunctionType):
        yield from _named(value) if _is_versioned(value.__module__) else _function(value, seen)
    elif isinstance(getattr(value, "py_func", None), types.FunctionType):  # a function that Numba compiles
        yield f"compiled {sorted(getattr(value, 'targetoptions', {}).items())!r}"
        yield from _function(value.py_func, seen)
    elif isinstance(value, (type, types.BuiltinFunctionType)) or type(value).__module__ == "numpy":
        yield from _named(value)
    elif type(value).__module__.startswith("numba.core.types"):
        yield f"numba type {value}"
    else:
        raise Unknown(f"{type(value).__module__}.{type(value).__qualname__}")


def _module(module: types.ModuleType, seen: dict[int, int], names: dict[str, None]) -> Iterator[str]:
    yield f"module {module.__name__}"
    if _is_versioned(module.__name__) or id(module) in seen:
        return
    seen[id(module)] = len(seen)
    if (version := getattr(module, "__version__", None)) is not None:
        yield f"version {version}"
    for name in names:  # whatever of it the function may mention
        if name in vars(module):
            yield f"attribute {name}"
            yield from _value(vars(module)[name], seen, names)


def _named(value: Any) -> Iterator[str]:
    module = getattr(value, "__module__", None) or getattr(getattr(value, "__self__", None), "__name__", None)
    if isinstance(value, np.ufunc):
        module = "numpy"
    if not _is_versioned(module or "builtins"):
        raise Unknown(f"{module}.{getattr(value, '__qualname__', value)}")
    yield f"named {module}.{getattr(value, '__qualname__', getattr(value, '__name__', ''))}"


def _is_versioned(module: str | None) -> bool:
    root = (module or "").partition(".")[0]
    return root in _VERSIONED or root in sys.builtin_module_names
