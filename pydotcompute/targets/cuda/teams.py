"""Which threads do an iteration of `blocks` together: those of a block of the GPU, or, where rows are short, of a warp.

A warp needs no barrier of the block and no shared memory to combine its threads' values, so that rows of a thousand
elements wait for nothing but memory. Which of the two a call launches follows from its sizes: artifact/launch.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from ...artifact.dimensions import Operation, Tree
from ...ir.tree import Const, KernelTree, Parallel, walk
from ..geometry import expression

LONGEST = 1024  # iterations of a loop over the threads that a warp does by itself


@dataclass(frozen=True)
class Team:
    """threads: of one iteration; warps: how many teams, a warp each, lie along y in a block; 0: a team is a block."""

    threads: int
    warps: int = 0

    @property
    def barrier(self) -> str:
        return "warp_barrier()" if self.warps else "barrier()"

    def first(self, axis: str) -> str:
        """The first iteration of a team along an axis."""
        own = f"ctaid_{axis}()"
        return f"at({own}, int64({self.warps}), tid_y())" if self.warps and axis == "x" else own

    def step(self, axis: str) -> str:
        """How many teams there are along an axis."""
        blocks = f"nctaid_{axis}()"
        return f"mul({blocks}, int64({self.warps}))" if self.warps and axis == "x" else blocks


def longest_loop(tree: KernelTree, known: Mapping[str, Tree | None]) -> Tree | None:
    """How many iterations the longest loop over the threads has, as a launch can know it; None where warps cannot do
    its rows, or should not: threads share memory, or the same row has always as many elements, or there is one row."""
    main = tree.main
    if main is None or main.kind != "blocks" or all(isinstance(count, Const) for count in main.counts):
        return None
    if main.reductions or any(a.kind != "local" or a.scratch for a in tree.arrays.values()):
        return None
    loops = [n for n in walk(main) if isinstance(n, Parallel) and n.kind == "threads"]
    lengths: dict[Tree, None] = {}
    for counts in ([expression(count, known) for count in loop.counts] for loop in loops):
        if None in counts:
            return None
        several = (Operation("max", (count, 0)) for count in counts if count is not None)
        lengths[reduce(lambda a, b: Operation("*%", (a, b)), several)] = None
    if all(isinstance(count, Const) for loop in loops for count in loop.counts):
        return None
    return reduce(lambda a, b: Operation("max", (a, b)), lengths)
