"""Reductions of a parallel loop on a CPU.

A sum or product of floats is kept in lanes in memory: LANES partial values, of which iteration k of a pass updates
lane k. So a pass is an elementwise loop, which LLVM vectorises without reassociating anything, and the bits are the
same for every vector width. After PASSES passes the lanes are folded to one value by a tree, and these values are
added up pairwise (targets/cpu/reduction.py): at most 7 + 7 + ceil(log2(n / 1024)) roundings, and one for the start
value. Exact reductions (integers, min, max, any, all) are plain accumulators.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ...ir.contraction import product_of
from ...ir.dtypes import COMPLEX, FLOATS
from ...ir.tree import Accumulate, For, If, Parallel, Reduce, Reduction, While
from ..llvm.expressions import Expressions, constant
from ..llvm.words import COMBINE
from ..llvm.writer import Writer

LANES, PASSES = 128, 8


@dataclass
class Lane:
    """What a reduction in lanes uses: names of its arrays on the stack and of this iteration's value."""

    reduction: Reduction
    start: str
    lanes: str
    levels: str
    value: str
    position_lanes: str = ""  # argmin and argmax: the positions beside the values
    position_levels: str = ""
    position: str = ""
    compensation: str = ""  # where one iteration adds more than one term

    @property
    def search(self) -> bool:
        return self.reduction.op in ("argmin", "argmax")

    @property
    def memory(self) -> str:
        return ", ".join([self.lanes, self.position_lanes] if self.search else [self.lanes])

    @property
    def memory_and_levels(self) -> str:
        return ", ".join([self.memory, self.levels] + ([self.position_levels] if self.search else []))


@dataclass(frozen=True)
class Lanes:
    """The reductions in lanes of one loop. passes, width: names of how many passes there were, and how many lanes are
    used. counts: of the loop, which number its iterations."""

    each: tuple[Lane, ...] = ()
    passes: str = ""
    width: str = ""
    counts: tuple[str, ...] = ()

    @property
    def search(self) -> bool:
        return any(lane.search for lane in self.each)


