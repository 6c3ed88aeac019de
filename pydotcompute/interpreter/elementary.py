"""The listed functions on single NumPy floats and complex numbers.

Everything that IEEE defines exactly (sqrt, fma, floor, min, copysign, …) is exact. The others are computed in a
wider type (float64 for float32, the machine's long double for float64) and rounded once, so they are within a hair of
half a unit in the last place; erf and erfc of float64 are the C library's.

min and max propagate NaN and order -0 before +0. sign(NaN) is NaN, sign(±0) is +0. round is half to even.
pow follows C: pow(1, NaN) and pow(NaN, 0) are 1. rsqrt(±0) is ±inf.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any, Callable

import numpy as np

_WIDE = {"float32": np.float64, "float64": np.longdouble}
_ROUNDED: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "cbrt": np.cbrt, "atan2": np.arctan2,
    "hypot": np.hypot, "pow": np.power, "rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip
_EXACT: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint, "sqrt": np.sqrt,
    "copysign": np.copysign, "conj": np.conj, "sign": np.sign,
}  # fmt: skip


@cache
def function(name: str, dtype: str) -> Callable:
    """The listed function for arguments of a float or complex dtype; a KeyError where there is none."""
    if dtype.startswith("complex"):
        return _COMPLEX[name]
    if name in _COMMON:
        return _COMMON[name]
    if name == "fma":
        return fma_float32 if dtype == "float32" else fma_float64
    scalar = np.dtype(dtype).type
    if name in _EXACT:
        compute = _EXACT[name]
        return lambda *arguments: scalar(compute(*arguments))
    if name in ("erf", "erfc"):
        compute = getattr(math, name)
        return lambda x: scalar(compute(float(x)))
    compute, wide = _ROUNDED[name], _WIDE[dtype]
    return lambda *arguments: scalar(compute(*(wide(x) for x in arguments)))


def minimum(a, b):
    """The lesser of two floats: NaN if one is, and -0 before +0."""
    if a != a or b != b:
        return a + b
    return a if a < b or (a == b and np.signbit(a)) else b


def maximum(a, b):
    """The greater of two floats: NaN if one is, and +0 after -0."""
    if a != a or b != b:
        return a + b
    return a if a > b or (a == b and not np.signbit(a)) else b


def fma_float64(a, b, c):
    """a · b + c with one rounding, exactly: in rational numbers."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if not exact:  # a · b is -c or ±0, so it has no rounding error, and IEEE decides the sign of the zero
        return a * b + c
    try:
        return np.float64(exact.numerator / exact.denominator)  # Python rounds the quotient of two ints correctly
    except OverflowError:
        return np.float64(math.inf if exact > 0 else -math.inf)


def fma_float32(a, b, c):
    """The product is exact in float64, and the sum is rounded there to odd, so that rounding it again rounds correctly
    (S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd",
    IEEE Transactions on Computers 57, 2008)."""
    product, addend = np.float64(a) * np.float64(b), np.float64(c)
    total = product + addend
    if not np.isfinite(total):
        return np.float32(total)
    virtual = total - product
    error = (product - (total - virtual)) + (addend - virtual)
    if error and not total.view(np.int64) & 1:
        total = np.nextafter(total, np.float64(math.copysign(math.inf, error)))
    return np.float32(total)


_WHOLE = {np.float32: np.complex64, np.float64: np.complex128}
_COMMON: dict[str, Callable[..., Any]] = {
    "min": minimum,
    "max": maximum,
    "isnan": lambda x: bool(np.isnan(x)),
    "isinf": lambda x: bool(np.isinf(x)),
    "isfinite": lambda x: bool(np.isfinite(x)),
    "where": lambda condition, a, b: a if condition else b,
    "real": lambda x: x,
    "imag": lambda x: type(x)(0),
    "complex_of": lambda real, imaginary: _WHOLE[type(real)](complex(real, imaginary)),
}
_COMPLEX: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "conj": np.conj,
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "where": lambda condition, a, b: a if condition else b,
}
