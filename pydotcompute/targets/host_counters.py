"""Loops around phases whose index is also set by what the host does not follow, such as another loop of that name: the
host counts by a name that nothing else sets."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace
from typing import Any

from ..ir.tree import Assign, Expr, For, KernelTree, Parallel, Stmt, Var, children, rebuilt, walk
from .geometry import assigned


def with_own_counters(
    tree: KernelTree, names: Container[str], has_phase: Callable[[Stmt], bool], unique: Callable[[str], str]
) -> KernelTree:
    """The tree with other names for the indices of such loops, where they are among `names`. unique: makes one."""
    locals_ = dict(tree.locals)

    def changed(node: Any) -> Any:
        if isinstance(node, (Expr, Parallel)):
            return node
        done = rebuilt(node, changed)
        if not isinstance(done, For) or done.name not in names or not has_phase(done):
            return done
        counter = unique(done.name)
        locals_[counter] = locals_[done.name]
        body = done.body
        own = done.name not in assigned(body)
        if own:
            body = tuple(_renamed(s, done.name, counter) for s in body)
        if not own or any(_is_read_outside(s, node) for s in tree.body):
            body = (Assign(done.name, Var(counter, locals_[counter]), at=done.at), *body)
        return replace(done, name=counter, body=body)

    body = tuple(map(changed, tree.body))
    return replace(tree, body=body, locals=locals_)


def _renamed(node: Any, name: str, other: str) -> Any:
    if isinstance(node, Var):
        return replace(node, name=other) if node.name == name else node
    return rebuilt(node, lambda child: _renamed(child, name, other))


def _is_read_outside(node: Any, loop: For) -> bool:
    """Whether a loop's index is read where neither this loop sets it nor another one that has it for itself."""
    if isinstance(node, Var):
        return node.name == loop.name
    if isinstance(node, For) and node.name == loop.name and (node is loop or all(n is not loop for n in walk(node))):
        return any(_is_read_outside(e, loop) for e in (node.start, node.stop, node.step))
    return any(_is_read_outside(child, loop) for child in children(node))
