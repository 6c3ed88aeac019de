"""Typed pieces of text, and NumPy 2's rules for what an operation on two of them is done in.

The rules are NumPy's own (`np.result_type`), not the front end's: where the two differ, a program shows it.
"""

from __future__ import annotations

import operator
from typing import NamedTuple

import ml_dtypes  # noqa: F401  # NumPy's bfloat16
import numpy as np

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
STORED = ("float16", "bfloat16")  # of elements, which are read as float32
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)
_WEAK = ("bool", "int64", "float64", "complex128")
_PYTHON = (True, 0, 0.0, 0j)
_FOLD = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "**": operator.pow, "/": operator.truediv,
}  # fmt: skip


class Table(NamedTuple):
    """What a program may be of. is_exact: whether floats are what IEEE 754 says, NaN and products before sums too."""

    dtypes: tuple[str, ...] = DTYPES
    is_exact: bool = True

    @property
    def integers(self) -> tuple[str, ...]:
        return tuple(d for d in INTEGERS if d in self.dtypes)

    @property
    def floats(self) -> tuple[str, ...]:
        return tuple(d for d in FLOATS if d in self.dtypes)

    @property
    def complexes(self) -> tuple[str, ...]:
        return tuple(d for d in COMPLEX if d in self.dtypes)

    @property
    def place(self) -> str:
        """Of arrays of indices."""
        return "int64" if "int64" in self.dtypes else "int32"

    @property
    def widest(self) -> str:
        return self.floats[-1]

    def allows(self, made: Expr) -> bool:
        """Whether a value can be computed: a literal in whatever it meets, integers in any width."""
        return made.dtype in self.dtypes or made.rank <= 1 or made.value is not None


EVERY = Table()


class Retry(Exception):
    """What was begun here cannot be written: try something else."""


class Expr(NamedTuple):
    text: str
    dtype: str
    weak: bool = False
    value: bool | int | float | complex | None = None  # of a literal

    @property
    def rank(self) -> int:
        """0 bool, 1 integer, 2 float, 3 complex."""
        return rank(self.dtype)


def rank(dtype: str) -> int:
    return {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}[np.dtype(dtype).kind]


def literal(value) -> Expr:
    kind = 0 if isinstance(value, bool) else 1 if isinstance(value, int) else 2 if isinstance(value, float) else 3
    text = repr(value).replace("infinity", "inf")
    return Expr(text if not text.startswith("-") else f"({text})", _WEAK[kind], True, value)


def common(*parts: Expr) -> tuple[str, bool]:
    """(dtype, whether it is weak) of an operation on these; Retry where a literal does not fit it."""
    strong = [p.dtype for p in parts if not p.weak]
    kind = max((p.rank for p in parts if p.weak), default=0)
    if not strong:
        done = _WEAK[kind]
    else:
        done = str(np.result_type(*map(np.dtype, strong), *([_PYTHON[kind]] if len(strong) < len(parts) else [])))
    for part in parts:
        if part.value is not None and part.rank <= 1 and rank(done) == 1 and not fits(part.value, done):
            raise Retry
    return done, not strong


def adopted(dtype: str) -> str:
    """The type of a name that starts from a plain number and is given values of this dtype; that of a sum of them."""
    return {"i": "int64", "u": "uint64"}.get(np.dtype(dtype).kind, dtype)


def fits(value: int, dtype: str) -> bool:
    info = np.iinfo(dtype)
    return info.min <= value <= info.max


def folded(op: str, a: Expr, b: Expr):
    """What Python makes of two literals; None where one is none or Python makes nothing of them."""
    if a.value is None or b.value is None or a.rank > 2 or b.rank > 2:
        return None
    if op in ("<<", "**") and not 0 <= b.value < 64:
        return None
    try:
        value = _FOLD[op](a.value, b.value)
    except (ArithmeticError, ValueError, TypeError):
        return None
    return None if isinstance(value, complex) or value != value else value


def real_of(dtype: str) -> str:
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
