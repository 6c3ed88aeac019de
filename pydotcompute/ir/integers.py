"""The arithmetic of integers, held as Python's within the range of their type: it wraps, `//` and `%` floor, and what
has no value is 0. The interpreter's arithmetic says it at length."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

from .dtypes import INTEGER_BITS, integer_range

Operation = Callable[..., Any]
COMPARISONS: dict[str, Operation] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def wrapping(compute: Operation, dtype: str, operands: int = 2) -> Operation:
    """`compute` of one or two Python ints, its result reduced to the range of `dtype` (two's complement)."""
    low, high = integer_range(dtype)
    mask = high - low

    def wrapped1(a: int) -> int:
        exact: int = compute(a)
        return exact if low <= exact <= high else ((exact - low) & mask) + low

    def wrapped2(a: int, b: int) -> int:
        exact: int = compute(a, b)
        return exact if low <= exact <= high else ((exact - low) & mask) + low

    return wrapped1 if operands == 1 else wrapped2


@cache
def operations(dtype: str) -> dict[str, Operation]:
    """The binary operations of an integer type, by their sign."""
    bits = INTEGER_BITS[dtype]
    modulus = 2**bits

    def power(a: int, b: int) -> int:
        if b < 0:
            return 0 if a not in (1, -1) else a if b % 2 else 1
        return int(pow(a, b, modulus))

    return {
        "+": wrapping(operator.add, dtype),
        "-": wrapping(operator.sub, dtype),
        "*": wrapping(operator.mul, dtype),
        "//": wrapping(lambda a, b: a // b if b else 0, dtype),
        "%": lambda a, b: a % b if b else 0,
        "**": wrapping(power, dtype),
        "&": operator.and_,
        "|": operator.or_,
        "^": operator.xor,
        "<<": wrapping(lambda a, b: a << b if 0 <= b < bits else 0, dtype),
        ">>": lambda a, b: a >> b if 0 <= b < bits else -(a < 0),
    }
