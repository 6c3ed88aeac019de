"""The versions of a kernel for CUDA, of which a launch takes the one for its sizes: rows by threads, warps or blocks,
in registers where they are read again; what counts in 32 bits; what counts in copies of a block's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any, Protocol

from ...artifact.dimensions import Operation, Tree, data
from ...artifact.launch import WARP
from ...ir.tree import KernelTree
from ..names import Names
from .block_counters import BlockCounters
from .kept_rows import found, kept_rows, slots
from .source import CudaSource
from .teams import LONGEST, Team, may_be_parts

BLOCK = 256  # threads, where a declaration says nothing
# The versions for short rows, in order of their lengths: threads of a team, and how many elements each has. Rows that
# are kept in registers take as many of them as there is room for: whoever has fewer holds more rows at once.
KEPT = (
    (1, 4), (2, 4), (4, 4), (8, 8), (WARP, 8), (WARP, 16), (WARP, 32),
    (BLOCK // 2, 16), (BLOCK, 16), (BLOCK, 32), (2 * BLOCK, 32),
)  # fmt: skip
PASSED = ((1, 8), (4, 4), (8, 8), (WARP, LONGEST // WARP), (BLOCK // 2, 16))
LARGE = 1024  # threads for rows that are read again and are not kept: of few rows at once, which caches hold meanwhile


class Module(Protocol):
    """A kernel as it is written by blocks, and what else it may be (lowering.py)."""

    tree: KernelTree
    names: Names
    block: int

    @property
    def longest(self) -> Tree | None: ...
    @property
    def fits(self) -> Tree | None: ...
    @property
    def countable(self) -> BlockCounters | None: ...
    def source(self) -> CudaSource: ...
    def version(self, tree: KernelTree | None = None, **how: Any) -> CudaSource: ...


def of_versions(module: Module) -> CudaSource:
    """The source of a kernel in all the versions that it may have."""
    longest, fits, counters = module.longest, module.fits, module.countable
    choices: tuple[Tree, Tree]
    if longest is not None:
        return _of_lengths(module, longest)
    source = module.source()
    if fits is not None:
        choices, other = (Operation("not", (fits,)), fits), module.version(near=True, name="_near")
    elif counters is not None:
        choices = Operation("not", (counters.when,)), counters.when
        other = module.version(counters=counters, name="_counted")
    else:
        return source
    return _chosen(source, [*zip(choices, (source, other), strict=True)])


def _of_lengths(module: Module, longest: Tree) -> CudaSource:
    """The source of a kernel for rows of any length, with those for shorter ones: which a thread or a warp does, and
    which are kept in registers."""
    tree, kept = module.tree, found(module.tree)
    room, block = slots(tree, kept), module.block
    above = 0
    versions: list[tuple[Tree, CudaSource]] = []
    for threads, turns in KEPT if room else PASSED:
        length = threads * (min(turns, room) if room else turns)
        if length <= above or 1 < threads < WARP and not may_be_parts(tree):
            continue
        rows = kept_rows(tree, kept, length, module.names.fresh) if room else tree
        team = Team(threads, block // threads if threads <= WARP else 0, length)
        one = module.version(rows, team=team, name=f"_to_{length}")
        when: Tree = Operation("<=", (longest, length))
        versions.append((Operation("and", (Operation("<", (above, longest)), when)) if above else when, one))
        above = length
    longer = module.version(team=Team(LARGE)) if room else module.source()
    return _chosen(longer, [(Operation("<", (above, longest)), longer), *versions])


def _chosen(source: CudaSource, versions: Sequence[tuple[Tree, CudaSource]]) -> CudaSource:
    """The versions of a kernel, of which the launches say when they are done."""
    launches = tuple({**one, "when": data(when)} for when, of in versions for one in of.launches)
    return replace(
        source, text="\n\n".join(one.text for _, one in versions), launches=launches,
        positions=reduce(lambda a, b: (*a, None, None, *b), (one.positions for _, one in versions)),
        functions=reduce(or_, (one.functions for _, one in versions)),
        entries=tuple(entry for _, one in versions for entry in one.entries),
    )  # fmt: skip
