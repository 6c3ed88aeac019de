"""Loops with scans as loops without.

Their iterations are dealt out in chunks, each of which is a sequential loop: one parallel loop finds the totals of the
chunks, without storing anything else; their own scan, what each chunk goes on from; and a second loop does everything.
Where a chunk's total cannot be had before its turn, there is one such loop.

A scan of floats is a sum that keeps what it rounds off, from the beginning of a chunk, and what the chunk goes on from
is kept so too: however long, its value is rounded a few times. Where float64 is as fast, sums of float32 are sums of
float64 instead. Totals lie in an array of the call, of a block where the loop is one over threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeGuard

from ..ir.contraction import reorders
from ..ir.dtypes import FLOATS
from ..ir.names import all_names
from ..ir.tree import (
    Accumulate,
    Assign,
    BoolOp,
    Call,
    CallHelper,
    Compare,
    Const,
    Expr,
    For,
    If,
    KernelTree,
    NewArray,
    Parallel,
    Reduction,
    Stmt,
    Store,
    Var,
    While,
    rebuilt,
    walk,
)  # fmt: skip
from .running import AT_ONCE, Scan, Steps, StepsAtOnce, converted, integer, number, rounds
from .totals import totals_of

_FEW = 60  # nodes of an iteration that is written several times


@dataclass(frozen=True)
class Chunks:
    """How a target deals out the iterations of a loop with scans: at most so many chunks, of at least so many
    iterations. of_block: of a loop over threads; None: one thread does all of it. wide: float64 costs what float32
    does, so that a sum of float32 is one of float64."""

    most: int
    least: int
    of_block: int | None
    wide: bool = False


def lowered(tree: KernelTree, chunks: Chunks, several: str = "") -> KernelTree:
    """The tree without scans. several: a local that says whether it pays to do chunks at once; empty: it does."""
    if not any(_scans(n) for s in tree.body for n in walk(s)):
        return tree
    return _Lowering(tree, chunks, several).tree


def _scans(node: Any) -> TypeGuard[Parallel]:
    """Whether it is a loop whose iterations go on from what those before them accumulated."""
    return isinstance(node, Parallel) and any(r.scan for r in node.reductions)


def _adds_to_one(body: tuple[Stmt, ...]) -> bool:
    """Whether each iteration goes through a few statements, one after the other, of which one adds to a scan what it
    can know, without storing, before the iterations before it have added theirs."""
    updates = [s for s in body if isinstance(s, Accumulate)]
    if len(updates) != 1 or not all(isinstance(s, (Assign, Store, Accumulate)) for s in body):
        return False
    nodes = [n for s in _up_to_update(body) for n in walk(s)]
    waits = any(
        isinstance(n, (Store, CallHelper)) or isinstance(n, Var) and n.name == updates[0].name for n in nodes
    )
    return not waits and sum(1 for s in body for _ in walk(s)) < _FEW


def _up_to_update(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return body[: 1 + next(k for k, s in enumerate(body) if isinstance(s, Accumulate))]


def _located(node: Any, loop: Parallel) -> Any:
    """With the place of the loop wherever there is no other."""
    made = rebuilt(node, lambda child: _located(child, loop))
    return made if made.at else replace(made, at=loop.at)


class _Lowering:
    def __init__(self, tree: KernelTree, chunks: Chunks, several: str):
        self.chunks, self.several, self.old = chunks, several, tree
        self.taken, self.locals = all_names(tree) | {tree.name}, dict(tree.locals)
        self.steps = Steps(self.unique)
        self.arrays = {a.name: self.of_block(a) for a in tree.arrays.values()}
        if several:
            self.locals[several] = "bool"
        body = self.changed(tree.body)
        self.tree = replace(tree, body=body, locals=self.locals, arrays=self.arrays)

    def of_block(self, a: NewArray) -> NewArray:
        """A private array of a loop with scans is the block's: threads do other iterations than elsewhere."""
        loops = [n for s in self.old.body for n in walk(s) if _scans(n)]
        touched = a.kind == "private" and any(getattr(n, "array", "") == a.name for one in loops for n in walk(one))
        return replace(a, kind="shared") if touched else a

    def unique(self, base: str, dtype: str = "") -> str:
        name, count = base, 1
        while name in self.taken:
            name, count = f"{base}_{count}", count + 1
        self.taken.add(name)
        if dtype:
            self.locals[name] = dtype
        return name

    # ----------------------------------------------------------------------------------------------- the tree

    def changed(self, body: Iterable[Stmt]) -> tuple[Stmt, ...]:
        return tuple(made for s in body for made in self.statement(s))

    def statement(self, s: Stmt) -> tuple[Stmt, ...]:
        if isinstance(s, NewArray):
            return (self.arrays[s.name],)
        if not hasattr(s, "body"):
            return (s,)
        first = tuple(self.arrays)
        parts: dict[str, Any] = {
            part: self.changed(getattr(s, part)) for part in ("body", "orelse") if hasattr(s, part)
        }
        if isinstance(s, Parallel) and s.kind == "blocks":  # its loops over threads have made arrays of the block
            made = tuple(a for a in self.arrays.values() if a.name not in first and a.kind == "shared")
            parts["body"] = (*made, *parts["body"])
        done = replace(s, **parts)
        if not isinstance(done, Parallel) or not _scans(s):
            return (done,)
        return tuple(_located(one, s) for one in self.loop(s, done))

    def loop(self, written: Parallel, s: Parallel) -> tuple[Stmt, ...]:
        """The statements that do a loop with scans, as it is written, and with those inside it done."""
        scans = [self.scan(r) for r in s.reductions if r.scan]
        others = tuple(r for r in s.reductions if not r.scan)
        of_block = s.kind == "threads"
        first: list[Stmt] = []

        def held(base: str, value: Expr) -> Var:
            name = self.unique(base, "int64")
            first.append(Assign(name, value, at=s.at))
            return Var(name, "int64")

        natural = [
            number(max(c.whole, 0)) if isinstance(c, Const) else Call("max", (c, number(0)), "int64") for c in s.counts
        ]
        counts: list[Expr] = [c if isinstance(c, Const) else held("turns", c) for c in natural]
        total = held("total", reduce(lambda a, b: integer("*", a, b), counts))
        if of_block and self.chunks.of_block is None:
            return (*first, *self.in_one(s, scans, others, counts, total))
        totals = totals_of(s, self.old, [scan.of.name for scan in scans])
        most = self.chunks.of_block or 1 if of_block else self.chunks.most
        least = 1 if of_block else self.chunks.least
        for scan in scans:
            for name in (scan.totals, scan.rests)[: 1 + scan.keeps_rest]:
                self.arrays[name] = NewArray("shared" if of_block else "call", name, (most + 2,), scan.type)
        rounded = integer("//", integer("+", total, number(most - 1)), number(most))
        length = held("length", Call("max", (rounded, number(least)), "int64"))
        wanted = integer("//", integer("+", total, number(least - 1)), number(least))
        few = Call("min", (wanted, number(most)), "int64")
        much: Expr = held("chunks", Call("max", (few, number(1)), "int64"))
        if of_block:
            much = number(most)
        deal = _Dealt(self, s, scans, counts, total, length, much, most + 1)
        ends = [scan for scan in scans if of_block or self.is_read_after(written, scan.of.name)]
        last = {scan.of.name: converted(scan.load(scan.totals, number(most + 1)), scan.of.type) for scan in ends}
        after = [Assign(name, value, at=s.at) for name, value in last.items()]
        if totals is None:
            return (*first, *deal.one_by_one(others), *after)
        parallel = (*deal.totals(totals), *deal.combination(), *deal.second(others))
        if not self.several or of_block or any(map(rounds, others)):  # of other chunks they would have other bits
            return (*first, *parallel, *after)
        worth = Compare("<", number(1), much)
        condition = BoolOp("and", Var(self.several, "bool"), worth)
        return (*first, If(condition, parallel, deal.one_by_one(others), at=s.at), *after)

    def scan(self, r: Reduction) -> Scan:
        wide = self.chunks.wide and r.op == "sum" and r.type == "float32"
        dtype = "float64" if wide else r.type
        parts = [self.unique(f"{r.name}_{part}", dtype) for part in ("here", "start", "rest", "sum", "left")]
        here, start, rest, total, left = parts
        return Scan(
            r, dtype, here, self.unique(f"{r.name}_totals"), self.unique(f"{r.name}_rests"), start, rest, total, left
        )

    def is_read_after(self, loop: Parallel, name: str) -> bool:
        """Whether anything reads a scan's last value: what stands elsewhere, or its own loop, done again."""
        nodes = [n for s in self.old.body for n in walk(s)]
        if any(isinstance(n, (For, While)) and any(inner is loop for inner in walk(n)) for n in nodes):
            return True
        inside = {id(n) for n in walk(loop)}
        others = [n for n in nodes if id(n) not in inside]
        goes_on = {r.name for n in others if isinstance(n, Parallel) for r in n.reductions if r.start is None}
        return name in goes_on or any(isinstance(n, Var) and n.name == name for n in others)

    def in_one(
        self, s: Parallel, scans: Sequence[Scan], others: tuple[Reduction, ...], counts: Sequence[Expr], total: Expr
    ) -> tuple[Stmt, ...]:
        """A loop over threads where one thread does all."""
        flat = self.unique("turn", "int64")
        begin = [b for scan in scans for b in self.steps.begin(scan, scan.before(), None)]
        body = self.steps.iteration(s, scans, counts, flat, Var(flat, "int64"), s.body)
        after = [Assign(scan.of.name, scan.read(), at=s.at) for scan in scans]
        inside = For(flat, number(0), total, number(1), body, at=s.at)
        if others:
            one = self.unique("one", "int64")
            alone = Parallel("threads", (one,), (number(1),), (*begin, inside, *after), others, at=s.at)
            return (alone,)
        return (*begin, inside, *after)


