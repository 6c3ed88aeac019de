"""Indices that are not proved to be inside, in code for a CPU: which are looked at, what is written where one is not.

The first fault of a call goes into the fault words (artifact/abi.py); the access is skipped. From then on sequential
loops, blocks and slices end: what a program computes from a skipped access might keep them running for ever.
"""

from __future__ import annotations

from typing import Any

from ...artifact.abi import NO_MEMORY
from ...ir.tree import Access, CallHelper, Const, For, KernelTree, NewArray, Parallel, While, walk
from ..llvm.writer import Writer
from .arrays import Array

SHORT = 64
FAULTS, CALL = "_faults", "_call"  # what functions with checks take: the fault words, which call a helper stands for

Place = tuple[int, int]  # line and column in the rendered text: where it came from is not in the artifact's key
Site = tuple[Place, str, int, int]  # of an index: where it stands, its array, the array's rank, its axis


class Faults:
    """bounds: every access is looked at. `any`: at least one is, so there are fault words."""

    def __init__(self, writer: Writer, tree: KernelTree, bounds: bool):
        self.writer, self.bounds, self.trusts = writer, bounds, tree.unchecked
        bodies = [*(h.body for h in tree.helpers), tree.body]
        self.any = any(a.scratch for a in tree.arrays.values()) or any(
            self.checks(node) for body in bodies for s in body for node in walk(s) if isinstance(node, Access)
        )
        self.sites: list[Site] = []
        self.calls: list[Place] = []  # of helpers, in the kernel
        self.call = "int64(0)"  # in a helper: what says which call it stands for

    def checks(self, node: Access) -> bool:
        """Whether somebody looks at the indices of this access."""
        return bool(node.indices) and (self.bounds or not (node.inside or self.trusts))

    @property
    def parameters(self) -> tuple[str, ...]:
        """What helpers take for it."""
        return (FAULTS, CALL) if self.any else ()

    def arguments(self, e: CallHelper) -> tuple[str, ...]:
        """What a call of a helper gives them."""
        if not self.any:
            return ()
        if self.call == CALL:
            return FAULTS, CALL
        at = self.writer.at or e.at
        assert at is not None
        return FAULTS, f"int64({1 + _number(self.calls, at.place)})"

    def caller(self, node: Access) -> str:
        """What says from which call of a helper an access comes."""
        at = node.at or self.writer.at
        return f"int64({1 + _number(self.calls, at.caller.place)})" if at and at.caller else self.call

    def site(self, node: Access, array: Array) -> int:
        """What is recorded for the first index of an access; for each further one, one more."""
        places = [index.at or node.at or self.writer.at for index in node.indices]
        first = places[0]
        assert first is not None  # a user wrote the index, or the statement
        site = tuple(((at or first).place, array.name, len(places), axis) for axis, at in enumerate(places))
        return 1 + self.sites.index(site[0]) if site[0] in self.sites else self._new(site)

    def no_memory(self, made: NewArray) -> int:
        """The same for an array that there is no memory for."""
        assert made.at is not None
        return self._new(((made.at.place, made.name, len(made.shape), NO_MEMORY),))

    def _new(self, site: tuple[Site, ...]) -> int:
        self.sites += site
        return len(self.sites) - len(site) + 1

    def leave(self, loop: Any = None) -> None:
        """At the head of a loop's body: leave the loop where there was a fault."""
        if self.any and not (isinstance(loop, For) and _is_short(loop)):
            with self.writer.if_(f"faulted({FAULTS})"):
                self.writer.line("break")

    def none(self, count: str) -> str:
        """A number of iterations, 0 where there was a fault."""
        return f"select(faulted({FAULTS}), int64(0), {count})" if self.any else count

    def told(self) -> dict[str, Any]:
        """The sites and calls for the artifact's metadata."""
        return {"sites": [[*place, *rest] for place, *rest in self.sites], "calls": [list(at) for at in self.calls]}


def _is_short(loop: For) -> bool:
    """So few iterations, without loops in them, that nobody waits for their end."""
    bounds = [e.whole for e in (loop.start, loop.stop, loop.step) if isinstance(e, Const)]
    inner = any(isinstance(n, (For, While, Parallel)) for s in loop.body for n in walk(s))
    return len(bounds) == 3 and bounds[2] != 0 and (bounds[1] - bounds[0]) // bounds[2] <= SHORT and not inner


def _number(items: list, item: Any) -> int:
    """Its number in the list, where it is put if it is new."""
    if item not in items:
        items.append(item)
    return items.index(item)
