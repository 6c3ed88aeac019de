"""What reductions are made of: lanes, the tree that folds them, and the pairwise sum of what was folded.

The functions are plain Python over intrinsics, compiled into every artifact that uses them. Lanes are LANES partial
values in memory. After eight passes over them they are folded by a tree and pushed: level l of `levels` holds the sum
of 2**l such values where bit l of their number is set (a binary counter), so values are added up pairwise.
For argmin and argmax each value has its position beside it; -1 means "none yet".
"""

from __future__ import annotations

from typing import Callable

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ...ir.dtypes import FLOATS, kind_of
from ...ir.operations import REDUCTIONS
from ..llvm.numba_frontend import subroutine
from ..llvm.values import PARTS, constant, join, kind
from ..llvm.words import COMBINE
from .dialect import CPU
from .intrinsics import INTRINSICS

NUMBA_TYPES = CPU.numba_types
int64 = types.int64
add, sub, at = INTRINSICS["add"], INTRINSICS["sub"], INTRINSICS["at"]
band, shl, shr, invert = INTRINSICS["band"], INTRINSICS["shl"], INTRINSICS["shr"], INTRINSICS["invert"]
eq, ne, lt, gt, le, bor = (INTRINSICS[n] for n in ("eq", "ne", "lt", "gt", "le", "bor"))
select, load, store, independent = (INTRINSICS[n] for n in ("select", "load", "store", "independent"))

LANES = 128
FUNCTIONS: dict[str, Callable] = {}


def _once(function: ir.Function) -> None:
    """Keep one copy of a function that is called rarely."""
    function.attributes.add("noinline")


def identity(op: str, dtype: str):
    """The value that changes nothing: of a sum of floats -0.0, because -0.0 + 0.0 is 0.0."""
    value = REDUCTIONS[op].identity(dtype)
    return -0.0 if op == "sum" and dtype in FLOATS else value


def _identity_value(op: str, type_) -> ir.Value:
    if kind(type_) == "complex":
        part = PARTS[type_]
        real = identity(op, part.name)
        return [constant(part, real), constant(part, 0.0 if op == "prod" else real)]
    return constant(type_, identity(op, type_.name))


def _constant_intrinsic(dtype: types.Type, emit: Callable) -> Callable:
    return intrinsic(lambda typing_context: (dtype(), emit))


def _identity_intrinsics(op: str) -> Callable:
    def emit_of(dtype):
        def emit(context, b, signature, values):
            value = _identity_value(op, dtype)
            return join(b, *value) if isinstance(value, list) else value

        return emit

    for name, dtype in NUMBA_TYPES.items():
        if kind_of(name) in REDUCTIONS[op].accepts:
            FUNCTIONS[f"identity_{op}_{name}"] = _constant_intrinsic(dtype, emit_of(dtype))

    @intrinsic
    def like(typing_context, pointer):
        return pointer.dtype(pointer), emit_of(pointer.dtype)

    return like


# ----------------------------------------------------------------------------------------------- one value each


def _of_values(op: str, like: Callable) -> None:
    update = INTRINSICS[COMBINE[op]]

    def clear(lanes, width):
        for k in range(int64(0), int64(16)):
            store(lanes, k, like(lanes))
        if gt(width, int64(16)):
            for k in range(int64(16), int64(LANES)):
                store(lanes, k, like(lanes))
        return int64(0)

    def halve(lanes, half):
        for k in range(int64(0), half):
            independent()
            store(lanes, k, update(load(lanes, k), load(lanes, add(k, half))))
        return int64(0)

    halve = subroutine(halve)

    def fold(lanes, width):
        if gt(width, int64(16)):
            halve(lanes, int64(64))
            halve(lanes, int64(32))
            halve(lanes, int64(16))
        halve(lanes, int64(8))
        halve(lanes, int64(4))
        halve(lanes, int64(2))
        halve(lanes, int64(1))
        return load(lanes, int64(0))

    fold = subroutine(fold, inline=False)
    clear = subroutine(clear, inline=False)

    def carry(levels, index, value):
        level = int64(0)
        while ne(band(shr(index, level), int64(1)), int64(0)):
            value = update(load(levels, level), value)
            level = add(level, int64(1))
        store(levels, level, value)
        return int64(0)

    carry = subroutine(carry, inline=False)

    def push(lanes, levels, index, width):
        carry(levels, index, fold(lanes, width))
        clear(lanes, width)
        return int64(0)

    def total(lanes, levels, passes, width):
        value = like(lanes)
        if ne(band(passes, int64(7)), int64(0)):
            value = fold(lanes, width)
        pushed = shr(passes, int64(3))
        level = int64(0)
        while ne(pushed, int64(0)):
            if ne(band(pushed, int64(1)), int64(0)):
                value = update(load(levels, level), value)
            level = add(level, int64(1))
            pushed = shr(pushed, int64(1))
        return value

    FUNCTIONS[f"clear_{op}"] = clear
    FUNCTIONS[f"push_{op}"] = subroutine(push, inline=False)
    FUNCTIONS[f"total_{op}"] = subroutine(total, inline=False)


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


