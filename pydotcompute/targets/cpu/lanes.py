"""Which loops of a kernel go in lanes: those over a grid, and sequential ones whose turns could come in any order.

Of such a one no turn touches an element that another one writes, none reads a scalar that another one set, nothing
reads one that the last one set, and no access is checked, so that nobody can tell which of two would fail first. What
has scalars that go on stands at the end of a turn, and is done in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import Any

from ...analysis.races import apart_in_turns
from ...analysis.symbolic import collect
from ...ir.contraction import reorders
from ...ir.names import all_names
from ...ir.tree import (
    Access,
    Accumulate,
    Assign,
    Binary,
    BoolOp,
    Call,
    CallHelper,
    CheckStep,
    Compare,
    Const,
    Expr,
    For,
    If,
    KernelTree,
    Load,
    Parallel,
    Reduce,
    Return,
    Stmt,
    Store,
    Var,
    While,
    walk,
)  # fmt: skip
from ..sites import Sites
from .bodies import assigned, exposed, has_loops, jumps, read
from .grid_lanes import InLanes
from .made import Made
from .own_indices import with_own_indices
from .while_lanes import UntilDone

_NONE, _ONE = Const(0, "int64"), Const(1, "int64")
_SHORTEST = 10  # elements of a row that is worth lanes of its own


def in_lanes(tree: KernelTree) -> KernelTree:
    """The tree with such loops in lanes; of a tree whose loops count from 0."""
    tree = with_own_indices(tree)
    extents = {
        p.name: p.dims for p in tree.parameters
        if p.dims and not p.ellipsis and all(isinstance(n, int) or n in tree.symbols for n in p.dims)
    }  # fmt: skip
    strided = {p.name for p in tree.parameters if p.layout != "C"}
    made = Made(all_names(tree) | {tree.name}, dict(tree.locals), dict(tree.arrays), extents, strided, reorders(tree))
    body = _Loops(tree, made).of(tree.body, set())
    return replace(tree, body=body, locals=made.locals, arrays=made.arrays)


class _Loops:
    """The loops of a tree."""

    def __init__(self, tree: KernelTree, made: Made):
        self.tree, self.made, self.checks = tree, made, Sites(tree).checks
        self.in_rows: list[For] = []  # the loops that fill a row, until now
        self.checks_in_helpers = any(self._is_checked(n) for h in tree.helpers for s in h.body for n in walk(s))

    @cached_property
    def straight(self) -> set[str]:
        """The helpers that take one way, and read no memory."""
        return {
            h.name for h in self.tree.helpers
            if all(isinstance(s, (Assign, Return)) for s in h.body)
            and not any(isinstance(n, (Load, CallHelper)) for s in h.body for n in walk(s))
        }  # fmt: skip

    @cached_property
    def found(self) -> Any:
        return collect(self.tree)

    def of(self, body: Sequence[Stmt], after: set[str]) -> tuple[Stmt, ...]:
        """Statements with their loops in lanes. after: the scalars that may be read after them."""
        done: list[Stmt] = []
        for s in reversed(body):
            done.append(self._changed(s, after))
            after = after | exposed((s,))[0]
        return tuple(reversed(done))

    def _changed(self, s: Stmt, after: set[str]) -> Stmt:
        if isinstance(s, If):
            return replace(s, body=self.of(s.body, after), orelse=self.of(s.orelse, after))
        if isinstance(s, Parallel) and s.kind != "threads":
            lanes = self._along_rows(s) or self._iterations(s) or self._until_done(s)
            return lanes or replace(s, body=self.of(s.body, exposed(s.body)[0]))
        if not isinstance(s, (For, While)):
            return s
        if isinstance(s, For) and _fills_row(s) and (row := self._turns(s, after)):
            self.in_rows.append(s)
            return row
        inside = self.of(s.body, after | exposed((s,))[0] | exposed(s.body)[0])
        if inside != s.body:
            return replace(s, body=inside)
        return isinstance(s, For) and self._turns(s, after) or s

    def _along_rows(self, loop: Parallel) -> Stmt | None:
        """A parallel loop, the loops inside of which that each fill a row are in lanes: what they read and write lies
        side by side. Where rows are too short for it, its own iterations are. None where it has no such loops."""
        filling = [n for s in loop.body for n in walk(s) if isinstance(n, For) and _fills_row(n)]
        if not filling or loop.reductions:
            return None
        self.in_rows = []
        inside = self.of(loop.body, exposed(loop.body)[0])
        rows, own = self.in_rows, assigned(loop.body) | {*loop.names}
        if not rows:
            return None
        along = replace(loop, body=inside)
        lengths = [Binary("-", row.stop, row.start, "int64") for row in rows if not read(row.start, row.stop) & own]
        conditions: list[Expr] = [Compare(">=", n, Const(_SHORTEST, "int64")) for n in lengths]
        whole = self._iterations(loop) if conditions else None
        if whole is None:
            return along
        return If(reduce(lambda a, b: BoolOp("and", a, b), conditions), (along,), (whole,), at=loop.at)

    def _iterations(self, loop: Parallel) -> Parallel | None:
        """A parallel loop in lanes; None where it is as good as it is. A block of lanes adds several terms to a
        reduction."""
        names = {r.name for r in loop.reductions}
        head, tail = _cut(loop.body, lambda s: any(isinstance(n, Accumulate) and n.name in names for n in walk(s)))
        if any(r.scan or r.op in ("argmin", "argmax") for r in loop.reductions) or has_loops(*tail) or jumps(tail):
            return None
        free = self._free(head, exposed(tail)[0])
        lanes = InLanes(replace(loop, body=head, reductions=()), self.made, tail, free).blocks()
        return lanes and replace(lanes, reductions=loop.reductions)

    def _free(self, body: Sequence[Stmt], after: set[str]) -> frozenset[str]:
        """The indices of the loops in an iteration whose turns could come in any order."""
        found = set[str]()
        for s in reversed(body):
            if isinstance(s, For) and self._comes_in_any_order(s, after):
                found.add(s.name)
            after = after | exposed((s,))[0]
        return frozenset(found)

    def _comes_in_any_order(self, loop: For, after: set[str]) -> bool:
        head, tail = _parts(loop)
        return not tail and self._is_free(loop, head, tail, after) and apart_in_turns(self.tree, self.found, loop)

    def _until_done(self, loop: Parallel) -> Parallel | None:
        """A parallel loop, the iterations of which each go round a loop until they are done, in lanes; None where it
        is as good as it is."""
        nodes = [n for s in loop.body for n in walk(s)]
        if loop.reductions or any(self._is_checked(n) for n in nodes):
            return None
        return UntilDone(loop, self.made, self.straight).blocks()

    def _turns(self, loop: For, after: set[str]) -> For | None:
        """A loop over a range in lanes; None where it is as good as it is."""
        head, tail = _parts(loop)
        if not self._is_free(loop, head, tail, after) or not apart_in_turns(self.tree, self.found, loop):
            return None
        index, turns = loop.name, loop.stop
        if loop.start != _NONE:
            turn = self.made.local(f"{loop.name}_turn")
            index = turn.name
            turns = Binary("-", Call("max", (loop.stop, loop.start), "int64"), loop.start, "int64")
            head = (Assign(loop.name, Binary("+", turn, loop.start, "int64"), at=loop.at), *head)
        grid = Parallel("grid", (index,), (turns,), head, at=loop.at)
        lanes = InLanes(grid, self.made, tail, self._free(head, exposed(tail)[0])).blocks()
        if lanes is None and not tail:
            lanes = UntilDone(grid, self.made, self.straight).blocks()
        if lanes is None:
            return None
        return For(lanes.names[0], _NONE, lanes.counts[0], _ONE, lanes.body, at=loop.at)

    def _is_free(self, loop: For, head: tuple[Stmt, ...], tail: tuple[Stmt, ...], after: set[str]) -> bool:
        """Whether the heads of its turns could come in any order, but for what they do to arrays."""
        bounds, nodes = (loop.start, loop.stop), [n for s in loop.body for n in walk(s)]
        if loop.step != _ONE or jumps(loop.body) or after & assigned(head):
            return False
        if not any(isinstance(n, (For, Reduce)) for n in nodes) and not tail:
            return False  # what has none LLVM makes vectors of
        if has_loops(*tail):
            return False
        if any(self._is_checked(n) or isinstance(n, CallHelper) and self.checks_in_helpers for n in nodes):
            return False
        if any(isinstance(n, (Load, CallHelper)) for e in bounds for n in walk(e)):
            return False
        return not read(*bounds) & assigned(loop.body)

    def _is_checked(self, n: Any) -> bool:
        return isinstance(n, CheckStep) or isinstance(n, Access) and self.checks(n)


def _fills_row(loop: For) -> bool:
    """Whether its turns store side by side, read nothing that lies across, and take no ways of their own."""
    nodes = [n for s in loop.body for n in walk(s)]
    own = assigned(loop.body) - {n.name for n in nodes if isinstance(n, For)} | {loop.name}
    if any(isinstance(n, If) and read(n.condition) & own for n in nodes):
        return False
    if any(isinstance(n, Load) and loop.name in read(*n.indices[:-1]) for n in nodes):
        return False
    lasts = (n.indices[-1] for n in nodes if isinstance(n, Store) and n.indices)
    parts = ((e.left, e.right) if isinstance(e, Binary) and e.op == "+" else (e,) for e in lasts)
    return any(isinstance(part, Var) and part.name == loop.name for each in parts for part in each)


def _parts(loop: For) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
    """The statements of a turn before those that touch a scalar that goes on from turn to turn; and the others."""
    goes_on = exposed(loop.body)[0] & assigned(loop.body)
    return _cut(loop.body, lambda s: bool((assigned((s,)) | read(s)) & goes_on))


def _cut(body: tuple[Stmt, ...], at: Callable[[Stmt], bool]) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
    """The statements before the first such one, and the others."""
    first = next((k for k, s in enumerate(body) if at(s)), len(body))
    return body[:first], body[first:]
