"""The two floating-point formats, as the constants that the functions' factories bind.

A function is written once, by a factory that gets a format, and becomes the tree of one type, with constants of it.
"""

import builtins
from typing import Any, Callable, NamedTuple

import numpy as np

from .bits import Function


class Format(NamedTuple):
    """An IEEE 754 binary format: how its bits are divided, and numbers that belong to it."""

    name: str
    float: type[np.floating[Any]]  # the NumPy scalar types of a float and of the integer of its width
    int: type[np.signedinteger[Any]]
    mantissa: builtins.int  # stored bits
    bias: builtins.int

    @property
    def one(self) -> np.signedinteger[Any]:
        """The bits of 1.0; the exponent of x is the difference of the bits to it, shifted."""
        return self.int(self.bias << self.mantissa)

    @property
    def shift(self) -> np.signedinteger[Any]:
        return self.int(self.mantissa)

    @property
    def magic(self) -> np.floating[Any]:
        """1.5 * 2**mantissa: adding it rounds to an integer, which then stands in the low bits."""
        return self.float(1.5 * 2.0**self.mantissa)

    @property
    def smallest_normal(self) -> np.floating[Any]:
        return self.float(2.0 ** (1 - self.bias))


FLOAT32 = Format("float32", np.float32, np.int32, 23, 127)
FLOAT64 = Format("float64", np.float64, np.int64, 52, 1023)


def both_formats(
    factory: Callable[..., Function], float32: dict[str, Any], float64: dict[str, Any]
) -> dict[str, Function]:
    """{"float32": …, "float64": …} of a factory's functions, made with each format's own constants."""
    return {"float32": factory(FLOAT32, **float32), "float64": factory(FLOAT64, **float64)}
