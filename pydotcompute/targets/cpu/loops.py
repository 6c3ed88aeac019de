"""Nests of parallel loops on a CPU: their counts, their reductions, and their iterations in row-major order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial, reduce

from ...analysis.cost import LOOK
from ...ir.names import with_values
from ...ir.tree import Const, For, Parallel, Reduce, While, walk
from ..llvm.expressions import Expressions
from ..llvm.faults import Faults
from ..llvm.statements import Statements
from ..llvm.writer import Writer
from ..sites import may_be_long
from .bodies import body_size
from .index_set_splitting import index_conditions
from .innermost_loops import OF_LOOPS, InnermostLoops
from .interruptions import PIECE, Interruptions
from .loop_reductions import Lanes, Reductions
from .loop_versioning import LoopVersioning
from .stores import Stores
from .turned_tiles import write_filled

_SMALL, _LARGE = 40, 150  # nodes of a body that is written once more; of one that is not written twice


class Loops:
    def __init__(
        self, writer: Writer, expressions: Expressions, statements: Statements, reductions: Reductions,
        stores: Stores, versioning: LoopVersioning, faults: Faults, interruptions: Interruptions,
        innermost: InnermostLoops,
    ):  # fmt: skip
        self.writer, self.names, self.expressions = writer, writer.names, expressions
        self.statements, self.reductions, self.stores = statements, reductions, stores
        self.versioning, self.faults, self.innermost = versioning, faults, innermost
        self.interruptions, self.rows = interruptions, innermost.rows

    def parallel(self, s: Parallel) -> None:
        """`threads`: the whole range."""
        if write_filled(s, self.statements, self.innermost.checks.elements, self.names):
            return
        counts = self._held_counts(s)
        lanes = self.reductions.open(s, counts, from_identity=False)
        outer = [*map(self.names.of, s.names[:-1])]
        looks = bool(outer) and self.interruptions.is_unbounded(s)
        spent = self.writer.held("_spent", "int64(0)") if looks else ""
        with ExitStack() as nest:
            for k, (name, count) in enumerate(zip(outer, counts), 1):
                nest.enter_context(self.writer.for_(name, "int64(0)", count))
                if looks and k == len(outer):
                    self.writer.assign(spent, f"add({spent}, add(minimum({counts[-1]}, int64({PIECE})), int64(1)))")
                if looks:
                    self.interruptions.look(spent, PIECE)
            self._iterations(s, lanes, "int64(0)", counts[-1])
        self.reductions.close(lanes)

    def reduce(self, s: Reduce) -> None:
        """A reduction of an iteration's own: as that of a `threads` loop."""
        if s.short and s.reduction.op not in ("argmin", "argmax") and s.reduction.start is not None:
            self.writer.assign(self.names.of(s.reduction.name), self.expressions.text(s.reduction.start))
            zero, one = Const(0, "int64"), Const(1, "int64")
            self.statements.write((For(s.name, zero, s.count, one, s.body, at=s.at),))
        else:
            self.parallel(Parallel("threads", (s.name,), (s.count,), s.body, (s.reduction,), at=s.at))

    def flat(self, loop: Parallel, lanes: Lanes, start: str, stop: str) -> None:
        """Iterations start to stop of the loop in row-major order, as whole or part rows; those of rows of one element
        as one loop."""
        if len(loop.names) == 1:
            self._line(loop, lanes, start, stop)
        elif column := _column(loop):
            with self.writer.if_(f"eq({self.expressions.text(loop.counts[-1])}, int64(1))"):
                self._line(column, lanes, start, stop)
            with self.writer.else_():
                self._rows(loop, lanes, start, stop)
        else:
            self._rows(loop, lanes, start, stop)

    def _line(self, loop: Parallel, lanes: Lanes, start: str, stop: str) -> None:
        self.stores.may_be_long = not _has_loops(loop)
        self._iterations(loop, lanes, start, stop)
        self.stores.may_be_long = False

    def _rows(self, loop: Parallel, lanes: Lanes, start: str, stop: str) -> None:
        writer, inner = self.writer, lanes.counts[-1]
        flat, row, first = (self.names.fresh(n) for n in ("_flat", "_row", "_first"))
        outer = [self.names.fresh("_outer") for _ in loop.names[:-1]]
        writer.assign(flat, start)
        writer.assign(row, f"floordiv_integer({flat}, {inner})")
        writer.assign(first, f"not_negative(sub({flat}, at({row}, {inner}, int64(0))))")
        self._unpack(outer, lanes.counts[:-1], row)
        spent = writer.held("_spent", "int64(0)") if self._looks(loop) else ""
        with writer.while_(f"lt({flat}, {stop})"):
            if body_size(loop) > _LARGE or index_conditions(loop):  # by which it is written three times already
                return self._part_row(loop, lanes, outer, flat, first, stop, spent)
            whole = writer.held("_whole", "int64(0)")
            with writer.if_(f"eq({first}, int64(0))"):
                writer.assign(whole, f"floordiv_integer(not_negative(sub({stop}, {flat})), {inner})")
            with writer.if_(f"gt({whole}, int64(0))"):
                with writer.for_(row, "int64(0)", whole):
                    self._row(loop, lanes, outer, "int64(0)", inner, spent)
                writer.assign(flat, f"at({whole}, {inner}, {flat})")
            with writer.else_():
                self._part_row(loop, lanes, outer, flat, first, stop, spent)

    def _looks(self, loop: Parallel) -> bool:
        """Whether a slice of it looks whether the call is to end. Others end soon."""
        return bool(loop.reductions) or self.interruptions.is_open(loop.body)

    def _part_row(
        self, loop: Parallel, lanes: Lanes, outer: list[str], flat: str, first: str, stop: str, spent: str
    ) -> None:
        """From `first` to the end of the row, or of the iterations."""
        last = self.writer.held("_last", f"minimum({lanes.counts[-1]}, add({first}, sub({stop}, {flat})))")
        self._row(loop, lanes, outer, first, last, spent)
        self.writer.assign(flat, f"add({flat}, sub({last}, {first}))")
        self.writer.assign(first, "int64(0)")

    def _row(self, loop: Parallel, lanes: Lanes, outer: list[str], first: str, last: str, spent: str) -> None:
        """These iterations of the row that the outer indices are at, which then are at the next one."""
        if loop.kind == "threads" or may_be_long(loop):  # else a slice ends soon
            self.faults.leave()
        if spent:
            each = PIECE // OF_LOOPS if self.interruptions.has_long(loop.body) else 1
            turns = f"minimum(sub({last}, {first}), int64({PIECE}))"
            self.writer.assign(spent, f"at({turns}, int64({each}), add({spent}, int64(1)))")
            self.interruptions.look(spent, PIECE)
        for name, index in zip(loop.names, outer):
            self.writer.assign(self.names.of(name), index)
        self._iterations(loop, lanes, first, last)
        self._next(outer, lanes.counts[:-1])

    def _next(self, indices: list[str], counts: tuple[str, ...]) -> None:
        """Add 1 to the number that these digits, of which each has its count, are of. A division would cost more than
        many a row."""
        self.writer.assign(indices[-1], f"add({indices[-1]}, int64(1))")
        if len(indices) > 1:
            with self.writer.if_(f"eq({indices[-1]}, {counts[-1]})"):
                self.writer.assign(indices[-1], "int64(0)")
                self._next(indices[:-1], counts[:-1])

    def blocks(self, loop: Parallel, lanes: Lanes, start: str, stop: str) -> None:
        """Blocks start to stop, one after the other; each is a term of the reductions. Rows whose elements lie
        apart are read so slowly that they are not written in versions by their length."""
        blocks = partial(self._blocks, loop, lanes, start, stop)
        if self.rows.are_in(loop):
            self.versioning.by_strides(loop, lambda: self.rows.write(loop, blocks), blocks)
        else:
            blocks()

    def _blocks(self, loop: Parallel, lanes: Lanes, start: str, stop: str) -> None:
        writer = self.writer
        flat = self.names.of(loop.names[0]) if len(loop.names) == 1 else self.names.fresh("_block")
        looks = self._looks(loop)
        cost = writer.held("_cost", self.interruptions.cost(loop.body)) if looks else ""
        spent = writer.held("_spent", "int64(0)") if looks else ""
        with writer.for_(flat, start, stop):
            self.faults.leave()
            if looks:
                writer.assign(spent, f"add({spent}, {cost})")
                self.interruptions.look(spent, LOOK)
            if len(loop.names) > 1:
                self._unpack([*map(self.names.of, loop.names)], lanes.counts, flat)
            with self._term(lanes, f"sub({flat}, {start})", flat, stop) as close:
                with self.statements.iteration(close), self.versioning.rows_of(loop.names, loop):
                    self.statements.write(loop.body)
                close()

    @contextmanager
    def _term(self, lanes: Lanes, turn: str, flat: str, stop: str) -> Iterator[Callable[[], None]]:
        """One term of the reductions is written inside, and what is yielded after it. turn: how many precede it."""
        writer, reductions, outer = self.writer, self.reductions, self.reductions.number
        if not lanes.count and not lanes.search:
            yield lambda: None
            return
        k = writer.held("_k", f"band({turn}, int64({lanes.block - 1}))")
        lane = writer.held("_lane", f"band({k}, int64({max(lanes.count, 1) - 1}))")
        with writer.if_(f"eq({k}, int64(0))"):
            reductions.begin_block(lanes)
        reductions.load(lanes, lane)
        reductions.number = k

        def close() -> None:
            reductions.store(lanes, lane)
            with writer.if_(f"bor(eq({k}, int64({lanes.block - 1})), eq(add({flat}, int64(1)), {stop}))"):
                terms = f"add({k}, int64(1))"
                reductions.end_block(lanes, terms)
                reductions.end_search(lanes, terms, lambda place: f"add(sub({flat}, {k}), {place})")

        yield close
        reductions.number = outer

    def _iterations(self, loop: Parallel, lanes: Lanes, start: str, stop: str) -> None:
        def write(start: str, stop: str) -> None:
            self.rows.write(loop, lambda: self.innermost.write(loop, lanes, start, stop))

        self.versioning.write(loop, start, stop, write)

    def _held_counts(self, loop: Parallel) -> tuple[str, ...]:
        held = []
        for count in loop.counts:
            held.append(self.names.fresh("_count"))
            self.writer.assign(held[-1], f"maximum({self.expressions.text(count)}, int64(0))")
        if some := [f"gt({name}, int64(0))" for name in held[1:]]:  # of nested loops the outer one may be endless
            inside = reduce(lambda a, b: f"band({a}, {b})", some)
            self.writer.assign(held[0], f"select({inside}, {held[0]}, int64(0))")
        if self.faults.any:
            self.writer.assign(held[0], self.faults.none(held[0]))
        return tuple(held)

    def _unpack(self, indices: list[str], counts: tuple[str, ...], flat: str) -> None:
        """Set these indices from the number of the iteration."""
        for index, count in list(zip(indices, counts, strict=True))[:0:-1]:
            held = self.writer.held("_outer", f"floordiv_integer({flat}, {count})")
            self.writer.assign(index, f"sub({flat}, at({held}, {count}, int64(0)))")
            flat = held
        self.writer.assign(indices[0], flat)


def _has_loops(loop: Parallel) -> bool:
    return any(isinstance(node, (For, While, Parallel, Reduce)) for s in loop.body for node in walk(s))


def _column(loop: Parallel) -> Parallel | None:
    """The loop over the first index of two, where the other one is 0; None where that is not worth a version."""
    index, before = loop.names[-1], loop.names[:-1]
    if len(before) > 1 or _has_loops(loop) or loop.reductions or body_size(loop) > _SMALL:
        return None

    first = {index: Const(0, "int64")}
    body = tuple(with_values(s, first) for s in loop.body)
    return replace(loop, names=before, counts=loop.counts[:-1], body=body)
