"""Atomic updates in the Metal Shading Language: its own for integers of 32 bits, compare-and-swap for the rest, on the
aligned 32 bits around elements of 8 and 16 bits. Each gives the value before. Of 64 bits there are none."""

from __future__ import annotations

from ...artifact.dtypes import STORED
from ...errors import DeclarationError
from ...ir.dtypes import INTEGER_BITS
from ..text.dialect import Template
from ..text.scalars import Scalars

ATOMICS: dict[str, Template] = {}
SPACES = {"global": "device", "shared": "threadgroup", "private": "thread"}
_RELAXED = "memory_order_relaxed"
_SWAP = f"while (!atomic_compare_exchange_weak_explicit(cell, &seen, %s, {_RELAXED}, {_RELAXED}));"
_SEEN = f"uint seen = atomic_load_explicit(cell, {_RELAXED});"


def _atomic(op: str, space: str, stored: str = "") -> Template:
    """stored: elements are of this dtype, in 16 bits; value and result are float32."""

    def template(s: Scalars, dtype: str, name: str) -> list[str]:
        where, value = SPACES[space], "float32" if stored else dtype
        t, new = s.type(value), _combined(s, op, value, "old", "value")
        head = [f"{t} {name}({where} {s.dialect.element(dtype)} *place, {t} value)", "{"]
        if space == "private":  # one thread's own
            body = _plain(s, dtype, stored, t, new)
        elif INTEGER_BITS.get(dtype) == 64:
            hint = "it has those of 32 bits"
            raise DeclarationError(f"atomic updates of {dtype}, which {s.dialect.name} does not have", hint=hint)
        elif dtype in ("int32", "uint32") and not stored:
            cell = f"({where} atomic_{t} *)place"
            body = [f"return atomic_fetch_{op}_explicit({cell}, value, {_RELAXED});"]
        elif dtype == "float32":
            body = [
                f"{where} atomic_uint *cell = ({where} atomic_uint *)place;", _SEEN, f"{t} old;",
                "do {", f"    old = as_type<{t}>(seen);", f"}} {_SWAP % f'as_type<uint>({new})'}", "return old;",
            ]  # fmt: skip
        else:
            body = _in_word(s, dtype, stored, t, new, where)
        return [*head, *(f"    {line}" for line in body), "}"]

    return template


def _combined(s: Scalars, op: str, dtype: str, x: str, y: str) -> str:
    return s.binary("+", dtype, x, y) if op == "add" else s.function(op, dtype, dtype, [x, y])


def _plain(s: Scalars, dtype: str, stored: str, t: str, new: str) -> list[str]:
    old = s.dialect.load(dtype, "private", "place", "0")
    if stored:
        old, new = s.call(f"of_{stored}_bits", "int32", old), s.call(f"{stored}_bits", "float32", new)
    return [f"{t} old = {old};", f"{s.dialect.store(dtype, 'private', 'place', '0', new)};", "return old;"]


def _in_word(s: Scalars, dtype: str, stored: str, t: str, new: str, where: str) -> list[str]:
    mask = (1 << INTEGER_BITS.get(dtype, 16)) - 1
    old = f"({t})(seen >> shift)"
    if stored:
        new = s.call(f"{stored}_bits", "float32", new)
        old = s.call(f"of_{stored}_bits", "int32", f"(int)(seen >> shift & {mask}U)")
    return [
        "const uint behind = (uint)((ulong)place & 3);",
        f"{where} atomic_uint *cell = ({where} atomic_uint *)(({where} uchar *)place - behind);",
        "const uint shift = behind * 8;", _SEEN, f"{t} old;", "uint changed;",
        "do {", f"    old = {old};", f"    changed = ((uint)({new}) & {mask}U) << shift;",
        f"}} {_SWAP % f'(seen & ~({mask}U << shift)) | changed'}", "return old;",
    ]  # fmt: skip


def _scattered(space: str) -> Template:
    def template(s: Scalars, dtype: str, name: str) -> list[str]:
        """As one word, wherever it lies at a multiple of 8 bytes: as in every array that begins at one."""
        where = SPACES[space]
        return [
            f"void {name}({where} float *place, float2 value)", "{", "    if (((ulong)place & 7) == 0)",
            f"        *({where} ulong *)place = as_type<ulong>(value);", "    else",
            f"        {s.dialect.store(dtype, space, 'place', '0', 'value')};", "}",
        ]  # fmt: skip

    return template


for _space in SPACES:
    ATOMICS[f"scatter_{_space}"] = _scattered(_space)
    for _op in ("add", "min", "max"):
        ATOMICS[f"update_{_op}_{_space}"] = _atomic(_op, _space)
        for _dtype in STORED:
            ATOMICS[f"update_{_op}_{_dtype}_{_space}"] = _atomic(_op, _space, _dtype)
