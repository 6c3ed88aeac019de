"""What counts of a loop read of arrays that it changes, read once before it. On a device every thread works out the
counts of its loop, and one may begin when another has come to its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..ir.effects import arrays_changed, arrays_read
from ..ir.names import all_names
from ..ir.tree import (
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
    Var,
    While,
    rebuilt,
)  # fmt: skip
from .names import Names


def with_counts_before(tree: KernelTree) -> KernelTree:
    """The tree with names in place of what counts of loops over grid or blocks read so; what is around stays, from
    which a target may see how large they are."""
    names, locals_ = Names(all_names(tree), lambda name: False), dict(tree.locals)

    def counted(loop: Parallel) -> list[Stmt]:
        """The loop, behind what is to be read before it."""
        changing = arrays_changed(*loop.body)
        before: list[Stmt] = []

        def changed(e: Any) -> Any:
            if not isinstance(e, Node) or not arrays_read(e) & changing:
                return e
            if not isinstance(e, (Load, CallHelper, Select, BoolOp)):  # of the last two, a part may not be asked
                return rebuilt(e, changed)
            name = names.fresh("count")
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
