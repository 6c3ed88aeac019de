"""pow(x, y) = 2**(y log2 |x|), with the cases of C99 F.9.4.4.

The logarithm's error is multiplied by up to 1074 bits' worth of y log2 |x|, so it is needed to 64 bits. For float32
that is a float64. For float64 it is the sum of two: the products that matter are of numbers cut to 26 bits, hence
exact (T. J. Dekker, "A floating-point technique for extending the available precision", Numer. Math. 18, 1971), so
that no fused multiply-add is needed. With 1 + f = (1 + s) / (1 - s), log(1 + f) = 2 s / 3 (3 + s² + s⁴ P(s²)).
"""

import math

import numpy as np

from .bits import (
    Function,
    Value,
    as_bits,
    as_float,
    both,
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
from .exponential import EXP2_OF_SUM, EXP2_SHORT
from .formats import FLOAT32, FLOAT64, Format
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
_exponent, _mantissa = decomposition(FLOAT64)
_exp2 = EXP2_OF_SUM["float64"]
_SCALE = np.float64(2 / (3 * math.log(2)))  # and as the sum of two numbers, the first of 26 bits
_HIGH, _LOW = np.float64(0.9617967009544373), np.float64(-7.028461650952758e-09)
_ZERO, _ONE, _THREE, _NOTHING = map(np.float64, (0, 1, 3, -0.0))
_SMALLEST, _GROW, _GROWN = FLOAT64.smallest_normal, np.float64(2.0**52), np.float64(-52)
_FAR = np.float64(2048)
_CUT = np.int64(-1 << 27)


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


def _with_special_values(f: Format, magnitude: Function) -> Function:
    T = f.float
    zero, half, one, infinity, nan = T(0), T(0.5), T(1), T(math.inf), T(math.nan)
    largest = T(2.0**70)  # as good as any larger y: whatever is not 1 overflows or vanishes

    @scalar
    def pow(x: Value, y: Value) -> Value:
        base = fabs(x)
        size = fabs(y)
        result = magnitude(base, copysign(select(size > largest, largest, size), y))
        integer = rint(y) == y
        halved = half * y
        odd = both(integer, rint(halved) != halved)
        infinite = base == infinity
        vanishes = differ(infinite, y > zero)  # what 0 or infinity is raised to gives 0, else infinity
        result = select(both(x < zero, rint(y) != y), nan, result)
        result = select(either(infinite, base == zero), select(vanishes, zero, infinity), result)
        result = copysign(result, select(odd, x, one))
        result = select(either(x != x, y != y), x + y, result)
        return select(either(x == one, y == zero), one, result)

    return pow


FUNCTIONS = {
    "pow": {
        "float32": _with_special_values(FLOAT32, _magnitude32),
        "float64": _with_special_values(FLOAT64, _magnitude64),
    }
}
