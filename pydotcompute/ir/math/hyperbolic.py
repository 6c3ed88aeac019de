"""sinh, cosh, tanh.

|x| = k ln 2 + r as for exp, and then the addition formulas: sinh(k ln 2 + r) = A cosh r + B sinh r and
cosh(k ln 2 + r) = B cosh r + A sinh r, where A = sinh(k ln 2) = (2**k - 2**-k) / 2 and B = cosh(k ln 2) are short sums
of powers of two. Nothing cancels and nothing is divided. With t = expm1(2 |x|), tanh |x| = t / (t + 2), written as an
exact number less a smaller quotient: t / 2 - (t² / 2) / (t + 2) while t < 2, and 1 - 2 / (t + 2).
"""


from collections.abc import Callable
from typing import Any

from .bits import (
    Function,
    Value,
    as_bits,
    as_float,
    copysign,
    fabs,
    fmuladd,
    iadd,
    polynomial,
    scalar,
    select,
    shift_left,
)
from .exponential import FUNCTIONS as EXPONENTIAL, LN2
from .formats import Format, both_formats

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


def _tanh(f: Format, one_from: float) -> Function:
    """one_from: where tanh is 1 in this format."""
    T = f.float
    expm1 = EXPONENTIAL["expm1"][f.name]
    limit, half, one, two = T(one_from), T(0.5), T(1), T(2)

    @scalar
    def tanh(x: Value) -> Value:
        y = fabs(x)
        t = expm1(two * select(y > limit, limit, y))
        small = t < two
        whole, part = select(small, half * t, one), select(small, half * t * t, two)
        return copysign(whole - part / (t + two), x)

    return tanh


_REDUCTIONS = (
    {"sinh_table": _SINH_32, "cosh_table": _COSH_32, "high": 89.5},
    {"sinh_table": _SINH_64, "cosh_table": _COSH_64, "high": 710.5},
)
FUNCTIONS = {
    "sinh": both_formats(_sinh, _REDUCTIONS[0] | {"tiny": 2.0**-13}, _REDUCTIONS[1] | {"tiny": 2.0**-27}),
    "cosh": both_formats(_cosh, *_REDUCTIONS),
    "tanh": both_formats(_tanh, {"one_from": 10.0}, {"one_from": 20.0}),
}
