"""The names that a kernel uses, and what stands for them."""

from __future__ import annotations

from typing import Any, Mapping

from .tree import KernelTree, Var, rebuilt, walk


def all_names(tree: KernelTree) -> set[str]:
    """Every name that the user's code may contain."""
    names = {p.name for p in tree.parameters} | set(tree.symbols) | set(tree.locals) | set(tree.arrays)
    for helper in tree.helpers:
        names |= {p.name for p in helper.parameters} | {helper.name}
        for s in helper.body:
            for node in walk(s):
                names |= {getattr(node, "name", "")} | set(getattr(node, "names", ()))
    return names


def with_values(node: Any, values: Mapping[str, Any]) -> Any:
    """The node with expressions in place of the scalars of these names, wherever those are read."""
    if isinstance(node, Var):
        return values.get(node.name, node)
    return rebuilt(node, lambda inner: with_values(inner, values))
