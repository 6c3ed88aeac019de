"""Every loop over a range with an index of its own, so that what is said of an index is said of one loop.

    for k in range(n): …            for k in range(n): …
    if c:                           if c:
        for k in range(m): …   ⟶        for k_2 in range(m): …
    for q in range(3):              for q_2 in range(3):
        q = q * 2 + 1                   q = q_2
                                        q = q * 2 + 1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...ir.names import all_names
from ...ir.tree import Assign, For, KernelTree, Parallel, Reduce, Stmt, Var, children, rebuilt, walk
from ..names import Names
from .bodies import assigned, renamed


def with_own_indices(tree: KernelTree) -> KernelTree:
    """The tree with such loops, which nothing else reads or sets: what does so is a scalar beside."""
    names, locals_ = Names(all_names(tree) | {tree.name}, lambda name: False), dict(tree.locals)
    nodes = [n for s in tree.body for n in walk(s)]
    beside = {name for n in nodes if isinstance(n, Stmt) for name in assigned((n,), into=lambda s: False) - _indices(n)}
    beside |= {name for s in tree.body for name in _read_outside(s, frozenset())}
    taken = {name for n in nodes if isinstance(n, (Parallel, Reduce)) for name in _indices(n)}

    def own(node: Any) -> Any:
        if not isinstance(node, Stmt):
            return node
        made = rebuilt(node, own)
        if not isinstance(made, For):
            return made
        if made.name not in beside | taken:
            taken.add(made.name)
            return made
        index = names.fresh(made.name)
        locals_[index] = "int64"
        if made.name in beside:
            body = (Assign(made.name, Var(index, "int64"), at=made.at), *made.body)
        else:
            body = tuple(renamed(s, {made.name: index}) for s in made.body)
        return replace(made, name=index, body=body)

    return replace(tree, body=tuple(map(own, tree.body)), locals=locals_)


def _indices(loop: Any) -> set[str]:
    if isinstance(loop, Parallel):
        return {*loop.names}
    return {loop.name} if isinstance(loop, (For, Reduce)) else set()


def _read_outside(node: Any, within: frozenset[str]) -> Iterator[str]:
    """The names that are read outside the loops over them; and those of loops in loops over the same."""
    if isinstance(node, Var):
        yield from {node.name} - within
    indices = _indices(node)
    yield from indices & within
    body = node.body if indices else ()
    for child in children(node):
        yield from _read_outside(child, within | indices if any(child is s for s in body) else within)
