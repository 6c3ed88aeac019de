"""Reductions on CUDA: what each thread accumulates, and how a block combines it.

A thread adds floats with the rounding error of each addition carried along (D. E. Knuth, The Art of Computer
Programming 2, 4.2.2, theorem B), so its part has one rounding however long it is. The threads of a warp are combined
by shuffles, log2(32) levels; then each thread reads the partial value of every warp from shared memory and combines
those as a balanced tree: all of them get the same bits, whatever the size of the block.
"""

from __future__ import annotations

from collections.abc import Callable

from ...artifact.launch import WARP
from ...artifact.signature import DTYPE_BYTES
from ...ir.operations import REDUCTIONS
from ...ir.tree import Accumulate, Const, Reduce, Reduction
from ..lane import Lane
from ..llvm.expressions import Expressions, constant
from ..llvm.faults import Faults
from ..llvm.statements import Statements
from ..llvm.words import COMBINE
from ..llvm.writer import Writer
from .teams import Team


def held(lane: Lane, text: str) -> str:
    """A term in the type in which it is accumulated."""
    return text if lane.positioned or lane.dtype == lane.reduction.type else f"to_{lane.dtype}({text})"


def result(lane: Lane) -> str:
    return lane.value if lane.dtype == lane.reduction.type else f"to_{lane.reduction.type}({lane.value})"


