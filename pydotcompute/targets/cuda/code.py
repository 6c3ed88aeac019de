"""What writes the functions of one kernel for CUDA: every part of it, and which part holds which."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import prod

from ...ir.tree import Accumulate, CheckStep, KernelTree, Parallel, Reduce
from ..llvm.array_scope import ArrayScope
from ..llvm.expressions import Expressions, contracts
from ..llvm.faults import Faults
from ..llvm.helpers import Helpers
from ..llvm.statements import Handler, Statements
from ..llvm.writer import Writer
from ..names import Names
from ..scratch import extents
from ..sites import Sites
from .arrays import Array
from .barriers import Barrier, Vote
from .elements import Elements, in_range
from .grid_reduction import GridReduction
from .loop_reductions import Reductions
from .loops import Loops
from .near import Near
from .private_arrays import PrivateArrays
from .stores import Stores
from .teams import Team
from .thread_coarsening import ThreadCoarsening
from .thread_loops import ThreadLoops


class Code:
    """Two walkers share the writer: `statements` writes those that each thread executes for itself; where the
    statements of a block stand, every thread executes the same ones, and the first one stores: `block_statements`."""

    def __init__(
        self, tree: KernelTree, names: Names, arrays: dict[str, Array], team: Team, sites: Sites, near: bool,
        counting: bool,
    ):  # fmt: skip
        self.tree, self.block = tree, (block := team.threads)
        self.writer, self.arrays = Writer(names), ArrayScope(arrays)
        self.faults = faults = Faults(self.writer, sites)
        self.elements = elements = Elements(self.writer, self.arrays, faults)
        self.private = PrivateArrays(tree.arrays, block)
        self.helpers = Helpers(self.writer, self.arrays, tree.helpers, faults.parameters, faults.arguments)
        self.expressions = Expressions(names, contracts(tree), elements.load, self.helpers.call)
        if near:
            self.expressions.forms |= Near(tree, self.expressions).forms
        self.reductions = Reductions(self.writer, self.expressions, team, faults)
        stores = Stores(self.writer, self.expressions, elements, team)
        values: dict[type, Handler] = {Accumulate: self.reductions.accumulate, Reduce: self.reduce}
        values[CheckStep] = lambda s: faults.step(s, self.expressions.text(s.step), in_range)
        handlers = {**stores.handlers(), **values}
        self.statements = Statements(self.writer, self.expressions, handlers, faults.leave)
        self.coarsening = ThreadCoarsening(
            self.writer, self.expressions, self.statements, self.reductions, self.arrays, tree, block, faults,
            counting,
        )  # fmt: skip
        threads = ThreadLoops(
            self.writer, self.expressions, self.statements, elements, self.reductions, self.coarsening, self.private,
            team, near, faults,
        )  # fmt: skip
        of_blocks: dict[type, Handler] = {
            Parallel: threads.write, Barrier: lambda s: team.wait(self.writer), Vote: lambda s: faults.vote(),
        }  # fmt: skip
        of_blocks |= stores.handlers_of_one() | values
        block_statements = Statements(self.writer, self.expressions, of_blocks, faults.leave_together)
        self.loops = Loops(self.writer, self.statements, block_statements, self.coarsening, team, near, faults)
        self.grid_reduction = GridReduction(
            self.writer, self.statements, block_statements, self.reductions, self.coarsening, block, faults
        )

    def reduce(self, s: Reduce) -> None:
        self.reductions.serially(s, self.statements)

    def begin(self) -> None:
        """Where a thread is: what every kernel starts with."""
        writer = self.writer
        writer.assign("_thread", f"thread_below({self.block})")
        writer.assign("_lane", "band(_thread, int64(31))")
        writer.assign("_warp", "shr(_thread, int64(5))")
        if ragged := self.block % 32:
            last, some, all_ = self.block // 32, (1 << ragged) - 1, (1 << 32) - 1
            writer.assign("_members", f"select(eq(_warp, int64({last})), int64({some}), int64({all_}))")
        writer.assign("_turn", "int64(0)")

    def allocate(self) -> None:
        """The kernel's own arrays; private ones hold a thread's elements alone."""
        for a in (a for a in self.tree.arrays.values() if not a.scratch):
            count = self.private.slots(len(a.shape)) if a.kind == "private" else prod(a.fixed)
            where = "shared" if a.kind == "shared" else "local"
            self.writer.assign(self.arrays[a.name].pointer, f"{where}_{a.dtype}({count})")

    def allocate_scratch(self, memory: Mapping[str, str]) -> None:
        """Those that lie in scratch: `memory` is that of all blocks or threads, by the array's name."""
        for a in (self.tree.arrays[name] for name in memory):
            array = self.arrays[a.name]
            for name, n, extent in zip(array.extents, a.shape, extents(self.tree, a), strict=True):
                if not isinstance(n, int):
                    self.writer.assign(name, self.expressions.text(extent))
            count = reduce(lambda one, other: f"times({one}, {other})", array.extents)
            number = "ctaid_x()" if a.kind == "shared" else "at(ctaid_x(), ntid_x(), tid_x())"
            self.writer.assign(array.pointer, f"moved({memory[a.name]}, mul({number}, {count}))")
