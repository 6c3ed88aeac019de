"""Types by NumPy 2's rules (NEP 50): what two values have in common, and how one becomes the other.

A strong value has a dtype. A weak one (literals, dimensions, params, loop indices, and what is computed from them
alone) has only a kind, bool, int, float or complex, and takes the type of what it meets; alone it is held as bool,
int64, float64 or complex128.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Callable, Collection, NamedTuple

import numpy as np

from ..artifact.dtypes import STORED, nearest
from ..ir import tree
from ..ir.dtypes import KINDS as DTYPE_KINDS, kind_of

KINDS = ("bool", "int", "float", "complex")
WEAK = ("bool", "int64", "float64", "complex128")  # how a weak value of each kind is held
_PYTHON = (True, 0, 0.0, 0j)

Fault = Callable[..., None]  # reports a mistake (message, hint, position); may return, then a fallback goes on


class Type(NamedTuple):
    dtype: str
    weak: bool = False

    @property
    def rank(self) -> int:
        return rank(self.dtype)

    def __str__(self) -> str:
        return f"a plain {KINDS[self.rank]}" if self.weak else self.dtype


class Value(NamedTuple):
    expr: tree.Expr
    weak: bool = False

    @property
    def type(self) -> Type:
        return Type(self.expr.type, self.weak)

    @property
    def rank(self) -> int:
        return rank(self.expr.type)

    @property
    def literal(self) -> bool:
        """A weak number that is known now."""
        return self.weak and isinstance(self.expr, tree.Const)

    @property
    def constant(self) -> tree.Const:
        """The number, of a literal."""
        assert isinstance(self.expr, tree.Const)
        return self.expr


@lru_cache(None)
def rank(dtype: str) -> int:
    """0 bool, 1 integer, 2 float, 3 complex."""
    return DTYPE_KINDS.index(kind_of(dtype))


@lru_cache(None)
def common(a: Type, b: Type) -> Type:
    """The type that an operation on both is done in."""
    if a.weak and b.weak:
        return Type(WEAK[max(a.rank, b.rank)], True)
    if a.weak or b.weak:
        strong, weak = (b, a) if a.weak else (a, b)
        return Type(str(np.result_type(np.dtype(strong.dtype), _PYTHON[weak.rank])))
    return Type(str(np.promote_types(a.dtype, b.dtype)))


def of_name(types: Collection[Type]) -> Type | None:
    """The one type of a name that is assigned values of these types, or None.

    Weak ones alone stay weak; strong ones alone must be equal. Of both, the name adopts the float or complex type of
    the strong ones; where those are integers it is int64, or uint64 if they are unsigned, so that what starts from a
    plain number and adds up small integers does not wrap.
    """
    weak, strong = max((t.rank for t in types if t.weak), default=-1), {t.dtype for t in types if not t.weak}
    if not strong:
        return Type(WEAK[weak], True)
    if weak >= 0 and all(rank(dtype) == 1 for dtype in strong):
        unsigned = {dtype for dtype in strong if dtype.startswith("u")}
        if weak > 1 or "uint64" in unsigned and unsigned != strong:
            return None
        return Type("uint64" if unsigned == strong else "int64")
    dtype = strong.pop()
    return Type(dtype) if not strong and weak <= rank(dtype) else None


def literal(value: bool | int | float | complex, at=None) -> Value:
    kind = 0 if isinstance(value, bool) else 1 if isinstance(value, int) else 2 if isinstance(value, float) else 3
    return Value(tree.Const(value, WEAK[kind], at=at), True)


def bounds(dtype: str) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def fits(value: int, dtype: str) -> bool:
    low, high = bounds(dtype)
    return low <= value <= high


def constant(value: bool | int | float | complex, dtype: str, at=None) -> tree.Const:
    """A Const whose value is already one of `dtype`: rounded to it, not checked for range."""
    kind = rank(dtype)
    with np.errstate(over="ignore"):
        if kind == 0:
            return tree.Const(bool(value), dtype, at=at)
        if kind == 1:
            assert not isinstance(value, complex)
            return tree.Const(int(value), dtype, at=at)
        if kind == 2:
            return tree.Const(float(np.dtype(dtype).type(value)), dtype, at=at)
        return tree.Const(complex(np.dtype(dtype).type(value)), dtype, at=at)


def loaded(load: tree.Load) -> Value:
    """An element as a value: one that is stored in 16 bits is float32."""
    return Value(tree.Convert(load, "float32", at=load.at) if load.type in STORED else load)


def convert(value: Value, dtype: str, fault: Fault) -> tree.Expr:
    """The value as an expression of `dtype`; literals are converted here, all else by a Convert. Of a dtype that is
    stored in 16 bits it is for a store alone."""
    expr = value.expr
    if dtype in STORED:
        if value.literal and value.rank <= 2:
            number = nearest(_as_float(value.constant.real), dtype)  # rounded once
            return tree.Convert(tree.Const(number, "float32", at=expr.at), dtype, at=expr.at)
        wide = "float64" if expr.type == "float64" else "float32"
        return tree.Convert(convert(value, wide, fault), dtype, at=expr.at)
    kind = rank(dtype)
    if value.literal and value.rank <= 1:
        number = value.constant.whole
        if kind == 1 and not fits(number, dtype):
            low, high = bounds(dtype)
            fault(f"{number} does not fit {dtype}", f"{dtype} holds {low} … {high}", expr.at)
            return constant(low, dtype, expr.at)
        return constant(_as_float(number) if kind >= 2 else number, dtype, expr.at)
    if value.literal and value.rank <= kind:
        return constant(value.constant.value, dtype, expr.at)
    if expr.type == dtype:
        return expr
    if value.rank == 3 and kind in (1, 2):
        fault(
            f"{value.type} does not convert to {dtype}",
            "take a part of it: real(z), imag(z) or abs(z)",
            expr.at,
        )
    return tree.Convert(expr, dtype, at=expr.at)


def _as_float(value: int | float) -> float:
    """A number as a float: a whole one beyond every float is an infinity, as NumPy's overflow is."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def held(value: Value, fault: Fault) -> tree.Expr:
    """The value as it is stored: a weak one as bool, int64, float64 or complex128."""
    return convert(value, value.expr.type, fault)


def truth(value: Value) -> tree.Expr:
    """The value as a condition: a number is true where it is not 0."""
    expr = value.expr
    if expr.type == "bool":
        return expr
    if value.literal:
        return tree.Const(bool(value.constant.value), "bool", at=expr.at)
    return tree.Convert(expr, "bool", at=expr.at)


def may_fault(e: tree.Expr) -> bool:
    """Whether its evaluation may find an index outside, so that it may not be left out."""
    return any(isinstance(node, (tree.Load, tree.CallHelper)) for node in tree.walk(e))
