"""A block of a grid's iterations as lanes of vectors: which iterations they are, and what they keep from one part of
what they do to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...ir.tree import Assign, Binary, Compare, Expr, If, Load, NewArray, Parallel, Stmt, Store, Var
from ..running import number
from .bodies import assigned, exposed
from .made import Made


class Block:
    """The blocks of one loop over a grid. indices: what each part computes anew, which follows from indices alone."""

    def __init__(self, loop: Parallel, made: Made, indices: Mapping[str, Assign] = {}):
        self.loop, self.made, self.indices = loop, made, indices
        self.number, self.first, self.lane = map(made.local, ("_block", "_first", "_lane"))
        self.other = made.local("_lane_of_few")  # of the last block, iteration by iteration
        self.arrays: dict[str, NewArray] = {}  # of the scalars that lanes keep from one part to the next

    def index(self, lane: Expr) -> Assign:
        return Assign(self.loop.names[-1], Binary("+", self.first, lane, "int64"), at=self.loop.at)

    def keep(self, names: Iterable[str], lanes: int) -> None:
        """An array for each of these scalars."""
        for name in sorted(set(names) - self.arrays.keys()):
            array = self.made.name(f"_{name}_of_lanes")
            self.arrays[name] = NewArray("private", array, (lanes,), self.made.locals[name])

    def threads(self, part: list[Stmt], lanes: int) -> Parallel:
        """A part that so many lanes do."""
        (before_set, certain), set_, at = exposed(part), assigned(part), part[0].at
        before, after = [], []
        for name, array in self.arrays.items():
            place: Any = {"array": array.name, "indices": (self.lane,), "inside": True, "known": True, "at": at}
            if name in before_set or name in set_ - certain:
                before.append(Assign(name, Load(type=array.dtype, **place), at=at))
            if name in set_:
                after.append(Store(value=Var(name, array.dtype), **place))
        body = (self.index(self.lane), *self.indices.values(), *before, *part, *after)
        return Parallel("threads", (self.lane.name,), (number(lanes),), body, at=at)

    def some(self, lanes: int, body: tuple[Stmt, ...]) -> If:
        """What so many iterations do, if they are left; then those after them are."""
        after = Assign(self.first.name, Binary("+", self.first, number(lanes), "int64"), at=self.loop.at)
        return self._if_there_are(lanes, (*body, after))

    def _if_there_are(self, lanes: int, body: tuple[Stmt, ...], orelse: tuple[Stmt, ...] = ()) -> If:
        """So many iterations, from the first of a block."""
        end = Binary("+", self.first, number(lanes), "int64")
        return If(Compare("<=", end, self.loop.counts[-1]), body, orelse, at=self.loop.at)

    def written(
        self, lanes: int, more: tuple[Stmt, ...], together: tuple[Stmt, ...], few: tuple[Stmt, ...]
    ) -> Parallel:
        """The loop over blocks of so many iterations. more: further arrays; few: what is done of the last block, which
        has fewer."""
        loop = self.loop
        self.made.arrays |= {a.name: a for a in self.arrays.values()}
        first = Assign(self.first.name, Binary("*", self.number, number(lanes), "int64"), at=loop.at)
        body = (*self.arrays.values(), *more, first, self._if_there_are(lanes, together, few))
        blocks = Binary("//", Binary("+", loop.counts[-1], number(lanes - 1), "int64"), number(lanes), "int64")
        names, counts = (*loop.names[:-1], self.number.name), (*loop.counts[:-1], blocks)
        return replace(loop, kind="blocks", names=names, counts=counts, body=body)
