"""Parallel loops: grids and blocks over the groups of a device, `threads` over the threads of a group, and the barriers
between them.

Every loop that goes over more than the threads at hand goes round as often in each thread of a block, with a condition
around the body: so a compiler for a processor sees that it may do neighbouring threads at once.

Threads of a block that wait for each other end the loops around that together: they vote at the head of each turn
whether one of them had an index outside. They vote too before what one thread does for long. A loop over threads, in
which nobody waits, each of them ends alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ...analysis.barriers import barriers
from ...artifact.launch import CHUNK_TERMS, MOST_CHUNKS
from ...ir.tree import Const, For, If, KernelTree, Parallel, Stmt, Unary, Update, While, walk
from ..geometry import assigned
from ..lane import Lane
from ..sites import ends_alone, has_few_turns, is_short, may_be_long
from .faults import Faults
from .geometry import set_up
from .private import goes_beyond, private_widths, slots_of, touches_private
from .reductions import Reductions, spread
from .statements import Statements
from .writer import Writer


class Loops:
    """The parallel loops of one kernel function; `thread` is the name of a thread's number in its block."""

    def __init__(
        self, tree: KernelTree, writer: Writer, statements: Statements, reductions: Reductions, faults: Faults
    ):
        self.tree, self.writer, self.statements, self.reductions = tree, writer, statements, reductions
        self.expressions, self.scalars = statements.expressions, statements.expressions.scalars
        self.block, self.thread = reductions.block, reductions.thread
        self.faults = faults
        self.points = barriers(tree, reductions_synchronise=True)
        self.widths = private_widths(tree)
        self.votes = False
        inside = assigned((tree.main,)) if tree.main else set()
        self.known = {name: value for name, value in set_up(tree).items() if name not in inside}

    # ----------------------------------------------------------------------------------------------- small texts

    def number(self, value: int) -> str:
        return self.scalars.constant(value, self.scalars.index)

    def held(self, base: str, text: str) -> str:
        return self.writer.hold(base, self.scalars.index, text)

    def counts(self, s: Parallel) -> tuple[str, ...]:
        """How many iterations along each index; a count below 0 is none."""
        found = []
        for count in s.counts:
            if isinstance(count, Const) and isinstance(count.value, int):
                found.append(self.number(max(count.value, 0)))
            else:
                text = self.expressions.count(count, self.known)
                held = self.held("_count", self.scalars.call("max", self.scalars.index, text, self.number(0)))
                alone = self.faults.any and s.kind != "threads"
                found.append(self.held("_count", self.faults.none(held)) if alone else held)
        return tuple(found)

    def product(self, counts: Iterable[str]) -> str:
        return self.held("_total", " * ".join(counts))

    def unpack(self, names: tuple[str, ...], widths: tuple[str, ...], flat: str) -> None:
        """The indices of a row-major position; `widths` are the extents, the first of which is not needed."""
        left, w = flat, self.writer
        for k in range(len(names) - 1, 0, -1):
            quotient = self.held("_quotient", f"{left} / {widths[k]}")
            rest = f"{left} - {quotient} * {widths[k]}"
            w.assign(self.expressions.names.of(names[k]), self.scalars.counted(rest))
            left = quotient
        w.assign(self.expressions.names.of(names[0]), self.scalars.counted(left))

    def gather(self) -> None:
        """Where all threads of a block come by alike: what the dialect wants to have said of that, once."""
        w, together = self.writer, self.scalars.dialect.together
        if together and w.lines[-1].strip() != f"{together};":
            w.statement(together)

    def vote(self) -> None:
        """Where all threads of a block come by, once each of them had no fault that another does not know of."""
        if self.faults.shares:
            self.votes = True
            self.faults.vote(self.writer)

    def together(self) -> str:
        """What loops go on by whose turns begin with a vote."""
        return self.scalars.dialect.faults["together"] if self.faults.shares else ""

    def over_groups(self, base: str, stop: str, body: Callable[[str], None]) -> None:
        """A loop over all groups of the launch."""
        name, d = self.writer.names.fresh(base), self.scalars.dialect
        with self.writer.count(name, self.scalars.index, d.group[0], stop, d.groups[0], self.together()):
            self.vote()
            body(name)

    def over_threads(self, first: str, stop: str, body: Callable[[str], None], also: str = "") -> None:
        """Positions from first on, dealt to the threads of the block. also: as long as that holds, of each thread.

        Of turns that begin with a barrier the first is there always: a compiler that saw that there is one at most made
        the loop a condition around a barrier, behind which PoCL 3.1 lost what threads had worked out.
        """
        w = self.writer
        run = w.names.fresh("_run")
        turns = run, self.scalars.index, first, stop, self.number(self.block)
        with w.count_once(*turns) if self.scalars.dialect.together and not also else w.count(*turns, also):
            if not also:
                self.gather()
            where = self.held("_at", f"{run} + {self.thread}")
            with w.when(f"{where} < {stop}"):
                body(where)
        self.gather()

    # ------------------------------------------------------------------------------------------------------ grid

    def grid(self, s: Parallel) -> None:
        """Nested loops, the last count along x, the one before along y, the first ones as one along z."""
        counts, w, d = self.counts(s), self.writer, self.scalars.dialect
        names = [self.expressions.names.of(n) for n in s.names]
        first_names, first_counts = (s.names[:-2], counts[:-2]) if len(counts) > 3 else ((), ())
        if first_names:
            names = ["", *names[-2:]]
            counts = (self.product(first_counts), *counts[-2:])

        def level(k: int) -> None:
            if first_names and k == 1:
                self.unpack(first_names, first_counts, names[0])
            if k == len(counts):
                self.statements.write(s.body)
                return
            axis = len(counts) - 1 - k
            run = w.names.fresh("_run")
            first, step = f"{d.group[axis]} * {d.size[axis]}", f"{d.groups[axis]} * {d.size[axis]}"
            with w.count(run, self.scalars.index, first, counts[k], step, self.faults.goes_on()):
                where = self.held("_at", f"{run} + {d.local[axis]}")
                if names[k]:
                    w.assign(names[k], self.scalars.counted(where))
                else:
                    names[k] = where
                with w.when(f"{where} < {counts[k]}"):
                    level(k + 1)

        if len(counts) == 1:
            level(0)
            return
        # A launch whose counts only the kernel knows may be for nothing: then no outer loop goes round empty ones.
        with w.when(" && ".join(f"{count} > {self.number(0)}" for count in counts[1:])):
            level(0)

    def chunks(self, counts: tuple[str, ...]) -> tuple[str, str, str]:
        """Names of: the number of iterations, of chunks, and of iterations in a chunk. By the counts alone."""
        s, number = self.scalars, self.number
        total, unit = self.product(counts), CHUNK_TERMS * self.block
        wanted = s.call("max", self.scalars.index, f"({total} + {number(unit - 1)}) / {number(unit)}", number(1))
        chunks = self.held("_chunks", s.call("min", self.scalars.index, wanted, number(MOST_CHUNKS)))
        share = self.held("_share", f"({total} + {chunks} - {number(1)}) / {chunks}")
        size = number(self.block)
        return total, chunks, self.held("_length", f"({share} + {number(self.block - 1)}) / {size} * {size}")

    def reduce_chunks(self, s: Parallel, partial: list[tuple[str, str]]) -> None:
        """A reduction over a grid: fixed chunks, a partial value for each. `partial`: (memory, dtype)."""
        counts = self.counts(s)
        total, chunks, length = self.chunks(counts)

        def one(chunk: str) -> None:
            lanes = self.reductions.open(s.reductions)
            end = self.scalars.call("min", self.scalars.index, total, f"({chunk} + {self.number(1)}) * {length}")
            last, first = self.held("_last", end), self.held("_first", f"{chunk} * {length}")

            def iteration(where: str) -> None:
                self.reductions.position = lambda: self.scalars.counted(where)
                self.unpack(s.names, counts, where)
                self.statements.write(s.body)

            self.over_threads(first, last, iteration, self.faults.goes_on())
            self.reductions.combine(lanes)
            self.keep(lanes, chunk, partial)

        self.over_groups("_chunk", chunks, one)

    def keep(self, lanes: list[Lane], chunk: str, partial: list[tuple[str, str]]) -> None:
        """Store a chunk's values, which all threads have."""
        with self.writer.when(f"{self.thread} == {self.number(0)}"):
            names = [name for lane in lanes for name, _ in lane.parts]
            for (memory, dtype), name in zip(partial, names, strict=True):
                at = spread(self.scalars, dtype, chunk)
                self.writer.statement(self.scalars.dialect.store(dtype, "global", memory, at, name))
        self.gather()

    def combine_chunks(self, s: Parallel, partial: list[tuple[str, str]]) -> None:
        """The second step, in one block: the chunks in order."""
        _, chunks, _ = self.chunks(self.counts(s)) if s.kind == "grid" else self.chunks_of_blocks(self.counts(s))
        lanes = self.reductions.open(s.reductions)

        def one(chunk: str) -> None:
            left = list(partial)
            for lane in lanes:
                values = []
                for _, dtype in lane.parts:
                    memory = left.pop(0)[0]
                    at = spread(self.scalars, dtype, chunk)
                    text = self.scalars.dialect.load(dtype, "global", memory, at)
                    values.append(self.writer.hold("_value", dtype, text))
                if lane.positioned:
                    self.reductions.take(lane, *values)
                else:
                    self.reductions.include(lane, values[0])

        self.over_threads(self.number(0), chunks, one)
        self.reductions.combine(lanes)
        self.reductions.finish(lanes)

    # ---------------------------------------------------------------------------------------------------- blocks

    def blocks(self, s: Parallel) -> None:
        """All counts as one, dealt to the groups."""
        counts = self.counts(s)

        def one(block: str) -> None:
            self.unpack(s.names, counts, block)
            self.at_block_level(s.body, ())
            self.gather()

        self.over_groups("_block", self.product(counts), one)

    def chunks_of_blocks(self, counts: tuple[str, ...]) -> tuple[str, str, str]:
        """Names of: the number of blocks, of chunks of a reduction over them, and of blocks in a chunk. Of nothing,
        there are no chunks."""
        total, one = self.product(counts), self.number(1)
        length = self.held("_length", f"({total} + {self.number(MOST_CHUNKS - 1)}) / {self.number(MOST_CHUNKS)}")
        most = self.scalars.call("max", self.scalars.index, length, one)
        return total, self.held("_chunks", f"({total} + {length} - {one}) / {most}"), length

    def reduce_blocks(self, s: Parallel, partial: list[tuple[str, str]]) -> None:
        """A reduction over blocks: fixed chunks of them, which every thread of a group accumulates alike."""
        counts, w = self.counts(s), self.writer
        total, chunks, length = self.chunks_of_blocks(counts)

        def one(chunk: str) -> None:
            block = w.names.fresh("_block")
            lanes = self.reductions.open(s.reductions, position=self.scalars.counted(block))
            end = self.scalars.call("min", self.scalars.index, total, f"({chunk} + {self.number(1)}) * {length}")
            last, first = self.held("_last", end), self.held("_first", f"{chunk} * {length}")
            with w.count(block, self.scalars.index, first, last, "1", self.together()):
                self.vote()
                self.unpack(s.names, counts, block)
                self.at_block_level(s.body, ())
                self.gather()
            self.reductions.settle(lanes)
            self.keep(lanes, chunk, partial)

        self.over_groups("_chunk", chunks, one)

    def at_block_level(self, body: Iterable[Stmt], base: tuple[int, ...], together: bool = True) -> None:
        """Statements that every thread executes, but for stores and atomics, with the barriers that stand before.

        together: they wait for each other somewhere, and come by together after this; and each time that one thread did
        something alone: PoCL 3.1 puts barriers of its own where a barrier is, depending on conditions, the way back
        from it to one before, and of two such ways past a condition the second one leads into what one thread does.
        """
        body, w = tuple(body), self.writer
        for k, s in enumerate(body):
            outer, w.at = w.at, s.at or w.at
            path = (*base, k)
            if path in self.points:
                w.barrier()
            if ends_alone(s) and not isinstance(s, While):
                self.vote()
            self.block_statement(s, path)
            alone = not self.waits(s, path) and any(isinstance(n, Update) for n in walk(s))
            if together and alone and (*base, k + 1) not in self.points:
                self.gather()
            w.at = outer
        if (*base, len(body)) in self.points:
            w.barrier()

    def block_statement(self, s: Stmt, path: tuple[int, ...]) -> None:
        w, waits = self.writer, self.waits(s, path)
        match s:
            case Parallel():
                self.threads(s, path)
            case _ if isinstance(s, Update):
                with w.when(f"{self.thread} == {self.number(0)}"):
                    self.statements.one(s)
            case If():
                other = s.orelse or (*path, 1, 0) in self.points
                apart = other and waits and self.scalars.dialect.together
                condition = self.expressions.text(s.condition)
                condition = w.hold("_holds", "bool", condition) if apart else condition
                with w.when(condition):
                    self.at_block_level(s.body, (*path, 0), waits)
                if apart:  # or a compiler makes one barrier, behind both branches, of those at their ends
                    self.gather()
                if other:
                    with w.when(f"!{condition}") if apart else w.otherwise():
                        self.at_block_level(s.orelse, (*path, 1), waits)
                if waits:
                    self.gather()
            case For() | While():
                short, asks = is_short(s), s if isinstance(s, While) and ends_alone(s) else None

                def turn(body: Iterable[Stmt]) -> None:
                    if not short:
                        self.vote()
                    if asks:  # behind the vote
                        with w.when(self.expressions.text(Unary("not", asks.condition, "bool"))):
                            w.leave()
                    self.at_block_level(body, (*path, 0), waits)
                    if waits:
                        self.gather()

                loop = replace(asks, condition=Const(True, "bool")) if asks else s
                self.statements.one(loop, turn, "" if short else self.together())
            case _:
                self.statements.one(s)

    def waits(self, s: Stmt, path: tuple[int, ...]) -> bool:
        """Whether threads wait for each other somewhere in a statement at block level."""
        inside = any(p[: len(path)] == path != p for p in self.points)  # not the barrier before it
        return inside or any(isinstance(n, Parallel) for n in walk(s))

    # --------------------------------------------------------------------------------------------------- threads

    def threads(self, s: Parallel, path: tuple[int, ...]) -> None:
        """Iteration t of a `threads` loop is done by thread t modulo the size of the block. In several dimensions t
        counts rows as wide as the private arrays' where those are wider, so that their elements stay with a thread."""
        lanes = self.reductions.open(s.reductions)
        if may_be_long(s):  # of what another thread left out
            self.vote()
        counts = self.counts(s)
        widths = self.widths_of(counts)
        if (*path, 0, 0) in self.points:  # the loop stores to what its counts read
            self.writer.barrier()

        def iteration(where: str) -> None:
            self.unpack(s.names, widths, where)
            index = self.scalars.index
            names = [self.scalars.convert(self.expressions.names.of(n), "int64", index) for n in s.names]
            inside = [f"{n} < {c}" for n, c in zip(names[1:], counts[1:], strict=True)]
            if widths != counts:
                with self.writer.when(" && ".join(inside)):
                    self.iteration(s, names, counts, where)
            else:
                self.iteration(s, names, counts, where)

        if touches_private(s, self.tree):
            self.in_slots(s, counts, widths, iteration)
        else:
            total = self.product((counts[0], *widths[1:]))
            self.over_threads(self.number(0), total, iteration, self.goes_on(s))
        if lanes:
            self.reductions.combine(lanes)
            self.reductions.finish(lanes)

    def goes_on(self, s: Parallel) -> str:
        """What each thread's turns of a loop go on by, unless they are few: that it had no fault. A vote of all threads
        would be a barrier in a loop in the loop over groups, whose compilation takes PoCL five times as long with each
        such loop."""
        return "" if has_few_turns(s, self.block) else self.faults.goes_on()

    def in_slots(self, s: Parallel, counts, widths, iteration: Callable[[str], None]) -> None:
        """The iterations of a thread by the places of its elements of private arrays."""
        w, total = self.writer, self.product((counts[0], *widths[1:]))
        slot, outer = w.names.fresh("_slot"), self.expressions.slot
        slots = self.number(slots_of(self.widths[len(counts)], self.block))
        with w.count(slot, self.scalars.index, self.number(0), slots, "1"):
            self.expressions.slot = slot
            where = self.held("_at", f"{slot} * {self.number(self.block)} + {self.thread}")
            with w.when(f"{where} < {total}"):
                iteration(where)
        self.gather()
        if goes_beyond(s, self.tree, self.faults.checks):
            self.expressions.slot = self.number(0)  # one that there is: behind the arrays' elements none is touched
            self.over_threads(f"{slots} * {self.number(self.block)}", total, iteration, self.goes_on(s))
        self.expressions.slot = outer

    def iteration(self, s: Parallel, names: list[str], counts: tuple[str, ...], where: str) -> None:
        text = names[0]
        for name, count in zip(names[1:], counts[1:], strict=True):
            text = f"({text} * {count} + {name})"
        self.reductions.position = lambda: self.scalars.counted(text)
        self.statements.write(s.body)

    def widths_of(self, counts: tuple[str, ...]) -> tuple[str, ...]:
        if len(counts) == 1 or len(counts) not in self.widths:
            return counts
        result = [counts[0]]
        for count, extent in zip(counts[1:], self.widths[len(counts)][1:], strict=True):
            known = self.number(extent)
            wider = self.scalars.call("max", self.scalars.index, count, known)
            result.append(count if count == known else self.held("_width", wider))
        return tuple(result)
