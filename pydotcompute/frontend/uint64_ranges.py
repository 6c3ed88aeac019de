"""`range` over uint64: its bounds need not fit the int64 in which loops count."""

from __future__ import annotations

import ast
from typing import Callable

from ..ir import tree
from . import operators
from .promotion import Value, convert
from .scope import Scope

MOST = 2**63 - 1
_PART = 2**62 - 2  # at most so many turns of each of two parts, and one more: no loop gets there


def turns(
    s: Scope, node: ast.For, bounds: tuple[Value, Value, Value]
) -> tuple[list[tree.Stmt], tree.Expr, Callable[[tree.Expr], tree.Expr]]:
    """Statements before the loop, the number of its turns, and its index by the number of the turn from 0.

    The distance from start to stop has up to 65 bits. Where 0 lies between them, each is its distance from 0, and
    the turns are counted in two parts; else their difference has 64 bits. The index is an int64, and wraps.
    """
    at, fault = s.at(node), s.fault(node)
    before: list[tree.Stmt] = []

    def kept(value: Value, name: str) -> Value:
        if isinstance(value.expr, tree.Const):
            return value
        name = s.fresh(f"{name}_", value.expr.type)
        before.append(tree.Assign(name, value.expr, at=at))
        return Value(tree.Var(name, value.expr.type, at=at), value.weak)

    def number(value: int) -> Value:
        return Value(tree.Const(value, "uint64", at=at))

    def binary(op: str, left: Value, right: Value) -> Value:
        return Value(tree.Binary(op, left.expr, right.expr, "uint64", at=at))

    def either(condition: tree.Expr, then: Value, otherwise: Value) -> Value:
        return Value(tree.Select(condition, then.expr, otherwise.expr, then.expr.type, at=at))

    def compare(op: str, left: Value, right: Value) -> tree.Expr:
        return operators.compare(op, left, right, fault, at).expr

    def both(left: tree.Expr, right: tree.Expr) -> tree.Expr:
        return tree.BoolOp("and", left, right, at=at)

    def word(value: Value) -> Value:
        return Value(convert(Value(convert(value, value.expr.type, fault)), "uint64", fault))

    zero = Value(tree.Const(0, "int64", at=at), True)
    start, stop, step = (kept(value, name) for value, name in zip(bounds, ("start", "stop", "step")))
    up = kept(Value(compare(">", step, zero)), "up").expr
    first, last = both(up, compare("<", start, stop)), both(compare("<", step, zero), compare(">", start, stop))
    runs = tree.BoolOp("or", first, last, at=at)
    size = kept(either(up, word(step), binary("-", number(0), word(step))), "size")
    low = kept(either(up, word(start), word(stop)), "low")
    high = kept(either(up, word(stop), word(start)), "high")
    below = [Value(compare("<", bound, zero)) for bound in (start, stop)]
    apart = both(either(up, below[0], below[1]).expr, _not(either(up, below[1], below[0]).expr, at))
    apart = kept(Value(apart), "apart").expr
    above = kept(either(apart, high, binary("-", high, low)), "above")
    under = kept(either(apart, binary("-", number(0), low), number(0)), "under")
    rests = [kept(binary("%", part, size), "rest") for part in (above, under)]
    wholes = [operators.call("min", [binary("//", part, size), number(_PART)], fault, at) for part in (above, under)]
    some = tree.BoolOp("or", compare("!=", rests[0], number(0)), compare("!=", rests[1], number(0)), at=at)
    over = compare(">", rests[1], binary("-", size, rests[0]))
    count = binary("+", binary("+", *wholes), either(some, number(1), number(0)))
    count = binary("+", count, either(over, number(1), number(0)))
    count = kept(Value(convert(either(runs, count, number(0)), "int64", fault)), "turns")

    def index(turn: tree.Expr) -> tree.Expr:
        by = tree.Binary("*", turn, convert(step, "int64", fault), "int64", at=at)
        return tree.Binary("+", convert(start, "int64", fault), by, "int64", at=at)

    return before, count.expr, index


def _not(operand: tree.Expr, at) -> tree.Expr:
    return tree.Unary("not", operand, "bool", at=at)
