"""Memory for lowered Python, as LLVM IR: loads, stores, scattered stores and atomics through bare pointers, and arrays
on the stack.

A pointer is a Numba `CPointer(dtype)`; offsets are int64, in elements (`load`, `store`) or in bytes (`load_bytes`,
`store_bytes`, for arrays with strides). An index is in range, so nothing here looks for negative ones. A bool is a
byte.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from llvmlite import ir
from numba import types

from ...artifact.dtypes import STORED
from .dialect import Dialect, of_types
from .operations import OPERATIONS
from .values import I16, I32, I64, kind, stored_type
from .words import EXTREMA

BYTES = {"": False, "_bytes": True}  # suffix of a name → whether its offsets are in bytes


def alignment(t) -> int:
    """What an element of an array is aligned to, in bytes; a complex one as its parts are."""
    return 1 if kind(t) == "bool" else max(1, t.bitwidth // 8 // (2 if kind(t) == "complex" else 1))


def _pointed(d: Dialect, pointer):
    """The type of the elements that a pointer leads to; None where it is not a pointer to a dtype."""
    return pointer.dtype if isinstance(pointer, types.CPointer) and d.has(pointer.dtype) else None


def loading(d: Dialect, in_bytes: bool, aligned: int = 0) -> Callable:
    """The intrinsic `(pointer, offset) → element`. aligned: to more bytes than its own."""

    def typed(pointer, offset):
        t = _pointed(d, pointer)
        if t is None or types.unliteral(offset) != types.int64:
            return None
        align = aligned or (1 if in_bytes else alignment(t))

        def emit(context, b, signature, values):
            return d.load(b, t, d.address(b, t, values[0], values[1], in_bytes), align)

        return t(pointer, types.int64), emit

    return of_types(2, typed)


def _writing(d: Dialect, allowed: Callable, write: Callable, gives: bool = False) -> Callable:
    """An intrinsic `(pointer, offset, value)`: `write(b, t, pointer, offset, value)`. gives: its result is one of the
    element's type."""

    def typed(pointer, offset, value):
        t = _pointed(d, pointer)
        if t is None or types.unliteral(value) != t or not allowed(t):
            return None

        def emit(context, b, signature, values):
            result = write(b, t, *values)
            return result if gives else None

        return (t if gives else types.void)(pointer, types.int64, t), emit

    return of_types(3, typed)


def storing(d: Dialect, in_bytes: bool, aligned: int = 0) -> Callable:
    """The intrinsic `(pointer, offset, value)` of an ordinary store. aligned: to more bytes than the element's own."""

    def write(b, t, pointer, offset, value):
        align = aligned or (1 if in_bytes else alignment(t))
        d.store(b, t, value, d.address(b, t, pointer, offset, in_bytes), align)

    return _writing(d, lambda t: True, write)


def scattering(d: Dialect, in_bytes: bool) -> Callable:
    """The intrinsic `(pointer, offset, value)` of a store where other threads may store too."""

    def write(b, t, pointer, offset, value):
        d.scatter(b, t, value, d.address(b, t, pointer, offset, in_bytes))

    return _writing(d, lambda t: True, write)


def updating(d: Dialect, op: str, in_bytes: bool, gives: bool) -> Callable:
    """The intrinsic `(pointer, offset, value)` that updates an element for every thread to see. gives: and gives what
    it held before."""

    def write(b, t, pointer, offset, value):
        return d.atomic(b, t, op, value, d.address(b, t, pointer, offset, in_bytes))

    plain = ("int", "uint", "float")
    return _writing(d, lambda t: d.has_atomic(t, op) and (not gives or kind(t) in plain), write, gives)


def updating_stored(d: Dialect, op: str, dtype: str, converted: Callable, in_bytes: bool, gives: bool) -> Callable:
    """The same for an element that is stored in 16 bits, by a float32. converted(d, b, name, x): the value of a
    function of ir/math/storage.py."""

    def typed(pointer, offset, value):
        if not isinstance(pointer, types.CPointer) or pointer.dtype != types.uint16 or value != types.float32:
            return None

        def emit(context, b, signature, values):
            def wide(bits):
                return converted(d, b, f"of_{dtype}_bits", b.zext(bits, I32))

            def combine(old):
                new = OPERATIONS[EXTREMA.get(op, op)].emit(d, b, types.float32, wide(old), values[2])
                return b.trunc(converted(d, b, f"{dtype}_bits", new), I16)

            address = d.address(b, types.uint16, values[0], values[1], in_bytes)
            before = d.swap(b, types.uint16, address, combine)
            return wide(before) if gives else None

        return (types.float32 if gives else types.void)(pointer, types.int64, types.float32), emit

    return of_types(3, typed)


def accesses(d: Dialect) -> dict[str, Callable]:
    """The intrinsics `load`, `store`, `scatter`, and each with `_bytes` behind it, by name."""
    made = {}
    for suffix, in_bytes in BYTES.items():
        made[f"load{suffix}"], made[f"store{suffix}"] = loading(d, in_bytes), storing(d, in_bytes)
        made[f"scatter{suffix}"] = scattering(d, in_bytes)
    return made


def atomics(d: Dialect, converted: Callable) -> dict[str, Callable]:
    """The intrinsics `atomic_add`, `atomic_min` and `atomic_max`, and `fetch_add` … with a result, by name;
    `atomic_add_float16` … of what is stored in 16 bits, for which see `updating_stored`; each with `_bytes` too."""
    made = {}
    for word, op, (s, in_bytes) in product(("atomic", "fetch"), ("add", "min", "max"), BYTES.items()):
        made[f"{word}_{op}{s}"] = updating(d, op, in_bytes, word == "fetch")
        for dtype in STORED:
            made[f"{word}_{op}_{dtype}{s}"] = updating_stored(d, op, dtype, converted, in_bytes, word == "fetch")
    return made


def new_array(t, allocate: Callable) -> Callable:
    """The intrinsic `(count) → pointer` of an array of so many elements, a literal; `allocate(b, array type, how the
    element lies in memory)` gives its memory."""

    def typed(count):
        if not isinstance(count, types.IntegerLiteral):
            return None
        array = ir.ArrayType(stored_type(t), max(1, count.literal_value))

        def emit(context, b, signature, values):
            return b.bitcast(allocate(b, array), stored_type(t).as_pointer())

        return types.CPointer(t)(count), emit

    return of_types(1, typed)


def on_stack(align: int) -> Callable:
    """`allocate` for `new_array`: memory of the function's own, once for all turns of its loops."""

    def allocate(b, array):
        with b.goto_entry_block():
            memory = b.alloca(array)
        memory.align = align
        return memory

    return allocate


def pair_words(b, pair):
    """The parts of a complex64 as two integers of 64 bits, of which the low halves count."""
    return tuple(b.zext(b.bitcast(part, I32), I64) for part in pair)
