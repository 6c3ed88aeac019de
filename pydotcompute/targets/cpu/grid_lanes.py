"""Grid loops whose iterations each add up floats in a sequential loop, in an order that may not change, or change a
flag: several iterations go through that loop together, as vectors whose lanes are iterations.

    for i in grid(n):                    for block in blocks((n + LANES - 1) // LANES):
        s = 0.0                              for lane in threads(LANES): s[lane] = 0.0
        for k in range(m):       ⟶           for k in range(m):
            s += x[k, i]                         for lane in threads(LANES): s[lane] += x[k, LANES * block + lane]
        out[i] = s                           for lane in threads(LANES): out[LANES * block + lane] = s[lane]

Of the last block, which has fewer iterations, half and a quarter of the lanes go together, and the rest as it was.
Iterations of a parallel loop touch no element that another one touches, and each does what it did, in that order: no
bit changes.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from ...ir.dtypes import FLOATS
from ...ir.tree import (
    Assign,
    AssignTuple,
    Atomic,
    Binary,
    BoolOp,
    Call,
    CallHelper,
    Compare,
    Const,
    Expr,
    For,
    If,
    Load,
    NewArray,
    Parallel,
    Reduce,
    Return,
    Scatter,
    Stmt,
    Store,
    Var,
    While,
    walk,
)  # fmt: skip
from ..running import integer, number
from .bodies import (
    SMALL,
    adds_rows,
    assigned,
    executed,
    exposed,
    is_extreme,
    is_slow,
    is_small,
    jumps,
    read,
    renamed,
    told_by_data,
    turns_of_nest,
)  # fmt: skip
from .common_loads import once_for_all
from .lane_blocks import Block
from .made import Made
from .narrowed_ranges import narrowed
from .sums_in_lanes import as_loops, lies_across
from .turned_tiles import ROWS, filled, from_tiles, loads_along, turns_of
from .unroll_and_jam import chains_of, in_rows, jammed, may_be_jammed

LANES = {True: 16, False: 32}  # where something is computed in 64 bits; elsewhere
_LEAST = ROWS // 2  # in the last block half and a quarter of the lanes too, but no fewer
_SHORT = 128  # elements of rows that are turned whole
_FEW = 8  # turns of a loop in another one
_WIDE = {"float64", "complex64", "complex128"}
_NEVER = (Atomic, Scatter, NewArray, Parallel, Return, AssignTuple)


class InLanes:
    """One loop over a grid. tail: what each iteration does at its end, in their order, alone. free: the indices of the
    loops in an iteration whose turns could come in any order."""

    def __init__(self, loop: Parallel, made: Made, tail: tuple[Stmt, ...] = (), free: frozenset[str] = frozenset()):
        self.loop, self.made, self.types, self.tail, self.free = loop, made, made.locals, tail, free
        self.set = assigned(loop.body)
        self.stored = {n.array for s in loop.body for n in walk(s) if isinstance(n, Store)}
        self.of_all: set[str] = set()  # scalars that are the same for all lanes
        self.own: dict[int, dict[str, str]] = {}
        self.tiles: list[NewArray] = []  # of what lanes read apart
        self.jams: dict[str, tuple[For, For]] = {}  # several turns together and those that are left, by the index

    def blocks(self) -> Parallel | None:
        """The loop in lanes; None where it is as good as it is."""
        loop = self.loop
        nodes = [node for s in (*loop.body, *self.tail) for node in walk(s)]
        if loop.kind != "grid" or loop.reductions or any(isinstance(node, _NEVER) for node in nodes):
            return None
        count, types = loop.counts[-1], {getattr(node, "type", "") for node in nodes}
        lanes = LANES[bool(types & _WIDE)]
        if any(isinstance(n, (Load, CallHelper)) for n in walk(count)) or read(count) & self.set:
            return None
        if isinstance(count, Const) and count.whole < lanes or jumps(loop.body) or self.set & set(loop.names):
            return None
        if any(lies_across(s, self._is_same) for s in loop.body):
            parts = (as_loops(s, self.made.local) if lies_across(s, self._is_same) else (s,) for s in loop.body)
            body = tuple(s for part in parts for s in part)
            return InLanes(replace(loop, body=body), self.made, self.tail, self.free).blocks()
        self.indices, self.rest = self._indices(loop.body)
        rest = self.rest
        slow = self.tail and any(is_slow(node) for s in rest for node in walk(s))
        if not (slow or any(isinstance(s, For) and self._is_shared(s) for s in rest)):
            return None
        made, known = self.made, -1
        self.block = block = Block(loop, made, self.indices)
        while known < len(self.of_all):  # what is the same may bound a loop in which more is
            known = len(self.of_all)
            self._find_same(rest)
        self.apart = self._is_apart(rest)
        if self.apart and sum(1 for s in rest for _ in walk(s)) > SMALL:
            return None  # each lane has code of its own
        along = [] if self.apart else list(filter(self._along, self._shared(rest)))
        adding = [s for s in self._shared(rest) if self._goes_on(s)]
        if not (self.apart or self.tail) and (rows := in_rows(loop, adding, made)):
            return InLanes(rows, made, free=frozenset((loop.names[-2],))).blocks()
        sums = [s for s in rest if isinstance(s, For) and self._goes_on(s)]
        if made.reorders and all(map(self._along, sums)) and any(adds_rows(s, self._goes_on(s)) for s in sums):
            return None  # terms of a row are vectors themselves
        if made.reorders and self._gathers(sums):
            return None  # so does each iteration, whose terms may be vectors too
        chains = sum(len(self._goes_on(part)) for part in along)  # of additions: where there is one, two are kept going
        several = max((chains_of(s) for s in rest if self._may_be_jammed(s)), default=0)
        if self.apart or along and chains != 1:
            lanes = ROWS
        elif several or chains == 1:
            lanes //= max(2 * several, 2)  # else they take more registers than there are
        self.lanes = lanes
        self._keep(rest)
        self._keep_in_arrays(self.tail)
        if self.apart:
            block.arrays.clear()
        together = (*self._together(rest, lanes), *self._in_turn(lanes))
        much = any(isinstance(n, Reduce) for s in rest for n in walk(s))  # each is written in many forms
        some = [self._some(n, rest) for n in (lanes // 2, lanes // 4) if n >= _LEAST and not much]
        made.arrays |= {tile.name: tile for tile in self.tiles}
        turns = (n for s in loop.body for n in (self._jammed(s) if self._may_be_jammed(s) else (s,)))
        left, each = Binary("-", count, block.first, "int64"), (block.index(block.other), *turns, *self.tail)
        one = For(block.other.name, number(0), left, number(1), each, at=loop.at)
        few = one if self.tail else Parallel("threads", (block.other.name,), (left,), each, at=loop.at)
        return block.written(lanes, (*self.tiles,), together, (*some, few))

    def _some(self, lanes: int, body: Sequence[Stmt]) -> If:
        """So many iterations, if they are left; then those after them are."""
        return self.block.some(lanes, (*self._together(body, lanes), *self._in_turn(lanes)))

    def _names(self, lane: int) -> dict[str, str]:
        """The scalars of a lane that has its own."""
        if lane not in self.own:
            every = sorted((self.set | {self.loop.names[-1]}) - self.of_all)
            self.own[lane] = {name: self.made.name(f"{name}_{lane}") for name in every}
            self.types.update((new, self.types[name]) for name, new in self.own[lane].items())
        return self.own[lane]

    def _is_apart(self, body: Iterable[Stmt], outer: frozenset[str] = frozenset(), along: Sequence[Load] = ()) -> bool:
        """Whether lanes read what lies apart, and do so little with it that it would take longer to gather it. along:
        what tiles make vectors of."""
        for part in self._split(body, outer):
            if isinstance(part, For):
                if self._is_apart(part.body, outer | {part.name}, self._along(part)):
                    return True
            elif isinstance(part, list) and outer:
                nodes = [n for s in part for n in walk(s)]
                loads = [n for n in nodes if isinstance(n, Load) and n not in along]
                loads = [n for n in loads if not all(map(self._is_same, n.indices[:-1]))]
                if any(read(n) & outer for n in loads) and not any(is_slow(n) for n in nodes):
                    return True
        return False

    def _gathers(self, sums: Iterable[For]) -> bool:
        """Whether whatever lanes read apart in these loops lies where data says."""
        told = told_by_data(self.loop.body) - self.of_all
        loads = [n for s in sums for n in walk(s) if isinstance(n, Load) and not self._is_same(n)]
        return bool(loads) and all(read(*n.indices) & told for n in loads)

    def _along(self, loop: For) -> list[Load]:
        """What a loop that all lanes go through reads by tiles."""
        loads = loads_along(loop, self.loop.names[-1], self.set - self.of_all) if loop.start == number(0) else []
        return [load for load in loads if load.array not in self.made.strided]

    def _pieces(self, loop: For, loads: list[Load], lanes: int, outer: frozenset[str]) -> Generator[Stmt, None, For]:
        """Pieces of such a loop; what is left of it."""
        made, turns = self.made, number(turns_of(loads))
        tiles = {n: NewArray("private", made.name(f"_tile_of_{n.array}"), (turns.whole, lanes), n.type) for n in loads}
        self.tiles += tiles.values()
        piece, first, turn = map(made.local, ("_piece", "_first_turn", "_turn_of_piece"))
        lane, at_lane = self.block.lane, self.block.index(self.block.lane)
        fill = [filled(tile, n, loop.name, first, turn, lane, at_lane) for n, tile in tiles.items()]
        body = [from_tiles(s, tiles, turn, lane) for s in loop.body]
        together = self._together(body, lanes, outer | {loop.name})
        of_turn: tuple[Stmt, ...] = (Assign(loop.name, integer("+", first, turn), at=loop.at), *together)
        begin = Assign(first.name, Binary("*", piece, turns, "int64"), at=loop.at)
        each: tuple[Stmt, ...] = (begin, *fill, For(turn.name, number(0), turns, number(1), of_turn, at=loop.at))
        pieces = Binary("//", Call("max", (loop.stop, number(0)), "int64"), turns, "int64")
        yield For(piece.name, number(0), pieces, number(1), each, at=loop.at)
        return replace(loop, start=Binary("*", pieces, turns, "int64"))

    def _whole_rows(self, loop: For, lanes: int, outer: frozenset[str]) -> If | None:
        """A loop with a loop inside that goes along the same rows each time: where these are short, with the rows as
        columns before it. What it is else is still to be added."""
        inner = next((s for s in loop.body if isinstance(s, For) and self._along(s)), None)
        changing = assigned(loop.body) | {loop.name}
        if inner is None or read(inner.stop) & changing:
            return None
        loads = [n for n in self._along(inner) if n.array not in self.stored]
        loads = [n for n in loads if not read(*n.indices) & changing - {inner.name}]
        if not loads:
            return None
        made = self.made
        rows = {n: NewArray("private", made.name(f"_rows_of_{n.array}"), (_SHORT, lanes), n.type) for n in loads}
        self.tiles += rows.values()
        at: Any = {"inside": True, "known": True, "at": inner.at}
        place = Var(inner.name, "int64"), self.block.lane
        fill = tuple(Store(rows[n].name, place, n, **at) for n in loads)

        def filling() -> Iterator[Stmt]:
            rest = yield from self._pieces(replace(inner, body=fill), loads, lanes, outer)
            yield replace(rest, body=self._together(fill, lanes, outer | {inner.name}))

        within = replace(inner, body=tuple(from_tiles(s, rows, place[0], self.block.lane) for s in inner.body))
        body = [within if s is inner else s for s in loop.body]
        whole = replace(loop, body=self._together(body, lanes, outer | {loop.name}))
        turns = Compare("<", loop.start, loop.stop)
        return If(BoolOp("and", turns, Compare("<=", inner.stop, number(_SHORT))), (*filling(), whole), at=loop.at)

    def _may_be_jammed(self, s: Stmt) -> TypeGuard[For]:
        return not self.apart and isinstance(s, For) and s.name in self.free and may_be_jammed(s)

    def _jammed(self, loop: For) -> tuple[For, For]:
        """Several turns of such a loop together, and those that are left."""
        if loop.name not in self.jams:
            together, left, copies = jammed(loop, self.made)
            names = [(old, new) for each in copies for old, new in each.items()]
            self.set |= {together.name, *(new for _, new in names)}
            self.of_all |= {together.name, *(new for old, new in names if old in self.of_all)}
            self._keep((together,))
            self.jams[loop.name] = together, left
        return self.jams[loop.name]

    def _narrowed(self, loop: For, lanes: int, outer: frozenset[str]) -> For:
        """Such a loop over the turns in which some lane does something."""
        ends = self.block.first, integer("+", self.block.first, number(lanes - 1))
        own, known = self.set - self.of_all - outer, tuple(self.indices.values())
        return narrowed(loop, self.block.arrays.keys() | self.of_all, own, self.loop.names[-1], ends, known)

    # ----------------------------------------------------------------------------------------- what is in lanes

    def _indices(self, body: Sequence[Stmt]) -> tuple[dict[str, Assign], Sequence[Stmt]]:
        """The assignments that a body begins with and that each part repeats, of what follows from indices alone; and
        the rest of it."""
        found: dict[str, Assign] = {}
        for k, s in enumerate(body):
            again = assigned(body[k + 1 :])
            if not isinstance(s, Assign) or s.name in again or any(
                isinstance(n, (Load, CallHelper, Call)) or isinstance(n, Var) and n.name in self.set - found.keys()
                or n.type not in ("int64", "bool")
                for n in walk(s.value)
            ):  # fmt: skip
                return found, body[k:]
            found[s.name] = s
        return found, ()

    def _is_shared(self, loop: For, outer: frozenset[str] = frozenset()) -> bool:
        """Whether all lanes take the same turns of a loop, in which something of floats goes on from turn to turn, or a
        flag by what is the same for all lanes, and nothing else takes longer."""
        if not all(self._is_same(bound, outer) for bound in (loop.start, loop.stop, loop.step)):
            return False
        if jumps(loop.body) or not outer and is_small(loop):
            return False
        inside = outer | {loop.name}
        long = [s for s in loop.body if any(isinstance(n, (For, While, Reduce)) for n in walk(s))]
        if any(not isinstance(s, For) or not self._is_shared(s, inside) and turns_of_nest(s) > _FEW for s in long):
            return False
        if not all(map(is_small, long)) or any(not is_extreme(loop.body, name) for name in self._goes_on(loop)):
            return True
        loads = [n for s in loop.body for n in walk(s) if isinstance(n, Load) and read(n) & inside]
        return bool(self._goes_on(loop, {"bool"})) and all(self._is_same(n, inside) for n in loads)

    def _goes_on(self, loop: For, types: Collection[str] = FLOATS) -> set[str]:
        """The scalars of these types that go on from turn to turn."""
        return {name for name in exposed(loop.body)[0] & assigned(loop.body) if self.types.get(name) in types}

    def _is_same(self, e: Expr, outer: frozenset[str] = frozenset()) -> bool:
        """Whether an expression has one value for all lanes."""
        own = (self.set | {self.loop.names[-1]}) - self.of_all - outer
        nodes = [*walk(e)]
        if any(isinstance(n, CallHelper) or isinstance(n, Load) and n.array in self.stored for n in nodes):
            return False
        return not any(isinstance(n, Var) and n.name in own for n in nodes)

    # -------------------------------------------------------------------------------------------------- parts

    def _split(self, body: Iterable[Stmt], outer: frozenset[str] = frozenset()) -> Iterator[For | Assign | list[Stmt]]:
        """Loops that all lanes go through together, what has one value for all, and what stands between these."""
        part: list[Stmt] = []
        for s in body:
            if isinstance(s, Assign) and s.name in self.of_all:
                if part and s.name in read(*part):
                    yield part
                    part = []
                yield s  # before the part, which does not change what it reads
            elif isinstance(s, For) and self._is_shared(s, outer):
                if part:
                    yield part
                part = []
                yield s
            else:
                part.append(s)
        if part:
            yield part

    def _shared(self, body: Iterable[Stmt], outer: frozenset[str] = frozenset()) -> Iterator[For]:
        """The loops that all lanes go through together."""
        for part in self._split(body, outer):
            if isinstance(part, For):
                yield part
                yield from self._shared(part.body, outer | {part.name})

    def _find_same(self, body: Iterable[Stmt], outer: frozenset[str] = frozenset()) -> None:
        for s in body:
            if isinstance(s, Assign) and s.name not in self.of_all and self._are_same(s.name):
                self.of_all.add(s.name)
            elif isinstance(s, For) and self._is_shared(s, outer):
                self.of_all.add(s.name)
                self._find_same(s.body, outer | {s.name})

    def _are_same(self, name: str) -> bool:
        """Whether a scalar is set to what has one value for all lanes, by all of them alone, and nothing reads it
        before."""
        if name in assigned(self.tail):
            return False
        sets = [n for s in self.loop.body for n in walk(s) if name in assigned((n,), into=lambda s: False)]
        together = sum(n is s for n in executed(self.rest, self.of_all) for s in sets)
        same = all(isinstance(n, Assign) and self._is_same(n.value) for n in sets)
        return same and together == len(sets) and name not in exposed(self.loop.body)[0]

    def _keep(self, body: Sequence[Stmt], outer: frozenset[str] = frozenset()) -> None:
        """An array for each scalar that a part has from another one, or from its last turn."""
        for part in self._split(body, outer):
            if isinstance(part, For):
                self._keep(part.body, outer | {part.name})
            elif isinstance(part, list):
                self._keep_in_arrays(part)

    def _keep_in_arrays(self, part: Sequence[Stmt]) -> None:
        """An array for each scalar that a part has from elsewhere."""
        self.block.keep((exposed(part)[0] & self.set) - self.indices.keys() - self.of_all, self.lanes)

    def _in_turn(self, lanes: int) -> tuple[Stmt, ...]:
        """The tail of so many lanes, one after the other."""
        if not self.tail:
            return ()
        if self.apart:
            own = ((self.block.index(number(k)), *self.indices.values(), *self.tail) for k in range(lanes))
            return tuple(renamed(s, self._names(k)) for k, part in enumerate(own) for s in part)
        loads = [
            Assign(name, Load(array.name, (self.block.lane,), array.dtype, inside=True, known=True), at=self.loop.at)
            for name, array in self.block.arrays.items() if name in exposed(self.tail)[0]
        ]  # fmt: skip
        body = (self.block.index(self.block.lane), *self.indices.values(), *loads, *self.tail)
        return (For(self.block.lane.name, number(0), number(lanes), number(1), body, at=self.loop.at),)

    def _together(self, body: Iterable[Stmt], lanes: int, outer: frozenset[str] = frozenset()) -> tuple[Stmt, ...]:
        """What so many lanes do."""
        return tuple(self._parts(body, lanes, outer))

    def _parts(self, body: Iterable[Stmt], lanes: int, outer: frozenset[str]) -> Iterator[Stmt]:
        for part in self._split(body, outer):
            if isinstance(part, For):
                if self._may_be_jammed(part):
                    together, part = self._jammed(part)
                    yield from self._parts((together,), lanes, outer)
                if not self.apart and (loads := self._along(part)):
                    part = yield from self._pieces(part, loads, lanes, outer)
                else:
                    part = self._narrowed(part, lanes, outer)
                each = replace(part, body=self._together(part.body, lanes, outer | {part.name}))
                rows = None if self.apart else self._whole_rows(part, lanes, outer)
                yield replace(rows, orelse=(each,)) if rows else each
                continue
            if isinstance(part, Assign):
                yield part
                continue
            if self.apart:
                for k in range(lanes):
                    own = (self.block.index(number(k)), *self.indices.values(), *part)
                    yield from (renamed(s, self._names(k)) for s in own)
                continue
            inside, condition, part = yield from once_for_all(part, self.made.extents, self.made.local, self._is_same)
            made = self.block.threads(part, lanes)
            yield If(condition, (self.block.threads(inside, lanes),), (made,), at=made.at) if condition else made
