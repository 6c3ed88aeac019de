"""Indices that leave their array at its ends alone: `(j + 1) % m`, `(j + dj + m) % m`, `min(max(j + dj, 0), m - 1)`.

A stencil with periodic boundaries divides for every neighbour, one that repeats the nearest element at its boundaries
compares, and what either loads cannot be a vector. Nearly everywhere the index is the sum that it is made of, but for
whole periods that were added to it. It becomes a choice, whose condition is one of those that loops are split by
(targets/cpu/index_set_splitting.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

from ...analysis.cost import EXACT
from ...ir.tree import (
    Access,
    Assign,
    Binary,
    BoolOp,
    Call,
    CallHelper,
    Compare,
    Const,
    Expr,
    For,
    KernelTree,
    Load,
    Parallel,
    Range,
    Reduce,
    Select,
    Var,
    rebuilt,
    walk,
)  # fmt: skip
from ..llvm.expressions import is_cheap
from .bodies import as_parallel, assigned, has_loops

_LARGEST = Const(1 << 60, "int64")  # of what five can be added without wrapping: _FEW, the index, those of inner loops
_MOST = 2  # periods that are
_FEW = 3  # other numbers
_ZERO = Const(0, "int64")

Ranges = Mapping[str, tuple[int, int]]  # of the indices of inner loops: the least and the greatest value


def periodic(tree: KernelTree) -> KernelTree:
    """The tree with choices in place of such indices."""
    if not any(_leaves(n) for s in tree.body for n in walk(s)):
        return tree

    slow = {h.name for h in tree.helpers if any(_takes_long(n) for s in h.body for n in walk(s))}

    def found(node: Any) -> Any:
        loop = node
        if isinstance(node, For) and node.step == Const(1, "int64") and not has_loops(*node.body):
            loop = as_parallel(node)
        if isinstance(loop, Parallel) and loop.kind != "blocks":
            chosen = _Choices(loop, slow)
            node = replace(node, body=tuple(chosen.of(s, {}) for s in node.body))
        return rebuilt(node, found) if not isinstance(node, Expr) else node

    return replace(tree, body=tuple(map(found, tree.body)))


def _leaves(node: Any) -> bool:
    return isinstance(node, Binary) and node.op == "%" or isinstance(node, Call) and node.function in ("min", "max")


def _takes_long(node: Any) -> bool:
    """Whether it is a function such as exp."""
    return isinstance(node, Call) and node.function not in (*EXACT, "sqrt", "isinf", "isfinite")


class _Choices:
    """Those of one loop, which vectors go along."""

    def __init__(self, loop: Parallel, slow: set[str]):
        """slow: the helpers that take long."""
        self.index, self.changed = loop.names[-1], assigned(loop.body)
        over = loop.ranges[-1] if loop.ranges else None
        # what the index lies above and below
        self.low, self.high = ([over.start, over.stop],) * 2 if over else ([], [loop.counts[-1]])
        nodes = [n for s in loop.body for n in walk(s)]
        # The iterations at the ends are no vectors: they take longer then than to gather what all of them load.
        self.clamps = not any(_takes_long(n) or isinstance(n, CallHelper) and n.helper in slow for n in nodes)
        loads = [n for n in nodes if isinstance(n, Load)]
        self.places = {n.name for load in loads for e in load.indices[-1:] for n in walk(e) if isinstance(n, Var)}

    def of(self, node: Any, ranges: Ranges, place: bool = False) -> Any:
        """place: of what the node gives, an element's in its row."""
        if isinstance(node, (Parallel, Select)):  # with an index of its own; a condition of the user's
            return node
        if isinstance(node, (For, Reduce)):
            ranges = {name: ends for name, ends in ranges.items() if name != node.name} | _ends(node)
        if place and isinstance(node, Call) and (choice := self.clamped(node, ranges)):
            return choice
        if isinstance(node, Access):
            last = len(node.indices) - 1 if isinstance(node, Load) else -1
            indices = tuple(self.of(e, ranges, k == last) for k, e in enumerate(node.indices))
            rest = rebuilt(replace(node, indices=()), lambda child: self.of(child, ranges))
            return replace(rest, indices=indices)
        inside = place or isinstance(node, Assign) and node.name in self.places
        done = rebuilt(node, lambda child: self.of(child, ranges, inside))
        if isinstance(done, Binary) and done.op == "%" and done.type == "int64":
            return self.remainder(done, ranges) or done
        return done

    def remainder(self, e: Binary, ranges: Ranges) -> Select | None:
        period = e.right
        if not isinstance(period, Var) or period.name in self.changed or period.name == self.index:
            return None
        times = [(_times(term, period) * sign, (sign, term)) for sign, term in _terms(e.left, 1)]
        periods = sum(count for count, _ in times)
        terms = [one for count, one in times if not count]
        sum_ = self.sum_of(terms, ranges)
        if sum_ is None or abs(periods) > _MOST:
            return None
        if (near := self.near(terms, ranges)) is None:
            return None
        parts = [Compare(">=", sum_(-1), _ZERO), Compare("<", sum_(1), period), *near]
        if periods:
            parts.append(Compare("<", period, _LARGEST))
        return Select(_all(parts), replace(sum_(0), at=e.at), e, "int64", at=e.at)

    def clamped(self, e: Call, ranges: Ranges) -> Select | None:
        """A sum that is brought between what does not change."""
        bounds: list[tuple[str, Expr]] = []
        inner: Expr = e
        while self.clamps and isinstance(inner, Call) and inner.function in ("min", "max") and inner.type == "int64":
            fixed = [a for a in inner.arguments if self.is_fixed(a, ranges)]
            if len(fixed) != 1:
                return None
            bounds.append(("<=" if inner.function == "min" else ">=", fixed[0]))
            (inner,) = (a for a in inner.arguments if a is not fixed[0])
        terms = _terms(inner, 1)
        sum_ = self.sum_of(terms, ranges) if bounds else None
        if sum_ is None or (near := self.near(terms, ranges)) is None:
            return None
        parts = [Compare(op, sum_(1 if op == "<=" else -1), bound) for op, bound in bounds]
        return Select(_all([*parts, *near]), replace(sum_(0), at=e.at), e, "int64", at=e.at)

    def near(self, terms: list[tuple[int, Expr]], ranges: Ranges) -> list[Compare] | None:
        """That no sum with the indices of inner loops wraps for some of them: their ends tell nothing of what is
        between then. None: nothing can say so."""
        inner = [ranges[e.name] for _, e in terms if isinstance(e, Var) and _is_inner(e, ranges)]
        if sum(max(abs(least), abs(most)) for least, most in inner) > _LARGEST.whole:
            return None
        if not inner:
            return []
        own = Var(self.index, "int64")
        far = [e for _, e in terms if e != own and not _is_inner(e, ranges)]
        low, high = [*far, *self.low], [*far, *self.high]
        least = Const(-_LARGEST.whole, "int64")
        return [Compare(">", e, least) for e in low] + [Compare("<", e, _LARGEST) for e in high]

    def is_fixed(self, e: Expr, ranges: Ranges) -> bool:
        names = {n.name for n in walk(e) if isinstance(n, Var)}
        return is_cheap(e) and not names & (self.changed | {self.index, *ranges})

    def sum_of(self, terms: list[tuple[int, Expr]], ranges: Ranges) -> Callable[[int], Expr] | None:
        """The sum of the index and of what does not change or is an index of an inner loop: as it is for 0, the least
        that such indices make it for -1, the most for 1."""
        own = [sign for sign, term in terms if term == Var(self.index, "int64")]
        others = [(sign, term) for sign, term in terms if term != Var(self.index, "int64")]
        names = {n.name for _, term in others for n in walk(term) if isinstance(n, Var)}
        if own != [1] or not all(is_cheap(term) for _, term in others):
            return None
        if sum(not _is_inner(term, ranges) for _, term in others) > _FEW:
            return None
        if any(isinstance(term, Const) and abs(term.whole) > _LARGEST.whole for _, term in others):
            return None
        if self.index in names or names & self.changed - set(ranges):
            return None
        if any(n in ranges for _, term in others for n in _names_inside(term)):
            return None

        def at(end: int) -> Expr:
            sum_: Expr = Var(self.index, "int64")
            for sign, term in others:
                if end and isinstance(term, Var) and _is_inner(term, ranges):
                    term = Const(ranges[term.name][(end * sign) > 0], "int64")
                sum_ = Binary("+" if sign > 0 else "-", sum_, term, "int64")
            return sum_

        return at


