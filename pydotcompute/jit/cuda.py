"""`compile_kernel` of CUDABackend: a function of numba.cuda's Python → machine code for one device, with what a launch
must know of its arguments. Kept on disk as bytes: a JSON header, its length before it, and the cubin or PTX."""

from __future__ import annotations

import json
import sys
from functools import cache
from hashlib import sha256
from types import FunctionType
from typing import Any, Callable, NamedTuple

from ..errors import CompilationError
from ..targets.cuda import nvvm as cuda_nvvm, ptxas as cuda_ptxas, toolchain as cuda_toolchain
from ..targets.cuda.entry_point import EntryPoint
from ..targets.llvm.argument_types import argument_types
from .fingerprint import Unknown, fingerprint, type_text
from .store import FunctionStore

FORMAT = "2"


class Request(NamedTuple):
    """What is to be compiled, and the key that says so in every process; empty where a function has no such key."""

    function: FunctionType
    types: tuple[Any, ...]
    arch: str
    key: str


def request(func: Callable, signature: tuple[Any, ...], capability: tuple[int, int]) -> Request:
    """Check a request. Raises TypeError for what is no function or no type, CompilerNotInstalledError."""
    cuda_toolchain.require()
    function = getattr(func, "py_func", func)
    if not isinstance(function, FunctionType):
        raise TypeError(f"only a Python function can be compiled, got {type(func).__qualname__}")
    types = argument_types(function, signature)
    arch = nearest(capability)
    try:
        described = (fingerprint(function), *map(type_text, types))
    except Unknown:
        return Request(function, types, arch, "")
    state = sha256()
    for part in ("cuda", FORMAT, *described, arch, *_environment()):
        state.update(b"%d:" % len(part.encode()))
        state.update(part.encode())
    return Request(function, types, arch, state.hexdigest())


def nearest(capability: tuple[int, int]) -> str:
    """The architecture to compile for: the device's own, or the newest before it that the toolchain knows.

    Raises CompilationError for a device that is older than all of them.
    """
    plain = [a for a in cuda_toolchain.architectures() if a.isdigit()]
    own = f"{capability[0]}{capability[1]}"
    older = [a for a in plain if int(a) <= int(own)]
    if not older:
        raise CompilationError(
            f"the installed CUDA toolchain ({cuda_toolchain.version()}) compiles for compute capability "
            f"{plain[0][:-1]}.{plain[0][-1]} and later, not for {capability[0]}.{capability[1]}"
        )
    return own if own in older else older[-1]


def obtain(wanted: Request, capability: tuple[int, int], store: FunctionStore | None) -> bytes:
    """The code of a request: from the store, if there is one and it has it, else compiled, and kept there.

    Raises CompilationError with the compiler's reason.
    """
    if store is not None and wanted.key and (data := store.get(wanted.key)) is not None and _is_code(data):
        return data
    data = _compiled(wanted, capability)
    if store is not None and wanted.key:
        store.put(wanted.key, data)
    return data


def _is_code(data: bytes) -> bool:
    """Whether it is what `_compiled` gives; anything else is a miss, and replaced."""
    length, _, rest = data.partition(b":")
    try:
        header = json.loads(rest[: int(length)])
        return [*header] == ["entry", "arguments", "suffix"] and len(rest) > int(length)
    except (ValueError, TypeError, RecursionError):
        return False


def disk() -> FunctionStore:
    """The user's own store."""
    return FunctionStore()


def _compiled(wanted: Request, capability: tuple[int, int]) -> bytes:
    from numba import types

    function, arguments = wanted.function, []
    for t in wanted.types:
        if isinstance(t, types.Array):
            arguments.append({"dtype": _dtype(t.dtype), "ndim": t.ndim, "layout": t.layout})
        elif isinstance(t, (types.Integer, types.Float, types.Complex, types.Boolean)):
            arguments.append({"dtype": _dtype(t), "ndim": None, "layout": ""})
        else:
            raise TypeError(f"{t} is not a type of a kernel's argument: numbers and arrays are")
    name = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in function.__name__).lstrip(
        "0123456789"
    )
    entry = EntryPoint(name or "kernel", wanted.types)
    modules = cuda_nvvm.functions_ir([(function, entry)], cuda_nvvm.capability_of(wanted.arch))
    ptx = cuda_nvvm.to_ptx(modules, wanted.arch, fused=True)
    if wanted.arch == f"{capability[0]}{capability[1]}":
        code, suffix = cuda_ptxas.assemble(ptx, wanted.arch)[0], ".cubin"
    else:
        code, suffix = cuda_ptxas.lowered(ptx, wanted.arch)[0].encode("ascii"), ".ptx"
    header = json.dumps({"entry": entry.name, "arguments": arguments, "suffix": suffix}).encode()
    return b"%d:" % len(header) + header + code


def _dtype(t: Any) -> str:
    name = str(t)
    return {"boolean": "bool"}.get(name, name)


@cache
def _environment() -> tuple[str, ...]:
    """What besides the request the code depends on."""
    return (sys.version, *(f"{tool} {version}" for tool, version in sorted(cuda_toolchain.tool_versions().items())))
