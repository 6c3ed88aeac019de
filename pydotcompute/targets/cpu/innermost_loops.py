"""Innermost parallel loops on a CPU: elementwise ones, and those whose reductions are in lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from ...ir.tree import (
    Access,
    Accumulate,
    Binary,
    Call,
    Const,
    For,
    If,
    Load,
    Parallel,
    Reduce,
    Store,
    Var,
    While,
    walk,
)  # fmt: skip
from ..llvm.expressions import Expressions
from ..llvm.faults import Faults
from ..llvm.statements import Statements
from ..llvm.writer import Writer
from .arrays import before_line
from .bodies import assigned, goes_across, has_loops, has_much_code, lie_side_by_side, vector_width
from .index_set_splitting import (
    Split,
    assuming,
    certain_range,
    conditions_to_split_by,
    does_nothing_else,
    fail_at_ends,
    index_conditions,
)  # fmt: skip
from .interruptions import PIECE, Interruptions, leave_if_interrupted
from .lifted_checks import LiftedChecks
from .loop_reductions import Lanes, Reductions
from .rests import Rests
from .row_versions import RowVersions
from .staged_updates import Staging

_LONG_CHAINS = frozenset(("**", "cbrt", "erf", "erfc", "tanh"))
_SMALL = 12  # nodes of a body that is done several times a turn
_LONG = 512  # iterations, of which some more that are not vectors are nothing
_FEW = 64  # iterations of a loop that is written as vectors
_BLOCKS = 1 << 8  # blocks between two looks at whether the call is to end
OF_LOOPS = 1 << 10  # iterations, where there are loops in each


class InnermostLoops:
    """splits: whether loops are split by what their conditions say of the index."""

    def __init__(
        self, writer: Writer, expressions: Expressions, statements: Statements, reductions: Reductions,
        faults: Faults, checks: LiftedChecks, interruptions: Interruptions, rows: RowVersions,
        staging: Staging, splits: bool,
    ):  # fmt: skip
        self.writer, self.names, self.expressions = writer, writer.names, expressions
        self.statements, self.reductions, self.faults = statements, reductions, faults
        self.checks, self.interruptions, self.rows, self.splits = checks, interruptions, rows, splits
        self.staging, self.rests = staging, Rests(writer, statements, checks.elements)

    def write(self, loop: Parallel, lanes: Lanes, start: str, stop: str) -> None:
        """The loop over the last index, from start to stop, with the body."""
        if lanes.each:
            self.checks.write(loop, start, stop, lambda version: self._in_lanes(version, lanes, start, stop))
        elif lanes.search:
            self.checks.write(loop, start, stop, lambda version: self._search(version, lanes, start, stop))
        elif loop.kind == "threads" and (count := _whole_vectors(loop)):
            self._each(loop, start, f"int64({count})", _of_few_vectors(loop))
        elif not _few(loop) and self._is_cut(loop):
            with self._pieces(loop, start, stop) as (first, last):
                self._whole(loop, first, last)
        else:
            self._whole(loop, start, stop)

    def _is_cut(self, loop: Parallel) -> bool:
        """Whether it is written in pieces, between which the call may end."""
        if self.interruptions.is_open(loop.body):
            return True
        if loop.kind == "threads":
            return self.faults.any or self.interruptions.is_unbounded(loop)
        return bool(loop.reductions)  # without them, a slice ends soon

    @contextmanager
    def _pieces(self, loop: Parallel, start: str, stop: str) -> Iterator[tuple[str, str]]:
        """Parts of a range, one after the other; after the first as long as the call goes on."""
        writer, piece = self.writer, OF_LOOPS if self.interruptions.has_long(loop.body) else PIECE
        first, last = (self.names.fresh(n) for n in ("_piece", "_piece_end"))
        writer.assign(first, start)
        with writer.while_(f"lt({first}, {stop})"):
            leave_if_interrupted(writer, f"gt({first}, {start})")
            writer.assign(last, f"add({first}, minimum(sub({stop}, {first}), int64({piece})))")
            yield first, last
            writer.assign(first, last)

    def _whole(self, loop: Parallel, start: str, stop: str) -> None:
        if not self.splits or not (conditions := conditions_to_split_by(loop)):
            return self._each(loop, start, stop, "independent")
        split = certain_range(loop, conditions, start, stop, self.writer, self.expressions)
        certain = replace(loop, body=assuming(loop.body, conditions))
        if not does_nothing_else(loop.body, conditions):
            mark = "rare" if fail_at_ends(loop, conditions) else "independent"
            if split.before:
                self._from_a_line(certain, split)
                self._each(loop, start, split.low, mark, few=True)
            self._each(certain, split.low, split.high, "independent")
            if split.after:
                self._each(loop, split.high, stop, mark, few=True)
        elif split.known:
            with self.writer.if_(split.known):
                self._range(certain, split)
            with self.writer.else_():
                self._turns(loop, start, stop, "rare")
        else:
            self._range(certain, split)

    def _from_a_line(self, loop: Parallel, split: Split) -> None:
        """Of a long row, have the iterations before the first whole cache line of what is stored done as those at the
        end are: of stores as long as a line, each would go to two."""
        index, elements = Var(loop.names[-1], "int64"), self.checks.elements
        changed = assigned(loop.body) | {index.name}
        for s in loop.body:
            if isinstance(s, Store) and s.indices and s.indices[-1] == index:
                outer = {n.name for e in s.indices[:-1] for n in walk(e) if isinstance(n, Var)}
                here = elements.address(s, lambda e: split.low if e == index else self.expressions.text(e))
                if here and not outer & changed:
                    ahead = before_line(f"address({here})", elements.arrays[s.array].dtype)
                    with self.writer.if_(f"gt(sub({split.high}, {split.low}), int64({_LONG}))"):
                        self.writer.assign(split.low, f"add({split.low}, {ahead})")
                return

    def _range(self, loop: Parallel, split: Split) -> None:
        """The iterations for which the conditions hold, which have none; all of them, if they are few, as vectors."""
        if loop.kind == "threads" and (count := _whole_vectors(loop)):
            with self.writer.if_(f"band(eq({split.low}, int64(0)), eq({split.high}, int64({count})))"):
                self._each(loop, "int64(0)", f"int64({count})", _of_few_vectors(loop))
            with self.writer.else_():
                self._each(loop, split.low, split.high, "independent")
        else:
            self._each(loop, split.low, split.high, "independent")

    def _each(self, loop: Parallel, start: str, stop: str, mark: str, few: bool = False) -> None:
        """mark: of the loop whose accesses are all inside, or may be. few: it goes round once or twice, as a rule."""

        def marked(mark: str) -> Callable[[Parallel], None]:
            return lambda version: self._turns(version, start, stop, mark, few)

        self.checks.write(loop, start, stop, marked(mark), marked("rare"))

    def _turns(self, loop: Parallel, start: str, stop: str, mark: str, few: bool = False) -> None:
        self.reductions.quickly(loop, lambda: self._loop(loop, start, stop, mark, few))

    def _loop(self, loop: Parallel, start: str, stop: str, mark: str, few: bool) -> None:
        counter = ""
        if start != "int64(0)" and loop.kind == "threads" and self.interruptions.is_unbounded(loop):
            counter = self.names.fresh("_turn")
        elif mark == "independent" and (staged := self.staging.of(loop.names[-1], loop.body)):
            return self.staging.write(staged, loop.names[-1], start, stop)
        if mark == "independent" and _is_long_chain(loop):
            mark = "interleaved"
        elif mark == "independent" and _waits_for_its_neighbours(loop):
            mark = "rare"
        elif mark == "independent" and self._looks(loop):
            mark = "unrolled"
        elif mark == "independent" and self.reductions.quick and self.rows.is_short(loop):
            mark = "short"
        if mark in ("independent", "interleaved") and not counter and not few and self.rests.is_costly(loop):
            with self.rests.after(loop, start, stop) as (first, last):
                return self._marked(loop, first, last, mark)
        self._marked(loop, start, stop, mark, counter)

    def _marked(self, loop: Parallel, start: str, stop: str, mark: str, counter: str = "") -> None:
        writer, name = self.writer, self.names.of(loop.names[-1])
        with writer.for_(counter or name, start, stop):
            writer.line(f"{mark}()")
            if counter:  # of a piece, which does not tell LLVM that it starts from 0 or later
                writer.assign(name, f"natural({counter})")
            with self.statements.iteration():
                self.statements.write(loop.body)

    def _looks(self, loop: Parallel) -> bool:
        """Whether it moves a few elements, with a look at each index: no vectors come of it, and a turn has less to do
        than what counts the turns."""
        nodes = [node for s in loop.body for node in walk(s)]
        return len(nodes) <= _SMALL and any(isinstance(n, Access) and self.faults.checks(n) for n in nodes)

    @contextmanager
    def _blocks(self, loop: Parallel, block: int, start: str, stop: str) -> Iterator[tuple[str, str]]:
        """Blocks of iterations, one after the other: the first iteration of one, and how many it has."""
        writer = self.writer
        number, first = (self.names.fresh(n) for n in ("_number", "_first"))
        with writer.for_(number, f"blocks_of(sub({stop}, {start}), int64({block}))"):
            self.faults.leave()
            each = self.interruptions.has_long(loop.body)
            last = f"eq(band({number}, int64({_BLOCKS - 1})), int64({_BLOCKS - 1}))"
            leave_if_interrupted(writer, f"gt({number}, int64(0))" if each else last)
            writer.assign(first, f"at({number}, int64({block}), {start})")
            yield first, writer.held("_terms", f"minimum(int64({block}), sub({stop}, {first}))")

    def _in_lanes(self, loop: Parallel, lanes: Lanes, start: str, stop: str) -> None:
        """The few iterations of a short row; those of one block; or all others block by block. What has loops itself is
        written once: nested sums would be written in each form within each form."""
        if has_loops(*loop.body):
            with self._blocks(loop, lanes.block, start, stop) as (first, terms):
                return self._one_by_one(loop, lanes, first, terms)
        shorter, most = self.rows.lengths(loop.counts[-1]) if start == "int64(0)" else (0, 0)
        length = self.writer.held("_length", f"sub({stop}, {start})")
        if most > lanes.block:
            self._long(loop, lanes, start, stop)
        elif most >= lanes.count:
            self._block(loop, lanes, start, length)
        elif lanes.piece <= shorter and most <= 2 * lanes.piece:
            self._two_parts(loop, lanes, start, length)
        elif most > lanes.piece:
            self.reductions.begin_block(lanes)
            self._parts(loop, lanes, start, length)
            self.reductions.end_block(lanes, length)
        elif most:
            self._short(loop, lanes, start, length)
        else:
            with self.writer.if_(f"le({length}, int64({lanes.piece}))"):
                self._short(loop, lanes, start, length)
            if goes_across(loop):
                with self.writer.elif_(f"le({length}, int64({lanes.block}))"):
                    self._one_by_one(loop, self.reductions.apart(lanes), start, length)
            with self.writer.else_():
                self._long(loop, lanes, start, stop)

    def _one_by_one(self, loop: Parallel, lanes: Lanes, start: str, length: str) -> None:
        """The iterations of a block of a column: what gathers them to vectors takes longer than they do."""
        self.reductions.begin_block(lanes)
        with self.writer.for_(k := self.names.fresh("_k"), "int64(0)", length):
            self.writer.line("rare()")
            lane = self.writer.held("_lane", f"band({k}, int64({lanes.count - 1}))")
            self._lane_of(loop, lanes, f"add({start}, {k})", lane)
        self.reductions.end_block(lanes, length)

    def _short(self, loop: Parallel, lanes: Lanes, start: str, length: str) -> None:
        """No more terms than a part of the lanes takes."""
        with self.writer.if_(f"gt({length}, int64(0))"):
            self.reductions.begin_block(lanes, pieces=1)
            self._part(loop, lanes, start, "int64(0)", length, loops=2)
            self.reductions.end_block(lanes, length, pieces=1)

    def _two_parts(self, loop: Parallel, lanes: Lanes, start: str, length: str) -> None:
        """More terms than that, and no more than twice as many: these lanes too stay in registers."""
        self.reductions.begin_block(lanes, pieces=2)
        self._in_part(loop, lanes, start, "int64(0)")
        piece = f"int64({lanes.piece})"
        self._part(loop, lanes, f"add({start}, {piece})", piece, f"sub({length}, {piece})")
        self.reductions.end_block(lanes, length, pieces=2)

    def _long(self, loop: Parallel, lanes: Lanes, start: str, stop: str) -> None:
        with self._blocks(loop, lanes.block, start, stop) as (first, terms):
            self._block(loop, lanes, first, terms)

    def _block(self, loop: Parallel, lanes: Lanes, start: str, terms: str) -> None:
        """So many terms, of which no block has more: passes over all lanes, and one over a part of them."""
        writer, shift = self.writer, lanes.count.bit_length() - 1
        whole = writer.held("_whole", f"shr({terms}, int64({shift}))")
        self._passes(loop, lanes, start, whole)
        writer.assign(whole, f"shl({whole}, int64({shift}))")
        self._parts(loop, lanes, writer.held("_rest", f"add({start}, {whole})"), f"sub({terms}, {whole})")
        self.reductions.end_block(lanes, terms)

    def _parts(self, loop: Parallel, lanes: Lanes, start: str, terms: str) -> None:
        """So many terms, of which there are fewer than lanes."""
        writer, part = self.writer, self.names.fresh("_part")
        left = writer.held("_left", terms)
        with writer.for_(part, "int64(0)", f"blocks_of({left}, int64({lanes.piece}))"):
            before = writer.held("_before", f"mul({part}, int64({lanes.piece}))")
            here = writer.held("_here", f"add({start}, {before})")
            self._part(loop, lanes, here, before, f"sub({left}, {before})")

    def _passes(self, loop: Parallel, lanes: Lanes, first: str, passes: str) -> None:
        """So many passes over all lanes of a block that begins."""
        writer, turn, k = self.writer, self.names.fresh("_pass"), self.names.fresh("_k")
        mark = _of_few_vectors(loop)
        self.reductions.begin_block(lanes)
        with writer.for_(turn, "int64(0)", passes):
            here = writer.held("_here", f"at({turn}, int64({lanes.count}), {first})")
            with writer.for_(k, "int64(0)", f"int64({lanes.count})"):
                writer.line(f"{mark}()")
                self._lane_of(loop, lanes, f"add({here}, {k})", k)
            writer.line("rolled()")  # else it goes along one lane after the other, and not along memory

    def _part(self, loop: Parallel, lanes: Lanes, first: str, before: str, terms: str, loops: int = 1) -> None:
        """So many terms, or as many as a part of the lanes takes (without a mask), into the lanes after `before`."""
        if has_much_code(loop):  # next to which a mask is little
            return self._in_part(loop, lanes, first, before, terms)
        with self.writer.if_(f"ge({terms}, int64({lanes.piece}))"):
            self._in_part(loop, lanes, first, before, loops=loops)
        with self.writer.else_():
            self._in_part(loop, lanes, first, before, terms, loops)

    def _in_part(self, loop: Parallel, lanes: Lanes, first: str, before: str, terms: str = "", loops: int = 1) -> None:
        """loops: in how many the lanes are gone through; by two, no register holds more than a fold begins with."""
        writer, each = self.writer, lanes.piece // loops
        rest = writer.held("_rest", f"to_int32({terms})") if terms else ""
        for start in range(0, lanes.piece, each):
            with writer.for_(k := self.names.fresh("_k"), f"int64({start})", f"int64({start + each})"):
                writer.line("independent_vectors()")
                lane = writer.held("_lane", f"add({before}, {k})")
                condition = f"lt(lane_number({k}), {rest})" if terms else ""
                self._lane_of(loop, lanes, f"add({first}, {k})", lane, condition)

    def _lane_of(self, loop: Parallel, lanes: Lanes, index: str, lane: str, condition: str = "") -> None:
        """The iteration that goes into this lane, if there is one. The lane is stored in any case: a store under a mask
        is slow to read from."""

        def close() -> None:
            self.reductions.store(lanes, lane)

        self.writer.assign(self.names.of(loop.names[-1]), index)
        self.reductions.load(lanes, lane)
        with self.writer.if_(condition) if condition else nullcontext(), self.statements.iteration(close):
            self.statements.write(loop.body)
        close()

    def _search(self, loop: Parallel, lanes: Lanes, start: str, stop: str) -> None:
        """The candidates of a block, and then whether one of them is better than what was found so far."""
        writer, reductions, index = self.writer, self.reductions, self.names.of(loop.names[-1])
        search = lanes.search
        assert search is not None
        k, outer = self.names.fresh("_k"), reductions.number
        with self._blocks(loop, lanes.block, start, stop) as (first, terms):
            reductions.begin_block(lanes)
            reductions.number = k
            writer.assign(index, first)
            if in_place := self._candidates(loop):
                search.in_place = writer.held("_candidates", in_place)
            with writer.for_(k, "int64(0)", terms):
                if not search.taken:
                    writer.line("short()" if self.rows.is_short(loop) else "independent()")
                writer.assign(index, f"add({first}, {k})")
                with self.statements.iteration():
                    self.statements.write(loop.body)
            reductions.number = outer
            reductions.end_search(lanes, terms, lambda k: self._number(loop, lanes.counts, f"add({first}, {k})"))
            search.in_place = ""

    def _candidates(self, loop: Parallel) -> str:
        """Where they are, if they are neighbours in memory."""
        load = last.value if len(loop.body) == 1 and isinstance(last := loop.body[0], Accumulate) else None
        if not isinstance(load, Load) or not load.indices:  # of an output without dims there is one element
            return ""
        *outer, along = load.indices
        index = loop.names[-1]
        if along != Var(index, "int64") or any(isinstance(n, Var) and n.name == index for e in outer for n in walk(e)):
            return ""
        return self.checks.elements.address(load, self.expressions.text)

    def _number(self, loop: Parallel, counts: tuple[str, ...], last: str) -> str:
        """The number of an iteration, of which the last index is given."""
        indices = [*map(self.names.of, loop.names[:-1]), last]
        number = indices[0]
        for index, count in zip(indices[1:], counts[1:], strict=True):
            number = f"at({number}, {count}, {index})"
        return number


def _whole_vectors(loop: Parallel) -> int:
    """How many iterations the loop has, if that is so few vectors that they are worked off without a loop: else the
    compiler unrolls it before it looks for vectors, and finds none or those of an outer loop."""
    count = loop.counts[-1].whole if isinstance(loop.counts[-1], Const) else 0
    inner = any(isinstance(node, (For, While, Reduce)) for s in loop.body for node in walk(s))
    whole = 0 < count <= _FEW and count % vector_width(loop) == 0
    return count if whole and not inner and not index_conditions(loop) else 0


def _of_few_vectors(loop: Parallel) -> str:
    """The mark of a loop that is no longer than a few vectors."""
    return "compact" if has_much_code(loop) else "independent_vectors"


def _few(loop: Parallel) -> bool:
    return isinstance(count := loop.counts[-1], Const) and count.whole <= PIECE


def _waits_for_its_neighbours(loop: Parallel) -> bool:
    """Whether it stores some elements of a row and loads others that lie beside them: as vectors the loads of a turn
    would wait for the stores of the one before."""
    nodes = [node for s in loop.body for node in walk(s)]
    if loop.kind != "grid" or any(isinstance(n, (For, While, Reduce)) for n in nodes):
        return False
    stores = [n for s in nodes if isinstance(s, If) for n in walk(s) if isinstance(n, Store) and n.indices]
    return any(isinstance(n, Load) and lie_side_by_side(n, s) for s in stores for n in nodes)


def _is_long_chain(loop: Parallel) -> bool:
    """Whether a function in it is a chain of so many steps that a processor sees little of the next turn meanwhile."""
    nodes = [node for s in loop.body for node in walk(s) if isinstance(node, (Binary, Call)) and node.type == "float32"]
    return any((node.op if isinstance(node, Binary) else node.function) in _LONG_CHAINS for node in nodes)
