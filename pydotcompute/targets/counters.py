"""Arrays that a loop only counts in. Whole numbers add up to the same in any order, so that whoever does a part of the
loop may add to a copy of its own, and that to the array at its end."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from ..ir.tree import Atomic, KernelTree, Parallel, walk
from .arrays import Array


def updates_of(tree: KernelTree, loop: Parallel) -> list[Atomic]:
    """The atomic updates of a loop that others than its iteration may see."""
    parameters = {p.name for p in tree.parameters if p.in_memory}
    return [n for n in walk(loop) if isinstance(n, Atomic) and n.array in parameters]


def counters(tree: KernelTree, loop: Parallel, arrays: Mapping[str, Array]) -> tuple[str, ...]:
    """The arrays of which there may be copies: all that a loop updates atomically, or none. (It does nothing else with
    an array that it updates so: see analysis/races.py.)"""
    updates = updates_of(tree, loop)
    aliased = {name for pair in tree.aliases for name in pair}
    for n in updates:
        array = arrays[n.array]
        plain = n.op == "add" and "int" in array.dtype and not n.result and not n.stored
        if not plain or array.strides is not None or n.array in aliased:
            return ()
    return tuple(dict.fromkeys(n.array for n in updates))


def elements(array: Array) -> str:
    """How many an array has."""
    return reduce(lambda a, b: f"mul({a}, {b})", array.extents, "int64(1)")
