"""Which dtypes there are of each kind, and the extremes of each."""

from __future__ import annotations

from functools import cache

from ..artifact.dtypes import STORED

INTEGER_BITS = {f"{sign}int{bits}": bits for sign in ("", "u") for bits in (8, 16, 32, 64)}
FLOATS = ("float32", "float64")  # what is computed with; elements may be stored in fewer bits
COMPLEX = {"complex64": "float32", "complex128": "float64"}  # and the dtype of their parts
DOUBLES = frozenset(("float64", "complex128"))  # what not every language has

KINDS = "bifc"  # letters of the kinds of dtypes, each wider than the one before: b(ool) i(nteger) f(loat) c(omplex)


def kind_of(dtype: str) -> str:
    """The letter of a dtype's kind."""
    return "b" if dtype == "bool" else "i" if dtype in INTEGER_BITS else "f" if dtype in (*FLOATS, *STORED) else "c"


@cache
def integer_range(dtype: str) -> tuple[int, int]:
    """The smallest and the largest value of an integer dtype."""
    bits = INTEGER_BITS[dtype]
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def smallest(dtype: str) -> bool | int | float:
    """What `max` over nothing gives: -inf, the smallest integer, False."""
    return False if dtype == "bool" else integer_range(dtype)[0] if dtype in INTEGER_BITS else float("-inf")


def largest(dtype: str) -> bool | int | float:
    """What `min` over nothing gives: inf, the largest integer, True."""
    return True if dtype == "bool" else integer_range(dtype)[1] if dtype in INTEGER_BITS else float("inf")
