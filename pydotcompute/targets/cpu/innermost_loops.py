"""Innermost parallel loops on a CPU: elementwise ones, and those whose reductions are in lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from ...ir.tree import Parallel
from ..llvm.expressions import Expressions
from ..llvm.statements import Statements
from ..llvm.writer import Writer
from .faults import FAULTS, Faults
from .index_set_splitting import assuming, certain_range, conditions_to_split_by
from .lifted_checks import LiftedChecks
from .loop_reductions import Lanes, Reductions

PIECE = 1 << 16  # iterations between two looks at whether there was a fault


class InnermostLoops:
    """splits: whether loops are split by what their conditions say of the index."""

    def __init__(
        self, writer: Writer, expressions: Expressions, statements: Statements, reductions: Reductions,
        faults: Faults, checks: LiftedChecks, splits: bool,
    ):  # fmt: skip
        self.writer, self.names, self.expressions = writer, writer.names, expressions
        self.statements, self.reductions, self.faults = statements, reductions, faults
        self.checks, self.splits = checks, splits

    def write(self, loop: Parallel, lanes: Lanes, start: str, stop: str) -> None:
        """The loop over the last index, from start to stop, with the body."""
        if lanes.each:
            self.checks.write(loop, start, stop, lambda version: self._in_passes(version, lanes, start, stop))
        elif self.faults.any:
            with self._pieces(start, stop) as (first, last):
                self._whole(loop, first, last)
        else:
            self._whole(loop, start, stop)

    @contextmanager
    def _pieces(self, start: str, stop: str) -> Iterator[tuple[str, str]]:
        """Parts of a range, one after the other; after the first as long as there is no fault."""
        writer = self.writer
        first, last = (self.names.fresh(n) for n in ("_piece", "_piece_end"))
        writer.assign(first, start)
        with writer.while_(f"lt({first}, {stop})"):
            with writer.if_(f"gt({first}, {start}) and faulted({FAULTS})"):
                writer.line("break")
            writer.assign(last, f"add({first}, minimum(sub({stop}, {first}), int64({PIECE})))")
            yield first, last
            writer.assign(first, last)

    def _whole(self, loop: Parallel, start: str, stop: str) -> None:
        if self.splits and (conditions := conditions_to_split_by(loop)):
            low, high = certain_range(loop, conditions, start, stop, self.writer, self.expressions)
            self._elementwise(loop, start, low)
            self._elementwise(replace(loop, body=assuming(loop.body, conditions)), low, high)
            self._elementwise(loop, high, stop)
        else:
            self._elementwise(loop, start, stop)

    def _elementwise(self, loop: Parallel, start: str, stop: str) -> None:
        self.checks.write(loop, start, stop, lambda version: self._each(version, start, stop))

    def _each(self, loop: Parallel, start: str, stop: str) -> None:
        with self.writer.for_(self.names.of(loop.names[-1]), start, stop):
            self.writer.line("independent()")
            with self.statements.iteration():
                self.statements.write(loop.body)

    def _in_passes(self, loop: Parallel, lanes: Lanes, start: str, stop: str) -> None:
        """Iterations over all the lanes, one pass after the other; `lanes.passes` counts what went into the lanes."""
        writer, reductions, width = self.writer, self.reductions, lanes.width
        number, base, k, length = (self.names.fresh(n) for n in ("_pass", "_base", "_k", "_length"))
        writer.assign(length, f"sub({stop}, {start})")
        with writer.for_(number, f"passes_of({length}, {width})"):
            self.faults.leave()
            writer.assign(base, f"at({number}, {width}, int64(0))")
            with writer.for_(k, "int64(0)", f"minimum({width}, sub({length}, {base}))"):
                writer.line("independent()")
                writer.assign(self.names.of(loop.names[-1]), f"add({start}, add({base}, {k}))")
                reductions.load(lanes, k)
                self._numbered(loop, lanes, lambda: reductions.store(lanes, k))
            reductions.end_pass(lanes)

    def _numbered(self, loop: Parallel, lanes: Lanes, close: Callable[[], None]) -> None:
        """The body, with the iteration's number where a reduction wants it; `close` ends the iteration."""
        outer = self.reductions.number
        if lanes.search:
            number = self.names.of(loop.names[0])
            for name, count in zip(loop.names[1:], lanes.counts[1:], strict=True):
                number = f"at({number}, {count}, {self.names.of(name)})"
            self.reductions.number = self.writer.held("_number", number)
        with self.statements.iteration(close):
            self.statements.write(loop.body)
        close()
        self.reductions.number = outer
