"""Reductions of a parallel loop on a CPU.

A sum or product of floats has lanes (targets/cpu/lane_vectors.py), 64 of float32: term k of a block belongs to lane
k % 64. The lanes stay in registers for the eight passes of a block, are folded to one value by a tree, and these values
are added up pairwise: at most 7 + 6 + ceil(log2(n / 512)) roundings, and one for the start value. Nothing of it depends
on how many lanes a vector of a level has. Of argmin and argmax the candidates of a block are written down, and searched
(targets/cpu/search.py). Exact reductions (integers, min, max, any, all) are plain accumulators; of floats min and max
go by one instruction first, and once more with care where there was a NaN, or the result is a zero, which has a sign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ...ir.contraction import product_of
from ...ir.dtypes import COMPLEX, FLOATS
from ...ir.tree import Accumulate, Assign, For, If, Parallel, Reduce, Reduction, Var, While, walk
from ..llvm.expressions import Expressions, constant
from ..llvm.words import COMBINE, EXTREMA
from ..llvm.writer import Writer
from .arrays import itemsize
from .lane_vectors import PASSES, PIECES, SUMS, lanes_of
from .search import SEARCHED, SEARCHES


@dataclass
class Lane:
    """What a sum uses: names of its lanes, of the values folded, and of this iteration's and the last block's value."""

    reduction: Reduction
    start: str
    lanes: str
    levels: str
    value: str
    folded: str
    compensation: str = ""  # where one iteration adds more than one term


@dataclass
class Search:
    """What argmin and argmax use: names of a block's candidates, of the best of them and of whether one is NaN, and of
    the best so far; where iterations may have none, of how many there are, and the numbers of theirs within the
    block."""

    reduction: Reduction
    candidates: str
    most: str
    unordered: str
    value: str
    places: str = ""
    taken: str = ""
    in_place: str = ""  # where the candidates are elements of an array, and not written down: the name of the first


@dataclass(frozen=True)
class Lanes:
    """The reductions of one loop that are no plain accumulators. count: of lanes. blocks: the name of how many blocks
    were folded. counts: of the loop, which number its iterations."""

    each: tuple[Lane, ...] = ()
    search: Search | None = None
    count: int = 0
    blocks: str = ""
    counts: tuple[str, ...] = ()

    @property
    def piece(self) -> int:
        """How many lanes a vector has at most."""
        return self.count // PIECES

    @property
    def block(self) -> int:
        """How many iterations are worked off together."""
        return SEARCHED if self.search else self.count * PASSES


class Reductions:
    def __init__(self, writer: Writer, expressions: Expressions):
        self.writer, self.names, self.expressions = writer, writer.names, expressions
        self.open_lanes: dict[str, Lane | Search] = {}  # of the loops being written, by the names of reductions
        self.quick: dict[str, str] = {}  # min and max by one instruction, under way → the name of: there was a NaN
        self.number = ""  # of this iteration within its block, for argmin and argmax
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

    def open(self, loop: Parallel, counts: tuple[str, ...], from_identity: bool) -> Lanes:
        """Before the loop. from_identity: leave out what the accumulator starts from (a chunk of a grid)."""
        lanes = []
        count = lanes_together(loop.reductions)
        for r in loop.reductions:
            name = self.names.of(r.name)
            if r.op in SEARCHES:
                return Lanes((), self._search(r, isinstance(loop.body[-1], Accumulate)), counts=counts)
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
            lanes.append(self._lane(r, start, terms_of(loop, r.name), count))
        if not lanes:
            return Lanes(counts=counts)
        return Lanes(tuple(lanes), None, count, self.writer.held("_blocks", "int64(0)"), counts)

    def _lane(self, r: Reduction, start: str, terms: int, count: int) -> Lane:
        parts = ("lanes", "levels", "value", "folded")
        lane = Lane(r, start, *(self.names.fresh(f"{r.name}_{part}") for part in parts))
        self.stacks += [f"{lane.lanes} = stack_{r.type}({count})", f"{lane.levels} = stack_{r.type}(64)"]
        self.writer.assign(lane.folded, f"identity_{r.op}_{r.type}()")
        if r.op == "sum" and terms > 1:
            lane.compensation = self.names.fresh(f"{r.name}_rest")
        self.open_lanes[r.name] = lane
        return lane

    def apart(self, lanes: Lanes) -> Lanes:
        """The same with lanes in memory of their own, for iterations that find theirs by its number: in registers they
        have none."""
        found = []
        for lane in lanes.each:
            name = self.names.fresh(f"{lane.reduction.name}_lanes")
            self.stacks.append(f"{name} = stack_{lane.reduction.type}({lanes.count})")
            found.append(replace(lane, lanes=name))
        return replace(lanes, each=tuple(found))

    def _search(self, r: Reduction, every: bool) -> Search:
        """every: each iteration has a candidate."""
        search = Search(r, *(self.names.fresh(f"{r.name}_{part}") for part in ("candidates", "most", "nan", "best")))
        self.stacks.append(f"{search.candidates} = stack_{r.operand_type}({SEARCHED})")
        if not every:
            search.places, search.taken = (self.names.fresh(f"{r.name}_{part}") for part in ("places", "taken"))
            self.stacks.append(f"{search.places} = stack_int64({SEARCHED})")
        self.writer.assign(search.value, f"identity_{r.op}_{r.operand_type}()")
        self.writer.assign(self.names.of(r.name), "int64(-1)")
        self.open_lanes[r.name] = search
        return search

    def close(self, lanes: Lanes) -> None:
        """After the loop: each name holds the result; for a chunk of a grid, without what it starts from."""
        for lane in lanes.each:
            r = lane.reduction
            result = f"total_{r.op}({lane.levels}, sub({lanes.blocks}, int64(1)), {lane.folded})"
            result = f"{COMBINE[r.op]}({lane.start}, {result})" if lane.start else result
            self.writer.assign(self.names.of(r.name), result)
            del self.open_lanes[r.name]
        if lanes.search:
            del self.open_lanes[lanes.search.reduction.name]

    def begin_block(self, lanes: Lanes, pieces: int = PIECES) -> None:
        """Before terms that go into so many pieces of the lanes."""
        if search := lanes.search:
            self.writer.assign(search.most, f"identity_{search.reduction.op}_{search.reduction.operand_type}()")
            self.writer.assign(search.unordered, "False")
            if search.taken:
                self.writer.assign(search.taken, "int64(0)")
        for lane in lanes.each:
            for first in range(0, pieces * lanes.piece, lanes.piece):
                self.writer.line(f"clear_{lane.reduction.op}({lane.lanes}, {first}, {lanes.piece})")

    def end_search(self, lanes: Lanes, terms: str, number: Callable[[str], str]) -> None:
        """Take the best of so many candidates, if it is better than what was found so far. number: of an iteration,
        from its place in the block."""
        if (search := lanes.search) is None:
            return
        writer, name = self.writer, self.names.of(search.reduction.name)
        terms, candidates = search.taken or terms, search.in_place or search.candidates
        given = ", ".join((candidates, terms, search.most, search.unordered, search.value, name))
        with writer.if_(f"gt({terms}, int64(0))"):
            found = writer.held("_found", f"search_{search.reduction.op}({given})")
            with writer.if_(f"ge({found}, int64(0))"):
                writer.assign(search.value, f"load({candidates}, {found})")
                writer.assign(name, number(f"load({search.places}, {found})" if search.taken else found))

    def end_block(self, lanes: Lanes, terms: str, pieces: int = PIECES) -> None:
        """Fold so many pieces of the lanes, after so many terms."""
        for lane in lanes.each:
            op = lane.reduction.op
            folded = self.writer.held("_fold", f"fold_{op}({lane.lanes}, {pieces * lanes.piece}, {terms})")
            with self.writer.if_(f"gt({lanes.blocks}, int64(0))"):
                self.writer.line(f"carry_{op}({lane.levels}, sub({lanes.blocks}, int64(1)), {lane.folded})")
            self.writer.assign(lane.folded, folded)
        if lanes.each:
            self.writer.assign(lanes.blocks, f"add({lanes.blocks}, int64(1))")

    # ---------------------------------------------------------------------------------------------- an iteration

    def load(self, lanes: Lanes, k: str) -> None:
        """What an iteration for lane k goes on from."""
        for lane in lanes.each:
            if lane.compensation:
                minus = complex(-0.0, -0.0) if lane.reduction.type in COMPLEX else -0.0
                self.writer.assign(lane.value, constant(minus, lane.reduction.type))
                self.writer.assign(lane.compensation, constant(0.0, lane.reduction.type))
            else:
                self.writer.assign(lane.value, f"load({lane.lanes}, {k})")

    def store(self, lanes: Lanes, k: str) -> None:
        for lane in lanes.each:
            value = lane.value
            if lane.compensation:
                value = f"add(load({lane.lanes}, {k}), compensated({value}, {lane.compensation}))"
            self.writer.line(f"store({lane.lanes}, {k}, {value})")

    def accumulate(self, s: Accumulate) -> None:
        writer, lane = self.writer, self.open_lanes.get(s.name)
        name = self.names.of(s.name)
        if nan := self.quick.get(s.name):
            term = writer.held("_term", self.expressions.text(s.value))
            writer.assign(nan, f"bor({nan}, isnan({term}))")
            writer.assign(name, f"quick_{s.op}({name}, {term})")
        elif lane is None:
            writer.assign(name, f"{COMBINE[s.op]}({name}, {self.expressions.text(s.value)})")
        elif isinstance(lane, Search):
            value = writer.held("_candidate", self.expressions.text(s.value))
            if not lane.in_place:
                writer.line(f"store({lane.candidates}, {lane.taken or self.number}, {value})")
            self._most(lane, value)
            if lane.taken:
                writer.line(f"store({lane.places}, {lane.taken}, {self.number})")
                writer.assign(lane.taken, f"add({lane.taken}, int64(1))")
        elif lane.compensation:
            both = f"{lane.value}, {lane.compensation}"
            writer.assign(both, f"add_compensated({both}, {self.expressions.text(s.value)})")
        else:
            writer.assign(lane.value, self._updated(lane, s))

    def _most(self, search: Search, value: str) -> None:
        """Compare a candidate with the best of the block."""
        combine = EXTREMA[search.reduction.op.removeprefix("arg")]
        if search.reduction.operand_type in FLOATS:
            self.writer.assign(search.unordered, f"bor({search.unordered}, isnan({value}))")
            combine = f"quick_{search.reduction.op.removeprefix('arg')}"
        self.writer.assign(search.most, f"{combine}({search.most}, {value})")

    def quickly(self, loop: Parallel, write: Callable[[], None]) -> None:
        """Write a loop; its min and max of floats first by one instruction, where nothing else is done in it."""
        writer = self.writer
        extremes = [r for r in loop.reductions if r.op in EXTREMA and r.type in FLOATS]
        read = {node.name for s in loop.body for node in walk(s) if isinstance(node, Var)}
        nothing_else = all(isinstance(s, (Assign, Accumulate)) for s in loop.body)
        if not extremes or not nothing_else or any(r.name in read for r in extremes):
            return write()
        names, every = ([self.names.of(r.name) for r in some] for some in (extremes, loop.reductions))
        begun = {name: writer.held("_begun", name) for name in every}
        nans = [writer.held("_nan", f"isnan({name})") for name in names]
        self.quick = {r.name: nan for r, nan in zip(extremes, nans, strict=True)}
        write()
        self.quick = {}
        zeros = [f"eq({n}, {constant(0, r.type)})" for n, r in zip(names, extremes, strict=True)]
        with writer.if_(" or ".join([*nans, *zeros])):
            for name, value in begun.items():
                writer.assign(name, value)
            write()

    def _updated(self, lane: Lane, s: Accumulate) -> str:
        write = self.expressions.text
        factors = product_of(s.value) if s.op == "sum" and s.value.type in FLOATS else None
        if not factors or not self.expressions.contract:
            return f"{COMBINE[s.op]}({lane.value}, {write(s.value)})"
        negative, x, y = factors
        left = f"neg({write(x)})" if negative else write(x)
        return f"fmuladd({left}, {write(y)}, {lane.value})"


def in_lanes(r: Reduction) -> bool:
    return r.op in SUMS and r.type in (*FLOATS, *COMPLEX)


def lanes_together(reductions: Sequence[Reduction]) -> int:
    """How many lanes each of the sums of a loop has; 0 where there are none."""
    sizes = [itemsize(r.type) for r in reductions if in_lanes(r)]
    return lanes_of(sizes) if sizes else 0


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
