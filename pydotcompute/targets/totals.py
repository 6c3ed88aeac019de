"""What the totals of a chunk of iterations take, of a loop with scans: its body without what stores, and without what
nothing of that is for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..ir.effects import arrays_changed
from ..ir.tree import (
    Accumulate,
    ArrayName,
    Assign,
    AssignTuple,
    Atomic,
    Break,
    CheckStep,
    Continue,
    For,
    If,
    KernelTree,
    Load,
    NewArray,
    Parallel,
    Reduce,
    Scatter,
    Stmt,
    Store,
    Update,
    Var,
    While,
    children,
    walk,
)  # fmt: skip


def totals_of(loop: Parallel, tree: KernelTree, scans: Sequence[str]) -> tuple[Stmt, ...] | None:
    """The statements; None where a total depends on what its iterations find, in scans or in what they store."""
    own = {n.name for n in walk(loop) if isinstance(n, NewArray)}
    needed: set[str] = set()
    while True:
        body = _sliced(loop.body, frozenset(needed), own, frozenset(scans))
        found = {name for s in body for name in _reads(s)}
        if found <= needed:
            break
        needed |= found
    # what meets in a shared array may be another value the next time
    if needed & set(scans) or any(isinstance(n, (Atomic, Scatter)) for s in body for n in walk(s)):
        return None
    return None if _reads_what_it_stored(loop, body, tree, own) else body


def _reads(s: Stmt) -> set[str]:
    """The scalars and arrays of an iteration's own that statements read."""
    nodes = [*walk(s)]
    nodes += [n for p in nodes if isinstance(p, Parallel) for r in p.reductions if r.start for n in walk(r.start)]
    found = {n.name for n in nodes if isinstance(n, (Var, ArrayName))}
    return found | {n.array for n in nodes if isinstance(n, Load)}


def _sliced(body: Iterable[Stmt], needed: frozenset[str], own: set[str], scans: frozenset[str]) -> tuple[Stmt, ...]:
    kept: list[Stmt] = []
    for s in body:
        match s:
            case Accumulate(name=name):
                if name in scans or name in needed:
                    kept.append(s)
            case Assign(name=name):
                if name in needed:
                    kept.append(s)
            case AssignTuple(names=names):
                if needed.intersection(names):
                    kept.append(s)
            case NewArray(name=name):
                if name in needed:
                    kept.append(s)
            case Store(array=array):
                if array in own and array in needed:
                    kept.append(s)
            case Atomic(array=array, result=result):
                if result and result in needed or array in own and array in needed:
                    kept.append(s)
            case Scatter(array=array):
                if array in own and array in needed:
                    kept.append(s)
            case Reduce(reduction=reduction):
                if reduction.name in needed:
                    kept.append(s)
            case If():
                inside, orelse = (_sliced(part, needed, own, scans) for part in (s.body, s.orelse))
                if inside or orelse:
                    kept.append(replace(s, body=inside, orelse=orelse))
            case Parallel():  # over the threads of a block
                inside = _sliced(s.body, needed, own, scans)
                if any(_acts(n) for n in inside):
                    wanted = tuple(r for r in s.reductions if r.name in needed)
                    kept.append(replace(s, body=inside, reductions=wanted))
            case For() | While():
                inside = _sliced(s.body, needed, own, scans)
                counted = isinstance(s, For) and s.name in needed
                if counted or any(_acts(n) for n in inside):
                    kept.append(replace(s, body=inside))
            case Break() | Continue():
                kept.append(s)
            case CheckStep():
                pass  # told of where the loop runs in full
            case _:
                raise TypeError(f"no statement of a parallel loop: {s!r}")
    return tuple(kept)


def _acts(s: Stmt) -> bool:
    """Whether it does more than leave or go on with the loop around it."""
    if isinstance(s, If):
        return any(map(_acts, (*s.body, *s.orelse)))
    return not isinstance(s, (Break, Continue))


def _reads_what_it_stored(loop: Parallel, body: tuple[Stmt, ...], tree: KernelTree, own: set[str]) -> bool:
    """Whether what is kept may read an element that its iteration has stored into before."""
    same = [frozenset(pair) for pair in tree.aliases]
    kept = {(n.array, n.at, n.indices) for s in body for n in walk(s) if isinstance(n, Load)}
    passed = {(n.name, n.at) for s in body for n in walk(s) if isinstance(n, ArrayName)}
    before: set[str] = set()

    def alike(name: str, stored: set[str]) -> bool:
        return any(name == other or frozenset((name, other)) in same for other in stored)

    def look(node: Any) -> bool:
        """In the order of evaluation."""
        if isinstance(node, (For, While, Reduce, Parallel)):  # a later turn reads what an earlier one stored
            before.update(arrays_changed(node) - own)
        if isinstance(node, Load) and (node.array, node.at, node.indices) in kept and alike(node.array, before):
            return True
        if isinstance(node, ArrayName) and (node.name, node.at) in passed and alike(node.name, before):
            return True
        found = any([look(child) for child in children(node)])
        if isinstance(node, Update) and node.array not in own:
            before.add(node.array)
        return found

    return any([look(s) for s in loop.body])
