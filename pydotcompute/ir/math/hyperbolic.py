"""sinh, cosh, tanh.

|x| = k ln 2 + r as for exp, and then the addition formulas: sinh(k ln 2 + r) = A cosh r + B sinh r and
cosh(k ln 2 + r) = B cosh r + A sinh r, where A = sinh(k ln 2) = (2**k - 2**-k) / 2 and B = cosh(k ln 2) are short sums
of powers of two. Nothing cancels and nothing is divided. tanh |x| = 1 - 2 / (exp(2 |x|) + 1), a number less a smaller
quotient, and below 0.6 in float32 a polynomial. In float64, with t = expm1(2 |x|), it is t / (t + 2), written as
t / 2 - (t² / 2) / (t + 2) while t < 2, and 1 - 2 / (t + 2).
"""


from collections.abc import Callable
from typing import Any

import numpy as np

from .bits import (
    Function,
    Value,
    as_bits,
    as_float,
    copysign,
    fabs,
    fmuladd,
    horner,
    iadd,
    polynomial,
    scalar,
    select,
    shift_left,
)
from .exponential import EXP_32, FUNCTIONS as EXPONENTIAL, LN2
from .formats import FLOAT32, Format, both_formats

# sinh(r) = r + r z P(z), z = r²
_SINH_32 = (
    0.1666666716337204,
    0.008333289064466953,
    0.00019905203953385353,
)
_SINH_64 = (
    0.16666666666666677,
    0.008333333333321436,
    0.0001984126988667481,
    2.7557243607728824e-06,
    2.510926231824702e-08,
)
# cosh(r) = 1 + z P(z), z = r²
_COSH_32 = (
    0.5,
    0.0416666679084301,
    0.0013888806570321321,
    2.488270547473803e-05,
)
_COSH_64 = (
    0.5,
    0.04166666666666671,
    0.001388888888886355,
    2.4801587364113763e-05,
    2.755724122636135e-07,
    2.0924609427725354e-09,
)
# tanh(x) = x + x z P(z), z = x² <= 0.36
_TANH_32 = (
    -0.33333298563957214,
    0.13331924378871918,
    -0.053783830255270004,
    0.020795973017811775,
    -0.005895158275961876,
)

Parts = Callable[[Value], tuple[Value, Value, Value, Value]]


def _reduction(f: Format, sinh_table: tuple[float, ...], cosh_table: tuple[float, ...], high: float) -> Parts:
    """parts(x) → (2**k / 4, 2**-k / 4, sinh r, cosh r - 1) of |x|: 2**k alone may overflow where sinh does not."""
    T = f.float
    magic = f.magic
    inverse, most, far = T(1.4426950408889634), T(high), T(f.mantissa + 8)
    ln2_high, ln2_low = (T(-part) for part in LN2[f.name])
    quarter_bits, shift = f.int(int(f.one) - (2 << f.mantissa)), f.shift

    @scalar
    def parts(x: Value) -> tuple[Value, Value, Value, Value]:
        y = fabs(x)
        y = select(y > most, most, y)
        shifted = fmuladd(y, inverse, magic)
        k = shifted - magic
        whole = fmuladd(k, ln2_high, y)
        r = fmuladd(k, ln2_low, whole)
        tail = fmuladd(k, ln2_low, whole - r)
        z = r * r
        sine = r + fmuladd(r * z, polynomial(z, sinh_table), tail)
        cosine = z * polynomial(z, cosh_table)
        up = as_float(iadd(shift_left(as_bits(shifted), shift), quarter_bits))
        negated = magic - select(k > far, far, k)  # beyond, 2**-k is less than a rounding
        down = as_float(iadd(shift_left(as_bits(negated), shift), quarter_bits))
        return up, down, sine, cosine

    return parts


def _sinh(f: Format, tiny: float, **reduction: Any) -> Function:
    parts = _reduction(f, **reduction)
    two, smallest = f.float(2), f.float(tiny)

    @scalar
    def sinh(x: Value) -> Value:
        up, down, sine, cosine = parts(x)
        a, b = up - down, up + down
        result = two * (a + fmuladd(a, cosine, b * sine))
        return select(fabs(x) < smallest, x, copysign(result, x))  # -0.0 and denormals

    return sinh


def _cosh(f: Format, **reduction: Any) -> Function:
    parts = _reduction(f, **reduction)
    two = f.float(2)

    @scalar
    def cosh(x: Value) -> Value:
        up, down, sine, cosine = parts(x)  # grouped by powers of two, whose products are exact
        return two * (up + fmuladd(up, cosine + sine, fmuladd(down, cosine - sine, down)))

    return cosh


_ONE, _TWO, _LIMIT, _SMALL = map(np.float32, (1, 2, 10, 0.6))  # from 9.01 on tanh is 1
_TWO_LOG2_E = np.float32(2 * 1.4426950408889634)
_HALF_LN2 = tuple(np.float32(-part / 2) for part in LN2["float32"])
_EXP = (2.0, *(4 * c * 2.0**power for power, c in enumerate(EXP_32)))  # exp(2 r) = 1 + r P(r)
_POWER = FLOAT32.magic + np.float32(FLOAT32.bias)  # k above it, and the bits end in the exponent of 2**k


@scalar
def _tanh32(x: Value) -> Value:
    y = fabs(x)
    y = select(y > _LIMIT, _LIMIT, y)
    z = y * y
    small = fmuladd(y * z, horner(z, _TANH_32), y)
    shifted = fmuladd(y, _TWO_LOG2_E, _POWER)
    k = shifted - _POWER
    r = fmuladd(k, _HALF_LN2[1], fmuladd(k, _HALF_LN2[0], y))
    power = as_float(shift_left(as_bits(shifted), FLOAT32.shift))
    large = _ONE - _TWO / fmuladd(power, fmuladd(r, horner(r, _EXP), _ONE), _ONE)
    return copysign(select(y < _SMALL, small, large), x)


_expm1 = EXPONENTIAL["expm1"]["float64"]
_ONE_64, _TWO_64, _HALF_64, _LIMIT_64 = map(np.float64, (1, 2, 0.5, 20))


@scalar
def _tanh64(x: Value) -> Value:
    y = fabs(x)
    t = _expm1(_TWO_64 * select(y > _LIMIT_64, _LIMIT_64, y))
    small = t < _TWO_64
    whole, part = select(small, _HALF_64 * t, _ONE_64), select(small, _HALF_64 * t * t, _TWO_64)
    return copysign(whole - part / (t + _TWO_64), x)


_REDUCTIONS = (
    {"sinh_table": _SINH_32, "cosh_table": _COSH_32, "high": 89.5},
    {"sinh_table": _SINH_64, "cosh_table": _COSH_64, "high": 710.5},
)
FUNCTIONS = {
    "sinh": both_formats(_sinh, _REDUCTIONS[0] | {"tiny": 2.0**-13}, _REDUCTIONS[1] | {"tiny": 2.0**-27}),
    "cosh": both_formats(_cosh, *_REDUCTIONS),
    "tanh": {"float32": _tanh32, "float64": _tanh64},
}
