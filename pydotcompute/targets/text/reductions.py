"""Reductions: what each thread accumulates, and how a block combines it.

A thread adds floats with the rounding error of each addition carried along (D. E. Knuth, The Art of Computer
Programming 2, 4.2.2, theorem B), so its part has one rounding however long it is. The parts of a block meet in shared
memory and are combined as trees of at most RADIX values, the last one by every thread: all get the same bits, on every
device, for nothing here knows how wide its vectors are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...ir.dtypes import COMPLEX
from ...ir.operations import REDUCTIONS
from ...ir.tree import Accumulate, Const, Reduce, Reduction, Stmt
from ..lane import Lane
from .expressions import Expressions
from .scalars import Scalars
from .writer import Writer

RADIX = 16


def spread(s: Scalars, dtype: str, at: str) -> str:
    """Where an element lies in memory that holds one after the other: a complex one takes two places."""
    return f"({at}) * {s.constant(2, s.index)}" if dtype in COMPLEX else at


class Reductions:
    """The reductions of one kernel function. `exchanged` are the (dtype, number) of the shared arrays that it needs."""

    def __init__(self, writer: Writer, expressions: Expressions, block: int, thread: str):
        self.writer, self.expressions, self.scalars = writer, expressions, expressions.scalars
        self.block, self.thread = block, thread
        self.lanes: dict[str, Lane] = {}
        self.position: Callable[[], str] = lambda: ""  # of the iteration, where a reduction wants it
        self.exchanged: set[tuple[str, int]] = set()

    def open(self, reductions: tuple[Reduction, ...], plain: bool = False, position: str = "") -> list[Lane]:
        """Start every reduction of a loop from its identity."""
        w, s, lanes = self.writer, self.scalars, []
        for r in reductions:
            lane = Lane(r, w.names.fresh("_part"), w.names.fresh("_extra"), plain, position)
            w.variable(lane.value, lane.dtype, s.constant(REDUCTIONS[r.op].identity(lane.dtype), lane.dtype))
            if lane.positioned:
                w.variable(lane.extra, "int64", s.constant(-1, "int64"))
            elif lane.compensated and s.dialect.sums:
                w.statement(s.dialect.sums.begin(s, lane.dtype, lane.extra))
            elif lane.compensated:
                w.variable(lane.extra, lane.dtype, s.constant(0, lane.dtype))
            lanes.append(lane)
        self.lanes |= {lane.reduction.name: lane for lane in lanes}
        return lanes

    def serially(self, s: Reduce, write: Callable[[Iterable[Stmt]], None]) -> None:
        """A reduction of a thread's own, one term after the other."""
        w, outer = self.writer, self.position
        e = self.expressions
        counter = e.counter(s.count)
        count = w.hold("_count", counter, e.text(s.count) if counter == "int64" else e.index(s.count))
        lanes = self.open((s.reduction,), plain=s.short)
        name, turn = self.expressions.names.of(s.name), w.names.fresh("_turn")
        self.position = lambda: name
        also = self.expressions.faults.goes_on() if self.expressions.faults else ""
        with w.count(turn, counter, self.scalars.constant(0, counter), count, "1", also):
            w.assign(name, self.scalars.convert(turn, counter, "int64"))
            write(s.body)
        self.settle(lanes)
        self.finish(lanes)
        self.position = outer

    def settle(self, lanes: list[Lane]) -> None:
        """The thread's part of each sum with its error."""
        for lane in lanes:
            if lane.compensated and self.scalars.dialect.sums:
                total = self.scalars.dialect.sums.total(self.scalars, lane.dtype, lane.extra)
                self.writer.assign(lane.value, total)
            elif lane.compensated:
                self.writer.assign(lane.value, self.scalars.call("settled", lane.dtype, lane.value, lane.extra))

    def accumulate(self, s: Accumulate) -> None:
        lane, text = self.lanes[s.name], self.expressions.text(s.value)
        if lane.positioned:
            self.take(lane, self.writer.hold("_value", lane.dtype, text), lane.position or self.position())
        else:
            self.include(lane, self.scalars.convert(text, lane.reduction.type, lane.dtype))

    def include(self, lane: Lane, text: str) -> None:
        """Accumulate one more value."""
        w, value = self.writer, lane.value
        if not lane.compensated:
            w.assign(value, self.scalars.combine(lane.reduction.op, lane.dtype, value, text))
            return
        if self.scalars.dialect.sums:
            w.statement(self.scalars.dialect.sums.include(self.scalars, lane.dtype, lane.extra, text))
            return
        term = w.hold("_term", lane.dtype, text)
        total = w.hold("_total", lane.dtype, f"{value} + {term}")
        moved = w.hold("_moved", lane.dtype, f"{total} - {value}")
        w.assign(lane.extra, f"{lane.extra} + (({value} - ({total} - {moved})) + ({term} - {moved}))")
        w.assign(value, total)

    def take(self, lane: Lane, value: str, position: str) -> None:
        """Keep the better of the lane's element and another one; ties, and NaN, go to the first position."""
        better = self.scalars.call(f"better_{lane.reduction.op}", lane.dtype, value, position, lane.value, lane.extra)
        with self.writer.when(better):
            self.writer.assign(lane.value, value)
            self.writer.assign(lane.extra, position)

    # -------------------------------------------------------------------------------------------- over a block

    def shared(self, dtype: str, number: int) -> str:
        """The shared array through which threads exchange the number-th value of a dtype."""
        return self.writer.names.part(f"_{dtype}", f"parts_{number}")

    def combine(self, lanes: list[Lane]) -> None:
        """Every thread gets each lane's value of the whole block. Ends in a barrier that leaves shared memory free."""
        w, s = self.writer, self.scalars
        self.settle(lanes)
        if self.block == 1:
            w.barrier()
            return
        homes, numbers = {}, dict[str, int]()
        for lane in lanes:
            for name, dtype in lane.parts:
                number = numbers.setdefault(dtype, 0)
                numbers[dtype] += 1
                homes[name] = self.shared(dtype, number), dtype
                self.exchanged.add((dtype, number))
                w.statement(self.put(homes[name], self.thread, name))
        w.barrier()
        width = self.block
        while width > RADIX:
            step = -(-width // RADIX)
            with w.when(f"{self.thread} < {s.constant(step, s.index)}"):
                for lane in lanes:
                    self.fold(lane, homes, step, width, self.thread)
                    for name, _ in lane.parts:
                        w.statement(self.put(homes[name], self.thread, name))
            w.barrier()
            width = step
        for lane in lanes:
            self.fold(lane, homes, 1, width, "")
        w.barrier()

    def fold(self, lane: Lane, homes: dict, step: int, width: int, first: str) -> None:
        """The lane's value of the elements at first, first + step, …, below width: as a balanced tree."""
        s = self.scalars
        count = -(-width // step)

        def read(k: int) -> list[str]:
            at = s.constant(k * step, s.index)
            at = at if not first else f"{first} + {at}" if k else first
            found = []
            for name, dtype in lane.parts:
                text = self.get(homes[name], at)
                if k * step + step > width:  # in the last round there may be none
                    nothing = -1 if name == lane.extra else REDUCTIONS[lane.reduction.op].identity(dtype)
                    none = s.constant(nothing, dtype)
                    text = s.dialect.choose(dtype, f"{at} < {s.constant(width, s.index)}", text, none)
                found.append(text)
            return found

        if lane.positioned:
            for (name, _), text in zip(lane.parts, read(0), strict=True):
                self.writer.assign(name, text)
            for k in range(1, count):
                value, position = read(k)
                with self.writer.scope():
                    held = self.writer.hold("_value", lane.dtype, value)
                    self.take(lane, held, self.writer.hold("_place", "int64", position))
            return

        def tree(low: int, high: int) -> str:
            if high - low == 1:
                return read(low)[0]
            middle = (low + high + 1) // 2
            return s.combine(lane.reduction.op, lane.dtype, tree(low, middle), tree(middle, high))

        self.writer.assign(lane.value, tree(0, count))

    def put(self, home: tuple[str, str], at: str, text: str) -> str:
        return self.scalars.dialect.store(home[1], "shared", home[0], spread(self.scalars, home[1], at), text)

    def get(self, home: tuple[str, str], at: str) -> str:
        return self.scalars.dialect.load(home[1], "shared", home[0], spread(self.scalars, home[1], at))

    def finish(self, lanes: list[Lane]) -> None:
        """The reductions' own names get their results: what each started from counts once."""
        w, s, e = self.writer, self.scalars, self.expressions
        for lane in lanes:
            r, name = lane.reduction, e.names.of(lane.reduction.name)
            if lane.positioned:
                w.assign(name, lane.extra)
                continue
            result = s.convert(lane.value, lane.dtype, r.type)
            neutral = isinstance(r.start, Const) and r.op not in ("sum", "prod")
            start = name if r.start is None else e.text(r.start)
            w.assign(name, result if neutral else s.combine(r.op, r.type, start, result))
