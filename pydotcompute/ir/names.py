"""The names that a kernel uses."""

from __future__ import annotations

from .tree import KernelTree, walk


def all_names(tree: KernelTree) -> set[str]:
    """Every name that the user's code may contain."""
    names = {p.name for p in tree.parameters} | set(tree.symbols) | set(tree.locals) | set(tree.arrays)
    for helper in tree.helpers:
        names |= {p.name for p in helper.parameters} | {helper.name}
        for s in helper.body:
            for node in walk(s):
                names |= {getattr(node, "name", "")} | set(getattr(node, "names", ()))
    return names
