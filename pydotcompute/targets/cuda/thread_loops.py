"""`threads` loops on CUDA: iteration t is done by thread t modulo the size of the block. In several dimensions t counts
rows as wide as the private arrays' where those are wider, so that their elements stay with a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TypeGuard

from ...ir.tree import Assign, CallHelper, Const, Continue, Load, Parallel, Select, Stmt, Store, Var, walk
from ..llvm.expressions import Expressions
from ..llvm.faults import Faults
from ..llvm.statements import Statements
from ..llvm.writer import Writer
from ..private_loops import stays_within
from ..sites import may_be_long
from .arrays import all_of
from .barriers import without_first_barrier
from .counts import Number, fixed, held_counts, number_turns, product, rows_of
from .elements import Elements
from .loop_reductions import Reductions
from .private_arrays import PrivateArrays
from .round_sums import RoundSums
from .teams import INSIDE, Team
from .thread_coarsening import MOST_UNROLLED, ThreadCoarsening

ROUND = 4  # turns
CONDITION = "whether there is an iteration"  # a name that no kernel has

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
            self.team.wait(writer)
        where = self.names.fresh("_at")
        rows = rows_of(self.block, widths) if self.near else 0
        number = number_turns(writer, s.names, widths, where, rows)
        iteration = partial(self._iteration, s, counts, where)
        if padded := widths != counts:
            iteration = partial(self._within, s, counts, iteration)
        sizes = (counts[0], *widths[1:])
        known = None if self.team.is_part else fixed(sizes)
        total = f"int64({known})" if known is not None else writer.held("_total", product(sizes))
        if self.team.is_part:
            total = writer.held("_total", f"({total} if {INSIDE} else int64(0))")
        private = self.private.are_in(s)
        early = None if private or padded else self.coarsening.early_loads(s)
        turns = self.private.slots(len(counts)) if private else None
        if not private and not early and known is not None and known <= MOST_UNROLLED * self.block:
            turns = -(-known // self.block)
        if turns is None:
            self.coarsening.turns(s, early, where, "_thread", total, number, iteration, self.near)
        elif known is None and len(counts) == 1 and turns % ROUND == 0 and not _goes_on(s):
            self._in_rounds(s, turns, where, total, number, iteration)
        else:
            whole = known == turns * self.block
            self._unrolled(turns, where, "" if whole else total, number, partial(iteration, s.body))
        if private and turns is not None and self._goes_beyond(s, turns, known):
            # With a slot that there is: none is touched there.
            first = f"at(int64({turns}), int64({self.block}), _thread)"
            with self.elements.at_slot("int64(0)"):
                self.coarsening.turns(s, None, where, first, total, number, iteration)
        if lanes:
            self.reductions.combine_block(lanes)
            self.reductions.finish(lanes)

    def _goes_beyond(self, s: Parallel, turns: int, known: int | None) -> bool:
        """Whether there may be more iterations than elements of private arrays."""
        least = self.team.longest or known
        if least is not None and least <= turns * self.block:
            return False
        return not stays_within(s, self.private.names, self.faults.checks)

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

    def _in_rounds(
        self, s: Parallel, turns: int, where: str, total: str, number: Number, iteration: Iteration
    ) -> None:
        """As many turns as there is room for; those behind the last iteration are passed over, some at once. What they
        would store in private arrays is 0: registers that hold nothing would be taken all the same."""
        writer, sums = self.writer, RoundSums(s, self.writer, self.expressions, self.reductions)
        many = ROUND * self.block
        few = writer.held("_few", f"to_int32(minimum({total}, int64({turns * self.block})))")
        own = writer.held("_own", f"sub({few}, to_int32(_thread))")  # the turns from the thread's first iteration on
        turn = self.names.fresh("_round")
        cleared = tuple(replace(one, value=Const(0, one.value.type)) for one in s.body if self._is_private(one))

        def turn_of(k: int, write: Callable[[], None]) -> None:
            slot = f"at(to_int64({turn}), int64({ROUND}), int64({k}))"
            with self.statements.iteration(), self.elements.at_slot(slot):
                writer.assign(where, f"at({slot}, int64({self.block}), _thread)")
                number("_thread", slot)
                write()

        def one_round(first: str, guarded: bool) -> None:
            for k in range(ROUND):
                inside = writer.held("_is", f"lt(add({first}, int32({k * self.block})), {own})") if guarded else ""
                whole = partial(self._guarded, s.body, inside, iteration) if guarded else partial(iteration, s.body)
                with sums.iteration():
                    turn_of(k, whole)
            sums.close()

        with writer.for_(turn, str(turns // ROUND)):
            first = writer.held("_first", f"mul(to_int32({turn}), int32({many}))")
            with writer.if_(f"le(add({first}, int32({many})), {few})"):
                one_round(first, guarded=False)
            with writer.else_():
                with writer.if_(f"lt({first}, {few})"):
                    one_round(first, guarded=True)
                if cleared:
                    with writer.else_():
                        for k in range(ROUND):
                            turn_of(k, partial(iteration, cleared))
            writer.line("unrolled_whole()")

    def _guarded(self, body: tuple[Stmt, ...], inside: str, iteration: Iteration) -> None:
        """An iteration if there is one (`inside`), with as few jumps as can be: code without them does what several
        iterations wait for at once. What it stores in private arrays is 0 where there is none."""
        self.names.bind(CONDITION, inside)
        condition = Var(CONDITION, "bool")
        for is_harmless, part in groupby(body, self._is_harmless):
            if is_harmless:
                iteration(tuple(part))
                continue
            for s in part:
                if self._is_private(s) and s.value.type != "bool":
                    chosen = Select(condition, s.value, Const(0, s.value.type), s.value.type)
                    iteration((replace(s, value=chosen),))
                else:
                    with self.writer.if_(inside):
                        iteration((s,))

    def _is_private(self, s: Stmt) -> TypeGuard[Store]:
        return isinstance(s, Store) and s.array in self.private.names

    def _is_harmless(self, s: Stmt) -> bool:
        """Whether an iteration that there is none of may do it: it stays in a thread's registers."""
        if not isinstance(s, Assign) and not self._is_private(s):
            return False
        return all(
            n.array in self.private.names if isinstance(n, Load) else not isinstance(n, CallHelper) for n in walk(s)
        )

    def _within(self, s: Parallel, counts: tuple[str, ...], iteration: Iteration, body: tuple[Stmt, ...]) -> None:
        """An iteration of rows that are wider than the loop's."""
        inside = [f"lt({self.names.of(n)}, {c})" for n, c in zip(s.names[1:], counts[1:], strict=True)]
        with self.writer.if_(all_of(inside)):
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


def _goes_on(s: Parallel) -> bool:
    """Whether an iteration may end early: the others of its round, which stand in the same body, would end with it."""
    return any(isinstance(n, Continue) for n in walk(s))
