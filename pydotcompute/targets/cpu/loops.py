"""Parallel loops and reductions for a CPU.

A sum or product of floats is kept in lanes in memory: LANES partial values, of which iteration k of a pass updates
lane k. So a pass is an elementwise loop, which LLVM vectorises without reassociating anything, and the bits are the
same for every vector width. After PASSES passes the lanes are folded to one value by a tree, and these values are
added up pairwise (targets/cpu/reduction.py): at most 7 + 7 + ceil(log2(n / 1024)) roundings, and one for the start value.
Exact reductions (integers, min, max, any, all) are plain accumulators.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Callable

from .code import CpuCode
from ...ir.dtypes import COMPLEX, FLOATS
from ...ir.tree import Accumulate, Assign, AssignTuple, Continue, For, If, Parallel, Reduction, While, walk, product_of

LANES, PASSES = 128, 8
UPDATE = {
    "sum": "add", "prod": "mul", "min": "minimum", "max": "maximum", "any": "bor", "all": "band", "and": "band",
    "or": "bor", "xor": "bxor",
}  # fmt: skip


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


class CpuLoops(CpuCode):
    """Lines of one function; `lanes` are the reductions of the loops that are being written, innermost last."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.lanes: dict[str, Lane] = {}
        self.closing: list[Callable[[], None]] = []  # what the end of each enclosing loop's iteration needs
        self.number = ""  # the number of this iteration, for argmin and argmax
        self.stacks: list[str] = []  # allocations, to be put at the beginning of the function

    # ------------------------------------------------------------------------------------- parts of reductions

    def in_lanes(self, r: Reduction) -> bool:
        return r.op in ("argmin", "argmax") or (r.op in ("sum", "prod") and r.type in (*FLOATS, *COMPLEX))

    def open_reductions(self, loop: Parallel, from_identity: bool) -> list[Lane]:
        """Before the loop. from_identity: leave out what the accumulator starts from (a chunk of a grid)."""
        lanes = []
        for r in loop.reductions:
            name = self.names.of(r.name)
            if not self.in_lanes(r):
                if from_identity:
                    self.line(f"{name} = identity_{r.op}_{r.type}()")
                elif r.start is not None:
                    self.line(f"{name} = {self.expression(r.start)}")
                continue
            start = ""
            if not from_identity:
                start = self.names.fresh(f"{r.name}_start")
                self.line(f"{start} = {self.expression(r.start) if r.start is not None else name}")
            lane = Lane(r, start, *(self.names.fresh(f"{r.name}_{part}") for part in ("lanes", "levels", "value")))
            self.stacks += [
                f"{lane.lanes} = stack_{r.operand_type}({LANES})",
                f"{lane.levels} = stack_{r.operand_type}(64)",
            ]
            if lane.search:
                lane.position_lanes, lane.position_levels, lane.position = (
                    self.names.fresh(f"{r.name}_{part}") for part in ("places", "place_levels", "place")
                )
                self.stacks += [
                    f"{lane.position_lanes} = stack_int64({LANES})",
                    f"{lane.position_levels} = stack_int64(64)",
                ]
            elif r.op == "sum" and r.type in FLOATS and terms_of(loop, r.name) > 1:
                lane.compensation = self.names.fresh(f"{r.name}_rest")
            lanes.append(lane)
            self.lanes[r.name] = lane
        return lanes

    def memory_of(self, lane: Lane, levels: bool = False) -> str:
        names = [lane.lanes, lane.position_lanes] if lane.search else [lane.lanes]
        if levels:
            names += [lane.levels, lane.position_levels] if lane.search else [lane.levels]
        return ", ".join(names)

    def load_lanes(self, lanes: list[Lane], k: str) -> None:
        for lane in lanes:
            if lane.compensation:
                self.line(f"{lane.value} = {self.constant(-0.0, lane.reduction.type)}")
                self.line(f"{lane.compensation} = {self.constant(0.0, lane.reduction.type)}")
                continue
            self.line(f"{lane.value} = load({lane.lanes}, {k})")
            if lane.search:
                self.line(f"{lane.position} = load({lane.position_lanes}, {k})")

    def store_lanes(self, lanes: list[Lane], k: str) -> None:
        for lane in lanes:
            value = lane.value
            if lane.compensation:
                value = f"add(load({lane.lanes}, {k}), compensated({value}, {lane.compensation}))"
            self.line(f"store({lane.lanes}, {k}, {value})")
            if lane.search:
                self.line(f"store({lane.position_lanes}, {k}, {lane.position})")

    def close_reductions(self, lanes: list[Lane], passes: str, width: str) -> None:
        """After the loop: each name holds the result; for a chunk of a grid, without what it starts from."""
        for lane in lanes:
            r, name = lane.reduction, self.names.of(lane.reduction.name)
            result = f"total_{r.op}({self.memory_of(lane, levels=True)}, {passes}, {width})"
            if lane.search:
                self.line(f"{lane.value}, {name} = {result}")
            else:
                self.line(f"{name} = {UPDATE[r.op]}({lane.start}, {result})" if lane.start else f"{name} = {result}")
            del self.lanes[r.name]

    def write_accumulate(self, s: Accumulate) -> None:
        lane = self.lanes.get(s.name)
        if lane is None:
            name = self.names.of(s.name)
            self.line(f"{name} = {UPDATE[s.op]}({name}, {self.expression(s.value)})")
        elif lane.search:
            value = self.names.fresh(f"{s.name}_candidate")
            self.line(f"{value} = {self.expression(s.value)}")
            better = self.names.fresh(f"{s.name}_better")
            self.line(f"{better} = better_{s.op}({value}, {lane.value}, {lane.position})")
            self.line(f"{lane.value} = select({better}, {value}, {lane.value})")
            self.line(f"{lane.position} = select({better}, {self.number}, {lane.position})")
        elif lane.compensation:
            term = self.expression(s.value)
            self.line(f"{lane.value}, {lane.compensation} = add_compensated({lane.value}, {lane.compensation}, {term})")
        else:
            factors = product_of(s.value) if self.contract and s.op == "sum" and s.value.type in FLOATS else None
            if factors:
                negative, x, y = factors
                left = f"neg({self.expression(x)})" if negative else self.expression(x)
                self.line(f"{lane.value} = fmuladd({left}, {self.expression(y)}, {lane.value})")
            else:
                self.line(f"{lane.value} = {UPDATE[s.op]}({lane.value}, {self.expression(s.value)})")

    # ------------------------------------------------------------------------------------------ innermost loops

    def iterations(self, loop: Parallel, lanes: list[Lane], start: str, stop: str, passes: str, width: str) -> None:
        """The loop over the last index, from start to stop, with the body; `passes` counts what went into the lanes."""
        index = self.names.of(loop.names[-1])
        if not lanes:
            self.plain_loop(loop, start, stop)
            return
        number, base, k, length = (self.names.fresh(n) for n in ("_pass", "_base", "_k", "_length"))
        self.line(f"{length} = sub({stop}, {start})")
        with self.block(f"for {number} in range(passes_of({length}, {width})):"):
            self.line(f"{base} = at({number}, {width}, int64(0))")
            with self.block(f"for {k} in range(int64(0), minimum({width}, sub({length}, {base}))):"):
                self.line("independent()")
                self.line(f"{index} = add({start}, add({base}, {k}))")
                self.load_lanes(lanes, k)
                self.body_of(loop, lambda: self.store_lanes(lanes, k))
            with self.block(f"if eq(band({passes}, int64({PASSES - 1})), int64({PASSES - 1})):"):
                for lane in lanes:
                    memory = self.memory_of(lane, levels=True)
                    self.line(f"push_{lane.reduction.op}({memory}, shr({passes}, int64(3)), {width})")
            self.line(f"{passes} = add({passes}, int64(1))")

    def plain_loop(self, loop: Parallel, start: str, stop: str) -> None:
        with self.block(f"for {self.names.of(loop.names[-1])} in range({start}, {stop}):"):
            self.line("independent()")
            self.body_of(loop, lambda: None)

    def body_of(self, loop: Parallel, close: Callable[[], None]) -> None:
        outer = self.number
        if any(lane.search for lane in self.lanes.values()):
            number = self.names.of(loop.names[0])
            for name, count in zip(loop.names[1:], self.counts[1:]):
                number = f"at({number}, {count}, {self.names.of(name)})"
            self.number = self.names.fresh("_number")
            self.line(f"{self.number} = {number}")
        self.closing.append(close)
        self.statements(loop.body)
        self.closing.pop()
        close()
        self.number = outer

    def write_continue(self, s: Continue) -> None:
        self.closing[-1]()
        self.line("continue")

    def write_for(self, s: For) -> None:
        self.closing.append(lambda: None)
        super().write_for(s)
        self.closing.pop()

    def write_while(self, s: While) -> None:
        self.closing.append(lambda: None)
        super().write_while(s)
        self.closing.pop()

    # -------------------------------------------------------------------------------------------- whole loops

    counts: tuple[str, ...] = ()

    def hold_counts(self, loop: Parallel) -> tuple[str, ...]:
        held = []
        for count in loop.counts:
            held.append(self.names.fresh("_count"))
            self.line(f"{held[-1]} = maximum({self.expression(count)}, int64(0))")
        if some := [f"gt({name}, int64(0))" for name in held[1:]]:  # of nested loops the outer one may be endless
            self.line(f"{held[0]} = select({reduce(lambda a, b: f'band({a}, {b})', some)}, {held[0]}, int64(0))")
        return tuple(held)

    def lane_width(self, lanes: list[Lane], length: str) -> tuple[str, str]:
        """Names of the number of passes so far and of the lanes used, which depend on the length alone; the lanes
        hold nothing yet."""
        if not lanes:
            return "", ""
        passes, width = self.names.fresh("_passes"), self.names.fresh("_width")
        self.line(f"{passes} = int64(0)")
        self.line(f"{width} = lane_width({length})")
        for lane in lanes:
            self.line(f"clear_{lane.reduction.op}({self.memory_of(lane)}, {width})")
        return passes, width

    def write_parallel(self, s: Parallel) -> None:
        """`threads`: the whole range."""
        outer, self.counts = self.counts, self.hold_counts(s)
        lanes = self.open_reductions(s, from_identity=False)
        passes, width = self.lane_width(lanes, self.counts[-1] if len(s.counts) > 1 else self.counts[0])
        depth = self.depth
        for name, count in list(zip(s.names, self.counts))[:-1]:
            self.line(f"for {self.names.of(name)} in range(int64(0), {count}):")
            self.depth += 1
        self.iterations(s, lanes, "int64(0)", self.counts[-1], passes, width)
        self.depth = depth
        self.close_reductions(lanes, passes, width)
        self.counts = outer

    def flat(self, loop: Parallel, lanes: list[Lane], start: str, stop: str, passes: str, width: str) -> None:
        """Iterations start to stop of the loop in row-major order, as whole or part rows."""
        if len(loop.names) == 1:
            self.iterations(loop, lanes, start, stop, passes, width)
            return
        flat, row, first, last = (self.names.fresh(n) for n in ("_flat", "_row", "_first", "_last"))
        inner = self.counts[-1]
        self.line(f"{flat} = {start}")
        with self.block(f"while lt({flat}, {stop}):"):
            self.line(f"{row} = floordiv_integer({flat}, {inner})")
            self.line(f"{first} = sub({flat}, at({row}, {inner}, int64(0)))")
            self.line(f"{last} = minimum({inner}, add({first}, sub({stop}, {flat})))")
            self.unpack(loop.names[:-1], self.counts[:-1], row)
            self.iterations(loop, lanes, first, last, passes, width)
            self.line(f"{flat} = add({flat}, sub({last}, {first}))")

    def unpack(self, names: tuple[str, ...], counts: tuple[str, ...], flat: str) -> None:
        """Set these indices from the number of the iteration."""
        for name, count in list(zip(names, counts))[:0:-1]:
            held = self.names.fresh("_outer")
            self.line(f"{held} = floordiv_integer({flat}, {count})")
            self.line(f"{self.names.of(name)} = sub({flat}, at({held}, {count}, int64(0)))")
            flat = held
        self.line(f"{self.names.of(names[0])} = {flat}")


def terms_of(loop: Parallel, name: str) -> int:
    """How many terms one iteration adds to a reduction: 2 stands for more than one."""

    def count(body) -> int:
        total = 0
        for s in body:
            if isinstance(s, Accumulate):
                total += s.name == name
            elif isinstance(s, If):
                total += max(count(s.body), count(s.orelse))
            elif isinstance(s, (For, While, Parallel)):
                total += 2 * count(s.body)
        return total

    return min(2, count(loop.body))


def body_size(loop: Parallel) -> int:
    """How many nodes the tree of a loop's body has."""
    return sum(1 for s in loop.body for _ in walk(s))


def assigned(body) -> set[str]:
    """The scalars that statements set."""
    names: set[str] = set()
    for s in body:
        for node in walk(s):
            if isinstance(node, Assign):
                names.add(node.name)
            elif isinstance(node, AssignTuple):
                names |= set(node.names)
            elif isinstance(node, For):
                names.add(node.name)
            elif isinstance(node, Parallel):
                names |= {r.name for r in node.reductions}
    return names
