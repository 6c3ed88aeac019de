"""asin, acos, atan, atan2.

asin and acos: the series x + x z P(z) up to 1/2, and asin(y) = pi/2 - 2 asin(sqrt((1 - y) / 2)) beyond. atan: the
argument n / d is replaced by -d / n or (n - d) / (n + d), one division either way, and a multiple of pi/4 is added
(Muller, "Elementary Functions", ch. 11). Multiples of pi are two floats each.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from .bits import Function, Value, as_bits, copysign, either, fabs, fmuladd, polynomial, scalar, select, sqrt
from .constants import pi, pieces
from .formats import Format, both_formats

# asin(x) = x + x z P(z), z = x² <= 1/4
_ASIN_32 = (
    0.16666752099990845,
    0.07495297491550446,
    0.04547037556767464,
    0.024179520085453987,
    0.04216630011796951,
)
_ASIN_64 = (
    0.16666666666665408,
    0.07500000000337008,
    0.044642856828334854,
    0.030381959136681295,
    0.02237175805754487,
    0.017359704652863062,
    0.013885236589922963,
    0.01216920405293115,
    0.00652800878022086,
    0.019528172398985733,
    -0.01622410659513927,
    0.031912169831359416,
)
# atan(t) = t + t z P(z), z = t², |t| <= tan(pi/8)
_ATAN_32 = (
    -0.33333316445350647,
    0.19998465478420258,
    -0.142434224486351,
    0.10592945665121078,
    -0.06075914576649666,
)
_ATAN_64 = (
    -0.3333333333333319,
    0.1999999999995282,
    -0.14285714280121303,
    0.11111110779798114,
    -0.0909089765506117,
    0.07692058429988301,
    -0.06663084165045197,
    0.058477471329501436,
    -0.05038673764448959,
    0.038048742615254386,
    -0.017890089350114966,
)


def _two_parts(f: Format, value: Fraction, spare: int = 0) -> tuple[np.floating[Any], ...]:
    """A constant as the sum of two floats of the format, the first with `spare` bits left free."""
    return tuple(map(f.float, pieces(value, f.mantissa + 1 - spare, f.mantissa + 1)))


def _asin(f: Format, table: tuple[float, ...]) -> Function:
    T = f.float
    zero, half, one, two = T(0), T(0.5), T(1), T(2)
    right, right_low = _two_parts(f, pi(200) / 2)

    @scalar
    def asin(x: Value) -> Value:
        y = fabs(x)
        far = y > half
        z = select(far, half * (one - y), y * y)
        t = select(far, -two * sqrt(z), y)
        tail = fmuladd(t * z, polynomial(z, table), select(far, right_low, zero))
        return copysign((select(far, right, zero) + t) + tail, x)

    return asin


def _acos(f: Format, table: tuple[float, ...]) -> Function:
    T = f.float
    zero, half, one, two = T(0), T(0.5), T(1), T(2)
    right, right_low = _two_parts(f, pi(200) / 2)

    @scalar
    def acos(x: Value) -> Value:
        y = fabs(x)
        far = y > half
        z = select(far, half * (one - y), y * y)
        t = select(far, copysign(sqrt(z), -x), x)
        from_zero = x > half
        tail = fmuladd(-t * z, polynomial(z, table), select(from_zero, zero, right_low))
        return select(far, two, one) * (select(from_zero, zero, right) - (t - tail))

    return acos


def _atan(f: Format, table: tuple[float, ...]) -> Function:
    T = f.float
    zero, one = T(0), T(1)
    right, right_low = _two_parts(f, pi(200) / 2)
    half_right, half_right_low = _two_parts(f, pi(200) / 4)
    low, high = T(math.sqrt(2) - 1), T(math.sqrt(2) + 1)

    @scalar
    def atan(x: Value) -> Value:
        y = fabs(x)
        middle, far = y > low, y > high
        n = select(far, -one, select(middle, y - one, y))
        d = select(far, y, select(middle, y + one, one))
        t = n / d
        z = t * t
        base = select(far, right, select(middle, half_right, zero))
        base_low = select(far, right_low, select(middle, half_right_low, zero))
        return copysign(base + (t + fmuladd(t * z, polynomial(z, table), base_low)), x)

    return atan


def _atan2(f: Format, table: tuple[float, ...]) -> Function:
    """atan(a / b) for a = min(|x|, |y|), b = max(|x|, |y|), as count * pi/4 + atan(t), reflected twice."""
    T = f.float
    zero, one, two, four, infinity = T(0), T(1), T(2), T(4), T(math.inf)
    eighth, eighth_low = _two_parts(f, pi(200) / 4, spare=2)  # times 3 without error
    slope = T(math.sqrt(2) - 1)
    large, shrink = T(2.0 ** (f.bias - 2)), T(0.25)
    small, grow = T(2.0 ** -(f.bias - 2 * f.mantissa)), T(2.0 ** (f.mantissa + 2))
    positive = f.int(-1)

    @scalar
    def atan2(y: Value, x: Value) -> Value:
        across, up = fabs(x), fabs(y)
        steep = up > across
        a, b = select(steep, across, up), select(steep, up, across)
        a = select(b == infinity, select(a == infinity, one, zero), a)
        b = select(either(b == infinity, b == zero), one, b)
        scale = select(b > large, shrink, select(b < small, grow, one))  # a + b does not overflow, slope * b is normal
        a, b = a * scale, b * scale
        middle = a > slope * b
        t = select(middle, a - b, a) / select(middle, a + b, b)
        count = select(middle, one, zero)
        t, count = select(steep, -t, t), select(steep, two - count, count)
        left = as_bits(x) <= positive  # the sign of -0.0 counts
        t, count = select(left, -t, t), select(left, four - count, count)
        z = t * t
        angle = fmuladd(count, eighth, t + fmuladd(t * z, polynomial(z, table), count * eighth_low))
        return select(either(x != x, y != y), x + y, copysign(angle, y))

    return atan2


_TABLES = ({"table": _ASIN_32}, {"table": _ASIN_64})
_ATAN_TABLES = ({"table": _ATAN_32}, {"table": _ATAN_64})
FUNCTIONS = {
    "asin": both_formats(_asin, *_TABLES),
    "acos": both_formats(_acos, *_TABLES),
    "atan": both_formats(_atan, *_ATAN_TABLES),
    "atan2": both_formats(_atan2, *_ATAN_TABLES),
}
