"""The operators and reductions of the kernel language: one table, read by the front end, the interpreter and every
target. The functions are in ir/functions.py.

Kinds of operands are the letters of ir/dtypes.py. The exact arithmetic is interpreter/arithmetic.py.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NamedTuple

from .dtypes import integer_range, kind_of, largest, smallest


class Operator(NamedTuple):
    """One operator on operands of one type. `word` is its name where a symbol cannot stand; `gives` is "same" as the
    operands' type, or "bool"; bools that it accepts but has no meaning of its own for are computed with as int8."""

    word: str
    arity: int
    accepts: str
    gives: str
    summary: str


def _binary(word: str, accepts: str, summary: str) -> Operator:
    return Operator(word, 2, accepts, "same", summary)


def _comparison(word: str, accepts: str, summary: str) -> Operator:
    return Operator(word, 2, accepts, "bool", summary)


BINARY: dict[str, Operator] = {
    "+": _binary("add", "bifc", "sum; integers wrap; of bools `or`"),
    "-": _binary("sub", "ifc", "difference; integers wrap"),
    "*": _binary("mul", "bifc", "product; integers wrap; of bools `and`"),
    "/": _binary("div", "bifc", "quotient, of integers as float64; x / 0 is an infinity or NaN"),
    "//": _binary("floordiv", "bif", "quotient, rounded down; an integer // 0 is 0"),
    "%": _binary("mod", "bif", "what is left of `//`, with the sign of the divisor; an integer % 0 is 0"),
    "**": _binary("pow", "bif", "power; integers wrap"),
    "&": _binary("band", "bi", "bits that are 1 in both"),
    "|": _binary("bor", "bi", "bits that are 1 in one or both"),
    "^": _binary("bxor", "bi", "bits that are 1 in one alone"),
    "<<": _binary("shl", "bi", "bits moved up; 0 where the shift is as wide as the type"),
    ">>": _binary("shr", "bi", "bits moved down, the sign kept; 0 or -1 where the shift is as wide as the type"),
}
UNARY: dict[str, Operator] = {
    "-": Operator("neg", 1, "ifc", "same", "the number with the other sign"),
    "~": Operator("invert", 1, "bi", "same", "every bit the other way; of a bool `not`"),
    "not": Operator("not", 1, "b", "bool", "true where it is false"),
}
COMPARISONS: dict[str, Operator] = {
    "<": _comparison("lt", "bif", "is less; exact between integers of any types; False for NaN"),
    "<=": _comparison("le", "bif", "is less or equal"),
    ">": _comparison("gt", "bif", "is greater"),
    ">=": _comparison("ge", "bif", "is greater or equal"),
    "==": _comparison("eq", "bifc", "is equal"),
    "!=": _comparison("ne", "bifc", "is not equal; True for NaN"),
}
SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}  # with the operands exchanged
CONNECTIVES: dict[str, Operator] = {
    "and": Operator("and", 2, "b", "bool", "whether both hold; the second is not evaluated where the first does not"),
    "or": Operator("or", 2, "b", "bool", "whether one holds; the second is not evaluated where the first does"),
}
# Node of Python's syntax → the symbol above.
SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.And: "and", ast.Or: "or",
}  # fmt: skip


# ---------------------------------------------------------------------------------------------------- reductions


class Combination(NamedTuple):
    """One reduction. `combine` is the operator, or the function, of two values; of argmin and argmax the comparison
    that a better value wins. `identity(dtype)` changes nothing: what a reduction of nothing gives, but for argmin and
    argmax, of whose values it is the worst. `gives` is "same" as the terms' type, "sum" (that of a functional sum:
    int64 and uint64 for integers), "bool", or "position" (int64, -1 of nothing). `bools` is what it is of bools, where
    that is another one."""

    combine: str
    accepts: str
    gives: str
    identity: Callable[[str], bool | int | float]
    summary: str
    bools: str = ""

    @property
    def positioned(self) -> bool:
        return self.gives == "position"


def _number(value: int) -> Callable[[str], bool | int | float]:
    """The number in a dtype."""
    return lambda dtype: bool(value) if dtype == "bool" else value if kind_of(dtype) == "i" else float(value)


def _ones(dtype: str) -> bool | int:
    """Every bit 1."""
    return True if dtype == "bool" else integer_range(dtype)[1] if dtype.startswith("u") else -1


REDUCTIONS: dict[str, Combination] = {
    "sum": Combination("+", "bifc", "sum", _number(0), "sum", bools="or"),
    "prod": Combination("*", "bifc", "same", _number(1), "product", bools="and"),
    "min": Combination("min", "bif", "same", largest, "the smallest; NaN if one is", bools="all"),
    "max": Combination("max", "bif", "same", smallest, "the largest; NaN if one is", bools="any"),
    "any": Combination("|", "b", "bool", _number(0), "whether one is true"),
    "all": Combination("&", "b", "bool", _number(1), "whether each is true"),
    "and": Combination("&", "bi", "same", _ones, "bits that are 1 in all"),
    "or": Combination("|", "bi", "same", _number(0), "bits that are 1 in one at least"),
    "xor": Combination("^", "bi", "same", _number(0), "bits that are 1 in an odd number"),
    "argmin": Combination("<", "bif", "position", largest, "the number of the first smallest, or of the first NaN"),
    "argmax": Combination(">", "bif", "position", smallest, "the number of the first largest, or of the first NaN"),
}
FUNCTIONAL = ("sum", "min", "max", "any", "all", "argmin", "argmax")  # as `sum(e for c in threads(n))`
# The operator before `=` → the reduction that an accumulator's update is; `-=` adds the term with the other sign.
UPDATES: dict[str, str] = {"+": "sum", "-": "sum", "*": "prod", "&": "and", "|": "or", "^": "xor"}
COMPARED = ("min", "max")  # an accumulator's update may be `s = min(s, e)` as well


def of_bools(op: str, dtype: str) -> str:
    """The reduction that `op` is in a dtype."""
    return REDUCTIONS[op].bools or op if dtype == "bool" else op


def sum_type(dtype: str) -> str:
    """The type of a functional sum of terms: NumPy's."""
    if kind_of(dtype) in "fc":
        return dtype
    return "uint64" if dtype.startswith("u") else "int64"
