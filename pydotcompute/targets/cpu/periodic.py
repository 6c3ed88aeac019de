"""Remainders of an index that leaves its period at the ends alone: `(j + 1) % m`, `(j + dj + m) % m`.

A stencil with periodic boundaries divides for every neighbour, and what it loads cannot be a vector. Nearly everywhere
the remainder is the dividend, but for whole periods that were added to it. It becomes a choice, whose condition is one
of those that loops are split by (targets/cpu/index_set_splitting.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...ir.tree import (
    Binary,
    BoolOp,
    Compare,
    Const,
    Expr,
    For,
    KernelTree,
    Parallel,
    Range,
    Reduce,
    Select,
    Var,
    rebuilt,
    walk,
)  # fmt: skip
from ..llvm.expressions import is_cheap
from .bodies import assigned

_LARGEST = Const(1 << 61, "int64")  # period of which a few can be added without wrapping
_MOST = 2  # periods that are
_ZERO = Const(0, "int64")

Ranges = Mapping[str, tuple[int, int]]  # of the indices of inner loops: the least and the greatest value


def periodic(tree: KernelTree) -> KernelTree:
    """The tree with choices in place of such remainders."""
    if not any(isinstance(n, Binary) and n.op == "%" for s in tree.body for n in walk(s)):
        return tree

    def found(node: Any) -> Any:
        if isinstance(node, Parallel) and node.kind != "blocks":
            changed = assigned(node.body)
            return replace(node, body=tuple(_chosen(s, node.names[-1], changed, {}) for s in node.body))
        return rebuilt(node, found) if not isinstance(node, Expr) else node

    return replace(tree, body=tuple(map(found, tree.body)))


def _chosen(node: Any, index: str, changed: set[str], ranges: Ranges) -> Any:
    if isinstance(node, (Parallel, Select)):  # with an index of its own; a condition of the user's
        return node
    if isinstance(node, (For, Reduce)):
        ranges = {name: ends for name, ends in ranges.items() if name != node.name} | _ends(node)
    done = rebuilt(node, lambda child: _chosen(child, index, changed, ranges))
    if isinstance(done, Binary) and done.op == "%" and done.type == "int64":
        return _choice(done, index, changed, ranges) or done
    return done


def _ends(loop: For | Reduce) -> dict[str, tuple[int, int]]:
    """The values of a loop's index, where they stand in the text."""
    over: For | Range = loop if isinstance(loop, For) else loop.range or Range(_ZERO, loop.count, Const(1, "int64"))
    match over.start, over.stop, over.step:
        case Const(value=int(first)), Const(value=int(stop)), Const(value=1) if first < stop:
            return {} if loop.name in assigned(loop.body) else {loop.name: (first, stop - 1)}
    return {}


def _choice(e: Binary, index: str, changed: set[str], ranges: Ranges) -> Select | None:
    period = e.right
    if not isinstance(period, Var) or period.name in changed or period.name == index:
        return None
    terms = _terms(e.left, 1)
    periods = sum(sign for sign, term in terms if term == period)
    others = [(sign, term) for sign, term in terms if term not in (period, Var(index, "int64"))]
    own = [sign for sign, term in terms if term == Var(index, "int64")]
    if own != [1] or abs(periods) > _MOST or not all(is_cheap(term) for _, term in others):
        return None
    names = {n.name for _, term in others for n in walk(term) if isinstance(n, Var)}
    if index in names or names & changed - set(ranges):
        return None
    if any(n in ranges for _, term in others for n in _names_inside(term)):
        return None

    def at(end: int) -> Expr:
        """The dividend without whole periods; end: the least that the indices of inner loops make it, or the most."""
        sum_: Expr = Var(index, "int64")
        for sign, term in others:
            if isinstance(term, Var) and term.name in ranges and end:
                term = Const(ranges[term.name][(end * sign) > 0], "int64")
            sum_ = Binary("+" if sign > 0 else "-", sum_, term, "int64")
        return sum_

    condition: Expr = BoolOp("and", Compare(">=", at(-1), _ZERO), Compare("<", at(1), period))
    if periods:
        condition = BoolOp("and", condition, Compare("<", period, _LARGEST))
    return Select(condition, at(0), e, "int64")


def _terms(e: Expr, sign: int) -> list[tuple[int, Expr]]:
    """What is added and taken away."""
    if isinstance(e, Binary) and e.op in ("+", "-"):
        return _terms(e.left, sign) + _terms(e.right, sign if e.op == "+" else -sign)
    return [(sign, e)]


def _names_inside(term: Expr) -> set[str]:
    """The names in what is more than a name."""
    return set() if isinstance(term, Var) else {n.name for n in walk(term) if isinstance(n, Var)}