class _Dealt:
    """A loop whose iterations are dealt out in chunks."""

    def __init__(
        self, make: _Lowering, s: Parallel, scans: Sequence[Scan], counts: Sequence[Expr], total: Expr, length: Expr,
        chunks: Expr, end: int,
    ):  # fmt: skip
        """end: where the value after the loop is put, behind what the chunks go on from."""
        self.make, self.s, self.scans, self.counts = make, s, scans, counts
        self.total, self.length, self.chunks, self.end = total, length, chunks, end
        self.keeps_order = reorders(make.old)
        sums = all(scan.is_sum and not scan.keeps_rest and scan.type in FLOATS for scan in scans)
        self.at_once = sums and _adds_to_one(s.body)

    def chunk(
        self, number_of: Expr, body: tuple[Stmt, ...], last: tuple[Stmt, ...], others: tuple[Stmt, ...]
    ) -> tuple[Stmt, ...]:  # fmt: skip
        """The iterations of one chunk, by its number, and what follows them: in the last one that has any, or in the
        first; in all others."""
        unique, at = self.make.unique, self.s.at
        begin, turn, flat = (unique(base, "int64") for base in ("begin", "turn", "flat"))
        first = Var(begin, "int64")
        left = integer("-", self.total, first)
        here = integer("+", first, Var(turn, "int64"))
        some = Compare("<", first, Call("max", (self.total, number(1)), "int64"))
        ends = If(BoolOp("and", some, Compare("<=", left, self.length)), last, others, at=at)

        def iteration(steps: Steps, here: Expr, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
            done = steps.iteration(self.s, self.scans, self.counts, flat, Var(flat, "int64"), body)
            return (Assign(flat, here, at=at), *done)

        turns: Expr = Call("min", (self.length, left), "int64")
        done: list[Stmt] = [Assign(begin, integer("*", number_of, self.length), at=at)]
        start: Expr = number(0)
        if self.at_once:
            steps, together = StepsAtOnce(unique, self.keeps_order), Var(unique("round", "int64"), "int64")
            first_of = integer("+", first, integer("*", together, number(AT_ONCE)))
            parts = _up_to_update(body), body
            places = [integer("+", first_of, number(k)) for k in range(AT_ONCE)]
            several = [s for part in parts for place in places for s in iteration(steps, place, part)]
            rounds = integer("//", Call("max", (turns, number(0)), "int64"), number(AT_ONCE))
            done.append(For(together.name, number(0), rounds, number(1), tuple(several), at=at))
            start = integer("*", rounds, number(AT_ONCE))
        done.append(For(turn, start, turns, number(1), iteration(self.make.steps, here, body), at=at))
        return (*done, *((ends,) if last else others))

    def parallel(self, index: str, count: Expr, body: Iterable[Stmt], reductions: tuple[Reduction, ...]) -> Parallel:
        kind = self.s.kind
        return Parallel(kind, (index,), (count,), tuple(body), reductions, at=self.s.at)

    def totals(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """The totals of all chunks but the last; `body` does what they take."""
        index = self.make.unique("chunk", "int64")
        k = Var(index, "int64")
        begin, end = [], []
        for scan in self.scans:
            begin += self.make.steps.begin(scan, scan.identity(), None)
            total = scan.known(scan.total, scan.left) if scan.is_sum else scan.var(scan.value)
            end.append(scan.store(scan.totals, integer("+", k, number(1)), total))
        others = integer("-", self.chunks, number(1))
        return (self.parallel(index, others, (*begin, *self.chunk(k, body, (), tuple(end))), ()),)

    def combination(self) -> tuple[Stmt, ...]:
        """What each chunk goes on from, in place of the totals."""
        index = self.make.unique("chunk", "int64")
        k = Var(index, "int64")
        first, each = [], []
        for scan in self.scans:
            first += self.put(scan, number(0), scan.before(), scan.identity())
            first.append(Assign(scan.start, scan.before()))
            first += [Assign(scan.rest, scan.identity())] if scan.keeps_rest else []
            each += self.gone_on(scan, scan.load(scan.totals, k))
            each += self.put(scan, k, scan.var(scan.start), scan.var(scan.rest))
        body = (*first, For(index, number(1), self.chunks, number(1), tuple(each), at=self.s.at))
        if self.s.kind != "threads":
            return body
        one = self.make.unique("one", "int64")
        return (Parallel("threads", (one,), (number(1),), body, at=self.s.at),)

    def gone_on(self, scan: Scan, total: Expr) -> list[Stmt]:
        """What a chunk goes on from, in `start` and `rest`, with the total of one added."""
        if scan.is_sum:
            return self.make.steps.added(scan, total, scan.start, scan.rest, self.s)
        return [Assign(scan.start, scan.combined(scan.var(scan.start), total), at=self.s.at)]

    def put(self, scan: Scan, k: Expr, start: Expr, rest: Expr) -> list[Stmt]:
        kept: list[Stmt] = [scan.store(scan.totals, k, start)]
        return [*kept, scan.store(scan.rests, k, rest)] if scan.keeps_rest else kept

    def second(self, others: tuple[Reduction, ...]) -> tuple[Stmt, ...]:
        """Everything that the loop does, chunk by chunk."""
        index = self.make.unique("chunk", "int64")
        return (self.parallel(index, self.chunks, self.whole(Var(index, "int64"), False), others),)

    def one_by_one(self, others: tuple[Reduction, ...]) -> tuple[Stmt, ...]:
        """The same, where each chunk waits for the one before it."""
        one, index = self.make.unique("one", "int64"), self.make.unique("chunk", "int64")
        body = self.whole(Var(index, "int64"), True)
        before = integer("-", self.length, number(1))
        some = integer("//", integer("+", Call("max", (self.total, number(1)), "int64"), before), self.length)
        count = some if self.s.kind == "threads" else self.chunks  # none behind the last that has an iteration
        chunks = For(index, number(0), count, number(1), body, at=self.s.at)
        first = [p for scan in self.scans for p in self.put(scan, number(0), scan.before(), scan.identity())]
        return (self.parallel(one, number(1), (*first, chunks), others),)

    def whole(self, k: Var, alone: bool) -> tuple[Stmt, ...]:
        begin: list[Stmt] = []
        last: list[Stmt] = []
        next_: list[Stmt] = []
        after = integer("+", k, number(1))
        for scan in self.scans:
            rest = scan.load(scan.rests, k) if scan.keeps_rest else None
            begin += self.make.steps.begin(scan, scan.load(scan.totals, k), rest)
            last.append(scan.store(scan.totals, number(self.end), scan.var(scan.value)))
            if scan.is_sum and alone:
                next_.append(Assign(scan.start, scan.load(scan.totals, k)))
                next_ += [Assign(scan.rest, rest)] if rest else []
                next_ += self.gone_on(scan, scan.known(scan.total, scan.left))
                next_ += self.put(scan, after, scan.var(scan.start), scan.var(scan.rest))
            elif alone:  # products of chunks, which have the same bits where those are found at once
                whole = scan.combined(scan.load(scan.totals, k), scan.var(scan.total))
                next_ += self.put(scan, after, whole if scan.is_product else scan.var(scan.value), scan.identity())
        return (*begin, *self.chunk(k, self.s.body, tuple(last), tuple(next_)))
