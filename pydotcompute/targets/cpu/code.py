"""What writes the functions of one kernel for a CPU: every part of it, and which part holds which."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from ...ir.tree import (
    Accumulate,
    Atomic,
    Break,
    CallHelper,
    CheckStep,
    Const,
    Expr,
    For,
    If,
    KernelTree,
    Load,
    Parallel,
    Reduce,
    Return,
    Scatter,
    Store,
    Var,
    While,
    walk,
)  # fmt: skip
from ..llvm.array_scope import ArrayScope
from ..llvm.expressions import Expressions, contracts
from ..llvm.faults import Faults, in_range
from ..llvm.helpers import Helpers
from ..llvm.statements import Statements
from ..llvm.writer import Writer
from ..names import Names
from ..sites import Sites
from .arrays import Array
from .bodies import as_parallel, has_loops, moves_on
from .common_stores import common_store
from .elements import Elements
from .index_set_splitting import assuming, certain_range, conditions_of_ends
from .innermost_loops import InnermostLoops
from .interruptions import Interruptions
from .lifted_checks import LiftedChecks
from .loop_reductions import Reductions
from .loop_versioning import LoopVersioning
from .loops import Loops
from .row_versions import RowVersions
from .staged_updates import Staging
from .stores import Stores


class Code:
    """phase: what writes a loop over grid or blocks where it stands."""

    def __init__(
        self, tree: KernelTree, names: Names, arrays: dict[str, Array], bounds: bool, phase: Callable[[Parallel], None]
    ):
        self.names, self.writer, self.arrays = names, Writer(names), ArrayScope(arrays)
        self.faults = Faults(self.writer, Sites(tree, bounds, allocates=True), always=True)
        self.elements = Elements(self.writer, self.arrays, self.faults)
        self.helpers = Helpers(
            self.writer, self.arrays, tree.helpers, self.faults.parameters, self.faults.arguments,
            lambda: self.reductions.stacks_first(),
        )  # fmt: skip
        contract = contracts(tree) and "fast" not in tree.fastmath  # where LLVM sees which product waits for which
        self.expressions = Expressions(names, contract, self.elements.load, self.helpers.call)
        self.expressions.is_certain = self.elements.is_certain
        self.stores = Stores(self.writer, self.expressions, self.elements)
        self.reductions = Reductions(self.writer, self.expressions)
        self.interruptions = Interruptions(tree, self.writer, self.expressions.text)
        self.statements = Statements(
            self.writer, self.expressions,
            {
                Store: self.stores.store, Scatter: self.stores.scatter, Atomic: self.stores.atomic,
                Accumulate: self.reductions.accumulate, If: self.branch,
                CheckStep: lambda s: self.faults.step(s, self.expressions.text(s.step), in_range),
                Parallel: lambda s: self.loops.parallel(s) if s.kind == "threads" else phase(s),
                Reduce: lambda s: self.loops.reduce(s),
                For: self.for_,
                While: self.while_,
            },
            self.head, self.interruptions.turns,
        )  # fmt: skip
        self.merges_stores = self.splits = not bounds
        self.loop: For | While | None = None  # the innermost sequential one around
        self.staging = Staging(
            tree, self.expressions, self.statements, self.elements, self.stores, on=not bounds
        )
        self.checks = LiftedChecks(self.expressions, self.elements, tree.aliases)
        self.loops = Loops(
            self.writer, self.expressions, self.statements, self.reductions, self.stores,
            LoopVersioning(self.writer, self.elements), self.faults, self.interruptions,
            InnermostLoops(
                self.writer, self.expressions, self.statements, self.reductions, self.faults,
                self.checks,
                self.interruptions, RowVersions(self.writer, self.expressions), self.staging, splits=not bounds,
            ),
        )  # fmt: skip

    def head(self, s: For | While) -> None:
        """At the beginning of the body of a sequential loop. One that is counted ends, soon after a fault; another one
        is left at once, since indices that its condition looked at are not looked at again (`inside.marked`)."""
        if isinstance(s, While):
            self.faults.leave(s)
        self.interruptions.head()

    def for_(self, s: For) -> None:
        """A sequential loop over a range."""
        if self.staging.sequential(s, self.for_):
            return
        if s.step != Const(1, "int64") or has_loops(*s.body):
            return self._loop(s)
        whole = replace(s, start=self._held(s.start), stop=self._held(s.stop))
        loop = as_parallel(whole)
        if self._is_splittable(s) and (conditions := conditions_of_ends(loop)):
            return self._split(whole, loop, conditions)
        start, stop = map(self.expressions.text, (whole.start, whole.stop))
        self.checks.write(loop, start, stop, lambda version: self._loop(replace(whole, body=version.body)))

    def _is_splittable(self, s: For) -> bool:
        """Whether all its turns are done, which LLVM does not write one after the other."""
        left = any(isinstance(n, (Break, Return)) for inner in s.body for n in walk(inner))
        return self.splits and not left and not (isinstance(s.start, Const) and isinstance(s.stop, Const))

    def _split(self, s: For, loop: Parallel, conditions: list[Expr]) -> None:
        """The turns before those in which the conditions certainly hold, these, and the ones after them."""
        start, stop = self.statements.ends(s)
        start, stop = self.writer.held("_begin", start), self.writer.held("_end", stop)
        split = certain_range(loop, conditions, start, stop, self.writer, self.expressions)
        certain = replace(loop, body=assuming(loop.body, conditions))
        if split.before:
            self._part(s, loop, start, split.low, "rare")
        self._part(s, certain, split.low, split.high)
        if split.after:
            self._part(s, loop, split.high, stop, "rare")

    def _part(self, s: For, loop: Parallel, start: str, stop: str, mark: str = "") -> None:
        """Turns of the loop s, with the body of the other one."""

        def write(version: Parallel) -> None:
            part = replace(s, body=version.body)
            with self._around(part):
                self.interruptions.loop(part, lambda: self.statements.each(part, (start, stop), mark))

        self.checks.write(loop, start, stop, write)

    def _loop(self, s: For) -> None:
        with self._around(s):
            self.interruptions.loop(s, lambda: self.statements.for_(s))

    def while_(self, s: While) -> None:
        with self._around(s):
            self.interruptions.loop(s, lambda: self.statements.while_(s))

    @contextmanager
    def _around(self, loop: For | While) -> Iterator[None]:
        """The loop is written inside."""
        before, self.loop = self.loop, loop
        yield
        self.loop = before

    def _held(self, e: Expr) -> Expr:
        """An expression that may be written several times before the loop."""
        if not any(isinstance(n, (Load, CallHelper)) for n in walk(e)):
            return e
        held = Var(self.writer.held("_bound", self.expressions.text(e)), "int64")
        self.names.bind(held.name, held.name)
        return held

    def branch(self, s: If) -> None:
        """An `if`; where its branches end in stores to one element, with one store after it."""
        if self.merges_stores and (parts := common_store(s, self.names)):
            self.statements.write(parts)
        elif self.loop and moves_on(s, self.loop):
            self.statements.if_(s, "rarely({})")
        else:
            self.statements.if_(s)
