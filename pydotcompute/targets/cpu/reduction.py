"""What reductions are made of besides lanes: the pairwise sum of what was folded, and the results of chunks.

The functions are plain Python over intrinsics, compiled into every artifact that uses them. Values are added up
pairwise: level l of `levels` holds the sum of 2**l of them where bit l of their number is set (a binary counter).
Of argmin and argmax each value has its position beside it; -1 means "none yet".
"""

from __future__ import annotations

from typing import Callable

from llvmlite import ir
from numba import types

from ...ir.dtypes import kind_of
from ...ir.operations import REDUCTIONS
from ..llvm.intrinsic import intrinsic
from ..llvm.numba_frontend import subroutine
from ..llvm.values import join, kind
from ..llvm.words import COMBINE
from .dialect import CPU
from .intrinsics import INTRINSICS
from .lane_vectors import SUMS, identity_value
from .search import SEARCHES

NUMBA_TYPES = CPU.numba_types
int64 = types.int64
add, sub, at, select, load, store = (INTRINSICS[n] for n in ("add", "sub", "at", "select", "load", "store"))
band, bor, shl, shr, invert = (INTRINSICS[n] for n in ("band", "bor", "shl", "shr", "invert"))
eq, ne, lt, gt, le = (INTRINSICS[n] for n in ("eq", "ne", "lt", "gt", "le"))

FUNCTIONS: dict[str, Callable] = {}


def _once(function: ir.Function) -> None:
    """Keep one copy of a function that is called rarely."""
    function.attributes.add("noinline")


def _constant_intrinsic(dtype: types.Type, emit: Callable) -> Callable:
    return intrinsic(lambda typing_context: (dtype(), emit))


def _identity_intrinsics(op: str) -> None:
    def emit_of(dtype):
        def emit(context, b, signature, values):
            value = identity_value(op, dtype)
            return join(b, *value) if isinstance(value, list) else value

        return emit

    for name, dtype in NUMBA_TYPES.items():
        if kind_of(name) in REDUCTIONS[op].accepts:
            FUNCTIONS[f"identity_{op}_{name}"] = _constant_intrinsic(dtype, emit_of(dtype))


# ----------------------------------------------------------------------------------------------- one value each


def _of_values(op: str) -> None:
    update = INTRINSICS[COMBINE[op]]

    def carry_on(levels, index, value):
        level = int64(0)
        while ne(band(shr(index, level), int64(1)), int64(0)):
            value = update(load(levels, level), value)
            level = add(level, int64(1))
        store(levels, level, value)
        return int64(0)

    carry_on = subroutine(carry_on, inline=False, attributes=_once)

    def carry(levels, index, value):
        if eq(band(index, int64(1)), int64(0)):
            store(levels, int64(0), value)
        else:
            carry_on(levels, index, value)
        return int64(0)

    def total(levels, pushed, value):
        level = int64(0)
        while gt(pushed, int64(0)):
            if ne(band(pushed, int64(1)), int64(0)):
                value = update(load(levels, level), value)
            level = add(level, int64(1))
            pushed = shr(pushed, int64(1))
        return value

    FUNCTIONS[f"carry_{op}"] = subroutine(carry)
    FUNCTIONS[f"total_{op}"] = subroutine(total)


def _of_partials(op: str, dtype: str) -> None:
    """combine_OP_DTYPE(partials, count): pairwise and in order; slot k is the words 2 * k and 2 * k + 1."""
    update = INTRINSICS[COMBINE[op]]
    word, set_word = INTRINSICS[f"word_{dtype}"], INTRINSICS[f"set_word_{dtype}"]
    nothing = FUNCTIONS[f"identity_{op}_{dtype}"]

    def combine(partials, count):
        if eq(count, int64(0)):
            return nothing()
        while gt(count, int64(1)):
            half = shr(count, int64(1))
            for k in range(int64(0), half):
                value = update(word(partials, shl(k, int64(2))), word(partials, at(k, int64(4), int64(2))))
                set_word(partials, shl(k, int64(1)), value)
            if ne(band(count, int64(1)), int64(0)):
                last = word(partials, shl(sub(count, int64(1)), int64(1)))
                set_word(partials, shl(half, int64(1)), last)
                half = add(half, int64(1))
            count = half
        return word(partials, int64(0))

    FUNCTIONS[f"combine_{op}_{dtype}"] = subroutine(combine, NUMBA_TYPES[dtype], inline=False)


# ------------------------------------------------------------------------------------------- value and position


@intrinsic
def _is_nan(typing_context, x):
    """Whether x is NaN; False for what cannot be."""

    def emit(context, b, signature, values):
        return b.fcmp_unordered("uno", *values, *values) if kind(x) == "float" else ir.Constant(ir.IntType(1), 0)

    return types.boolean(x), emit


def _of_positions(op: str) -> None:
    beats = INTRINSICS["lt" if op == "argmin" else "gt"]

    def first(value, place, other, other_place):
        """Whether (value, place) stays before the other pair, in whatever order they were met."""
        tied = band(eq(value, other), lt(place, other_place))
        tied = bor(tied, band(band(_is_nan(value), _is_nan(other)), lt(place, other_place)))
        wins = bor(tied, bor(beats(value, other), band(_is_nan(value), invert(_is_nan(other)))))
        return band(le(int64(0), place), bor(lt(other_place, int64(0)), wins))

    first = subroutine(first, types.boolean)

    def of_dtype(dtype: str) -> None:
        word = INTRINSICS[f"word_{dtype}"]
        place_of = INTRINSICS["word_int64"]

        def combine(partials, count):
            best = int64(-1)
            value = nothing()
            for k in range(int64(0), count):
                other, other_place = word(partials, shl(k, int64(1))), place_of(partials, at(k, int64(2), int64(1)))
                keep = first(value, best, other, other_place)
                value, best = select(keep, value, other), select(keep, best, other_place)
            return best

        nothing = FUNCTIONS[f"identity_{op}_{dtype}"]
        FUNCTIONS[f"combine_{op}_{dtype}"] = subroutine(combine, types.int64, inline=False)

    for dtype in NUMBA_TYPES:
        if dtype not in ("complex64", "complex128"):
            of_dtype(dtype)


for _op in COMBINE:
    _identity_intrinsics(_op)
    if _op in SUMS:
        _of_values(_op)
    for _dtype in NUMBA_TYPES:
        if f"identity_{_op}_{_dtype}" in FUNCTIONS and not (_dtype == "bool" and _op in SUMS):
            _of_partials(_op, _dtype)
for _op in SEARCHES:
    _identity_intrinsics(_op)
    _of_positions(_op)
