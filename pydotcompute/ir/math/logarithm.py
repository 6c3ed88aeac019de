"""log, log2, log10, log1p.

x = 2**k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), read off the bits; then log(1 + f) = f - w, where w begins with
f²/2. float32 takes w from a polynomial in f, float64 from the series in s = f / (2 + f), which needs half the terms
(Muller, "Elementary Functions", ch. 11). f is exact, so the result is as good as its last sum: for another base,
the factor is split into a short one, whose product with f is exact, and a small rest.
"""

import math
from typing import Any

from .bits import (
    Function,
    Value,
    as_bits,
    as_float,
    convert,
    fmuladd,
    iadd,
    iand,
    ior,
    isub,
    polynomial,
    scalar,
    select,
    shift_right,
)
from .exponential import LN2
from .formats import FLOAT32, Format, both_formats

# log(1 + f) = f - f²/2 + f³ P(f)
_LOG_32 = (
    0.3333333134651184,
    -0.2500081956386566,
    0.20001226663589478,
    -0.16623356938362122,
    0.14201757311820984,
    -0.13160179555416107,
    0.1276157647371292,
    -0.07634501159191132,
)
# log((1 + s) / (1 - s)) = 2 s + s z P(z), z = s²
_LOG_64 = (
    0.6666666666666734,
    0.39999999999414676,
    0.2857142874238778,
    0.2222219857317723,
    0.18183564326069543,
    0.1531405056328444,
    0.14795949502747258,
)
TABLE = {"float32": _LOG_32, "float64": _LOG_64}


def decomposition(f: Format) -> tuple[Function, Function, Any]:
    """exponent(bits) and mantissa(bits) of a normal positive float: k as a float, and m in [sqrt(1/2), sqrt(2)); the
    third is the unit of that k. float32's exponent is converted where it stands, which takes an instruction that few
    processors have for float64."""
    root = int(f.int(f.float(math.sqrt(0.5)).view(f.int)))
    offset = f.int(int(f.one) - root)  # moves the carry into the exponent from 2 to sqrt(2)
    root_half, shift, fraction = f.int(root), f.shift, f.int((1 << f.mantissa) - 1)
    aligned = f.float(2.0**f.mantissa)  # a float in which an integer in the low bits is that many ones
    aligned_bits, exponent_bits = f.int(aligned.view(f.int)), f.int(-1 << f.mantissa)
    biased = f.float(2.0**f.mantissa + f.bias)

    @scalar
    def in_place(bits: Value) -> Value:
        return iand(isub(bits, root_half), exponent_bits)

    @scalar
    def converted(bits: Value) -> Value:
        return convert(in_place(bits), f.name)

    @scalar
    def scaled(bits: Value) -> Value:
        return as_float(isub(bits, in_place(bits)))

    @scalar
    def exponent(bits: Value) -> Value:
        return as_float(ior(shift_right(iadd(bits, offset), shift), aligned_bits)) - biased

    @scalar
    def mantissa(bits: Value) -> Value:
        return as_float(iadd(iand(iadd(bits, offset), fraction), root_half))

    if f is FLOAT32:
        return converted, scaled, f.float(2.0**-f.mantissa)
    return exponent, mantissa, f.float(1)


def remainder(f: Format) -> Function:
    """w(f) = f - log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)]."""
    T, table = f.float, TABLE[f.name]
    half, two = T(0.5), T(2)

    @scalar
    def short(x: Value) -> Value:
        z = x * x
        return fmuladd(half, z, -(x * z) * polynomial(x, table))

    @scalar
    def long(x: Value) -> Value:
        s = x / (two + x)
        z = s * s
        square = half * x * x
        return square - s * fmuladd(z, polynomial(z, table), square)

    return short if f is FLOAT32 else long


