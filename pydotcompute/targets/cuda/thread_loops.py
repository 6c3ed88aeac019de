"""`threads` loops on CUDA: iteration t is done by thread t modulo the size of the block. In several dimensions t counts
rows as wide as the private arrays' where those are wider, so that their elements stay with a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

from ...ir.tree import Parallel, Stmt
from ..llvm.expressions import Expressions
from ..llvm.faults import Faults
from ..llvm.statements import Statements
from ..llvm.writer import Writer
from ..sites import may_be_long
from .barriers import without_first_barrier
from .counts import Number, fixed, held_counts, number_turns, product, rows_of
from .elements import Elements
from .loop_reductions import Reductions
from .private_arrays import PrivateArrays
from .teams import Team
from .thread_coarsening import MOST_UNROLLED, ThreadCoarsening

Iteration = Callable[[tuple[Stmt, ...]], None]  # writes one with this body


class ThreadLoops:
    """statements: what writes those of one thread."""

    def __init__(
        self, writer: Writer, expressions: Expressions, statements: Statements, elements: Elements,
        reductions: Reductions, coarsening: ThreadCoarsening, private: PrivateArrays, team: Team,
        near: bool, faults: Faults,
    ):  # fmt: skip
        self.writer, self.names, self.expressions = writer, writer.names, expressions
        self.statements, self.elements, self.reductions = statements, elements, reductions
        self.coarsening, self.private, self.near, self.faults = coarsening, private, near, faults
        self.team, self.block = team, team.threads

    def write(self, s: Parallel) -> None:
        writer = self.writer
        s, waits = without_first_barrier(s)
        lanes = self.reductions.open(s.reductions)
        if may_be_long(s):  # of what another thread left: it would know alone
            self.faults.vote()
        counts = held_counts(s, writer, self.expressions, self.faults)
        widths = self.private.widths(counts, writer)
        if waits:  # the loop stores to what its counts read
            writer.line(self.team.barrier)
        where = self.names.fresh("_at")
        rows = rows_of(self.block, widths) if self.near else 0
        number = number_turns(writer, s.names, widths, where, rows)
        iteration = partial(self._iteration, s, counts, where)
        if padded := widths != counts:
            iteration = partial(self._within, s, counts, iteration)
        sizes = (counts[0], *widths[1:])
        known = fixed(sizes)
        total = f"int64({known})" if known is not None else writer.held("_total", product(sizes))
        private = self.private.are_in(s)
        early = None if private or padded else self.coarsening.early_loads(s)
        turns = self.private.slots(len(counts)) if private else None
        if not private and not early and known is not None and known <= MOST_UNROLLED * self.block:
            turns = -(-known // self.block)
        if turns is None:
            self.coarsening.turns(s, early, where, "_thread", total, number, iteration, self.near)
        else:
            whole = known == turns * self.block
            self._unrolled(turns, where, "" if whole else total, number, partial(iteration, s.body))
        if lanes:
            self.reductions.combine_block(lanes)
            self.reductions.finish(lanes)

    def _unrolled(
        self, turns: int, where: str, total: str, number: Number, iteration: Callable[[], None]
    ) -> None:
        """As many turns as are known; total: of the iterations, where the last turn may have fewer."""
        turn = self.names.fresh("_turn_of")
        slot = f"to_int64({turn})"
        with self.writer.for_(turn, str(turns)), self.statements.iteration(), self.elements.at_slot(slot):
            self.writer.assign(where, f"at({slot}, int64({self.block}), _thread)")
            with self.writer.if_(f"lt({where}, {total})") if total else nullcontext():
                number("_thread", slot)
                iteration()

    def _within(self, s: Parallel, counts: tuple[str, ...], iteration: Iteration, body: tuple[Stmt, ...]) -> None:
        """An iteration of rows that are wider than the loop's."""
        inside = [f"lt({self.names.of(n)}, {c})" for n, c in zip(s.names[1:], counts[1:], strict=True)]
        with self.writer.if_(inside[0] if len(inside) == 1 else f"band({inside[0]}, {inside[1]})"):
            iteration(body)

    def _iteration(self, s: Parallel, counts: tuple[str, ...], where: str, body: tuple[Stmt, ...]) -> None:
        self.reductions.position = where
        if any(r.op in ("argmin", "argmax") for r in s.reductions) and len(counts) > 1:
            position = self.names.fresh("_position")
            text = self.names.of(s.names[0])
            for name, count in zip(s.names[1:], counts[1:], strict=True):
                text = f"at({text}, {count}, {self.names.of(name)})"
            self.writer.assign(position, text)
            self.reductions.position = position
        self.statements.write(body)
