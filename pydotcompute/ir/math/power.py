"""pow(x, y) = 2**(y log2 |x|), with the cases of C99 F.9.4.4.

The logarithm's error is multiplied by up to 1074 bits' worth of y log2 |x|, so it is needed to 64 bits. For float32
that is a float64, or the sum of two float32 where a fused multiply-add gives what a product was rounded by. For float64
it is the sum of two: the products that matter are of numbers cut to 26 bits, hence exact (T. J. Dekker, "A
floating-point technique for extending the available precision", Numer. Math. 18, 1971), so that no fused multiply-add
is needed. With 1 + f = (1 + s) / (1 - s), log(1 + f) = 2 s / 3 (3 + s² + s⁴ P(s²)).
"""

import math

import numpy as np

from .bits import (
    Function,
    Value,
    as_bits,
    as_float,
    both,
    called,
    copysign,
    differ,
    either,
    fabs,
    fmuladd,
    iand,
    narrow,
    polynomial,
    rint,
    scalar,
    select,
    widen,
)
from .exponential import EXP2_32, EXP2_OF_SUM, EXP2_SHORT, scaling
from .formats import FLOAT32, FLOAT64, Format
from .helpers import NEAR_QUOTIENT
from .logarithm import decomposition

# log2((1 + s) / (1 - s)) = s P(s²), to 37 bits
_LOG2_SHORT = (
    2.885390081790081,
    0.9617966733496082,
    0.5770835833322516,
    0.4116728237757467,
    0.34072805894047375,
)
# 3 atanh(s) / s = 3 + z + z² P(z), z = s²
_LOG_TAIL = (
    0.5999999999999996,
    0.4285714285716765,
    0.3333333332630901,
    0.2727272830494164,
    0.23076835342708552,
    0.2000447473437792,
    0.17512256081635047,
    0.17983283699304006,
)
_exponent, _mantissa, _ = decomposition(FLOAT64)
_exp2 = EXP2_OF_SUM["float64"]
_SCALE = np.float64(2 / (3 * math.log(2)))  # and as the sum of two numbers, the first of 26 bits
_HIGH, _LOW = np.float64(0.9617967009544373), np.float64(-7.028461650952758e-09)
_ZERO, _ONE, _THREE, _NOTHING = map(np.float64, (0, 1, 3, -0.0))
_SMALLEST, _GROW, _GROWN = FLOAT64.smallest_normal, np.float64(2.0**52), np.float64(-52)
_FAR = np.float64(2048)
_CUT = np.int64(-1 << 27)
# The same in float32: log2((1 + s) / (1 - s)) / s = c0 + c1 z + z² P(z), z = s², c0 as the sum of two
_LOG2_TAIL = (0.5770788192749023, 0.4119255840778351, 0.33652400970458984)
_C0, _C1 = np.float32(2 / math.log(2)), np.float32(2 / (3 * math.log(2)))
_C0_REST, _HALF_C0 = np.float32(2 / math.log(2) - float(_C0)), _C0 / np.float32(2)
_exponent32, _mantissa32, _UNIT = decomposition(FLOAT32)
_ONE_32, _TWO_32, _ZERO_32, _INFINITY_32 = map(np.float32, (1, 2, 0, math.inf))
_SMALLEST_32, _GROW_32, _GROWN_32 = FLOAT32.smallest_normal, np.float32(2.0**23), np.float32(-23) / _UNIT
_MAGIC_32, _scale32 = scaling(FLOAT32)
_LEAST_32, _MOST_32 = _MAGIC_32 - np.float32(160), _MAGIC_32 + np.float32(130)


@scalar
def _cut(x: Value) -> Value:
    """The leading 26 bits."""
    return as_float(iand(as_bits(x), _CUT))


@scalar
def _magnitude32(x: Value, y: Value) -> Value:
    """x**y for x > 0, by way of some 30 bits."""
    bits = as_bits(widen(x))
    m = _mantissa(bits)
    s = (m - _ONE) / (m + _ONE)
    exponent = widen(y) * fmuladd(s, polynomial(s * s, _LOG2_SHORT), _exponent(bits))
    return narrow(EXP2_SHORT(exponent, _NOTHING))