class Reductions:
    def __init__(self, writer: Writer, expressions: Expressions, team: Team, faults: Faults):
        self.writer, self.names, self.expressions = writer, writer.names, expressions
        self.team, self.block = team, team.threads
        self.faults = faults
        self.lanes: dict[str, Lane] = {}  # of the loops that are being written, and were
        self.position = ""  # of the iteration, where a reduction wants it
        self.exchanged: set[tuple[str, int]] = set()  # dtypes and numbers of values that warps exchange
        self.accumulate_in: Callable[[Accumulate], bool] = lambda s: False  # what takes some terms for itself

    def open(self, reductions: tuple[Reduction, ...], plain: bool = False, position: str = "") -> list[Lane]:
        """Start every reduction of a loop from its identity."""
        lanes = []
        for r in reductions:
            lane = Lane(r, self.names.fresh("_part"), self.names.fresh("_extra"), plain, position)
            self.writer.assign(lane.value, constant(REDUCTIONS[r.op].identity(lane.dtype), lane.dtype))
            if lane.positioned:
                self.writer.assign(lane.extra, "int64(-1)")
            elif lane.compensated:
                self.writer.assign(lane.extra, constant(0, lane.dtype))
            lanes.append(lane)
        self.lanes |= {lane.reduction.name: lane for lane in lanes}
        return lanes

    def serially(self, s: Reduce, statements: Statements) -> None:
        """A reduction of a thread's own, one term after the other."""
        outer = self.position
        count = self.writer.held("_count", self.expressions.text(s.count))
        lanes = self.open((s.reduction,), plain=s.short)
        self.position = self.names.of(s.name)
        turn = self.names.fresh("_turn_of")
        with self.writer.for_(turn, "int64(0)", count), statements.iteration():
            self.faults.leave()
            self.writer.assign(self.position, f"to_int64({turn})")
            statements.write(s.body)
        self.settle(lanes)
        self.finish(lanes)
        self.position = outer

    def accumulate(self, s: Accumulate) -> None:
        if self.accumulate_in(s):
            return
        lane = self.lanes[s.name]
        if lane.positioned:
            value = self.writer.held("_value", self.expressions.text(s.value))
            later = f"later_{lane.reduction.op}({value}, {lane.value}, {lane.extra})"  # as a thread goes on
            self._take(lane, later, value, lane.position or self.position)
        else:
            self.include(lane, held(lane, self.expressions.text(s.value)))

    def include(self, lane: Lane, text: str) -> None:
        """Accumulate one more value."""
        if lane.compensated:
            term, total, moved = (self.names.fresh(n) for n in ("_term", "_total", "_moved"))
            self.writer.assign(term, text)
            self.writer.assign(total, f"add({lane.value}, {term})")
            self.writer.assign(moved, f"sub({total}, {lane.value})")
            error = f"add(sub({lane.value}, sub({total}, {moved})), sub({term}, {moved}))"
            self.writer.assign(lane.extra, f"add({lane.extra}, {error})")
            self.writer.assign(lane.value, total)
        else:
            self.writer.assign(lane.value, f"{COMBINE[lane.reduction.op]}({lane.value}, {text})")

    def take(self, lane: Lane, value: str, position: str) -> None:
        """Keep the better of the lane's element and another one; ties, and NaN, go to the first position."""
        better = f"better_{lane.reduction.op}({value}, {position}, {lane.value}, {lane.extra})"
        self._take(lane, better, value, position)

    def _take(self, lane: Lane, better: str, value: str, position: str) -> None:
        better = self.writer.held("_better", better)
        self.writer.assign(lane.value, f"select({better}, {value}, {lane.value})")
        self.writer.assign(lane.extra, f"select({better}, {position}, {lane.extra})")

    def settle(self, lanes: list[Lane]) -> None:
        """The thread's part of each sum with its error."""
        for lane in lanes:
            if lane.compensated:
                self.writer.assign(lane.value, f"settled({lane.value}, {lane.extra})")

    # -------------------------------------------------------------------------------------------- over a block

    @property
    def warps(self) -> int:
        return -(-self.block // WARP)

    def scratch(self, dtype: str, number: int) -> str:
        """The shared array through which warps exchange the number-th value of a dtype: two turns of it."""
        return self.names.part(f"_{dtype}", f"warps_{number}")

    def combine_block(self, lanes: list[Lane]) -> None:
        """Every thread gets each lane's value of the whole block. One barrier, of more than a warp."""
        self.settle(lanes)
        alone = self.team.shuffles_alone
        members = "_members" if self.block % 32 and not self.team.several else "int64(-1)"
        numbers: dict[str, int] = {}
        homes: dict[str, str] = {}
        for lane in lanes:
            names = ", ".join(name for name, _ in lane.parts)
            where = f"_lane, _thread, {members}, {self.block}"
            over = "over_team" if self.team.is_part else "over_warp"
            self.writer.assign(names, f"{over}_{lane.reduction.op}({names}, {where})")
            for name, dtype in lane.parts if not alone else ():
                homes[name] = self.scratch(dtype, numbers.setdefault(dtype, 0))
                self.exchanged.add((dtype, numbers[dtype]))
                numbers[dtype] += 1
        if alone:
            return  # every thread has them
        with self.writer.if_("eq(_lane, int64(0))"):
            for name, home in homes.items():
                self.writer.line(f"store({home}, add(_turn, _warp), {name})")
        self.writer.line("barrier()")
        for lane in lanes:
            names, places = (", ".join(v) for v in zip(*((name, homes[name]) for name, _ in lane.parts), strict=True))
            self.writer.assign(names, f"over_warps_{lane.reduction.op}({places}, _turn, {self.warps})")
        self.writer.assign("_turn", f"sub(int64({self.warps}), _turn)")

    def finish(self, lanes: list[Lane]) -> None:
        """The reductions' own names get their results: what each started from counts once."""
        for lane in lanes:
            r, name = lane.reduction, self.names.of(lane.reduction.name)
            if lane.positioned:
                self.writer.assign(name, lane.extra)
                continue
            start = name if r.start is None else self.expressions.text(r.start)
            neutral = isinstance(r.start, Const) and r.op not in ("sum", "prod")
            self.writer.assign(name, result(lane) if neutral else f"{COMBINE[r.op]}({start}, {result(lane)})")

    @property
    def exchanged_bytes(self) -> int:
        """Of shared memory, of a block."""
        return sum(2 * self.warps * DTYPE_BYTES[dtype] for dtype, _ in self.exchanged)

    def allocate_exchange(self) -> None:
        for dtype, number in sorted(self.exchanged):
            self.writer.line(f"{self.scratch(dtype, number)} = shared_{dtype}({2 * self.warps})")