class Reductions:
    def __init__(self, writer: Writer, expressions: Expressions):
        self.writer, self.names, self.expressions = writer, writer.names, expressions
        self.open_lanes: dict[str, Lane] = {}  # of the loops that are being written, by the names of reductions
        self.number = ""  # the number of this iteration, for argmin and argmax
        self.stacks: list[str] = []  # allocations, to be put at the beginning of the function

    @contextmanager
    def stacks_first(self) -> Iterator[None]:
        """The lines of a function that are written inside, after the stack arrays that their reductions want."""
        self.stacks, where = [], len(self.writer.lines)
        yield
        with self.writer.inserted(where):
            for line in self.stacks:
                self.writer.line(line)

    # --------------------------------------------------------------------------------------------- around a loop

    def open(self, loop: Parallel, counts: tuple[str, ...], length: str, from_identity: bool) -> Lanes:
        """Before the loop. length: of its innermost loops, on which alone depends how many lanes are used.
        from_identity: leave out what the accumulator starts from (a chunk of a grid)."""
        lanes = []
        for r in loop.reductions:
            name = self.names.of(r.name)
            if not in_lanes(r):
                if from_identity:
                    self.writer.assign(name, f"identity_{r.op}_{r.type}()")
                elif r.start is not None:
                    self.writer.assign(name, self.expressions.text(r.start))
                continue
            start = ""
            if not from_identity:
                begin = self.expressions.text(r.start) if r.start is not None else name
                start = self.writer.held(f"{r.name}_start", begin)
            lanes.append(self._lane(r, start, terms_of(loop, r.name)))
        if not lanes:
            return Lanes(counts=counts)
        passes, width = self.names.fresh("_passes"), self.names.fresh("_width")
        self.writer.assign(passes, "int64(0)")
        self.writer.assign(width, f"lane_width({length})")
        for lane in lanes:
            self.writer.line(f"clear_{lane.reduction.op}({lane.memory}, {width})")
        return Lanes(tuple(lanes), passes, width, counts)

    def _lane(self, r: Reduction, start: str, terms: int) -> Lane:
        lane = Lane(r, start, *(self.names.fresh(f"{r.name}_{part}") for part in ("lanes", "levels", "value")))
        self._allocate(lane.lanes, lane.levels, r.operand_type)
        if lane.search:
            lane.position_lanes, lane.position_levels, lane.position = (
                self.names.fresh(f"{r.name}_{part}") for part in ("places", "place_levels", "place")
            )
            self._allocate(lane.position_lanes, lane.position_levels, "int64")
        elif r.op == "sum" and r.type in FLOATS and terms > 1:
            lane.compensation = self.names.fresh(f"{r.name}_rest")
        self.open_lanes[r.name] = lane
        return lane

    def _allocate(self, lanes: str, levels: str, dtype: str) -> None:
        self.stacks += [f"{lanes} = stack_{dtype}({LANES})", f"{levels} = stack_{dtype}(64)"]

    def close(self, lanes: Lanes) -> None:
        """After the loop: each name holds the result; for a chunk of a grid, without what it starts from."""
        for lane in lanes.each:
            r, name = lane.reduction, self.names.of(lane.reduction.name)
            result = f"total_{r.op}({lane.memory_and_levels}, {lanes.passes}, {lanes.width})"
            if lane.search:
                self.writer.assign(f"{lane.value}, {name}", result)
            else:
                self.writer.assign(name, f"{COMBINE[r.op]}({lane.start}, {result})" if lane.start else result)
            del self.open_lanes[r.name]

    def end_pass(self, lanes: Lanes) -> None:
        """Fold the lanes where they have had their passes."""
        with self.writer.if_(f"eq(band({lanes.passes}, int64({PASSES - 1})), int64({PASSES - 1}))"):
            for lane in lanes.each:
                memory = lane.memory_and_levels
                self.writer.line(f"push_{lane.reduction.op}({memory}, shr({lanes.passes}, int64(3)), {lanes.width})")
        self.writer.assign(lanes.passes, f"add({lanes.passes}, int64(1))")

    # ---------------------------------------------------------------------------------------------- an iteration

    def load(self, lanes: Lanes, k: str) -> None:
        """What iteration k of a pass goes on from."""
        for lane in lanes.each:
            if lane.compensation:
                self.writer.assign(lane.value, constant(-0.0, lane.reduction.type))
                self.writer.assign(lane.compensation, constant(0.0, lane.reduction.type))
                continue
            self.writer.assign(lane.value, f"load({lane.lanes}, {k})")
            if lane.search:
                self.writer.assign(lane.position, f"load({lane.position_lanes}, {k})")

    def store(self, lanes: Lanes, k: str) -> None:
        for lane in lanes.each:
            value = lane.value
            if lane.compensation:
                value = f"add(load({lane.lanes}, {k}), compensated({value}, {lane.compensation}))"
            self.writer.line(f"store({lane.lanes}, {k}, {value})")
            if lane.search:
                self.writer.line(f"store({lane.position_lanes}, {k}, {lane.position})")

    def accumulate(self, s: Accumulate) -> None:
        writer, lane = self.writer, self.open_lanes.get(s.name)
        if lane is None:
            name = self.names.of(s.name)
            writer.assign(name, f"{COMBINE[s.op]}({name}, {self.expressions.text(s.value)})")
        elif lane.search:
            self._search(lane, s)
        elif lane.compensation:
            both = f"{lane.value}, {lane.compensation}"
            writer.assign(both, f"add_compensated({both}, {self.expressions.text(s.value)})")
        else:
            writer.assign(lane.value, self._updated(lane, s))

    def _updated(self, lane: Lane, s: Accumulate) -> str:
        write = self.expressions.text
        factors = product_of(s.value) if s.op == "sum" and s.value.type in FLOATS else None
        if not factors or not self.expressions.contract:
            return f"{COMBINE[s.op]}({lane.value}, {write(s.value)})"
        negative, x, y = factors
        left = f"neg({write(x)})" if negative else write(x)
        return f"fmuladd({left}, {write(y)}, {lane.value})"

    def _search(self, lane: Lane, s: Accumulate) -> None:
        writer = self.writer
        value = self.names.fresh(f"{s.name}_candidate")
        writer.assign(value, self.expressions.text(s.value))
        better = writer.held(f"{s.name}_better", f"better_{s.op}({value}, {lane.value}, {lane.position})")
        writer.assign(lane.value, f"select({better}, {value}, {lane.value})")
        writer.assign(lane.position, f"select({better}, {self.number}, {lane.position})")


def in_lanes(r: Reduction) -> bool:
    return r.op in ("argmin", "argmax") or (r.op in ("sum", "prod") and r.type in (*FLOATS, *COMPLEX))


def terms_of(loop: Parallel, name: str) -> int:
    """How many terms one iteration adds to a reduction: 2 stands for more than one."""

    def count(body) -> int:
        total = 0
        for s in body:
            if isinstance(s, Accumulate):
                total += s.name == name
            elif isinstance(s, If):
                total += max(count(s.body), count(s.orelse))
            elif isinstance(s, (For, While, Parallel, Reduce)):
                total += 2 * count(s.body)
        return total

    return min(2, count(loop.body))
