"""What counts of a loop read of arrays that it changes, read once before it. On a device every thread works out the
counts of its loop, and one may begin when another has come to its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..ir.names import all_names
from ..ir.tree import (
    ArrayName,
    Assign,
    BoolOp,
    CallHelper,
    For,
    If,
    KernelTree,
    Load,
    Node,
    Parallel,
    Select,
    Stmt,
    Update,
    Var,
    While,
    rebuilt,
    walk,
)  # fmt: skip


def read_in(node: Node) -> set[str]:
    """The arrays that it may read, by helpers too."""
    nodes = list(walk(node))
    return {n.array for n in nodes if isinstance(n, Load)} | {n.name for n in nodes if isinstance(n, ArrayName)}


def written_in(body: Iterable[Stmt]) -> set[str]:
    """The arrays that statements change. (Helpers that store are in the place of their calls.)"""
    return {n.array for s in body for n in walk(s) if isinstance(n, Update)}


def with_counts_before(tree: KernelTree) -> KernelTree:
    """The tree with names in place of what counts of loops over grid or blocks read so; what is around stays, from
    which a target may see how large they are."""
    taken, locals_ = all_names(tree), dict(tree.locals)

    def counted(loop: Parallel) -> list[Stmt]:
        """The loop, behind what is to be read before it."""
        written = written_in(loop.body)
        before: list[Stmt] = []

        def changed(e: Any) -> Any:
            if not isinstance(e, Node) or not read_in(e) & written:
                return e
            if not isinstance(e, (Load, CallHelper, Select, BoolOp)):  # of the last two, a part may not be asked
                return rebuilt(e, changed)
            name, number = "count", 1
            while name in taken:
                name, number = f"count_{number}", number + 1
            taken.add(name)
            locals_[name] = e.type
            before.append(Assign(name, e, at=loop.at))
            return Var(name, e.type, at=e.at)

        counts = tuple(map(changed, loop.counts))
        return [*before, replace(loop, counts=counts)]

    def statements(body: Iterable[Stmt]) -> Iterator[Stmt]:
        for s in body:
            if isinstance(s, Parallel):
                yield from counted(s)
            elif isinstance(s, If):
                yield replace(s, body=tuple(statements(s.body)), orelse=tuple(statements(s.orelse)))
            elif isinstance(s, (For, While)):
                yield replace(s, body=tuple(statements(s.body)))
            else:
                yield s

    return replace(tree, body=tuple(statements(tree.body)), locals=locals_)
