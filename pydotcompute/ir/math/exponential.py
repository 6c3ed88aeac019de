"""exp, exp2, expm1.

The argument is reduced to k ln 2 + r with |r| <= ln 2 / 2, ln 2 held in two parts of which the first times k is exact
(Cody & Waite, "Software Manual for the Elementary Functions", 1980), and the power series of what is left is a
minimax polynomial of tests/math/minimax.py. 2**k is applied in two halves: the first is exact, the second rounds once,
to a denormal, zero or infinity where it must.
"""


from typing import Any

import numpy as np

from .bits import (
    Function,
    Value,
    as_bits,
    as_float,
    fabs,
    fmuladd,
    iadd,
    isub,
    polynomial,
    scalar,
    select,
    shift_left,
    shift_right,
)
from .formats import FLOAT64, Format, both_formats

# exp(r) = 1 + r + r² P(r)
EXP_32 = (
    0.4999999403953552,
    0.1666651964187622,
    0.041668400168418884,
    0.00836885068565607,
    0.0013814320554956794,
)
_EXP_64 = (
    0.5000000000000011,
    0.16666666666666408,
    0.0416666666665281,
    0.008333333333496921,
    0.001388888894424929,
    0.00019841269502743377,
    2.4801492388191172e-05,
    2.755758842215157e-06,
    2.763052350012428e-07,
    2.499985725071965e-08,
)
# expm1(r) = r + r² P(r)
_EXPM1_32 = (
    0.5,
    0.1666666567325592,
    0.04166635870933533,
    0.008333389647305012,
    0.0013940823264420033,
    0.00019845893257297575,
)
_EXPM1_64 = (
    0.5,
    0.16666666666666677,
    0.041666666666666505,
    0.008333333333321513,
    0.0013888888888963487,
    0.00019841269886477844,
    2.4801587171076052e-05,
    2.7557243803639502e-06,
    2.755740326623733e-07,
    2.5109195307898133e-08,
    2.0875328185835234e-09,
)
# 2**r = 1 + r P(r)
EXP2_32 = (
    0.6931471824645996,
    0.24022647738456726,
    0.055503323674201965,
    0.00961843691766262,
    0.0013398875016719103,
    0.0001535336341476068,
)
_EXP2_64 = (
    0.6931471805599453,
    0.2402265069591013,
    0.055504108664820084,
    0.00961812910759412,
    0.001333355814677467,
    0.00015403530457112145,
    1.525273349308472e-05,
    1.3215435282290708e-06,
    1.0178199588427401e-07,
    7.073783250023823e-09,
    4.434768934932725e-10,
)

LN2 = {  # two parts of ln 2
    "float32": (0.693145751953125, 1.428606765330187e-06),
    "float64": (0.6931471803691238, 1.9082149292705877e-10),
}
_ONE, _MINUS_LOG2_E, _MINUS_LN2 = np.float64(1), np.float64(-1.4426950408889634), np.float64(-0.6931471805599453)
_POWER = FLOAT64.magic + np.float64(FLOAT64.bias)  # k above it, and the bits end in the exponent of 2**k


def scaling(f: Format) -> tuple[np.floating[Any], Function]:
    """A magic number, and scale(p, bits of `magic + k`): p * 2**k for p near 1, by two factors of about one size."""
    shift, unit = f.shift, f.int(1)

    @scalar
    def scale(p: Value, bits: Value) -> Value:  # the bits end in k and the exponents that two factors of 1 have
        half = shift_left(shift_right(bits, unit), shift)  # what the magic number itself has there is shifted out
        return p * as_float(half) * as_float(isub(shift_left(bits, shift), half))

    return f.magic + f.float(2 * f.bias), scale


def exp_of_sum(f: Format, table: tuple[float, ...], low: float, high: float) -> Function:
    """exp(x + tail) for a tail of at most some ulp of x; beyond low and high the result is 0 and infinity."""
    T = f.float
    one, inverse = T(1), T(1.4426950408889634)
    ln2_high, ln2_low = (T(-part) for part in LN2[f.name])
    least, most = T(low), T(high)
    magic, scale = scaling(f)

    @scalar
    def exp(x: Value, tail: Value) -> Value:
        x = select(x > most, most, x)  # written so that a NaN stays
        x = select(x < least, least, x)
        shifted = fmuladd(x, inverse, magic)
        k = shifted - magic
        r = fmuladd(k, ln2_high, x)
        r = fmuladd(k, ln2_low, r) + tail
        p = one + fmuladd(r * r, polynomial(r, table), r)
        return scale(p, as_bits(shifted))

    return exp


