"""Which integers of 64 bits are known to fit into fewer, where code counts in 32: by intervals of what is assigned to a
name, and by what a call checks before it launches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import NamedTuple

from ..artifact.dimensions import Tree
from ..artifact.launch import MOST_INDEX
from ..ir.dtypes import INTEGER_BITS, integer_range
from ..ir.tree import (
    Assign,
    AssignTuple,
    Atomic,
    Binary,
    Call,
    Const,
    Convert,
    Expr,
    For,
    KernelTree,
    Parallel,
    Reduce,
    Select,
    Stmt,
    Unary,
    Var,
    walk,
)  # fmt: skip
from .geometry import expression

Interval = tuple[int, int] | None
SMALL = (-MOST_INDEX, MOST_INDEX)


class Count(NamedTuple):
    """A loop that counts from 0; is_held: what is more than a dimension is at most does not go round."""

    number: Expr
    is_held: bool


class Intervals:
    """Of the names in a body. limits: expressions over dimensions and scalars of a call which it must find to be at
    most MOST_INDEX, and not below its negative. most: what no dimension exceeds, and no count of a parallel loop, or
    of this one alone, `held`."""

    def __init__(
        self, tree: KernelTree, body: Iterable[Stmt], parameters: Iterable[str] = (), limits: list | None = None,
        most: int = MOST_INDEX, held: Parallel | None = None,
    ):  # fmt: skip
        """parameters: of a helper, of which nothing is known."""
        self.dimension, self.held = (0, most), held
        self.tree, self.limits = tree, [] if limits is None else limits
        self.extents = extents(tree)
        self.scalars = {p.name for p in tree.parameters if not p.in_memory and "int" in p.dtype}
        self.found: dict[str, list[object]] = {name: [None] for name in parameters}
        self.open: set[str] = set()
        self.cut = 0  # how often a name was met while it was open
        self.unsure: set[str] = set()  # what is known by names that were open
        self.known: dict[str, tuple[Interval, set[str]]] = {}  # with what was assumed for it
        self.assumed: set[str] = set()  # what `of` took for small, which only a call can know
        for s in body:
            for n in walk(s):
                self._look(n)

    def _look(self, n: object) -> None:
        match n:
            case Assign() | For():
                self.found.setdefault(n.name, []).append(n)
            case AssignTuple():
                for name in n.names:
                    self.found.setdefault(name, []).append(None)
            case Atomic() if n.result:
                self.found.setdefault(n.result, []).append(None)
            case Reduce():
                self.found.setdefault(n.name, []).append(Count(n.count, False))
                self.found.setdefault(n.reduction.name, []).append(None)
            case Parallel():
                for name, count in zip(n.names, n.counts, strict=True):
                    self.found.setdefault(name, []).append(Count(count, self.held in (None, n)))
                for r in n.reductions:
                    self.found.setdefault(r.name, []).append(None)

    def fits(self, *values: Expr, known: Mapping[str, Tree | None] | None = None) -> bool:
        """Whether each lies within MOST_INDEX of 0; what follows from `known`, which a launch has, becomes a limit."""
        for e in values:
            self.assumed.clear()
            interval = self.of(e)
            if interval is not None and SMALL[0] <= interval[0] and interval[1] <= SMALL[1]:
                self.limits += sorted(self.assumed)
                continue
            found = expression(e, known) if known else None
            if found is None:
                return False
            self.limits.append(found)
        return True

    def of(self, e: Expr) -> Interval:
        match e:
            case Const(value=int() as value):
                return int(value), int(value)
            case Var():
                return self.of_name(e.name)
            case Convert(operand=operand) if "int" in operand.type or operand.type == "bool":
                return _held(self.of(operand) if operand.type.endswith("64") else self.of_type(operand), e.type)
            case Unary(op="-", operand=operand) if (inner := self.of(operand)):
                return -inner[1], -inner[0]
            case Binary():
                return self.of_binary(e)
            case Call(function="min" | "max" as name, arguments=(left, right)):
                return self.of_extremum(name, self.of(left), self.of(right))
            case Select():
                return _union([self.of(e.then), self.of(e.otherwise)])
        return None

    def of_type(self, e: Expr) -> Interval:
        """Of an integer of fewer bits: the closer of what it is and what its type holds."""
        return (0, 1) if e.type == "bool" else integer_range(e.type)

    def of_extremum(self, name: str, left: Interval, right: Interval) -> Interval:
        if left is None or right is None:
            known = left or right
            if known is None:
                return None
            unknown = (-(2**63), 2**63 - 1)
            left, right = left or unknown, right or unknown
        pick = min if name == "min" else max
        return pick(left[0], right[0]), pick(left[1], right[1])

    def of_binary(self, e: Binary) -> Interval:
        right = self.of(e.right)
        if e.op == "%" and right and right[0] > 0:
            return 0, right[1] - 1
        left = self.of(e.left)
        if left is None or right is None:
            return None
        if e.op in ("//", ">>") and right[0] > 0:
            divided = left if e.op == ">>" else (left[0] // right[0], left[1] // right[0])
            return min(divided[0], 0), max(divided[1], 0)
        combine = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}.get(e.op)
        if combine is None:
            return None
        ends = [combine(x, y) for x, y in product(left, right)]
        return _held((min(ends), max(ends)), e.type)

    def of_name(self, name: str) -> Interval:
        if name not in self.found:
            if name in self.extents:
                return self.dimension
            if name not in self.tree.symbols or name in self.scalars:
                return None
            self.assumed.add(name)  # a symbol of larger dims (`x: T[2 * n]`), or an integer of the host's
            return SMALL
        if name in self.open:
            self.cut += 1
            return None
        if name not in self.known:
            before, self.assumed, cut = self.assumed, set(), self.cut
            self.open.add(name)
            interval, assumed = _union([self._of_definition(d) for d in self.found[name]]), self.assumed
            self.open.discard(name)
            self.assumed = before | assumed
            self.known[name] = interval, assumed
            if self.cut > cut:  # by what is open it may be another one elsewhere: it is kept for this question alone
                self.unsure.add(name)
            if not self.open:
                for other in self.unsure:
                    del self.known[other]
                self.unsure.clear()
                self.assumed |= assumed
                return interval
        interval, assumed = self.known[name]
        self.assumed |= assumed
        return interval

    def _of_definition(self, d: object) -> Interval:
        match d:
            case Assign():
                return self.of(d.value)
            case For():
                start, stop = self.of(d.start), self.of(d.stop)
                either = _union([start, stop])
                if start and either and isinstance(d.step, Const) and d.step.whole > 0:
                    return start[0], either[1]  # it does not run down to a stop below
                return either
            case Count():
                most = self.of(d.number)
                if most:
                    return 0, max(most[1] - 1, 0)
                return self.dimension if d.is_held else None
        return None


def extents(tree: KernelTree) -> set[str]:
    """The names that are the extent of some dimension, none of which is below 0."""
    return {"size", "rows"} | {dim for p in tree.parameters for dim in p.dims or () if isinstance(dim, str)}


def _held(interval: Interval, dtype: str) -> Interval:
    """The same where a type holds it all; None where numbers wrap."""
    if interval is None or dtype not in INTEGER_BITS:
        return None
    least, most = integer_range(dtype)
    return interval if least <= interval[0] and interval[1] <= most else None


def _union(parts: list[Interval]) -> Interval:
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    return min(low for low, _ in found), max(high for _, high in found)
