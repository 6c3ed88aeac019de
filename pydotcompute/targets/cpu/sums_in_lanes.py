"""Sums of floats, in any order, as sequential loops that iterations of a grid go through together, where neighbours in
the grid read neighbours in memory, and neighbours in the sum do not: a product of matrices, a convolution.

Up to eight terms are added up one after the other, and these totals to a sum that keeps what it rounds off: however
many terms there are, no more than ten roundings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

from ...ir.tree import (
    Accumulate,
    Assign,
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    For,
    If,
    Load,
    Reduce,
    Select,
    Stmt,
    Var,
    While,
    rebuilt,
    walk,
)  # fmt: skip

PIECE = 8  # terms
_NONE, _ONE = Const(0, "int64"), Const(1, "int64")


def lies_across(s: Stmt, is_same: Callable[[Expr], bool]) -> TypeGuard[Reduce]:
    """Whether it is such a sum. is_same: whether an index is one for neighbours in the grid."""
    if not isinstance(s, Reduce) or s.reduction.op != "sum" or s.reduction.type not in ("float32", "float64"):
        return False
    if s.reduction.start is None or any(isinstance(n, (For, While)) for n in walk(s)):
        return False
    nest = _nest(s)
    if len(nest) < sum(isinstance(n, Reduce) for n in walk(s)):
        return False
    own = {loop.name for loop in nest} | {n.name for n in walk(s) if isinstance(n, Assign)}
    across = False
    for load in (n for n in walk(s) if isinstance(n, Load) and n.indices):

        def of_lane(e: Expr) -> bool:
            return not is_same(_without(e, own))

        first, last = load.indices[:-1], load.indices[-1]
        if any(map(of_lane, first)):
            return False
        turns = any(isinstance(n, Var) and n.name in own for e in first for n in walk(e))
        across = across or of_lane(last) and (turns or len(nest) > 1)
    return across


def _nest(s: Reduce) -> list[Reduce]:
    """A sum, of which each term may be a sum itself, and so on."""
    match s.body:
        case (*_, Reduce() as inner, Accumulate(op="sum", value=Var(name))) if name == inner.reduction.name:
            if inner.reduction.op == "sum" and inner.reduction.start is not None:
                return [s, *_nest(inner)]
    return [s]


def _without(e: Any, names: set[str]) -> Any:
    """The expression with 0 for these names."""
    if isinstance(e, Var) and e.name in names:
        return Const(0, e.type)
    return rebuilt(e, lambda child: _without(child, names))


def as_loops(s: Reduce, fresh: Callable[[str, str], Var]) -> tuple[Stmt, ...]:
    """The sum as statements. fresh: makes a local, of a name and a type."""
    r = s.reduction
    assert r.start is not None
    names = ("_piece", "_total", "_rest", "_term", "_larger", "_back")
    piece, total, rest, term, larger, back = (fresh(name, r.type) for name in names)

    def combined(op: str, a: Expr, b: Expr) -> Binary:
        return Binary(op, a, b, a.type)

    def assign(name: Var, value: Expr) -> Assign:
        return Assign(name.name, value, at=s.at)

    keep = (  # larger = total + piece, and what that rounds off
        assign(larger, combined("+", total, piece)),
        assign(back, combined("-", larger, total)),
        assign(term, combined("-", total, combined("-", larger, back))),
        assign(rest, combined("+", rest, combined("+", term, combined("-", piece, back)))),
        assign(total, larger),
    )

    def update(node: Any) -> Any:
        if isinstance(node, Accumulate):
            return assign(piece, combined("+", piece, node.value))
        return rebuilt(node, update) if isinstance(node, If) else node

    first = fresh("_first_term", "int64")
    *outer, inner = _nest(s)
    end = Call("min", (combined("+", first, Const(PIECE, "int64")), inner.count), "int64")
    terms = For(inner.name, first, end, _ONE, tuple(map(update, inner.body)), at=inner.at)
    pieces = (assign(piece, Const(-0.0, r.type)), terms, *keep)
    loop = For(first.name, _NONE, inner.count, Const(PIECE, "int64"), pieces, at=s.at)
    for one in reversed(outer):
        loop = For(one.name, _NONE, one.count, _ONE, (*one.body[:-2], loop), at=one.at)
    result = Select(Compare("==", rest, rest), combined("+", total, rest), total, r.type)  # NaN: of infinities
    return (
        assign(total, Const(-0.0, r.type)),
        assign(rest, Const(0.0, r.type)),
        loop,
        assign(Var(r.name, r.type), combined("+", r.start, result)),
    )
