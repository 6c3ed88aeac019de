"""Between which values an index stays whatever a loop reads: what it is brought between, and what its type holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...analysis.ranges import is_integer, of_type
from ...ir.tree import Binary, Call, Const, Convert, Expr, Select, Var

_SMALL = 1 << 16  # values of a type that are worth to be looked at

Ends = tuple[Expr | None, Expr | None]


def ends_of(e: Expr, once: Mapping[str, Expr], is_fixed: Callable[[Expr], bool]) -> Ends:
    """The least and the most that an integer may be, in terms of what has one value in the loop; None where nobody
    knows. Where both are inside an array, so is it: what is added may only wrap to values below 0. once: what the
    loop's body sets once, and to what."""

    def ends(e: Expr) -> Ends:
        if is_fixed(e):
            return e, e
        match e:
            case Var(name=name) if name in once:
                return ends(once[name])
            case Call("min" | "max" as function, (a, b), dtype):
                lows, highs = zip(ends(a), ends(b))  # one of the two is enough for the end that it bounds
                return _of(function, lows, dtype, function == "max"), _of(function, highs, dtype, function == "min")
            case Select(_, a, b, dtype):
                (low_a, high_a), (low_b, high_b) = ends(a), ends(b)
                return _of("min", (low_a, low_b), dtype), _of("max", (high_a, high_b), dtype)
            case Binary("+", a, Const() as c, "int32" | "int64") | Binary("+", Const() as c, a, "int32" | "int64"):
                return _added(ends(a), c) if c.whole >= 0 else (None, None)
            case Binary("-", a, Const() as c, "int64"):
                return _added(ends(a), Const(-c.whole, "int64")) if c.whole > 0 else (None, None)
            case Binary("&", _, Const() as c, dtype) | Binary("&", Const() as c, _, dtype) if is_integer(dtype):
                return (Const(0, dtype), c) if c.whole >= 0 else (None, None)
            case Convert(a, dtype) if is_integer(dtype) and _keeps(a.type, dtype):
                low, high = ends(a)
                if low is None or high is None:
                    return _of_type(a.type, dtype)
                return Convert(low, dtype), Convert(high, dtype)
        return None, None

    return ends(e)


def _of(function: str, pair: tuple[Expr | None, Expr | None], dtype: str, either: bool = False) -> Expr | None:
    """The less or the greater of two; either: one of them where the other is not known."""
    a, b = pair
    if a is None or b is None:
        return (a or b) if either else None
    return Call(function, (a, b), dtype)


def _added(ends: Ends, c: Const) -> Ends:
    low, high = (end and Binary("+", end, c, c.type) for end in ends)
    return low, high


def _keeps(one: str, other: str) -> bool:
    """Whether each value of a type is one of the other's."""
    (low, high), (least, most) = of_type(one), of_type(other)
    return (is_integer(one) or one == "bool") and least <= low and high <= most


def _of_type(dtype: str, wide: str) -> Ends:
    low, high = of_type(dtype)
    return (Const(low, wide), Const(high, wide)) if high - low < _SMALL else (None, None)