@scalar
def exp_of_minus(x: Value) -> Value:
    """exp(-x) in float64 for |x| < 708, good enough for a float32."""
    shifted = fmuladd(x, _MINUS_LOG2_E, _POWER)
    r = fmuladd(shifted - _POWER, _MINUS_LN2, -x)
    p = _ONE + fmuladd(r * r, polynomial(r, EXP_32), r)
    return p * as_float(shift_left(as_bits(shifted), FLOAT64.shift))


def exp2_of_sum(f: Format, table: tuple[float, ...], low: float, high: float) -> Function:
    """2**(x + tail), |tail| far below 1."""
    T = f.float
    one = T(1)
    least, most = T(low), T(high)
    magic, scale = scaling(f)

    @scalar
    def exp2(x: Value, tail: Value) -> Value:
        x = select(x > most, most, x)
        x = select(x < least, least, x)
        shifted = x + magic
        r = (x - (shifted - magic)) + tail
        return scale(fmuladd(r, polynomial(r, table), one), as_bits(shifted))

    return exp2


def _without_tail(f: Format, function: Function) -> Function:
    nothing = f.float(-0.0)  # what an addition of is no operation

    @scalar
    def without_tail(x: Value) -> Value:
        return function(x, nothing)

    return without_tail


def _expm1(f: Format, table: tuple[float, ...], low: float, high: float, tiny: float) -> Function:
    """2**k expm1(r) + (2**k - 1), halved until the end: 2**k alone may overflow where the result does not."""
    T = f.float
    magic = f.magic
    inverse, half, two = T(1.4426950408889634), T(0.5), T(2)
    ln2_high, ln2_low = (T(-part) for part in LN2[f.name])
    least, most, smallest = T(low), T(high), T(tiny)
    half_bits, shift = f.int(f.one - (1 << f.mantissa)), f.shift

    @scalar
    def expm1(x: Value) -> Value:
        y = select(x > most, most, x)
        y = select(y < least, least, y)
        shifted = fmuladd(y, inverse, magic)
        k = shifted - magic
        whole = fmuladd(k, ln2_high, y)
        r = fmuladd(k, ln2_low, whole)
        tail = fmuladd(k, ln2_low, whole - r)
        t = r + fmuladd(r * r, polynomial(r, table), tail)
        power = as_float(iadd(shift_left(as_bits(shifted), shift), half_bits))  # 2**(k - 1)
        result = fmuladd(power, t, power - half) * two
        return select(fabs(x) < smallest, x, result)  # -0.0 and denormals

    return expm1


_EXP = (
    {"table": EXP_32, "low": -104.0, "high": 89.0},
    {"table": _EXP_64, "low": -746.0, "high": 710.0},
)
_EXP2 = (
    {"table": EXP2_32, "low": -151.0, "high": 129.0},
    {"table": _EXP2_64, "low": -1076.0, "high": 1025.0},
)
EXP_OF_SUM = both_formats(exp_of_sum, *_EXP)
EXP2_OF_SUM = both_formats(exp2_of_sum, *_EXP2)
#: 2**(x + tail) in float64, good enough for a float32
EXP2_SHORT = exp2_of_sum(FLOAT64, EXP2_32, -1076.0, 1025.0)
FUNCTIONS = {
    "exp": both_formats(_without_tail, *({"function": function} for function in EXP_OF_SUM.values())),
    "exp2": both_formats(_without_tail, *({"function": function} for function in EXP2_OF_SUM.values())),
    "expm1": both_formats(
        _expm1,
        {"table": _EXPM1_32, "low": -18.0, "high": 89.0, "tiny": 2.0**-26},
        {"table": _EXPM1_64, "low": -38.0, "high": 710.0, "tiny": 2.0**-55},
    ),
}