def _of_positions(op: str, like: Callable) -> None:
    beats = INTRINSICS["lt" if op == "argmin" else "gt"]

    def better(value, best, place):
        """Whether a value that comes later takes the place of the best so far."""
        return bor(lt(place, int64(0)), bor(beats(value, best), band(_is_nan(value), invert(_is_nan(best)))))

    better = subroutine(better, types.boolean)

    def first(value, place, other, other_place):
        """Whether (value, place) stays before the other pair, in whatever order they were met."""
        tied = band(eq(value, other), lt(place, other_place))
        tied = bor(tied, band(band(_is_nan(value), _is_nan(other)), lt(place, other_place)))
        wins = bor(tied, bor(beats(value, other), band(_is_nan(value), invert(_is_nan(other)))))
        return band(ge0(place), bor(lt(other_place, int64(0)), wins))

    def ge0(place):
        return le(int64(0), place)

    ge0 = subroutine(ge0, types.boolean)
    first = subroutine(first, types.boolean)

    def clear(lanes, places, width):
        for k in range(int64(0), width):
            store(lanes, k, like(lanes))
            store(places, k, int64(-1))
        return int64(0)

    def fold(lanes, places, width):
        half = shr(width, int64(1))
        while gt(half, int64(0)):
            for k in range(int64(0), half):
                independent()
                value, place = load(lanes, k), load(places, k)
                other, other_place = load(lanes, add(k, half)), load(places, add(k, half))
                keep = first(value, place, other, other_place)
                store(lanes, k, select(keep, value, other))
                store(places, k, select(keep, place, other_place))
            half = shr(half, int64(1))
        return load(lanes, int64(0)), load(places, int64(0))

    fold, clear = subroutine(fold, inline=False, attributes=_once), subroutine(clear, inline=False)

    def push(lanes, places, levels, level_places, index, width):
        value, place = fold(lanes, places, width)
        level = int64(0)
        while ne(band(shr(index, level), int64(1)), int64(0)):
            other, other_place = load(levels, level), load(level_places, level)
            keep = first(other, other_place, value, place)
            value, place = select(keep, other, value), select(keep, other_place, place)
            level = add(level, int64(1))
        store(levels, level, value)
        store(level_places, level, place)
        clear(lanes, places, width)
        return int64(0)

    def total(lanes, places, levels, level_places, passes, width):
        value, place = like(lanes), int64(-1)
        if ne(band(passes, int64(7)), int64(0)):
            value, place = fold(lanes, places, width)
        pushed = shr(passes, int64(3))
        level = int64(0)
        while ne(pushed, int64(0)):
            if ne(band(pushed, int64(1)), int64(0)):
                other, other_place = load(levels, level), load(level_places, level)
                keep = first(other, other_place, value, place)
                value, place = select(keep, other, value), select(keep, other_place, place)
            level = add(level, int64(1))
            pushed = shr(pushed, int64(1))
        return value, place

    FUNCTIONS[f"better_{op}"], FUNCTIONS[f"clear_{op}"] = better, clear
    FUNCTIONS[f"push_{op}"] = subroutine(push, inline=False)
    FUNCTIONS[f"total_{op}"] = subroutine(total, inline=False)

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
    _like = _identity_intrinsics(_op)
    if _op in ("sum", "prod"):
        _of_values(_op, _like)
    for _dtype in NUMBA_TYPES:
        if f"identity_{_op}_{_dtype}" in FUNCTIONS and not (_dtype == "bool" and _op in ("sum", "prod")):
            _of_partials(_op, _dtype)
for _op in ("argmin", "argmax"):
    _of_positions(_op, _identity_intrinsics(_op))