def _ends(loop: For | Reduce) -> dict[str, tuple[int, int]]:
    """The values of a loop's index, where they stand in the text."""
    over: For | Range = loop if isinstance(loop, For) else loop.range or Range(_ZERO, loop.count, Const(1, "int64"))
    match over.start, over.stop, over.step:
        case Const(value=int(first)), Const(value=int(stop)), Const(value=1) if first < stop:
            return {} if loop.name in assigned(loop.body) else {loop.name: (first, stop - 1)}
    return {}


def _is_inner(term: Expr, ranges: Ranges) -> bool:
    """Whether it is the index of an inner loop."""
    return isinstance(term, Var) and term.name in ranges


def _all(parts: Sequence[Expr]) -> Expr:
    return reduce(partial(BoolOp, "and"), dict.fromkeys(parts))


def _terms(e: Expr, sign: int) -> list[tuple[int, Expr]]:
    """What is added and taken away."""
    if isinstance(e, Binary) and e.op in ("+", "-"):
        return _terms(e.left, sign) + _terms(e.right, sign if e.op == "+" else -sign)
    return [(sign, e)]


def _times(term: Expr, period: Var) -> int:
    """How many periods it is; 0 where it is something else."""
    match term:
        case Binary("*", Const(value=int(count)), factor) | Binary("*", factor, Const(value=int(count))):
            return count if factor == period else 0
    return int(term == period)


def _names_inside(term: Expr) -> set[str]:
    """The names in what is more than a name."""
    return set() if isinstance(term, Var) else {n.name for n in walk(term) if isinstance(n, Var)}
