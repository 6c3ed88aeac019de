"""The functions, constants and words of the kernel language: one table, read by declarations, the front end, the
interpreter, every target and the documentation. Operators and reductions are in ir/operations.py."""

from __future__ import annotations

import math
from typing import NamedTuple

from .operations import FUNCTIONAL


class Function(NamedTuple):
    """One listed function.

    `accepts` are the kinds of its arguments: b(ool) i(nteger) f(loat) c(omplex). `computed` is "float" where
    integers and bools become float64 first, else "common": the arguments' common type. `gives` is "same" as what
    it is computed in, "bool", or "real" (the real type of a complex one).
    """

    arguments: tuple[str, ...]
    accepts: str
    computed: str
    gives: str
    summary: str
    variadic: bool = False

    @property
    def arity(self) -> str:
        count = len(self.arguments)
        return ("1 argument" if count == 1 else f"{count} arguments") + (" or more" if self.variadic else "")


def _unary(accepts: str, computed: str, table: dict[str, str], gives: str = "same") -> dict[str, Function]:
    return {name: Function(("x",), accepts, computed, gives, summary) for name, summary in table.items()}


FUNCTIONS: dict[str, Function] = {
    "abs": Function(("x",), "bifc", "common", "real", "absolute value; of a complex number its modulus"),
    "min": Function(("x", "y"), "bif", "common", "same", "the smallest; NaN if one is", variadic=True),
    "max": Function(("x", "y"), "bif", "common", "same", "the largest; NaN if one is", variadic=True),
    **_unary(
        "bif",
        "common",
        {
            "floor": "the largest whole number that is not above x",
            "ceil": "the smallest whole number that is not below x",
            "trunc": "x without its fraction",
            "round": "the nearest whole number, halves to even",
        },
    ),
    "sign": Function(("x",), "if", "common", "same", "-1, 0 or 1; NaN of NaN"),
    **_unary(  # of complex numbers the front end writes them out over the parts
        "bifc",
        "float",
        {
            "sqrt": "square root",
            "exp": "e to the x",
            "log": "natural logarithm",
            "sin": "sine, x in radians",
            "cos": "cosine, x in radians",
            "sinh": "hyperbolic sine",
            "cosh": "hyperbolic cosine",
        },
    ),
    **_unary(
        "bif",
        "float",
        {
            "rsqrt": "1 / sqrt(x)",
            "cbrt": "cube root",
            "exp2": "2 to the x",
            "expm1": "exp(x) - 1, exact near 0",
            "log2": "logarithm to base 2",
            "log10": "logarithm to base 10",
            "log1p": "log(1 + x), exact near 0",
            "tan": "tangent, x in radians",
            "asin": "inverse sine, in [-pi/2, pi/2]",
            "acos": "inverse cosine, in [0, pi]",
            "atan": "inverse tangent, in [-pi/2, pi/2]",
            "tanh": "hyperbolic tangent",
            "erf": "error function",
            "erfc": "1 - erf(x), exact for large x",
        },
    ),
    "atan2": Function(("y", "x"), "bif", "float", "same", "the angle of the point (x, y), in [-pi, pi]"),
    "pow": Function(("x", "y"), "bifc", "common", "same", "x ** y"),
    "hypot": Function(("x", "y"), "bif", "float", "same", "sqrt(x * x + y * y) without overflow on the way"),
    "fma": Function(("x", "y", "z"), "bif", "float", "same", "x * y + z, rounded once"),
    "copysign": Function(("x", "y"), "bif", "float", "same", "the size of x with the sign of y"),
    **_unary(
        "bif",
        "float",
        {"isnan": "is NaN", "isinf": "is an infinity", "isfinite": "is neither NaN nor an infinity"},
        gives="bool",
    ),
    "where": Function(("condition", "x", "y"), "bif", "common", "same", "x where condition is true, else y"),
    "popcount": Function(("x",), "i", "common", "same", "how many bits are 1"),
    "clz": Function(("x",), "i", "common", "same", "how many bits above the highest 1; the width for 0"),
    "conj": Function(("z",), "bifc", "common", "same", "complex conjugate"),
    "real": Function(("z",), "bifc", "common", "real", "real part"),
    "imag": Function(("z",), "bifc", "common", "real", "imaginary part"),
}

CONSTANTS: dict[str, float] = {"inf": math.inf, "nan": math.nan, "pi": math.pi, "e": math.e}

LOOPS = ("grid", "blocks", "threads")
ARRAYS = ("shared", "private", "local")
ATOMICS = {"atomic_add": "add", "atomic_min": "min", "atomic_max": "max"}
UPDATES = (*ATOMICS, "scatter")  # statements: array, index, value
ORDERING = ("sort", "median", "searchsorted")  # of an array's first elements: see frontend/ordering.py
# What only the kernel language has: in a raw kernel these words would mean nothing.
PARALLEL = frozenset({*LOOPS, *ARRAYS, *UPDATES})
# Words with a meaning of their own that are not functions of the table above.
WORDS = (PARALLEL | {*FUNCTIONAL, *ORDERING, "range", "len"}) - FUNCTIONS.keys()
