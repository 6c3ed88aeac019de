"""Private arrays: their elements are dealt to the threads of a block, each of which has some of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.tree import KernelTree, Load, Parallel, Scatter, Store, walk
from ..private_loops import is_within, stays_within


def private_widths(tree: KernelTree) -> dict[int, tuple[int, ...]]:
    """rank of private arrays → their largest extents."""
    widths: dict[int, tuple[int, ...]] = {}
    for a in tree.arrays.values():
        if a.kind == "private":
            widths[len(a.fixed)] = tuple(map(max, widths.get(len(a.fixed), a.fixed), a.fixed))
    return widths


def slots_of(shape: tuple[int, ...], block: int) -> int:
    """How many elements of a private array of these extents a thread has."""
    size = 1
    for n in shape:
        size *= n
    return -(-size // block)


def touches_private(s: Parallel, tree: KernelTree) -> bool:
    private = {a.name for a in tree.arrays.values() if a.kind == "private"}
    return any(isinstance(n, (Load, Store, Scatter)) and n.array in private for n in walk(s))


def goes_beyond(s: Parallel, tree: KernelTree, checks: Callable[[Any], bool]) -> bool:
    """Whether a loop that touches private arrays may have more iterations than these have elements."""
    names = [a.name for a in tree.arrays.values() if a.kind == "private"]
    return not is_within(s, private_widths(tree)[len(s.counts)]) and not stays_within(s, names, checks)
