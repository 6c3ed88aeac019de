"""Scans while they go on: what a chunk of iterations has before it, in each of them, and by each term."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from ..ir.dtypes import COMPLEX, FLOATS
from ..ir.functions import FUNCTIONS
from ..ir.operations import REDUCTIONS
from ..ir.tree import (
    Accumulate,
    Assign,
    Binary,
    Call,
    Compare,
    Const,
    Convert,
    Expr,
    If,
    Load,
    Node,
    Parallel,
    Reduction,
    Select,
    Stmt,
    Store,
    Var,
    rebuilt,
)  # fmt: skip


def number(value: int) -> Const:
    return Const(value, "int64")


def integer(op: str, left: Expr, right: Expr) -> Binary:
    return Binary(op, left, right, "int64")


def converted(e: Expr, dtype: str) -> Expr:
    return e if e.type == dtype else Convert(e, dtype)


def rounds(r: Reduction) -> bool:
    """Whether its bits depend on which terms are taken together."""
    return r.op in ("sum", "prod") and r.type in (*FLOATS, *COMPLEX)


@dataclass(frozen=True)
class Scan:
    """The names of one scan. start, rest: of a float sum, what a chunk goes on from, and what was rounded off there;
    total, left: its own sum, and what was rounded off. Of a product of floats `total` is the chunk's own; of any other
    scan `value` is all. type: of all of them; of a sum of float32 it may be float64, where nothing that counts is
    rounded off, and there is no `rest` and no `left`."""

    of: Reduction
    type: str
    value: str
    totals: str
    rests: str
    start: str
    rest: str
    total: str
    left: str

    @property
    def is_sum(self) -> bool:
        return self.of.op == "sum" and rounds(self.of)

    @property
    def is_product(self) -> bool:
        return self.of.op == "prod" and rounds(self.of)

    @property
    def keeps_rest(self) -> bool:
        """Whether it keeps what it rounds off."""
        return self.is_sum and self.type == self.of.type

    def var(self, name: str) -> Var:
        return Var(name, self.type)

    def before(self) -> Expr:
        """What it starts from, by the name that it has in the loop."""
        return converted(Var(self.of.name, self.of.type), self.type)

    def read(self) -> Expr:
        """Its value, for the loop."""
        return converted(self.var(self.value), self.of.type)

    def combined(self, left: Expr, right: Expr) -> Expr:
        symbol = REDUCTIONS[self.of.op].combine
        if symbol in FUNCTIONS:
            return Call(symbol, (left, right), self.type)
        return Binary(symbol, left, right, self.type)

    def identity(self) -> Const:
        value = REDUCTIONS[self.of.op].identity(self.type)
        return Const(complex(value) if self.type in COMPLEX else value, self.type)

    def load(self, array: str, k: Expr) -> Load:
        return Load(array, (k,), self.type, inside=True)

    def store(self, array: str, k: Expr, value: Expr) -> Store:
        return Store(array, (k,), value, inside=True)

    def known(self, total: str, left: str) -> Expr:
        """A sum and what was rounded off; of infinities that is NaN, and left out."""
        if not self.keeps_rest:
            return self.var(total)
        both = Binary("+", self.var(total), self.var(left), self.type)
        return Select(Compare("==", both, both), both, self.var(total), self.of.type)


class Steps:
    """unique: a new name of a dtype for what it begins with."""

    def __init__(self, unique: Callable[[str, str], str]):
        self.unique = unique

    def begin(self, scan: Scan, start: Expr, rest: Expr | None) -> list[Stmt]:
        """Before a chunk that goes on from `start`, and of a sum of floats what was rounded off there."""
        if not scan.is_sum:
            return [Assign(scan.value, start), *[Assign(scan.total, scan.identity())] * scan.is_product]
        zero, minus = scan.identity(), Const(-0.0 if scan.type in FLOATS else complex(-0.0, -0.0), scan.type)
        found = [Assign(scan.total, start), Assign(scan.left, rest if rest is not None else zero)]
        found += [Assign(scan.start, scan.known(scan.total, scan.left)), Assign(scan.total, minus)]
        found += [Assign(scan.left, zero), Assign(scan.value, scan.var(scan.start))]
        return [s for s in found if scan.keeps_rest or s.name != scan.left]

    def iteration(
        self, s: Parallel, scans: Sequence[Scan], counts: Sequence[Expr], flat: str, value: Expr,
        body: tuple[Stmt, ...],
    ) -> tuple[Stmt, ...]:  # fmt: skip
        """One iteration of the loop, by its number."""
        first: list[Stmt] = []
        left = value
        for name, count in reversed(list(zip(s.names[1:], counts[1:], strict=True))):
            first.append(Assign(name, integer("%", left, count), at=s.at))
            left = integer("//", left, count)
        first.append(Assign(s.names[0], left, at=s.at))
        by_name = {scan.of.name: scan for scan in scans}

        def changed(node: Any) -> Any:
            if isinstance(node, Var) and node.name in by_name:
                return by_name[node.name].read()
            if isinstance(node, If):
                return replace(
                    node, condition=changed(node.condition), body=statements(node.body),
                    orelse=statements(node.orelse),
                )  # fmt: skip
            return rebuilt(node, changed) if isinstance(node, Node) else node

        def statements(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
            done: list[Stmt] = []
            for one in body:
                if isinstance(one, Accumulate) and one.name in by_name:
                    done += self.update(by_name[one.name], changed(one.value), one)
                else:
                    done.append(changed(one))
            return tuple(done)

        return (*first, *statements(body))

    def update(self, scan: Scan, term: Expr, at: Node) -> list[Stmt]:
        """A scan goes on by a term."""
        if not scan.is_sum:
            names = (scan.total, scan.value) if scan.is_product else (scan.value,)
            return [Assign(name, scan.combined(scan.var(name), term), at=at.at) for name in names]
        added = self.added(scan, converted(term, scan.type), scan.total, scan.left, at)
        value = Binary("+", scan.var(scan.start), scan.known(scan.total, scan.left), scan.type)
        return [*added, Assign(scan.value, value, at=at.at)]

    def added(self, scan: Scan, term: Expr, total: str, left: str, at: Node) -> list[Stmt]:
        """A term is added to a sum, which may keep what it rounds off."""
        dtype = scan.type
        if not scan.keeps_rest:
            return [Assign(total, scan.combined(scan.var(total), term), at=at.at)]
        names = [self.unique(f"{scan.of.name}_{part}", dtype) for part in ("term", "next", "back")]
        one, new, back = map(scan.var, names)

        def minus(a: Expr, b: Expr) -> Expr:
            return Binary("-", a, b, dtype)

        old = scan.var(total)
        lost = Binary("+", minus(old, minus(new, back)), minus(one, back), dtype)
        return [
            Assign(one.name, term, at=at.at),
            Assign(new.name, Binary("+", old, one, dtype), at=at.at),
            Assign(back.name, minus(new, old), at=at.at),
            Assign(left, Binary("+", scan.var(left), lost, dtype), at=at.at),
            Assign(total, new, at=at.at),
        ]


AT_ONCE = 4


class StepsAtOnce(Steps):
    """The steps of AT_ONCE iterations: first up to their terms, then whole. The terms are added to each other before
    they are to the scan's sum, which so waits for one sum in place of four. Of one that keeps nothing that it rounds
    off. keeps_order: compilers may add in another order, and would add one term after the other again; not what is
    an `fma`."""

    def __init__(self, unique: Callable[[str, str], str], keeps_order: bool):
        super().__init__(unique)
        self.keeps_order = keeps_order
        self.terms: list[Expr] = []
        self.done = 0  # updates

    def update(self, scan: Scan, term: Expr, at: Node) -> list[Stmt]:
        if len(self.terms) < AT_ONCE:
            own = scan.var(self.unique(f"{scan.of.name}_term", scan.type))
            self.terms.append(own)
            return [Assign(own.name, converted(term, scan.type), at=at.at)]
        self.done += 1
        terms = self.terms[: self.done]

        def add(left: Expr, right: Expr) -> Expr:
            kept = Call("fma", (left, Const(1.0, scan.type), right), scan.type)
            return kept if self.keeps_order else scan.combined(left, right)

        pairs = [reduce(add, terms[k : k + 2]) for k in range(0, len(terms), 2)]
        total = add(scan.var(scan.total), reduce(add, pairs))
        value = Assign(scan.value, add(scan.var(scan.start), total), at=at.at)
        return [value, *[Assign(scan.total, total, at=at.at)] * (self.done == AT_ONCE)]