def special_values(f: Format) -> Function:
    """The result for every x, given that for positive finite ones: NaN below 0, -inf at 0, inf and NaN as they are."""
    T = f.float
    zero, infinity, minus_infinity, nan = T(0), T(math.inf), T(-math.inf), T(math.nan)

    @scalar
    def special(x: Value, result: Value) -> Value:
        result = select(x < infinity, result, x)
        return select(x <= zero, select(x == zero, minus_infinity, nan), result)

    return special


def _logarithm(f: Format, near: float, rest: float, factor: float, low: float, high: float) -> Function:
    """The logarithm to the base of which `factor` = 1 / ln b = near + rest; low + high = log_b 2."""
    T = f.float
    m_near, m_rest, m_factor = T(near), T(rest), T(factor)
    natural = m_rest == 0
    one, zero = T(1), T(0)
    exponent, mantissa, unit = decomposition(f)
    smallest, scale, scaled = f.smallest_normal, T(2.0**f.mantissa), T(-f.mantissa) / unit
    k_low, k_high = T(low) * unit, T(high) * unit
    w, special = remainder(f), special_values(f)

    @scalar
    def log(x: Value) -> Value:
        denormal = x < smallest
        bits = as_bits(select(denormal, x * scale, x))
        k = exponent(bits) + select(denormal, scaled, zero)
        m = mantissa(bits) - one
        if natural:
            tail = fmuladd(k, k_low, -w(m))
        else:
            tail = fmuladd(m, m_rest, fmuladd(k, k_low, -w(m) * m_factor))
        return special(x, fmuladd(k, k_high, fmuladd(m, m_near, tail)))

    return log


def _log1p(f: Format) -> Function:
    """log(u + c) with u + c = 1 + x exactly; c, scaled like u, goes into f."""
    T = f.float
    one, zero = T(1), T(0)
    exponent, mantissa, unit = decomposition(f)
    high, low = (T(part) * unit for part in LN2[f.name])
    w, special = remainder(f), special_values(f)
    power = reciprocal_power(f)
    large = T(2.0 ** (f.mantissa + 3))  # from here on c is less than a rounding

    @scalar
    def log1p(x: Value) -> Value:
        u = one + x
        part = u - x
        c = (x - (u - part)) + (one - part)  # Knuth's two-sum
        bits = as_bits(u)
        k = exponent(bits)
        c = select(x < large, c * power(bits), zero)
        m = (mantissa(bits) - one) + c
        result = fmuladd(k, high, m + fmuladd(k, low, -w(m)))
        return select(x == zero, x, special(u, result))  # -0.0 keeps its sign

    return log1p


def reciprocal_power(f: Format) -> Function:
    """2**-k for the k that `exponent` gives, from the same bits; of a large k, anything."""
    root_half = int(f.int(f.float(math.sqrt(0.5)).view(f.int)))
    offset = f.int(int(f.one) - root_half)
    exponent_bits, twice_one = f.int(-1 << f.mantissa), f.int(2 * f.bias << f.mantissa)

    @scalar
    def power(bits: Value) -> Value:
        return as_float(isub(twice_one, iand(iadd(bits, offset), exponent_bits)))

    return power


_NATURAL = {"near": 1.0, "rest": 0.0, "factor": 1.0}
_BASE_2 = {"near": 1.0, "rest": 0.4426950408889634, "factor": 1.4426950408889634, "low": 0.0, "high": 1.0}
_BASE_10 = {"near": 0.5, "rest": -0.06570551809674817, "factor": 0.4342944819032518}

FUNCTIONS = {
    "log": both_formats(
        _logarithm,
        _NATURAL | {"high": LN2["float32"][0], "low": LN2["float32"][1]},
        _NATURAL | {"high": LN2["float64"][0], "low": LN2["float64"][1]},
    ),
    "log2": both_formats(_logarithm, _BASE_2, _BASE_2),
    "log10": both_formats(
        _logarithm,
        _BASE_10 | {"high": 0.301025390625, "low": 4.605038981195214e-06},
        _BASE_10 | {"high": 0.30102999566361177, "low": 3.694239077158931e-13},
    ),
    "log1p": both_formats(_log1p, {}, {}),
}
