"""What a part of a tree evaluates in any case, and the arrays that it reads and changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .tree import ArrayName, BoolOp, For, If, Load, Node, Reduce, Select, Update, While, children, walk


def in_any_case(node: Node) -> Iterator[Node]:
    """The nodes that are evaluated whenever it is: none behind a condition, and none in a loop, which may have no
    turns."""
    yield node
    parts: Iterable[Node]
    match node:
        case If(condition=first) | Select(condition=first) | BoolOp(left=first):
            parts = (first,)
        case For() | While() | Reduce():
            parts = ()
        case _:
            parts = children(node)
    for part in parts:
        yield from in_any_case(part)


def arrays_read(*parts: Node) -> set[str]:
    """The arrays that are read, or may be by a helper."""
    nodes = [n for part in parts for n in walk(part)]
    return {n.array for n in nodes if isinstance(n, Load)} | {n.name for n in nodes if isinstance(n, ArrayName)}


def arrays_changed(*parts: Node) -> set[str]:
    """The arrays that are changed. (Helpers that store are in the place of their calls.)"""
    return {n.array for part in parts for n in walk(part) if isinstance(n, Update)}
