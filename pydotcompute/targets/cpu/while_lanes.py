"""Grid loops whose iterations each go round a loop until something of their own ends it: several iterations go round
together, as vectors whose lanes are iterations, until the last of them is done.

    for i in grid(n):                for block in blocks((n + LANES - 1) // LANES):
        x = x0[i]                        for lane in threads(LANES): x[lane], going[lane] = x0[…], x0[…] > 1
        while x > 1:          ⟶          while any(going):
            x = f(x)                         for lane in threads(LANES):
                                                 if going[lane]: x[lane], going[lane] = f(x[lane]), f(x[lane]) > 1
        out[i] = x                       for lane in threads(LANES): out[…] = x[lane]

Each iteration does what it did, in that order: no bit changes. Its turns cost as many as those of the slowest of its
neighbours; what is left of the last block goes as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from ...artifact.dtypes import STORED
from ...ir.dtypes import FLOATS
from ...ir.tree import (
    Assign,
    Binary,
    BoolOp,
    Break,
    Call,
    CallHelper,
    Compare,
    Const,
    Convert,
    Expr,
    For,
    If,
    Load,
    Parallel,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
    While,
    rebuilt,
    walk,
)  # fmt: skip
from ..running import number
from .bodies import assigned, exposed, has_loops, is_slow, jumps, read
from .lane_blocks import Block
from .made import Made

LANES = {True: 8, False: 16}  # where floats of 64 bits are computed; elsewhere
_CHOICES = (Select, BoolOp)
_OF_A_TURN = (Assign, If, Break, Var, Const, Unary, Binary, Compare, *_CHOICES, Convert, Call, Load)
_OF_INTEGERS = {(op, dtype) for op in "+-&|^" for dtype in ("bool", "int32", "int64")}  # of which there are vectors


class UntilDone:
    """One loop over a grid, with one loop in it that ends by what an iteration has. straight: the helpers that take
    one way."""

    def __init__(self, loop: Parallel, made: Made, straight: Collection[str]):
        self.loop, self.made, self.straight = loop, made, straight
        self.set = assigned(loop.body)
        self.masks: set[str] = set()

    def blocks(self) -> Parallel | None:
        """The loop in lanes; None where it is as good as it is."""
        loop, made = self.loop, self.made
        count, inner = loop.counts[-1], [s for s in loop.body if has_loops(s)]
        if loop.kind != "grid" or len(inner) != 1 or jumps(loop.body) or self.set & set(loop.names):
            return None
        if any(isinstance(n, Load) for n in walk(count)) or read(count) & self.set:
            return None
        at = next(k for k, s in enumerate(loop.body) if s is inner[0])
        before, after = loop.body[:at], loop.body[at + 1 :]
        straight = [n for s in (*before, *after) for n in walk(s) if isinstance(n, Stmt)]
        turns = loop.body[at]
        if not all(isinstance(n, (Assign, Store, If)) for n in straight) or not self._goes_alike(turns):
            return None
        assert isinstance(turns, (While, For))
        if not self._is_worth_it(turns):
            return None
        in_turns = [s.condition if _is_done_last(s) else s for s in turns.body]
        wide = any(isinstance(n, (Binary, Call, CallHelper)) and n.type == "float64" for s in in_turns for n in walk(s))
        lanes, dtype = LANES[wide], "int64" if wide else "int32"
        if isinstance(count, Const) and count.whole < lanes:
            return None
        self.going, self.some = made.local("_going", dtype), made.local("_some_are_going", dtype)
        self.yes, self.none = Const(-1, dtype), Const(0, dtype)  # as masks are
        parts = self._parts_of(before, turns, after)
        if parts is None:
            return None
        self.block = block = Block(loop, made)
        own = {name for part in parts for name in assigned(part)}
        for part in parts:
            block.keep(exposed(part)[0] & own, lanes)
        left = Binary("-", count, block.first, "int64")
        each = (block.index(block.other), *loop.body)
        few = Parallel("threads", (block.other.name,), (left,), each, at=loop.at)
        half = block.some(lanes // 2, self._until_done(turns, parts, lanes // 2))
        return block.written(lanes, (), self._until_done(turns, parts, lanes), (half, few))

    def _goes_alike(self, loop: Stmt) -> bool:
        """Whether it is a loop that lanes can go round together: a `while` loop, or a `for` loop that they leave at
        different turns, but count alike."""
        if isinstance(loop, While):
            return True
        if not isinstance(loop, For) or not jumps(loop.body) or loop.step != number(1):
            return False
        if any(isinstance(n, Load) for n in (*walk(loop.start), *walk(loop.stop))):
            return False
        return not read(loop.start, loop.stop) & (self.set | {self.loop.names[-1]})

    def _parts_of(
        self, before: Sequence[Stmt], loop: While | For, after: Sequence[Stmt]
    ) -> tuple[list[Stmt], list[Stmt], list[Stmt]] | None:
        """What lanes do before their turns, in each, and after them. None: they read in turns what lies who knows
        where."""
        self.kept = exposed(after)[0]
        self.last: list[tuple[Var, If]] = []
        self.leaving = [s for s in loop.body if _is_done_last(s)]
        if isinstance(loop, For):  # whose count goes on
            self.leaving = [s for s in self.leaving if loop.name not in read(*s.body)]
        for s in self.leaving:
            self.kept |= exposed(s.body[:-1])[0]
        loads = {n for n in walk(loop) if isinstance(n, Load)}
        taken = list(dict.fromkeys(n for e in _first(loop.body) for n in walk(e) if _is_taken(n)))
        certain = {n for e in taken for n in walk(e) if isinstance(n, Load)}
        if certain < loads or any(read(*n.indices) & assigned((loop,)) for n in loads):
            return None
        names = {e: self.made.local("_taken", e.type) for e in taken}

        def held(node: Any) -> Any:
            return names[node] if _is_taken(node) else rebuilt(node, held)

        condition = loop.condition if isinstance(loop, While) else Compare("<", loop.start, loop.stop)
        begin, goes = self._mask(condition)
        given = tuple(Assign(v.name, e, at=e.at) for e, v in names.items())
        none = tuple(Assign(v.name, _nothing(v.type), at=loop.at) for v in names.values())
        first = [If(goes, given, none, at=loop.at)] if names else []
        flag = self._flag(goes)
        set_mask, mask = self._mask(Compare("<", self.going, self.none))
        self.alive = self.made.local("_alive", "bool")
        turn = [set_mask, Assign(self.alive.name, mask, at=loop.at)]
        turn += map(held, self._straight(loop.body, mask, at_top=True))
        stays = self._flag(BoolOp("and", self.alive, loop.condition) if isinstance(loop, While) else self.alive)
        if isinstance(loop, While) and not jumps(loop.body):
            stays = self._flag(loop.condition)  # of AVX-512's masks each that is joined takes four cycles of the turn
            stays = replace(stays, value=Binary("&", self.going, stays.value, self.going.type))
        stay = [Assign(gone.name, self.none, at=loop.at) for gone, _ in self.last]
        ends = [If(Compare("<", gone, self.none), s.body[:-1], at=s.at) for gone, s in self.last]
        return [*before, begin, flag, *first, *stay], [*self._ahead([*turn, stays], loop)], [*ends, *after]

    def _ahead(self, turn: Sequence[Stmt], loop: While | For) -> Iterator[Stmt]:
        """A turn that reads the floats all compute before those lanes keep them that go on: it does not wait for the
        mask, and nobody reads what others have."""
        times = Counter(s.name for s in turn if isinstance(s, Assign))
        of_all = {s.name for s in loop.body if isinstance(s, Assign) and times[s.name] == 1}
        new: dict[str, Var] = {}

        def changed(node: Any) -> Any:
            return new.get(node.name, node) if isinstance(node, Var) else rebuilt(node, changed)

        for s in turn:
            assert isinstance(s, Assign)
            s = replace(s, value=changed(s.value))
            match s.value:
                case Call("where", (Var(mask), value, Var(s.name, dtype) as old)) if (
                    mask in self.masks and dtype in FLOATS and s.name in of_all
                ):
                    new[s.name] = self.made.local(f"_new_{s.name}", dtype)
                    yield replace(s, name=new[s.name].name, value=value)
                    s = replace(s, value=Call("where", (Var(mask, "bool"), new[s.name], old), dtype))
            yield s

    def _mask(self, e: Expr) -> tuple[Assign, Var]:
        mask = self.made.local("_mask", "bool")
        self.masks.add(mask.name)
        return Assign(mask.name, e, at=self.loop.at), mask

    def _flag(self, goes: Expr) -> Assign:
        return Assign(self.going.name, Call("where", (goes, self.yes, self.none), self.going.type), at=self.loop.at)

    def _straight(self, body: Sequence[Stmt], mask: Expr, at_top: bool = False) -> Iterator[Stmt]:
        """What the lanes of a mask do, without conditions: LLVM would do without stores of what did not change, and
        make no vectors of those that are left. at_top: they are all that go round."""
        for s in body:
            if isinstance(s, Break):
                left = BoolOp("and", self.alive, Unary("not", mask, "bool"))
                yield Assign(self.alive.name, left, at=s.at)
                return
            if isinstance(s, If):
                look, condition = self._mask(s.condition)
                yield look
                if at_top and any(s is leaving for leaving in self.leaving):
                    both, leaves = self._mask(BoolOp("and", mask, condition))
                    gone = self.made.local("_gone", self.going.type)
                    self.last.append((gone, s))
                    yield both
                    yield Assign(gone.name, Call("where", (leaves, self.yes, gone), gone.type), at=s.at)
                    yield from self._straight(s.body[-1:], leaves)
                    both, mask = self._mask(BoolOp("and", mask, self.alive))
                    yield both
                    continue
                for part, holds in (s.body, condition), (s.orelse, Unary("not", condition, "bool")):
                    if part:
                        both, inner = self._mask(BoolOp("and", mask, holds))
                        yield both
                        yield from self._straight(part, inner)
                if jumps((s,)):
                    both, mask = self._mask(BoolOp("and", mask, self.alive))
                    yield both
                continue
            assert isinstance(s, Assign)
            if at_top and s.name not in self.kept:
                yield s  # nobody reads what those that are done have
            else:
                old = Var(s.name, s.value.type)
                yield replace(s, value=Call("where", (mask, s.value, old), s.value.type))

    def _until_done(self, loop: While | For, parts: Sequence[list[Stmt]], lanes: int) -> tuple[Stmt, ...]:
        """What so many iterations do."""
        begin, turn, end = (self.block.threads(part, lanes) if part else None for part in parts)
        assert begin and turn
        array, at = self.block.arrays[self.going.name], self.loop.at
        one = Load(array.name, (self.block.lane,), array.dtype, inside=True, known=True, at=at)
        add = Assign(self.some.name, Binary("|", self.some, one, self.some.type), at=at)
        look: tuple[Stmt, ...] = (
            Assign(self.some.name, self.none, at=at),
            For(self.block.lane.name, number(0), number(lanes), number(1), (add,), at=at),
        )
        none = Compare("==", self.some, self.none)
        around: Stmt
        if isinstance(loop, While):
            around = While(Unary("not", none, "bool"), (turn, *look), at=at)
        else:
            around = replace(loop, body=(If(none, (Break(),)), turn, *look))
        return (begin, *look, around, *((end,) if end else ()))

    def _is_worth_it(self, loop: While | For) -> bool:
        """Whether its turns compute floats that go on from turn to turn, by nothing of which there are no vectors."""
        for n in walk(loop):
            known = isinstance(n, CallHelper) and n.helper in self.straight or n is loop
            if not known and not isinstance(n, _OF_A_TURN):
                return False
            dtype = getattr(n, "type", "bool")
            if isinstance(n, Binary) and dtype not in FLOATS and (n.op, dtype) not in _OF_INTEGERS:
                return False
            if isinstance(n, Call) and dtype not in (*FLOATS, "bool"):
                return False
        sets = {n.name: n.value for n in walk(loop) if isinstance(n, Assign)}
        carried = exposed((loop,))[0]
        return any(e.type in FLOATS and name in carried for name, e in sets.items())


def _is_taken(e: Any) -> TypeGuard[Load | Convert]:
    """Whether it is what an element gives: of one that is stored in 16 bits, the float that it is computed in."""
    if isinstance(e, Convert):
        return isinstance(e.operand, Load) and e.operand.type in STORED
    return isinstance(e, Load) and e.type not in STORED


def _nothing(dtype: str) -> Const:
    return Const(False if dtype == "bool" else 0.0 if dtype in FLOATS else 0, dtype)


def _is_done_last(s: Stmt) -> TypeGuard[If]:
    """Whether it is what lanes do as they leave, and takes so long that it is done after the loop, once."""
    if not isinstance(s, If) or s.orelse or not isinstance(s.body[-1], Break) or jumps(s.body[:-1]):
        return False
    return any(is_slow(n) for inner in s.body for n in walk(inner) if isinstance(n, (Call, CallHelper)))


def _first(body: Sequence[Stmt]) -> Iterator[Expr]:
    """What a first turn evaluates in any case."""
    for s in body:
        e = s.value if isinstance(s, Assign) else s.condition if isinstance(s, If) else None
        if e is None or any(isinstance(n, _CHOICES) for n in walk(e)):
            return
        yield e
        if jumps((s,)):
            return
