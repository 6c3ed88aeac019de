"""Atomic updates in OpenCL C 1.2: its own for integers of 32 and 64 bits, compare-and-swap for the rest, on the aligned
32 bits around elements of 8 and 16 bits. Each gives the value before."""

from __future__ import annotations

from ...artifact.dtypes import STORED
from ...ir.dtypes import INTEGER_BITS
from ..text.dialect import Template
from ..text.scalars import Scalars

ATOMICS: dict[str, Template] = {}
_SPACES = {"global": "global", "shared": "local", "private": "private"}


def _atomic(op: str, space: str, stored: str = "") -> Template:
    def template(s: Scalars, dtype: str, name: str) -> list[str]:
        if space == "private":  # one thread's own
            return _plain(s, op, dtype, name, stored)
        if stored:
            return _swapped_in_word(s, op, dtype, name, _SPACES[space], 16, stored)
        if dtype in ("int32", "uint32", "int64", "uint64"):
            return _native(s, op, dtype, name, _SPACES[space])
        size = {"float32": 32, "float64": 64}.get(dtype) or INTEGER_BITS.get(dtype, 16)
        return _swapped(s, op, dtype, name, _SPACES[space], size)

    return template


def _combined(s: Scalars, op: str, dtype: str, x: str, y: str) -> str:
    return s.binary("+", dtype, x, y) if op == "add" else s.function(op, dtype, dtype, [x, y])


def _plain(s: Scalars, op: str, dtype: str, name: str, stored: str) -> list[str]:
    t, element = s.type("float32" if stored else dtype), s.dialect.element(dtype)
    old, place = s.dialect.load(dtype, "private", "place", "0"), s.dialect.store
    new = _combined(s, op, "float32" if stored else dtype, "old", "value")
    if stored:
        old, new = s.call(f"of_{stored}_bits", "int32", old), s.call(f"{stored}_bits", "float32", new)
    return [
        f"{t} {name}({element} *place, {t} value)", "{", f"    {t} old = {old};",
        f"    {place(dtype, 'private', 'place', '0', new)};",
        "    return old;", "}",
    ]  # fmt: skip


def _native(s: Scalars, op: str, dtype: str, name: str, space: str) -> list[str]:
    t, prefix = s.type(dtype), "atomic"
    if INTEGER_BITS[dtype] == 64:
        prefix = "atom"
        s.features.add("int64_atomics")
    return [f"{t} {name}(volatile {space} {t} *place, {t} value)", "{", f"    return {prefix}_{op}(place, value);", "}"]


def _swapped(s: Scalars, op: str, dtype: str, name: str, space: str, size: int) -> list[str]:
    """Until nobody came between the look and the swap."""
    t, element = s.type(dtype), s.dialect.element(dtype)
    word, swap = ("ulong", "atom_cmpxchg") if size == 64 else ("uint", "atomic_cmpxchg")
    if size == 64:
        s.features.add("int64_atomics")
    if size < 32:
        return _swapped_in_word(s, op, dtype, name, space, size)
    whole = f"as_{s.type({32: 'int32', 64: 'int64'}[size]).replace('long', 'ulong').replace('int', 'uint')}"
    return [
        f"{t} {name}(volatile {space} {element} *place, {t} value)", "{",
        f"    volatile {space} {word} *cell = (volatile {space} {word} *)place;",
        f"    {word} seen = *cell;", f"    {word} found = seen;",
        "    do {", "        seen = found;", f"        {t} old = as_{t}(seen);",
        f"        found = {swap}(cell, seen, {whole}({_combined(s, op, dtype, 'old', 'value')}));",
        "    } while (found != seen);", f"    return as_{t}(seen);", "}",
    ]  # fmt: skip


def _swapped_in_word(
    s: Scalars, op: str, dtype: str, name: str, space: str, size: int, stored: str = ""
) -> list[str]:  # fmt: skip
    """stored: elements are of this dtype, in 16 bits; value and result are float32."""
    t, element, mask = s.type("float32" if stored else dtype), s.dialect.element(dtype), (1 << size) - 1
    new, old = _combined(s, op, "float32" if stored else dtype, "old", "value"), f"({t})(seen >> shift)"
    if stored:
        new = s.call(f"{stored}_bits", "float32", new)
        old = s.call(f"of_{stored}_bits", "int32", f"(int)(seen >> shift & {mask}U)")
    changed = f"(uint)({new}) & {mask}U"
    return [
        f"{t} {name}(volatile {space} {element} *place, {t} value)", "{",
        f"    volatile {space} uint *cell = (volatile {space} uint *)((size_t)place & ~(size_t)3);",
        "    uint shift = (uint)((size_t)place & 3) * 8;", "    uint seen = *cell;", "    uint found = seen;",
        f"    {t} old;", "    do {", "        seen = found;", f"        old = {old};",
        f"        uint changed = {changed};",
        f"        found = atomic_cmpxchg(cell, seen, (seen & ~({mask}U << shift)) | changed << shift);",
        "    } while (found != seen);", "    return old;", "}",
    ]  # fmt: skip


def _scattered(space: str) -> Template:
    def template(s: Scalars, dtype: str, name: str) -> list[str]:
        """As one word, wherever it lies at a multiple of 8 bytes: as in every array that begins at one."""
        where = _SPACES[space]
        return [
            f"void {name}({where} float *place, float2 value)", "{", "    if (((size_t)place & 7) == 0)",
            f"        *({where} ulong *)place = as_ulong(value);", "    else", "        vstore2(value, 0, place);", "}",
        ]  # fmt: skip

    return template


for _space in _SPACES:
    ATOMICS[f"scatter_{_space}"] = _scattered(_space)
for _op in ("add", "min", "max"):
    for _space in _SPACES:
        ATOMICS[f"update_{_op}_{_space}"] = _atomic(_op, _space)
        for _dtype in STORED:
            ATOMICS[f"update_{_op}_{_dtype}_{_space}"] = _atomic(_op, _space, _dtype)
