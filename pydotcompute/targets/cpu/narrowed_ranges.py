"""Ranges of sequential loops that do nothing unless a condition bounds their index: the turns in which it may hold.

    for i in range(n):                     for i in range(max(0, lag), min(n, lag + m)):
        j = i - lag               ⟶            j = i - lag
        if j >= 0 and j < m: …                 if j >= 0 and j < m: …

Of several lanes that go through the loop together, the turns in which it may hold for one of them.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from functools import reduce

from ...ir.tree import (
    Assign,
    Binary,
    BoolOp,
    Call,
    Compare,
    Const,
    Expr,
    For,
    If,
    KernelTree,
    Parallel,
    Select,
    Stmt,
    While,
)  # fmt: skip
from ..llvm.expressions import is_cheap
from .bodies import assigned, exposed, read
from .index_set_splitting import SAFE, affine_side, atoms, definitions, substituted
from .lifted_checks import slope

_ONE = Const(1, "int64")


def with_narrowed_ranges(tree: KernelTree) -> KernelTree:
    """The tree with such loops."""
    return replace(tree, body=_of(tree.body, set()))


def _of(body: Sequence[Stmt], after: Set[str]) -> tuple[Stmt, ...]:
    """after: the scalars that may be read after the statements."""
    done: list[Stmt] = []
    for s in reversed(body):
        done.append(_changed(s, after))
        after = after | exposed((s,))[0]
    return tuple(reversed(done))


def _changed(s: Stmt, after: Set[str]) -> Stmt:
    if isinstance(s, If):
        return replace(s, body=_of(s.body, after), orelse=_of(s.orelse, after))
    if not isinstance(s, (For, While, Parallel)):
        return s
    kept = after | exposed((s,))[0] | exposed(s.body)[0]
    made = replace(s, body=_of(s.body, kept))
    return narrowed(made, kept) if isinstance(made, For) and made.name not in kept else made


def narrowed(
    loop: For, kept: Set[str], own: Set[str] = frozenset(), lane: str = "", ends: Sequence[Expr] = (),
    known: Sequence[Stmt] = (),
) -> For:  # fmt: skip
    """The loop over such turns. kept: the scalars of a turn that later turns may read, or what follows the loop. lane:
    the index of the lanes, of which `ends` are the first and the last, and own the scalars that each has of its own.
    known: assignments before the loop of what follows from indices."""
    *before, last = loop.body or (None,)
    constant = isinstance(loop.start, Const) and isinstance(loop.stop, Const)  # which LLVM writes one after the other
    if constant or loop.step != _ONE or not isinstance(last, If) or last.orelse:
        return loop
    if not all(isinstance(s, Assign) and is_cheap(s.value) and s.name not in kept for s in before):
        return loop
    condition = substituted(last.condition, definitions((*known, *before)))
    if not all(map(is_cheap, (condition, loop.start, loop.stop))):
        return loop
    if read(condition) & (assigned(loop.body) | own) - {loop.name}:
        return loop
    values, low, high = [loop.start, loop.stop], [loop.start], [loop.stop]
    for side in filter(None, (affine_side(atom, loop.name) for atom in atoms(condition))):
        addend, op, other = substituted(side[0], {loop.name: Const(0, "int64")}), *side[1:]
        if slope(addend, lane) is None or slope(other, lane) is None:
            continue
        of_lanes = [{lane: end} for end in ends] if lane in read(addend, other) else [{}]
        pairs = [(substituted(addend, at), substituted(other, at)) for at in of_lanes]  # all others lie between them
        values += [e for pair in pairs for e in pair]
        limits: list[Expr] = [Binary("-", right, left, "int64") for left, right in pairs]
        if op in (">", "<="):
            limits = [Binary("+", limit, _ONE, "int64") for limit in limits]
        if op in (">", ">="):
            low.append(_extreme("min", limits))
        else:
            high.append(_extreme("max", limits))
    if len(low) + len(high) == 2:
        return loop
    safe = reduce(lambda a, b: BoolOp("and", a, b), [test for e in dict.fromkeys(values) for test in _stays_safe(e)])
    start = Select(safe, _extreme("max", low), loop.start, "int64")
    return replace(loop, start=start, stop=Select(safe, _extreme("min", high), loop.stop, "int64"))


def _extreme(which: str, values: Sequence[Expr]) -> Expr:
    return reduce(lambda a, b: Call(which, (a, b), "int64"), values)


def _stays_safe(e: Expr) -> list[Expr]:
    """Whether neither it nor what it is added to wraps."""
    if isinstance(e, Const):
        return [Const(abs(e.whole) < SAFE, "bool")]
    return [Compare("<", Const(-SAFE, "int64"), e), Compare("<", e, Const(SAFE, "int64"))]
