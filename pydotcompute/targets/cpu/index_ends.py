"""Between which values an index stays whatever a loop reads: what it is brought between, and what its type holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...analysis.ranges import is_integer, of_type
from ...ir.tree import Binary, Call, Const, Convert, Expr, Select, Var

_SMALL = 1 << 16  # values of a type that are worth to be looked at

Ends = tuple[Expr | None, Expr | None]
Found = tuple[Expr, ...]  # what is to be inside


def ends_of(e: Expr, once: Mapping[str, Expr], is_fixed: Callable[[Expr], bool]) -> Found:
    """What has one value in the loop, and where all of it is inside an array, so is an integer of the loop, whatever is
    read: the least and the most that it may be. Nothing where nobody knows them. once: what the loop's body sets once,
    and to what.

    Only what is added at the end may wrap, and to values outside: what is computed of one that wrapped says nothing of
    those between the ends.
    """

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
            case Binary("+" | "-" as op, a, b, dtype) if is_integer(dtype):
                return _added(op, ends(a), ends(b), dtype)
            case Binary("&", _, Const() as c, dtype) | Binary("&", Const() as c, _, dtype) if is_integer(dtype):
                return (Const(0, dtype), c) if c.whole >= 0 else (None, None)
            case Convert(a, dtype) if is_integer(dtype) and _keeps(a.type, dtype):
                low, high = ends(a)
                if low is None or high is None:
                    return _of_type(a.type, dtype)
                return Convert(low, dtype), Convert(high, dtype)
        return None, None

    def last(e: Expr) -> Found:
        """Of the index itself."""
        if is_fixed(e):
            return e, e
        match e:
            case Var(name=name) if name in once:
                return last(once[name])
            case Convert(a, dtype) if is_integer(dtype) and _keeps(a.type, dtype):
                if found := last(a):
                    return tuple(Convert(end, dtype) for end in found)
            case Binary("+", a, Const() as c, "int32" | "int64") | Binary("+", Const() as c, a, "int32" | "int64"):
                if c.whole >= 0:  # the most is outside if it wraps
                    return tuple(Binary("+", end, c, e.type) for end in _both(ends(a)))
            case Binary("-", a, Const() as c, "int64") if c.whole > 0:
                if found := _both(ends(a)):  # of what is less than 0 the difference may wrap
                    natural = Call("min", (found[0], Const(0, "int64")), "int64")
                    return (*(Binary("-", end, c, "int64") for end in found), natural)
        return _both(ends(e))

    return last(e)


def _both(ends: Ends) -> Found:
    low, high = ends
    return () if low is None or high is None else (low, high)


def _of(function: str, pair: tuple[Expr | None, Expr | None], dtype: str, either: bool = False) -> Expr | None:
    """The less or the greater of two; either: one of them where the other is not known."""
    a, b = pair
    if a is None or b is None:
        return (a or b) if either else None
    if isinstance(a, Const) and isinstance(b, Const):
        return Const((min if function == "min" else max)(a.whole, b.whole), dtype)
    return Call(function, (a, b), dtype)


def _added(op: str, a: Ends, b: Ends, dtype: str) -> Ends:
    """Of a sum or a difference: where all ends are constants, of which none makes it wrap."""
    constants = [end.whole for end in (*a, *b) if isinstance(end, Const)]
    if len(constants) < 4:
        return None, None
    low_a, high_a, low_b, high_b = constants
    low, high = (low_a + low_b, high_a + high_b) if op == "+" else (low_a - high_b, high_a - low_b)
    least, most = of_type(dtype)
    return (Const(low, dtype), Const(high, dtype)) if least <= low and high <= most else (None, None)


def _keeps(one: str, other: str) -> bool:
    """Whether each value of a type is one of the other's."""
    (low, high), (least, most) = of_type(one), of_type(other)
    return (is_integer(one) or one == "bool") and least <= low and high <= most


def _of_type(dtype: str, wide: str) -> Ends:
    low, high = of_type(dtype)
    return (Const(low, wide), Const(high, wide)) if high - low < _SMALL else (None, None)
