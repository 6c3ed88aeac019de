"""The few operations on floats and their bits that the functions of this package are written with.

A function is plain Python over values that stand for expressions of the typed tree: run once, it leaves behind what
it computes. `select` evaluates both sides, so that a loop around a function stays free of branches; `beyond` alone
branches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ..tree import Binary, Call, CallHelper, Compare, Const, Convert, Expr, Helper, Select, Unary, Var

LONG = 8  # coefficients from which on two chains are faster than one
WIDTH = {"float32": "int32", "float64": "int64", "int32": "float32", "int64": "float64"}


class Value:
    """An expression that is being written. `operands` are the values it is made of; `made` joins their trees."""

    __array_ufunc__ = None  # NumPy's scalars leave operations to this class

    def __init__(self, type_: str, made: Callable[..., Expr], *operands: Value):
        self.type, self.made, self.operands = type_, made, operands

    def _with(self, op: str, other: Operand, swapped: bool = False) -> Value:
        other = value(other)
        left, right = (other, self) if swapped else (self, other)
        assert left.type == right.type, f"{left.type} {op} {right.type}"
        return Value(self.type, lambda x, y: Binary(op, x, y, self.type), left, right)

    def _compare(self, op: str, other: Operand) -> Value:
        other = value(other)
        assert self.type == other.type, f"{self.type} {op} {other.type}"
        return Value("bool", lambda x, y: Compare(op, x, y), self, other)

    def __add__(self, other: Operand) -> Value:
        return self._with("+", other)

    def __radd__(self, other: Operand) -> Value:
        return self._with("+", other, True)

    def __sub__(self, other: Operand) -> Value:
        return self._with("-", other)

    def __rsub__(self, other: Operand) -> Value:
        return self._with("-", other, True)

    def __mul__(self, other: Operand) -> Value:
        return self._with("*", other)

    def __rmul__(self, other: Operand) -> Value:
        return self._with("*", other, True)

    def __truediv__(self, other: Operand) -> Value:
        return self._with("/", other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self._with("/", other, True)

    def __neg__(self) -> Value:
        return Value(self.type, lambda x: Unary("-", x, self.type), self)

    def __lt__(self, other: Operand) -> Value:
        return self._compare("<", other)

    def __le__(self, other: Operand) -> Value:
        return self._compare("<=", other)

    def __gt__(self, other: Operand) -> Value:
        return self._compare(">", other)

    def __ge__(self, other: Operand) -> Value:
        return self._compare(">=", other)

    def __eq__(self, other: Operand) -> Value:  # type: ignore[override]  # an expression, as of every operator
        return self._compare("==", other)

    def __ne__(self, other: Operand) -> Value:  # type: ignore[override]  # an expression, as of every operator
        return self._compare("!=", other)

    __hash__ = object.__hash__


Operand = Value | np.generic  # a NumPy scalar stands for a constant of its type
Function = Callable[..., Value]  # of operands
Made = TypeVar("Made", bound=Callable[..., Any])


def value(given: Operand) -> Value:
    """A value, or the constant that a NumPy scalar is."""
    if isinstance(given, Value):
        return given
    assert isinstance(given, np.generic), f"a constant without a type: {given!r}"
    dtype, plain = given.dtype.name, given.item()
    return Value(dtype, lambda: Const(plain, dtype))


def variable(name: str, dtype: str) -> Value:
    return Value(dtype, lambda: Var(name, dtype))


def scalar(function: Made) -> Made:
    """What marks a function of this package: it takes values and gives one, or several."""
    return function


def _called(name: str, result: Callable[[str], str] = lambda dtype: dtype) -> Function:
    def call(*given: Operand) -> Value:
        arguments = tuple(map(value, given))
        dtype = result(arguments[-1].type)
        return Value(dtype, lambda *trees: Call(name, trees, dtype), *arguments)

    return call


fabs, sqrt, rint, copysign = _called("abs"), _called("sqrt"), _called("round"), _called("copysign")
#: a * b + c, rounded once where the target has the instruction and twice where it has not: a target's choice
fmuladd = _called("fmuladd")
#: `then` where the condition holds, else `otherwise`; both are evaluated
select = _called("where")
count_zeros = _called("clz")
#: the bits of a float as a signed integer of its width, and back
as_bits, as_float = _called("bits", WIDTH.__getitem__), _called("of_bits", WIDTH.__getitem__)


def _operation(op: str) -> Callable[[Operand, Operand], Value]:
    return lambda a, b: value(a)._with(op, b)


iadd, isub, imul, iand, ior, ixor = map(_operation, ("+", "-", "*", "&", "|", "^"))  # on integers, wrapping
both, either, differ = map(_operation, ("&", "|", "^"))  # of conditions
shift_left = _operation("<<")


def convert(x: Operand, dtype: str) -> Value:
    return Value(dtype, lambda tree: Convert(tree, dtype), value(x))


def shift_right(a: Operand, b: Operand) -> Value:
    """Zeros come in from the left."""
    a = value(a)
    unsigned = f"u{a.type}"
    if a.type.startswith("u"):
        return a._with(">>", b)
    return convert(convert(a, unsigned)._with(">>", convert(b, unsigned)), a.type)


def widen(x: Operand) -> Value:
    return convert(x, "float64")


def narrow(x: Operand) -> Value:
    return convert(x, "float32")


def low_half(x: Operand) -> Value:
    return convert(x, "int32")


def horner(x: Value, coefficients: Sequence[float]) -> Value:
    """coefficients[0] + coefficients[1] * x + …, from the last on."""
    number = np.dtype(x.type).type
    *others, last = coefficients
    total = value(number(last))
    for coefficient in reversed(others):
        total = fmuladd(total, x, number(coefficient))
    return total


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """The same, a long chain of dependent steps made two of half the length, in x²: faster, and as accurate as long as
    the two do not cancel."""
    if len(coefficients) < LONG:
        return horner(x, coefficients)
    square = x * x
    even, odd = (polynomial(square, coefficients[start::2]) for start in (0, 1))
    return fmuladd(odd, x, even)


def called(helper: Helper, *given: Value) -> Value:
    """What another helper gives."""
    (dtype,) = helper.types
    return Value(dtype, lambda *trees: CallHelper(helper.name, trees, dtype), *given)


def beyond(limit: float, helper: str, x: Value, usual: Value) -> Value:
    """What the helper gives of x where |x| >= limit, which alone calls it, else `usual`."""

    def made(x: Expr, otherwise: Expr) -> Expr:
        size, dtype = Call("abs", (x,), usual.type), usual.type
        return Select(Compare(">=", size, Const(limit, dtype)), CallHelper(helper, (x,), dtype), otherwise, dtype)

    return Value(usual.type, made, x, usual)
