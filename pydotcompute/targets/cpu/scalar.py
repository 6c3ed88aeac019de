"""Functions of lowered Python that need more than one expression: remainders of floats, offsets in views, compensated
sums. Plain Python over intrinsics, compiled into the artifacts that use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir
from numba import types

from ..llvm.numba_frontend import subroutine
from .intrinsics import INTRINSICS

int64, uint64 = types.int64, types.uint64
add, sub, mul, div, neg, at = (INTRINSICS[n] for n in ("add", "sub", "mul", "div", "neg", "at"))
band, bor, bxor, shl, shr = (INTRINSICS[n] for n in ("band", "bor", "bxor", "shl", "shr"))
eq, ne, lt, le, gt, ge = (INTRINSICS[n] for n in ("eq", "ne", "lt", "le", "gt", "ge"))
select, minimum, maximum = (INTRINSICS[n] for n in ("select", "minimum", "maximum"))
floor, copysign, isnan = (INTRINSICS[n] for n in ("floor", "copysign", "isnan"))
floordiv_integer, advance, load = (INTRINSICS[n] for n in ("floordiv_integer", "advance", "load"))
claim, peek, pooled = (INTRINSICS[n] for n in ("claim", "peek", "pooled"))
set_word, word = INTRINSICS["set_word_int64"], INTRINSICS["word_int64"]
to_int64, to_uint64, to_bool = (INTRINSICS[n] for n in ("to_int64", "to_uint64", "to_bool"))

POOLED, MADE = 5, 16  # slices that make up for what another thread costs: one that waits for work; one to be made
FUNCTIONS: dict[str, Callable] = {}


def function(
    result: types.Type | None = None, name: str = "", inline: bool = True, attributes: Sequence[str] = ()
) -> Callable:
    def add_attributes(function: ir.Function) -> None:
        for attribute in attributes:
            function.attributes.add(attribute)

    def enter(plain: Callable) -> Callable:
        made = subroutine(plain, result, inline=inline, attributes=add_attributes)
        FUNCTIONS[name or plain.__name__] = made
        return made

    return enter


# ---------------------------------------------------------------------------------------------- integers


@function(types.int64)
def blocks_of(length, block):
    """How many blocks of so many terms, a power of two, a reduction of so many iterations has."""
    rest = band(length, sub(block, int64(1)))
    return add(floordiv_integer(length, block), to_int64(gt(rest, int64(0))))


@function(types.int64)
def chunk_size(n):
    """How many iterations of a reduction over a grid make one chunk: at most 256 chunks, by n alone."""
    share = add(shr(sub(n, int64(1)), int64(8)), int64(1))  # n may be the largest int64
    return maximum(int64(4096), shl(shr(add(share, int64(1023)), int64(10)), int64(10)))


@function(types.int64)
def blocks_of_chunk(n):
    """How many blocks make one chunk of a reduction over n blocks: at most 256 chunks, by n alone."""
    return maximum(int64(1), add(shr(sub(n, int64(1)), int64(8)), int64(1)))


# ----------------------------------------------------------------------------------------------- memory


@function(types.int64, inline=False)
def view_offset(view, flat):
    """Bytes from the first element to element `flat` of a view's leading dims: int64 ndim, then (size, stride) each."""
    offset = int64(0)
    axis = word(view, int64(0))
    while gt(axis, int64(1)):
        size = word(view, at(axis, int64(2), int64(-1)))
        outer = floordiv_integer(flat, size)
        offset = at(sub(flat, at(outer, size, int64(0))), word(view, shl(axis, int64(1))), offset)
        flat = outer
        axis = sub(axis, int64(1))
    if gt(axis, int64(0)):
        offset = at(flat, word(view, int64(2)), offset)
    return offset


@function(types.int64)
def view_inner(view):
    """The size of a view's innermost leading dim; 1 without any."""
    axes = word(view, int64(0))
    return maximum(word(view, sub(shl(axes, int64(1)), int64(1))), int64(1)) if gt(axes, int64(0)) else int64(1)


@function(types.int64)
def view_step(view):
    """The stride of a view's innermost leading dim; 0 without any."""
    axes = word(view, int64(0))
    return word(view, shl(axes, int64(1))) if gt(axes, int64(0)) else int64(0)


@function(types.int64, inline=False)
def view_row(view, row):
    """Bytes from the first element to the first of this row of a view's innermost leading dim."""
    return view_offset(view, mul(row, view_inner(view)))


@function(types.boolean, inline=False, attributes=("noinline",))
def is_dense(view, size):
    """Whether a view's leading dims lie as those of a contiguous array whose elements have so many bytes."""
    axis = word(view, int64(0))
    while gt(axis, int64(0)):
        extent = word(view, at(axis, int64(2), int64(-1)))
        if band(ne(word(view, shl(axis, int64(1))), size), ne(extent, int64(1))):
            return to_bool(int64(0))
        size = mul(size, extent)
        axis = sub(axis, int64(1))
    return to_bool(int64(1))


@function(types.int64, inline=False, attributes=("cold", "noinline"))
def out_of_range(faults, site, call, extent, index):
    """The first such access of a call is written into the fault words."""
    if claim(faults, site):
        set_word(faults, int64(1), call)
        set_word(faults, int64(2), extent)
        set_word(faults, int64(3), index)
    return int64(0)


