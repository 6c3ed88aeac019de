"""`Backend.compile_kernel` of the CPU: a plain Numba function, compiled at once for the types of one signature.

The same request gives the same object; in a new process its machine code comes from the disk. A request is the same
if everything that the code depends on is (jit/fingerprint.py), so an edited helper is never served stale.
"""

from __future__ import annotations

import os
import pickle
import sys
from functools import cache
from hashlib import sha256
from types import FunctionType
from typing import Any, Callable

import llvmlite
import numba
import numpy as np
from numba.core import types
from numba.core.compiler import CompileResult
from numba.core.errors import NumbaError
from numba.core.serialize import dumps

from ..errors import CompilationError
from ..targets.llvm.argument_types import argument_types
from .fingerprint import Unknown, fingerprint, type_text
from .store import FunctionStore

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


class _Cache:
    """What a Numba dispatcher asks before it compiles, and tells afterwards."""

    def __init__(self, key: str, store: FunctionStore):
        self.key, self.store = key, store

    def load_overload(self, signature: Any, target: Any) -> CompileResult | None:
        data = self.store.get(self.key)
        if data is None:
            return None
        target.refresh()
        try:
            result: CompileResult = CompileResult._rebuild(target, *pickle.loads(data))
            return result if result.signature.args == tuple(signature) else None
        except Exception:  # of whatever a pickle of another shape leads to: it is a miss, and replaced
            return None

    def save_overload(self, signature: Any, result: CompileResult) -> None:
        if not result.lifted and not result.library.has_dynamic_globals:  # else it holds addresses of this process
            self.store.put(self.key, dumps(result._reduce()))


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
