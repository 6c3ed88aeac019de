"""sin, cos, tan.

x = n pi/2 + r, |r| <= pi/4, with pi/2 in parts of 33 bits, whose products with n are exact below |x| = 2**20 (Cody &
Waite, "Software Manual for the Elementary Functions", 1980), then minimax polynomials of tests/math/minimax.py. float32
reduces in float64; float64 keeps what r loses as a second float. Larger arguments are circular.py's.
"""

import math

import numpy as np

from .bits import (
    Function,
    Value,
    as_bits,
    as_float,
    beyond,
    fmuladd,
    iadd,
    iand,
    ixor,
    low_half,
    narrow,
    polynomial,
    scalar,
    select,
    shift_left,
    widen,
)
from .circular import COS_32, COS_64, SIN_32, SIN_64
from .constants import pi, pieces
from .formats import FLOAT32, FLOAT64, Format

_LIMIT = 2.0**20
_MAGIC, _INVERSE = FLOAT64.magic, np.float64(2 / math.pi)
_FIRST, _SECOND, _THIRD, _FOURTH = (np.float64(-part) for part in pieces(pi(200) / 2, 33, 33, 33, 53))
_REST = np.float64(_SECOND + _THIRD)  # what float32 needs of them
_HALF, _ONE = np.float64(0.5), np.float64(1)


@scalar
def _reduced32(x: Value) -> tuple[Value, Value]:
    """(r, n as an int32, of which the two low bits count)"""
    x = widen(x)
    shifted = fmuladd(x, _INVERSE, _MAGIC)
    n = shifted - _MAGIC
    return fmuladd(n, _REST, fmuladd(n, _FIRST, x)), low_half(as_bits(shifted))


@scalar
def _reduced64(x: Value) -> tuple[Value, Value, Value]:
    """(r, its tail, n as an int64, of which the two low bits count)"""
    shifted = fmuladd(x, _INVERSE, _MAGIC)
    n = shifted - _MAGIC
    first = fmuladd(n, _FIRST, x)
    part = n * _SECOND
    second = first + part
    lost = (first - second) + part  # the sum is exact where it cancels
    part = n * _THIRD
    third = second + part
    back = third - second  # Knuth's two-sum: here either may be the larger
    lost = lost + ((second - (third - back)) + (part - back))
    lost = fmuladd(n, _FOURTH, lost)
    r = third + lost
    return r, (third - r) + lost, as_bits(shifted)


_HALF_32, _ONE_32 = np.float32(0.5), np.float32(1)


@scalar
def _sine_and_cosine32(r: Value) -> tuple[Value, Value]:
    z = r * r
    cosine = fmuladd(z * z, polynomial(z, COS_32), fmuladd(z, -_HALF_32, _ONE_32))
    return fmuladd(r * z, polynomial(z, SIN_32), r), cosine


@scalar
def _sine_and_cosine64(r: Value, tail: Value) -> tuple[Value, Value]:
    z = r * r
    half = z * _HALF
    whole = _ONE - half
    lost = (_ONE - whole) - half
    cosine = whole + (lost + fmuladd(z * z, polynomial(z, COS_64), -r * tail))
    return r + fmuladd(r * z, polynomial(z, SIN_64), tail), cosine


def _functions(f: Format) -> dict[str, Function]:
    T = f.float
    bits = 32 if f is FLOAT32 else 64
    to_top, to_next, sign = f.int(bits - 1), f.int(bits - 2), f.int(-1 << bits - 1)
    zero, none, one = T(0), f.int(0), f.int(1)

    def rare(name: str) -> Function:
        """The helper of circular.py where |x| is large."""
        return lambda x, usual: beyond(_LIMIT, f"large_{name}_{f.name}", x, usual)

    rare_sin, rare_cos, rare_tan = map(rare, ("sin", "cos", "tan"))

    @scalar
    def parts32(x: Value) -> tuple[Value, Value, Value]:
        r, n = _reduced32(x)
        sine, cosine = _sine_and_cosine32(narrow(r))
        return sine, cosine, n

    @scalar
    def parts64(x: Value) -> tuple[Value, Value, Value]:
        r, tail, n = _reduced64(x)
        sine, cosine = _sine_and_cosine64(r, tail)
        return sine, cosine, n

    parts = parts32 if f is FLOAT32 else parts64

    @scalar
    def chosen(n: Value, even: Value, odd: Value) -> Value:
        """By the lowest bit of n; negated by the next."""
        value = select(shift_left(n, to_top) < none, odd, even)
        return as_float(ixor(as_bits(value), iand(shift_left(n, to_next), sign)))

    @scalar
    def sin(x: Value) -> Value:
        sine, cosine, n = parts(x)
        return rare_sin(x, select(x == zero, x, chosen(n, sine, cosine)))  # -0.0 keeps its sign

    @scalar
    def cos(x: Value) -> Value:
        sine, cosine, n = parts(x)
        return rare_cos(x, chosen(iadd(n, one), sine, cosine))

    @scalar
    def tan64(x: Value) -> Value:
        sine, cosine, n = parts(x)
        odd = shift_left(n, to_top) < none
        result = select(odd, -cosine, sine) / select(odd, sine, cosine)
        return rare_tan(x, select(x == zero, x, result))

    @scalar
    def tan32(x: Value) -> Value:
        """In float64: sine, cosine and quotient would add up their errors."""
        r, n = _reduced32(x)
        z = r * r
        sine = fmuladd(r * z, polynomial(z, SIN_32), r)
        cosine = fmuladd(z * z, polynomial(z, COS_32), fmuladd(z, -_HALF, _ONE))
        odd = shift_left(n, to_top) < none
        result = narrow(select(odd, -cosine, sine) / select(odd, sine, cosine))
        return rare_tan(x, select(x == zero, x, result))

    return {"sin": sin, "cos": cos, "tan": tan32 if f is FLOAT32 else tan64}


_BY_FORMAT = {f.name: _functions(f) for f in (FLOAT32, FLOAT64)}
FUNCTIONS = {name: {dtype: of[name] for dtype, of in _BY_FORMAT.items()} for name in ("sin", "cos", "tan")}
