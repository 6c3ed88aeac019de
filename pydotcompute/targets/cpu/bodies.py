"""What a statement list holds: the names that it sets, and how large it is."""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.tree import Assign, AssignTuple, For, Parallel, Stmt, walk


def body_size(loop: Parallel) -> int:
    """How many nodes the tree of a loop's body has."""
    return sum(1 for s in loop.body for _ in walk(s))


def assigned(body: Iterable[Stmt]) -> set[str]:
    """The scalars that statements set."""
    names: set[str] = set()
    for s in body:
        for node in walk(s):
            if isinstance(node, (Assign, For)):
                names.add(node.name)
            elif isinstance(node, AssignTuple):
                names |= set(node.names)
            elif isinstance(node, Parallel):
                names |= {r.name for r in node.reductions}
    return names
