"""Which loads of a loop's iterations can be done early, so that a thread has those of several iterations under way.

A thread that waits for each element of its own leaves a GPU's memory half idle: bandwidth times latency is more than
one element for every thread that a GPU holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from ..signature import DTYPE_BYTES
from .tree import Accumulate, Assign, BoolOp, Expr, Load, Node, Parallel, Select, Stmt, Store, Var, children, walk

BYTES = 16  # of each array, under way in a thread
MOST_ITERATIONS = 8
MOST_LOADS = 16  # under way in a thread: each needs a register or two


def early_loads(
    loop: Parallel, own: Set[str], aliases: Iterable[tuple[str, str]], size: int = BYTES
) -> tuple[tuple[Load, ...], int]:
    """The loads that may come before everything else of an iteration, and for how many iterations at once; fewer than
    two are not worth it.

    own: the kernel's own arrays; aliases: as KernelTree has them; size: bytes of each array under way in a thread.
    Iterations of a parallel loop are independent, so that loads of one may come before stores of another; within one,
    a load stays behind stores to what it may read.
    """
    if not all(isinstance(s, (Assign, Store, Accumulate)) for s in loop.body):
        return (), 1
    pairs = set(aliases)
    assigned = {s.name for s in loop.body if isinstance(s, Assign)}
    stored: set[str] = set()
    found: dict[Load, None] = {}
    for s in loop.body:
        for load in _loads(s):
            if load.array not in own | stored and not _reads(load, assigned):
                if all(inner in found for index in load.indices for inner in walk(index) if isinstance(inner, Load)):
                    found[load] = None
        if isinstance(s, Store):
            stored |= touched(s.array, pairs)
    if not found:
        return (), 1
    widest = max(DTYPE_BYTES[load.type] for load in found)
    return tuple(found), min(size // widest, MOST_ITERATIONS, MOST_LOADS // len(found))


def touched(array: str, aliases: Iterable[tuple[str, str]]) -> set[str]:
    """The arrays that a store to this one may change."""
    return {array, *(name for pair in aliases if array in pair for name in pair)}


def _loads(node: Stmt | Expr | Node) -> Iterator[Load]:
    """The loads that are evaluated whatever the values are, inner ones first."""
    parts = children(node)
    if isinstance(node, Select):
        parts = iter((node.condition,))
    elif isinstance(node, BoolOp):
        parts = iter((node.left,))
    for part in parts:
        yield from _loads(part)
    if isinstance(node, Load):
        yield node


def _reads(load: Load, names: Set[str]) -> bool:
    return any(isinstance(n, Var) and n.name in names for n in walk(load))
