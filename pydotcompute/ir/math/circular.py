"""sin, cos and tan of large float64 arguments, in integers of 64 bits.

x = M 2**e with an integer M. The 192 bits of 1 / 2 pi that follow its first e are all that matter to M 2**e / 2 pi
modulo 1, and their product with M, modulo 2**192, is the fraction of a turn (M. Payne & R. Hanek, "Radian reduction
for trigonometric functions", SIGNUM Newsletter 18, 1983), of which 128 bits are kept: 62 may cancel. The quarter turn
is its two leading bits; the rest, times 2 pi, is the angle, again in integers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..tree import Compare, Const, Helper, HelperParameter, If, Return, Stmt, Var
from .bits import (
    Value,
    as_bits,
    as_float,
    called,
    convert,
    copysign,
    count_zeros,
    fmuladd,
    iadd,
    iand,
    imul,
    ior,
    isub,
    ixor,
    polynomial,
    select,
    shift_left,
    shift_right,
    value,
)  # fmt: skip
from .constants import pi
from .helpers import traced

AHEAD = 64  # zero bits ahead of the table, for e >= -64
_COUNT = (AHEAD + 1024 + 256) // 64  # of words

# sin(r) = r + r z P(z), cos(r) = 1 - z/2 + z² P(z), z = r²
SIN = (
    -0.1666666666666663,
    0.008333333333322063,
    -0.00019841269829542612,
    2.7557313604528153e-06,
    -2.505074503806014e-08,
    1.5896067522420397e-10,
)
COS = (
    0.041666666666666595,
    -0.0013888888888872975,
    2.4801587288800072e-05,
    -2.755731416398698e-07,
    2.0875698709594936e-09,
    -1.1358423557348704e-11,
)
U = np.uint64
_HALF_WORD, _LOW, _SIX_BITS = U(32), U(2**32 - 1), U(63)
_EIGHTH = U(int(pi(80) / 4 * 2**64))  # 2 pi / 8 of 2**64


def _words_of_inverse() -> tuple[int, ...]:
    bits = 64 * _COUNT - AHEAD
    whole = int(2**bits / (2 * pi(bits + 64)))
    return tuple(whole >> 64 * (_COUNT - 1 - k) & 2**64 - 1 for k in range(_COUNT))


def _search(low: int, high: int) -> tuple[Stmt, ...]:
    """Return word k, low <= k < high."""
    if high - low == 1:
        return (Return((Const(WORDS[low], "uint64"),)),)
    middle = (low + high) // 2
    below = Compare("<", Var("k", "int64"), Const(middle, "int64"))
    return (If(below, _search(low, middle), _search(middle, high)),)


#: the bits of 1 / 2 pi, AHEAD zeros first
WORDS = _words_of_inverse()
#: word k of them: a search, where a target has no tables
WORD = Helper("word_of_inverse", (HelperParameter("k", "int64", None),), ("uint64",), _search(0, _COUNT))


def _upper_half(a: Value, b: Value) -> Value:
    a_high, a_low = shift_right(a, _HALF_WORD), iand(a, _LOW)
    b_high, b_low = shift_right(b, _HALF_WORD), iand(b, _LOW)
    low = imul(a_low, b_low)
    first = iadd(imul(a_high, b_low), shift_right(low, _HALF_WORD))
    second = iadd(imul(a_low, b_high), iand(first, _LOW))
    return iadd(iadd(imul(a_high, b_high), shift_right(first, _HALF_WORD)), shift_right(second, _HALF_WORD))


#: the upper 64 bits of the product of two numbers of 64 bits, from halves, where a target has no instruction for it
UPPER_HALF = traced("upper_half", _upper_half, [("a", "uint64"), ("b", "uint64")])
CALLED = (WORD, UPPER_HALF)  # by what `large` gives


def _product(a: Value, b: Value) -> tuple[Value, Value]:
    """(high, low) 64 bits of the product of two numbers of 64 bits."""
    return called(UPPER_HALF, a, b), imul(a, b)


def _sum(high: Value, low: Value, more: Value) -> tuple[Value, Value]:
    """(high, low) + more."""
    total = iadd(low, more)
    return iadd(high, select(total < more, U(1), U(0))), total


def _moved_up(high: Value, low: Value, bits: Value) -> Value:
    """The upper word of (high, low) moved up by 0 … 63 bits."""
    return ior(shift_left(high, bits), shift_right(shift_right(low, U(1)), ixor(bits, _SIX_BITS)))


def _words(exponent: Value) -> list[Value]:
    """Three words of the table, from `exponent` bits after the point on, first word first."""
    place = iadd(exponent, np.int64(AHEAD))
    first, shift = shift_right(place, np.int64(6)), iand(convert(place, "uint64"), _SIX_BITS)
    loaded = [called(WORD, iadd(first, np.int64(k))) for k in range(4)]
    return [_moved_up(loaded[k], loaded[k + 1], shift) for k in range(3)]


def _power_of_two(exponent: Value) -> Value:
    return as_float(shift_left(iadd(exponent, np.int64(1023)), np.int64(52)))


def _reduced(bits: Value) -> tuple[Value, Value, Value]:
    """(q, high, low) of a positive finite x: x = (4 n + q) pi/2 + high + low, |high| <= pi/4."""
    fraction = convert(ior(iand(bits, np.int64(2**52 - 1)), np.int64(2**52)), "uint64")
    first, second, third = _words(isub(shift_right(bits, np.int64(52)), np.int64(1075)))
    beyond, _ = _product(fraction, third)
    high, low = _sum(*_product(fraction, second), beyond)
    high = iadd(high, imul(fraction, first))
    quarter = shift_right(iadd(shift_right(high, U(61)), U(1)), U(1))
    high = isub(high, shift_left(quarter, U(62)))
    negative = high >= U(2**63)
    borrow = select(low == U(0), U(0), U(1))
    high, low = select(negative, isub(isub(U(0), high), borrow), high), select(negative, isub(U(0), low), low)
    # normalised, so that the product below has full precision; 62 bits cancel at most, so the upper word is not 0
    zeros = iand(count_zeros(high), _SIX_BITS)
    upper, lower = _moved_up(high, low, zeros), shift_left(low, zeros)
    beyond, _ = _product(lower, value(_EIGHTH))
    above, below = _sum(*_product(upper, value(_EIGHTH)), beyond)
    leading = shift_right(above, U(11))
    rest = iand(ior(shift_left(above, U(42)), shift_right(below, U(22))), U(2**53 - 1))
    scale = isub(np.int64(75 + 3 - 128), convert(zeros, "int64"))
    parts = (
        convert(leading, "float64") * _power_of_two(scale),
        convert(rest, "float64") * _power_of_two(isub(scale, np.int64(53))),
    )
    high, low = (select(negative, -part, part) for part in parts)
    return convert(quarter, "int64"), high, low


def _sine_and_cosine(high: Value, low: Value) -> tuple[Value, Value]:
    half, one = np.float64(0.5), np.float64(1)
    z = high * high
    sine = high + fmuladd(high * z, polynomial(z, SIN), low)
    halved = z * half
    whole = one - halved
    lost = (one - whole) - halved
    return sine, whole + (lost + fmuladd(z * z, polynomial(z, COS), -(high * low)))


def large(function: str) -> Callable[[Value], Value]:
    """x of float64 → "sin", "cos" or "tan" of it, for |x| >= 2**-11; infinities give NaN."""

    def compute(x: Value) -> Value:
        size = iand(as_bits(x), np.int64(2**63 - 1))
        finite = size < np.int64(0x7FF << 52)
        quarter, high, low = _reduced(select(finite, size, np.int64(0x7FE << 52)))
        sine, cosine = _sine_and_cosine(high, low)
        if function == "cos":
            quarter = iadd(quarter, np.int64(1))
        odd = iand(quarter, np.int64(1)) == np.int64(1)
        if function == "tan":
            result = select(odd, -cosine, sine) / select(odd, sine, cosine)
        else:
            result = select(odd, cosine, sine)
            result = select(iand(quarter, np.int64(2)) == np.int64(2), -result, result)
        if function != "cos":
            result = select(copysign(np.float64(1), x) < np.float64(0), -result, result)
        return select(finite, result, x - x)

    return compute