@scalar
def _fused32(x: Value, y: Value) -> Value:
    """x**y for x >= 0 where `fmuladd` rounds once: the logarithm is the sum of two float32, to some 31 bits. What
    follows from the last of many steps comes last, for a loop takes as long as the longest chain of them."""
    denormal = x < _SMALLEST_32
    bits = as_bits(select(denormal, x * _GROW_32, x))
    k = _exponent32(bits) + select(denormal, _GROWN_32, _ZERO_32)
    m = _mantissa32(bits)
    f = m - _ONE_32
    s = called(NEAR_QUOTIENT, f, m + _ONE_32)
    z = s * s
    # c0 + c1 z rounded, and the rest of the series
    a = fmuladd(z, _C1, _C0)
    a_rest = fmuladd(fmuladd(s, s, -z), _C1, fmuladd(z, _C1, _C0 - a)) + _C0_REST
    a_rest = fmuladd(z * z, polynomial(z, _LOG2_TAIL), a_rest)
    # times s, and k
    product = s * a
    log = fmuladd(k, _UNIT, product)
    rest = (fmuladd(k, _UNIT, -log) + product) + fmuladd(s, a, -product)
    # what s lacks times c0 / (1 - s²) / (f + 2), which is c0 / 2 (1 - s) (1 + s² + …)
    lack = fmuladd(-s, f, fmuladd(s, -_TWO_32, f))
    slope = fmuladd(-s, _HALF_C0, _HALF_C0)
    rest = fmuladd(lack, fmuladd(slope, z, slope), rest)
    rest = fmuladd(s, a_rest, rest)
    log = select(x < _INFINITY_32, select(x == _ZERO_32, -_INFINITY_32, log), _INFINITY_32)
    # times y
    shifted = fmuladd(y, log, _MAGIC_32)
    shifted = select(shifted < _MOST_32, shifted, _MOST_32)
    shifted = select(shifted > _LEAST_32, shifted, _LEAST_32)
    r = fmuladd(y, rest, fmuladd(y, log, -(shifted - _MAGIC_32)))
    r = select(r < _ONE_32, r, _ONE_32)  # of a result that overflows or vanishes, and NaN of an infinite logarithm
    r = select(r > -_ONE_32, r, -_ONE_32)
    even, odd = (polynomial(r * r, EXP2_32[start::2]) for start in (1, 2))
    p = fmuladd(r, fmuladd(r, odd, even), np.float32(EXP2_32[0]))
    return _scale32(fmuladd(r, p, _ONE_32), as_bits(shifted))


@scalar
def _magnitude64(x: Value, y: Value) -> Value:
    """x**y for x > 0."""
    denormal = x < _SMALLEST
    bits = as_bits(select(denormal, x * _GROW, x))
    k = _exponent(bits) + select(denormal, _GROWN, _ZERO)
    m = _mantissa(bits)
    # s = f / d as two floats
    f, d = m - _ONE, m + _ONE
    inverse = _ONE / d
    s = f * inverse
    s_high = _cut(s)
    d_high = _cut(d)
    d_low = m - (d_high - _ONE)
    s_low = ((f - s_high * d_high) - s_high * d_low) * inverse
    # 3 + s² + s⁴ P as two floats, the first cut
    z = s * s
    square = s_high * s_high
    rest = fmuladd(z * z, polynomial(z, _LOG_TAIL), s_low * (s_high + s))
    t_high = _cut(_THREE + square + rest)
    t_low = rest - ((t_high - _THREE) - square)
    # times s, then times 2 / (3 ln 2)
    product, product_low = s_high * t_high, fmuladd(s_low, t_high, t_low * s)
    p_high = _cut(product + product_low)
    p_low = product_low - (p_high - product)
    part, part_low = _HIGH * p_high, fmuladd(_LOW, p_high, p_low * _SCALE)
    log_high = _cut((part + part_low) + k)
    log_low = part_low - ((log_high - k) - part)
    # times y
    y_high = _cut(y)
    exponent, tail = y_high * log_high, fmuladd(y - y_high, log_high, y * log_low)
    total = exponent + tail
    return _exp2(total, select(fabs(total) < _FAR, (exponent - total) + tail, _ZERO))


def _from_zero_to_infinity(f: Format, magnitude: Function) -> Function:
    """x**y for x >= 0, given that for positive finite x."""
    zero, infinity = f.float(0), f.float(math.inf)

    @scalar
    def pow(x: Value, y: Value) -> Value:
        infinite = x == infinity
        vanishes = differ(infinite, y > zero)  # what 0 or infinity is raised to gives 0, else infinity
        return select(either(infinite, x == zero), select(vanishes, zero, infinity), magnitude(x, y))

    return pow


def _with_special_values(f: Format, magnitude: Function) -> Function:
    """x**y, given that for x >= 0, finite y that are not beyond 2**70, and not for 1**y and x**0."""
    T = f.float
    zero, half, one, nan = T(0), T(0.5), T(1), T(math.nan)
    lowest = np.finfo(T).min
    largest = T(2.0**70)  # as good as any larger y: whatever is not 1 overflows or vanishes

    @scalar
    def pow(x: Value, y: Value) -> Value:
        base = fabs(x)
        limited = select(y < largest, y, largest)
        result = magnitude(base, select(limited > -largest, limited, -largest))
        integer = rint(y) == y
        halved = half * y
        odd = both(integer, rint(halved) != halved)
        result = select(both(both(x < zero, x >= lowest), rint(y) != y), nan, result)
        result = copysign(result, select(odd, x, one))
        result = select(either(x != x, y != y), x + y, result)
        return select(either(x == one, y == zero), one, result)

    return pow


FUNCTIONS = {
    "pow": {
        "float32": _with_special_values(FLOAT32, _from_zero_to_infinity(FLOAT32, _magnitude32)),
        "float64": _with_special_values(FLOAT64, _from_zero_to_infinity(FLOAT64, _magnitude64)),
    }
}
#: where `fmuladd` rounds once
FUSED = {"pow": {"float32": _with_special_values(FLOAT32, _fused32)}}
