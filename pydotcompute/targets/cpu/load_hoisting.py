"""What a turn of a loop loads under a condition and afterwards in any case, loaded before the condition (hoisting).

                                      v = y[i]
    if x[i] > 0:                      if x[i] > 0:
        s = y[i] * y[i]       ⟶           s = v * v
    z[i] = s + y[i]                   z[i] = s + v

Nothing is loaded in vain, and LLVM chooses a value then where it jumped. It would load early by itself with an option
that hands loads on from turn to turn as well (see compiler.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...ir.effects import arrays_changed, arrays_read, in_any_case
from ...ir.names import all_names
from ...ir.tree import (
    Assign,
    CallHelper,
    For,
    If,
    KernelTree,
    Load,
    Parallel,
    Stmt,
    Var,
    While,
    rebuilt,
    walk,
)  # fmt: skip
from ..names import Names
from .bodies import assigned, has_loops, jumps, read


def with_hoisted_loads(tree: KernelTree) -> KernelTree:
    """The tree with such loads in its innermost loops."""
    hoisting = _Hoisting(tree)
    body = tuple(map(hoisting.loops, tree.body))
    return replace(tree, body=body, locals={**tree.locals, **hoisting.locals}) if hoisting.locals else tree


class _Hoisting:
    def __init__(self, tree: KernelTree):
        self.names = Names(all_names(tree) | {tree.name}, lambda name: False)
        self.locals: dict[str, str] = {}

    def loops(self, node: Any) -> Any:
        if isinstance(node, (For, While, Parallel)) and not has_loops(*node.body):
            return replace(node, body=self.block(node.body))
        return rebuilt(node, self.loops) if isinstance(node, (For, While, Parallel, If)) else node

    def block(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        done: list[Stmt] = []
        rest = body
        while rest:
            first, rest = rest[0], rest[1:]
            if isinstance(first, If):
                for load in _common(first, rest):
                    held = Var(self.names.fresh("hoisted"), load.type)
                    self.locals[held.name] = load.type
                    done.append(Assign(held.name, load, at=load.at))
                    first, *rest = _with(held, load, (first, *rest))
            if isinstance(first, If):
                first = replace(first, body=self.block(first.body), orelse=self.block(first.orelse))
            done.append(first)
        return tuple(done)


def _common(s: If, rest: Sequence[Stmt]) -> dict[Load, None]:
    """What a branch loads and what follows loads in any case, unchanged. Where it is inside its array here it is before
    the condition, too: nothing is proved by what only a program without faults would come to."""
    found: dict[Load, None] = {}
    guarded = {n for inner in (*s.body, *s.orelse) for n in walk(inner) if isinstance(n, Load)}
    before: Stmt = s
    changed: set[str] = set()
    for following in rest:
        if not guarded or jumps([before]) or any(isinstance(n, CallHelper) for n in walk(before)):
            break
        changed |= _changed(before)
        loads = (n for n in in_any_case(following) if isinstance(n, Load) and n in guarded)
        found |= {load: None for load in loads if _is_safe(load) and not _read(load) & changed}
        before = following
    return found


def _with(held: Var, load: Load, body: Sequence[Stmt]) -> Iterator[Stmt]:
    """The statements with what holds it in its place, up to the first one that changes what it would be."""

    def named(node: Any) -> Any:
        return held if node == load else rebuilt(node, named)

    same = True
    for s in body:
        same = same and not _read(load) & _changed(s)
        yield named(s) if same else s


def _changed(s: Stmt) -> set[str]:
    """The scalars and the arrays that a statement changes. Where an output may be an input as well, no element of it
    is stored before it has been loaded for the last time."""
    return assigned([s]) | arrays_changed(s)


def _read(load: Load) -> set[str]:
    return read(load) | arrays_read(load)


def _is_safe(load: Load) -> bool:
    parts = [*walk(load)]
    return all(n.inside for n in parts if isinstance(n, Load)) and not any(isinstance(n, CallHelper) for n in parts)
