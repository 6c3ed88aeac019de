"""Which threads do an iteration of `blocks` together: those of a block of the GPU, or, where rows are short, of a warp,
of a part of one, or a single one.

A warp needs no barrier of the block and no shared memory to combine its threads' values, so that rows of a thousand
elements wait for nothing but memory; of shorter rows, a warp does several at once. Which of these a call launches
follows from its sizes: artifact/launch.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from ...artifact.dimensions import Operation, Tree
from ...artifact.launch import WARP
from ...ir.tree import Const, For, If, KernelTree, Parallel, While, walk
from ..geometry import expression
from ..llvm.writer import Writer

LONGEST = 1024  # iterations of a loop over the threads that a warp does by itself
INSIDE = "_inside"


@dataclass(frozen=True)
class Team:
    """threads: of one iteration; several: how many teams lie along y in a block; 0: a team is a block. longest: how
    many iterations its loops have at most; 0: any number.

    Teams that are parts of a warp go on together: each turn of theirs begins with the row of the first, and one that
    has no row of its own left takes the last again, with no element of it, and stores nothing (INSIDE).
    """

    threads: int
    several: int = 0
    longest: int = 0

    @property
    def is_part(self) -> bool:
        """Whether it is a part of a warp, of several threads."""
        return bool(self.several) and 1 < self.threads < WARP

    @property
    def shuffles_alone(self) -> bool:
        """Whether shuffles within a warp are all that its threads exchange values by."""
        return bool(self.several) or self.threads == WARP

    @property
    def first_thread(self) -> str:
        """The condition of what one thread does for the team."""
        return f"band(eq(_thread, int64(0)), {INSIDE})" if self.is_part else "eq(_thread, int64(0))"

    def wait(self, writer: Writer) -> None:
        """All threads of the team wait for each other."""
        if self.threads > 1 or not self.several:
            writer.line("warp_barrier()" if self.several else "barrier()")

    def first(self, axis: str) -> str:
        """The first iteration along an axis, of a team or of those of a warp."""
        own = f"ctaid_{axis}()"
        if not self.several or axis != "x":
            return own
        number = f"band(tid_y(), int64({-(WARP // self.threads)}))" if self.is_part else "tid_y()"
        return f"at({own}, int64({self.several}), {number})"

    def own(self, writer: Writer, first: str, count: str) -> str:
        """A team's own iteration of those of a warp."""
        own = writer.held("_row", f"add({first}, band(tid_y(), int64({WARP // self.threads - 1})))")
        writer.assign(INSIDE, f"lt({own}, {count})")
        return f"minimum({own}, sub({count}, int64(1)))"

    def step(self, axis: str) -> str:
        """How many teams there are along an axis."""
        blocks = f"nctaid_{axis}()"
        return f"mul({blocks}, int64({self.several}))" if self.several and axis == "x" else blocks


def may_be_parts(tree: KernelTree) -> bool:
    """Whether the threads of a warp may do several iterations of `blocks` at once: whichever way one of them goes, all
    others go too."""
    return tree.main is not None and not any(isinstance(s, (If, For, While)) for s in tree.main.body)


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
