"""Which accesses of a kernel are checked in its code, and the numbers by which it tells of one that is outside."""

from __future__ import annotations

from math import prod
from typing import Any

from ..artifact.abi import NO_MEMORY, NO_STEP, TOO_MANY
from ..errors import Position
from ..ir.indices import is_unsigned
from ..ir.tree import (
    Access,
    Atomic,
    CallHelper,
    CheckStep,
    Const,
    For,
    If,
    KernelTree,
    NewArray,
    Parallel,
    Reduce,
    Scatter,
    Stmt,
    Store,
    While,
    walk,
)  # fmt: skip

SHORT = 64

Place = tuple[int, int]  # line and column in the rendered text: where it came from is not in the artifact's key
# Of an index: where it stands, its array, the array's rank, its axis; "uint64" of one that was it.
Site = tuple[Place, str, int, int] | tuple[Place, str, int, int, str]


class Sites:
    """bounds: every access is checked. allocates: the code itself allocates arrays, for which there may be no memory.
    `any`: something may be told."""

    def __init__(self, tree: KernelTree, bounds: bool = False, allocates: bool = False):
        self.bounds, self.trusts = bounds, tree.unchecked
        bodies = [*(h.body for h in tree.helpers), tree.body]
        self.any = allocates and any(a.scratch for a in tree.arrays.values()) or any(
            isinstance(node, CheckStep) or isinstance(node, Access) and self.checks(node)
            for body in bodies for s in body for node in walk(s)
        )  # fmt: skip
        self.sites: list[Site] = []
        self.calls: list[Place] = []  # of helpers, in the kernel

    def checks(self, node: Access) -> bool:
        """Whether the code looks at the indices of this access."""
        return bool(node.indices) and (self.bounds or not (node.inside or self.trusts))

    def looked_at(self, node: Access) -> slice:
        """The indices of such an access that it looks at: from the first that is not proved to the last."""
        open_ = [k for k in range(len(node.indices)) if self.bounds or not node.proved or not node.proved[k]]
        return slice(open_[0], open_[-1] + 1)

    def call(self, e: CallHelper, within: Position | None) -> int:
        """The number of a call in the kernel, from 1; within: where the statement stands that it is in."""
        at = within or e.at
        assert at is not None
        return 1 + _number(self.calls, at.place)

    def caller(self, node: Access | CheckStep, within: Position | None) -> int:
        """The number of the call that an access of an inlined helper stands for; 0 of any other."""
        at = node.at or within
        return 1 + _number(self.calls, at.caller.place) if at and at.caller else 0

    def site(self, node: Access, array: str, within: Position | None) -> int:
        """The number of the first index of an access, from 1; each further one has one more."""
        places = [index.at or node.at or within for index in node.indices]
        first = places[0]
        assert first is not None  # a user wrote the index, or the statement
        site: list[Site] = []
        for axis, (at, index) in enumerate(zip(places, node.indices)):
            here = (at or first).place, array, len(places), axis
            site.append((*here, "uint64") if is_unsigned(index) else here)
        return 1 + self.sites.index(site[0]) if site[0] in self.sites else self._new(tuple(site))

    def no_memory(self, made: NewArray) -> int:
        """The same for an array that there is no memory for."""
        assert made.at is not None
        return self._new(((made.at.place, made.name, len(made.shape), NO_MEMORY),))

    def step(self, node: CheckStep) -> int:
        """The same for the step of a range."""
        assert node.at is not None
        site = node.at.place, "", 0, NO_STEP
        return 1 + self.sites.index(site) if site in self.sites else self._new((site,))

    def too_many(self, at: Position) -> int:
        """The same for a loop that goes round too often for the target."""
        return self._new(((at.place, "", 1, TOO_MANY),))

    def _new(self, site: tuple[Site, ...]) -> int:
        self.sites += site
        return len(self.sites) - len(site) + 1

    def told(self) -> dict[str, Any]:
        """The sites and calls for the artifact's metadata."""
        return {"sites": [[*place, *rest] for place, *rest in self.sites], "calls": [list(at) for at in self.calls]}


def is_short(loop: Any) -> bool:
    """Whether a loop has so few iterations, without loops in them, that nobody waits for its end."""
    if not isinstance(loop, For):
        return False
    bounds = [e.whole for e in (loop.start, loop.stop, loop.step) if isinstance(e, Const)]
    inner = any(isinstance(n, (For, While, Parallel)) for s in loop.body for n in walk(s))
    return len(bounds) == 3 and bounds[2] != 0 and (bounds[1] - bounds[0]) // bounds[2] <= SHORT and not inner


def has_few_turns(loop: Parallel, block: int) -> bool:
    """Whether the threads of a block go round a loop over them so few times that none waits for its end."""
    counts = [c.value for c in loop.counts if isinstance(c, Const) and isinstance(c.value, int)]
    return len(counts) == len(loop.counts) and prod(counts) <= SHORT * block


def may_be_long(loop: Parallel) -> bool:
    """Whether what an iteration reads may decide how long it takes."""
    return any(
        isinstance(n, (While, Reduce, CallHelper)) or isinstance(n, For) and not is_short(n) for n in walk(loop)
    )


def ends_alone(s: Stmt) -> bool:
    """Whether what every thread of a block works out alike at block level, in a statement without those inside it, has
    loops that a thread ends alone after a fault of its own: so that it would come to something else than others."""
    match s:
        case If() | While():
            parts: tuple[Any, ...] = (s.condition,)
        case For():
            parts = (s.start, s.stop, s.step)
        case Parallel() | Store() | Atomic() | Scatter():
            parts = ()
        case _:
            parts = (s,)
    return any(isinstance(n, (Reduce, CallHelper)) for part in parts for n in walk(part))


def _number(items: list, item: Any) -> int:
    """Its number in the list, where it is put if it is new."""
    if item not in items:
        items.append(item)
    return items.index(item)
