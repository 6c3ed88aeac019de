"""The arithmetic of the kernel language on single values: the specification that every backend is tested against.

A value of a dtype is held as what computes exactly in it: bool as Python's bool, integers as Python's int within
the dtype's range, float32/64 and complex64/128 as NumPy scalars, float16 and
bfloat16, which elements alone are of, as NumPy's and ml_dtypes'. `value` makes one, and each function below takes
and returns such values. NumPy warns about overflow and division by zero: callers run under `np.errstate(all="ignore")`.

Integers    `+ - * ** <<` wrap; `//` and `%` floor; division by 0 gives 0, MIN // -1 gives MIN, MIN % -1 gives 0.
            A shift by a count outside 0 … width - 1 (negative counts too) gives 0, `>>` of a negative number -1.
            A negative exponent gives what is left of 1 / base**n after truncation: 0, but for the bases 1 and -1.
Floats      IEEE, in the type itself. `x // y` and `x % y` are NumPy's: m = fmod(x, y), moved by y where its sign is
            not y's; x // y the floor of (x - m) / y; x // 0 is x / 0, x % 0 is NaN.
Bools       `+ |` or, `* &` and, `^` exclusive or, `~` not.
Complex     `*` by the four products, `/` by Smith's method, as NumPy.
Conversion  float → int truncates, saturates, NaN gives 0; int → int wraps; → bool is != 0, NaN included; → float
            rounds once to nearest even; complex → real drops the imaginary part.
"""

from __future__ import annotations

import operator
from functools import cache
from typing import Callable

import numpy as np

from ..artifact.dtypes import STORED, bfloat16_bits, numpy_dtype
from ..ir.dtypes import COMPLEX, FLOATS, INTEGER_BITS, integer_range
from ..ir.integers import COMPARISONS, operations, wrapping
from . import elementary


def value(number, dtype: str):
    """A Python or NumPy scalar that fits, as a value of `dtype`, of one that is stored in 16 bits as a float32."""
    if dtype in STORED:
        return np.float32(number)
    return bool(number) if dtype == "bool" else int(number) if dtype in INTEGER_BITS else np.dtype(dtype).type(number)


@cache
def binary(op: str, dtype: str) -> Callable:
    """The function of `left op right` in `dtype`; a KeyError for an operation that the dtype does not have."""
    if dtype == "bool":
        return _BOOL[op]
    if dtype in INTEGER_BITS:
        return operations(dtype)[op]
    if op == "**":
        return elementary.function("pow", dtype)
    return {**_REAL, **({} if dtype in COMPLEX else _FLOOR)}[op]


@cache
def unary(op: str, dtype: str) -> Callable:
    """The function of `op operand`: "-", "~" or "not"."""
    if op == "not" or (op == "~" and dtype == "bool"):
        return operator.not_
    if op == "~":
        ones = integer_range(dtype)[1]
        return (lambda a: ~a) if not dtype.startswith("u") else (lambda a: a ^ ones)
    return wrapping(operator.neg, dtype, 1) if dtype in INTEGER_BITS else operator.neg


@cache
def comparison(op: str) -> Callable:
    """The function of `left op right` for two values of one dtype: a Python bool, False for NaN but for "!="."""
    compare = COMPARISONS[op]
    return lambda a, b: bool(compare(a, b))


@cache
def of_stored(combine: Callable, dtype: str) -> Callable:
    """The same of an element that is stored in 16 bits, which `combine` sees as float32, and of a float32."""
    widened, rounded = conversion(dtype, "float32"), conversion("float32", dtype)
    return lambda old, value: rounded(combine(widened(old), value))


@cache
def conversion(source: str, target: str) -> Callable:
    """The function that converts a value of dtype `source` to dtype `target`."""
    if source == target:
        return lambda a: a
    if target == "bool":
        return lambda a: bool(a != 0)
    if target in INTEGER_BITS:
        if source == "bool":
            return int
        if source in INTEGER_BITS:
            return wrapping(lambda a: a, target, 1)
        to_integer = _saturating(target)
        return (lambda a: to_integer(a.real)) if source in COMPLEX else to_integer
    if target == "bfloat16":
        stored = numpy_dtype(target)
        return lambda a: bfloat16_bits(a).view(stored)[()]  # rounded once, of a float64 too
    result = np.dtype(target).type
    if source in INTEGER_BITS:  # through the array cast: NumPy rounds a Python int twice
        exact = np.dtype(source).type
        return lambda a: exact(a).astype(result)
    if source in COMPLEX and target in FLOATS:
        return lambda a: result(a.real)
    return result


@cache
def function(name: str, dtype: str) -> Callable:
    """The listed function for arguments of `dtype` (of `where`: the last two); a KeyError where there is none."""
    if dtype in INTEGER_BITS or dtype == "bool":
        return _integer_functions(dtype)[name]
    return elementary.function(name, dtype)


# ------------------------------------------------------------------------------------------------- integers


@cache
def _integer_functions(dtype: str) -> dict[str, Callable]:
    bits = INTEGER_BITS.get(dtype, 1)
    mask = 2**bits - 1

    def same(a):
        return a

    functions: dict[str, Callable] = {
        "min": min,
        "max": max,
        "floor": same,
        "ceil": same,
        "trunc": same,
        "round": same,
        "conj": same,
        "real": same,
        "abs": same,
        "imag": lambda a: type(a)(0),
        "isnan": lambda a: False,
        "isinf": lambda a: False,
        "isfinite": lambda a: True,
        "where": lambda condition, a, b: a if condition else b,
        "popcount": lambda a: (int(a) & mask).bit_count(),
        "clz": lambda a: bits - (int(a) & mask).bit_length(),
    }
    if dtype != "bool":
        functions |= {
            "abs": wrapping(abs, dtype, 1),
            "sign": lambda a: (a > 0) - (a < 0),
            "pow": operations(dtype)["**"],
        }
    return functions


def _saturating(dtype: str) -> Callable:
    low, high = integer_range(dtype)

    def to_integer(a) -> int:
        if a != a:
            return 0
        if a <= low:
            return low
        return high if a >= high else min(int(a), high)

    return to_integer


# --------------------------------------------------------------------------------------------------- tables

_BOOL = {"+": operator.or_, "|": operator.or_, "*": operator.and_, "&": operator.and_, "^": operator.xor}
_REAL = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_FLOOR = {"//": operator.floordiv, "%": operator.mod}
