"""rsqrt, cbrt, hypot.

cbrt: r = m**(-1/3) from a polynomial, refined by one step of third order without a division; then c = m r² is cut so
short that c³ is exact, and the error e = (m - c³) / m gives cbrt(m) = c (1 - e)**(-1/3), as a short series. hypot
scales by a power of two, so that no square overflows or is denormal; float32's is computed in float64.
"""

import math

import numpy as np

from .bits import (
    Function,
    Value,
    as_bits,
    as_float,
    copysign,
    either,
    fabs,
    fmuladd,
    iadd,
    iand,
    ior,
    isub,
    narrow,
    polynomial,
    scalar,
    select,
    shift_left,
    shift_right,
    sqrt,
    widen,
)
from .formats import Format, both_formats

# m**(-1/3) = P(m), 1 <= m <= 2
_CBRT = (
    1.6700068712234497,
    -1.17288076877594,
    0.6954832077026367,
    -0.22123810648918152,
    0.02859107032418251,
)


def _rsqrt(f: Format) -> Function:
    one = f.float(1)

    @scalar
    def rsqrt(x: Value) -> Value:
        return one / sqrt(x)

    return rsqrt


def _cbrt(f: Format) -> Function:
    T = f.float
    zero, one, third, infinity, magic = T(0), T(1), T(1 / 3), T(math.inf), f.magic
    two_ninths, fourteen_81sts = T(2 / 9), T(14 / 81)
    smallest, grow = f.smallest_normal, T(2.0 ** (3 * 18))
    growth = f.int(18)
    shift, fraction, one_bits = f.shift, f.int((1 << f.mantissa) - 1), f.one
    aligned, biased = f.int(T(2.0**f.mantissa).view(f.int)), T(2.0**f.mantissa + f.bias + 1)
    two, three, four, no_growth = T(2), T(3), T(4), f.int(0)
    r0, r1, r2 = T(1), T(2 ** (-1 / 3)), T(2 ** (-2 / 3))
    cut = f.int(-1 << f.mantissa + 1 - (f.mantissa + 1) // 3)

    @scalar
    def cbrt(x: Value) -> Value:
        y = fabs(x)
        denormal = y < smallest
        bits = as_bits(select(denormal, y * grow, y))
        m = as_float(ior(iand(bits, fraction), one_bits))
        e = as_float(ior(shift_right(bits, shift), aligned)) - biased  # the exponent less 1
        shifted = fmuladd(e, third, magic)
        j = e - three * (shifted - magic)  # -1, 0 or 1: the exponent is 3 k + j + 1
        r = polynomial(m, _CBRT) * select(j < zero, r0, select(j > zero, r2, r1))
        m = m * select(j < zero, one, select(j > zero, four, two))
        h = one - m * r * r * r
        r = fmuladd(r * h, fmuladd(h, two_ninths, third), r)
        c = as_float(iand(as_bits(m * r * r), cut))
        error = (m - c * c * c) * (r * r * r)
        c = c + c * error * fmuladd(error, fmuladd(error, fourteen_81sts, two_ninths), third)
        k = shift_left(isub(as_bits(shifted), select(denormal, growth, no_growth)), shift)
        result = c * as_float(iadd(k, one_bits))
        return select(either(y == zero, y >= infinity), x, select(x != x, x, copysign(result, x)))

    return cbrt


@scalar
def _hypot32(x: Value, y: Value) -> Value:
    infinite = either(fabs(x) == _INFINITY_32, fabs(y) == _INFINITY_32)
    x, y = widen(x), widen(y)
    return select(infinite, _INFINITY_32, narrow(sqrt(fmuladd(x, x, y * y))))


@scalar
def _hypot64(x: Value, y: Value) -> Value:
    a, b = fabs(x), fabs(y)
    larger = select(a > b, a, b)
    large, small = larger > _LARGE, larger < _SMALL
    scale = select(large, _SHRINK, select(small, _GROW, _ONE))
    back = select(large, _GROW, select(small, _SHRINK, _ONE))
    infinite = either(a == _INFINITY, b == _INFINITY)
    a, b = a * scale, b * scale
    return select(infinite, _INFINITY, sqrt(fmuladd(a, a, b * b)) * back)


_INFINITY_32, _INFINITY = np.float32(math.inf), np.float64(math.inf)
_ONE, _LARGE, _SMALL = np.float64(1), np.float64(2.0**500), np.float64(2.0**-450)
_SHRINK, _GROW = np.float64(2.0**-600), np.float64(2.0**600)
FUNCTIONS = {
    "rsqrt": both_formats(_rsqrt, {}, {}),
    "cbrt": both_formats(_cbrt, {}, {}),
    "hypot": {"float32": _hypot32, "float64": _hypot64},
}