@function(types.boolean)
def in_range(faults, site, call, extent, index):
    """Whether 0 <= index < extent; if not, it is recorded."""
    if lt(to_uint64(index), to_uint64(extent)):  # no extent is below 0
        return to_bool(int64(1))
    out_of_range(faults, site, call, extent, index)
    return to_bool(int64(0))


@function(types.boolean)
def within(index, extent):
    """Whether 0 <= index < extent."""
    return lt(to_uint64(index), to_uint64(extent))


@function(types.boolean)
def faulted(faults):
    """Whether there was such an access in this call."""
    return ne(peek(faults), int64(0))


# ----------------------------------------------------------------------------------------------- floats


@function()
def add_compensated(total, rest, term):
    """(total, rest) + term without losing what rounding takes away (Knuth's two-sum)."""
    result = add(total, term)
    virtual = sub(result, total)
    error = add(sub(total, sub(result, virtual)), sub(term, virtual))
    return result, add(rest, error)


@function()
def compensated(total, rest):
    """Of infinities the rest is NaN, and left out."""
    both = add(total, rest)
    return select(eq(both, both), both, total)


def _of_float(width: int) -> None:
    dtype, uint = f"float{width}", getattr(types, f"uint{width}")
    shift, exponent_mask = (23, 0xFF) if width == 32 else (52, 0x7FF)
    sign_value, implicit, one_bits = 1 << (width - 1), 1 << shift, 1
    to_bits, of_bits = INTRINSICS[f"bits_{dtype}"], INTRINSICS[f"{dtype}_of_bits"]
    to_unsigned = INTRINSICS[f"to_uint{width}"]
    real = getattr(types, dtype)

    @function(real, f"fmod_{dtype}", inline=False)
    def fmod(x, y):
        """The exact remainder of truncated division, with the sign of x: long division of the significands."""
        u, v = to_bits(x), to_bits(y)
        sign = band(u, uint(sign_value))
        u, v = bxor(u, sign), band(v, uint(sign_value - 1))
        infinite = uint(exponent_mask << shift)
        if bor(bor(eq(v, uint(0)), gt(v, infinite)), ge(u, infinite)):
            return div(mul(x, y), mul(x, y))
        if lt(u, v):
            return x
        # significands with the implicit bit, of denormals shifted up until it is set
        exponent, divisor_exponent = to_int64(shr(u, uint(shift))), to_int64(shr(v, uint(shift)))
        u, v = band(u, uint(implicit - 1)), band(v, uint(implicit - 1))
        if eq(exponent, int64(0)):
            exponent = int64(1)
            while lt(u, uint(implicit)):
                if eq(u, uint(0)):
                    return of_bits(sign)
                u = shl(u, uint(one_bits))
                exponent = sub(exponent, int64(1))
        else:
            u = bor(u, uint(implicit))
        if eq(divisor_exponent, int64(0)):
            divisor_exponent = int64(1)
            while lt(v, uint(implicit)):
                v = shl(v, uint(one_bits))
                divisor_exponent = sub(divisor_exponent, int64(1))
        else:
            v = bor(v, uint(implicit))
        while gt(exponent, divisor_exponent):
            if ge(u, v):
                u = sub(u, v)
            u = shl(u, uint(one_bits))
            exponent = sub(exponent, int64(1))
        if ge(u, v):
            u = sub(u, v)
        if eq(u, uint(0)):
            return of_bits(sign)
        while lt(u, uint(implicit)):
            u = shl(u, uint(one_bits))
            exponent = sub(exponent, int64(1))
        if gt(exponent, int64(0)):
            u = bor(sub(u, uint(implicit)), shl(to_unsigned(exponent), uint(shift)))
        else:
            u = shr(u, to_unsigned(sub(int64(1), exponent)))
        return of_bits(bor(u, sign))

    @function(real, f"mod_{dtype}", inline=False)
    def mod(x, y):
        """x - floor(x / y) * y, as NumPy: exact but for one rounding where the signs differ."""
        rest = fmod(x, y)
        zero = real(0.0)
        if eq(y, zero):
            return rest
        if eq(rest, zero):
            return copysign(zero, y)
        return add(rest, y) if ne(lt(rest, zero), lt(y, zero)) else rest

    @function(real, f"floordiv_{dtype}", inline=False)
    def floordiv(x, y):
        """floor(x / y), as NumPy: from the exact remainder."""
        zero = real(0.0)
        if eq(y, zero):
            return div(x, y)
        rest = fmod(x, y)
        quotient = div(sub(x, rest), y)
        if band(ne(rest, zero), ne(lt(rest, zero), lt(y, zero))):
            quotient = sub(quotient, real(1.0))
        if eq(quotient, zero):
            return copysign(zero, div(x, y))
        below = floor(quotient)
        return add(below, real(1.0)) if gt(sub(quotient, below), real(0.5)) else below


for _width in (32, 64):
    _of_float(_width)


@function(types.int64)
def slice_of(work, cost, units):
    """How many units make so much work, at least one; all of them where that is not worth a second thread."""
    worth = floordiv_integer(mul(to_int64(work), select(pooled(), int64(POOLED), int64(MADE))), cost)
    few = maximum(floordiv_integer(to_int64(work), cost), int64(1))
    return select(lt(units, worth), maximum(units, int64(1)), few)
