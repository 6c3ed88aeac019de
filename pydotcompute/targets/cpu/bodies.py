"""What a statement list holds: the names that it sets, and how large it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...ir.tree import Assign, AssignTuple, Atomic, For, Parallel, Reduce, Stmt, children, walk


def body_size(loop: Parallel) -> int:
    """How many nodes the tree of a loop's body has."""
    return sum(1 for s in loop.body for _ in walk(s))


def assigned(body: Iterable[Stmt], into: Callable[[Stmt], bool] = lambda s: True) -> set[str]:
    """The scalars that statements set; `into`: whether to look at what is inside one."""
    names: set[str] = set()
    for s in body:
        if isinstance(s, (Assign, For)):
            names.add(s.name)
        elif isinstance(s, AssignTuple):
            names |= set(s.names)
        elif isinstance(s, Atomic):
            names |= {s.result} - {""}
        elif isinstance(s, Reduce):
            names |= {s.name, s.reduction.name}
        elif isinstance(s, Parallel):
            names |= {r.name for r in s.reductions}
        if into(s):
            names |= assigned((node for node in children(s) if isinstance(node, Stmt)), into)
    return names
