"""Native entry points as Python callables: a method definition around machine code, and the variables it reads.

Only where CPython and NumPy lie in memory as targets/cpu/entry.py expects them; that is looked at, not assumed.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any, Callable, Sequence

import numpy as np

METH_FASTCALL, METH_KEYWORDS = 0x80, 0x02

_kept: list = []  # what machine code points to must outlive every reference to it: nothing here is ever released


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("call", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    ]  # fmt: skip


@cache
def problem() -> str:
    """Why native entry points cannot be used in this interpreter; empty if they can.

    A free-threaded or tracing build has longer object headers, another NumPy might have longer arrays.
    """
    if object.__basicsize__ != 16 or ctypes.sizeof(ctypes.c_void_p) != 8:
        return f"this interpreter's objects have a header of {object.__basicsize__} bytes"
    if sys.implementation.name != "cpython":
        return f"this is {sys.implementation.name}"
    probe = np.zeros((3, 5), np.float32)[::2]
    base = id(probe)

    def field(kind: type[ctypes._SimpleCData[Any]], *offsets: int) -> int:
        address = base
        for offset in offsets[:-1]:
            address = ctypes.c_int64.from_address(address + offset).value
        return kind.from_address(address + offsets[-1]).value

    seen = (
        field(ctypes.c_int64, 8), field(ctypes.c_int64, 16), field(ctypes.c_int32, 24), field(ctypes.c_int64, 32, 8),
        field(ctypes.c_int64, 40, 0), field(ctypes.c_int32, 56, 28), chr(field(ctypes.c_uint8, 56, 26)),
        field(ctypes.c_int32, 64) & 0x501, ctypes.c_double.from_address(id(_HALF) + 16).value,
    )  # fmt: skip
    expected = (id(np.ndarray), probe.__array_interface__["data"][0], 2, 5, 40, 11, "=", 0x500, _HALF)
    return "" if seen == expected else "NumPy's arrays lie differently in memory"


_HALF = float("0.5")


def bind(
    library: ctypes.CDLL, name: str, doc: str, fallback: Callable, outputs: Sequence[str],
    vendor: Callable | None = None, fault: Callable | None = None,
) -> Callable:  # fmt: skip
    """The `entry` of a loaded artifact as a builtin function. What it does not serve goes to `fallback`; calls of the
    sizes for which the artifact was told so go to `vendor`; `fault` gets the address of a call's fault words."""

    def variable(symbol: str) -> Any:
        return ctypes.c_void_p.in_dll(library, symbol)

    names = (ctypes.c_void_p * max(len(outputs), 1))(*(id(sys.intern(output)) for output in outputs))
    variable("ndarray_type").value = id(np.ndarray)
    variable("numpy_api").value = _numpy_api()
    variable("fallback").value = id(fallback)
    if vendor is not None:
        variable("vendor").value = id(vendor)
    if fault is not None:
        variable("fault").value = id(fault)
    variable("names").value = ctypes.addressof(names) if outputs else None
    method = _MethodDef(
        name.encode(), ctypes.cast(library.entry, ctypes.c_void_p), METH_FASTCALL | METH_KEYWORDS, doc.encode()
    )
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    function = make(ctypes.addressof(method), None, None)
    interned = [sys.intern(output) for output in outputs]
    _kept.append((library, method, names, fallback, vendor, fault, interned, function))
    return function


def chain(library: ctypes.CDLL, following: ctypes.CDLL) -> None:
    """What the entry of `library` does not serve, the entry of `following` looks at next."""
    ctypes.c_void_p.in_dll(library, "next").value = ctypes.cast(following.entry, ctypes.c_void_p).value


@cache
def _numpy_api() -> int:
    """The address of NumPy's C API table."""
    try:
        from numpy._core._multiarray_umath import _ARRAY_API as capsule
    except ImportError:  # before NumPy 2
        from numpy.core._multiarray_umath import _ARRAY_API as capsule  # type: ignore[no-redef]
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return get(capsule, None)
