"""Where the sequential loops of a CPU's code look whether their call is to end: `interrupted` of run.py.

A look costs some 30 ns, so there is one after about as much work as a slice is. The outermost loop counts what its
iterations cost, if that is known before each; where it is not (`while`, counts from data), the loops inside count too.
A loop without loops inside, which may become vectors, is written as parts of so many iterations. So are loops over
threads and reductions of an iteration's own, at numbers of iterations that leave the order of their terms as it is, if
no array's length bounds them: as long as an array in memory is, a loop without loops inside ends within a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import replace
from typing import Any, NamedTuple

from ...analysis.cost import LOOK, SLICE, constant, cost_of
from ...ir.tree import (
    Assign,
    Binary,
    Call,
    CallHelper,
    Const,
    Convert,
    Expr,
    For,
    Helper,
    KernelTree,
    Load,
    Parallel,
    Reduce,
    Select,
    Stmt,
    Var,
    While,
    rebuilt,
    walk,
)  # fmt: skip
from ..intervals import Interval, Intervals
from ..llvm.faults import FAULTS
from ..llvm.writer import Writer
from ..phases import phases_of
from ..sites import SHORT, is_short
from .bodies import has_loops

Loop = For | While
_FEW = 1 << 10  # iterations
_MOST = 2**63 - 1  # what a dimension may be
PIECE = 1 << 16  # iterations of a loop without loops inside, between two looks


def may_take_long(tree: KernelTree) -> bool:
    """Whether a call with small dimensions may take long: it has loops of another length, or in each other."""
    bodies, dims = [*(h.body for h in tree.helpers), tree.body], set(tree.symbols)
    loops = [n for body in bodies for s in body for n in walk(s) if isinstance(n, (For, While)) and not is_short(n)]
    bounds = [(n.start, n.stop, n.step) for n in loops if isinstance(n, For)] + [n.counts for n in phases_of(tree)]
    if any(isinstance(n, While) for n in loops) or _has_unbounded(tree):
        return True
    if not all(_follows(e, dims) for each in bounds for e in each):
        return True
    return any(inner is not n and inner in loops for n in loops for inner in walk(n))


def _has_unbounded(tree: KernelTree) -> bool:
    """Whether it has a reduction, or a loop over threads, that may be longer than arrays are."""
    roots = [(tree.body, lengths(tree)), *((h.body, frozenset[str]()) for h in tree.helpers)]
    return any(
        isinstance(n, Reduce) and not is_bounded(n.count, names)
        or isinstance(n, Parallel) and n.kind == "threads" and not all(is_bounded(e, names) for e in n.counts)
        for body, names in roots for s in body for n in walk(s)
    )  # fmt: skip


def lengths(tree: KernelTree) -> frozenset[str]:
    """The scalars of a kernel that are no larger than about an array's length."""
    nodes = [n for s in tree.body for n in walk(s)]
    assigned = [n.name for n in nodes if isinstance(n, Assign)]
    found = set(tree.symbols)
    for n in nodes:  # what is around a loop before what is in it
        match n:
            case Parallel():
                found |= {name for name, e in zip(n.names, n.counts, strict=True) if is_bounded(e, found)}
                continue
            case Reduce():
                bounds: tuple[Expr, ...] = (n.count,)
            case For():
                bounds = n.start, n.stop
            case Assign() if assigned.count(n.name) == 1:
                bounds = (n.value,)
            case _:
                continue
        if all(is_bounded(e, found) for e in bounds):
            found.add(n.name)
    return frozenset(found)


def is_bounded(e: Expr, names: Set[str], most: int = SHORT * SHORT) -> bool:
    """Whether it is no larger than about one of these scalars, or a small number. most: how many times such a one."""
    match e:
        case Const():
            return isinstance(e.value, int) and abs(e.value) <= PIECE
        case Var():
            return e.name in names
        case Convert():
            return is_bounded(e.operand, names, most)
        case Select():
            return is_bounded(e.then, names, most) and is_bounded(e.otherwise, names, most)
        case Call(function="min"):
            return any(is_bounded(a, names, most) for a in e.arguments)
        case Call(function="max"):
            return all(is_bounded(a, names, most) for a in e.arguments)
        case Binary(op="+" | "-"):
            return is_bounded(e.left, names, most) and is_bounded(e.right, names, most)
        case Binary(op="*", right=Const(int() as times)):
            return times <= min(most, SHORT) and is_bounded(e.left, names, most // max(times, 1))
        case Binary(op="//" | ">>", right=Const()):
            return is_bounded(e.left, names, most)
    return False


class _Watch(NamedTuple):
    """What a loop does about it. spent: the name of what was spent since the last look. cost: of an iteration, where it
    counts. part: of how many iterations its parts are. settled: the loops inside end soon enough, and have nothing to
    do. twice: it is written as a whole, too, for when it has no more than a part."""

    spent: str
    cost: str = ""
    part: str = ""
    settled: bool = True
    twice: bool = False


class Interruptions:
    """write: Python of an expression."""

    def __init__(self, tree: KernelTree, writer: Writer, write: Callable[[Expr], str]):
        self.writer, self.write = writer, write
        self.helpers: dict[str, Helper] = {h.name: h for h in tree.helpers}
        self._known = {*tree.symbols, *(p.name for p in tree.parameters if not p.in_memory)}
        self.lengths = lengths(tree)
        helpers, given = [s for h in tree.helpers for s in h.body], [p.name for h in tree.helpers for p in h.parameters]
        self.intervals = Intervals(tree, tree.body, most=_MOST), Intervals(tree, helpers, given, most=_MOST)
        self.in_helper = False  # whose names are its own
        self.off = self.long = False  # in code for phases of which each iteration ends soon, or does not
        self.around: list[_Watch] = []

    @property
    def known(self) -> set[str]:
        """The scalars that are set before a loop runs."""
        return set() if self.in_helper else self._known

    def loop(self, s: Loop, write: Callable[[], None]) -> None:
        """A loop, which `write` writes."""
        if self.off or self._ends_soon(s) or self.around and self.around[-1].settled:
            watch = _Watch("")
        else:
            spent = self.around[-1].spent if self.around else self.writer.held("_spent", "int64(0)")
            cost = self.cost(s.body)
            unknown = [n for n in walk_body(s) if self._is_open(n) or self._is_endless(n)]
            settled = not unknown
            if isinstance(s, For) and all(map(self._looks_alone, unknown)):
                part = self.writer.held("_part", f"maximum(floordiv_integer(int64({LOOK}), {cost}), int64(1))")
                alone = not has_loops(*s.body)
                counts = "" if settled and not self.around else spent
                watch = _Watch(counts, cost, part, settled, alone and not self.long)
            else:
                watch = _Watch(spent, cost, settled=settled)
        self.around.append(watch)
        write()
        self.around.pop()

    def asks_often(self, phase: Parallel) -> bool:
        """Whether its sequential loops have so little to do that looking costs much, and what they cost is known before
        they run."""
        inside = [n for s in phase.body for n in walk(s)]
        loops = [n for n in inside if isinstance(n, For) and not is_short(n)]
        if any(self._is_open(n) for n in inside) or not all(isinstance(n.step, Const) for n in loops):
            return False
        return any(not any(isinstance(n, (Parallel, Reduce)) for n in walk_body(loop)) for loop in loops)

    def is_unbounded(self, loop: Parallel) -> bool:
        """Whether it may be longer than arrays are."""
        names: Set[str] = frozenset() if self.in_helper else self.lengths
        return not all(is_bounded(count, names) for count in loop.counts)

    def has_long(self, body: tuple[Stmt, ...]) -> bool:
        """Whether there are loops inside that may have many iterations."""
        return any(self._is_long(n) for s in body for n in walk(s))

    def is_open(self, body: tuple[Stmt, ...]) -> bool:
        """Whether nobody knows what it costs before it runs: many times is no slice that ends soon."""
        nodes = [n for s in body for n in walk(s)]
        return any(self._is_open(n) and not (isinstance(n, For) and self._is_small(n.stop)) for n in nodes)

    def cost(self, body: tuple[Stmt, ...]) -> str:
        """Of the statements, as far as it is known. A helper with looks of its own counts as a part of what is between
        two, and more where a parallel loop calls it."""
        cost = cost_of(body, self.known, self.write, self.helpers, scalar=4)
        nodes = [n for s in body for n in walk(s)]
        often = {id(m) for n in nodes if isinstance(n, (Parallel, Reduce)) for m in walk(n)}
        calls = sum(LOOK >> (2 if id(n) in often else 6) for n in nodes if self._calls_long(n))
        return f"add({cost}, int64({calls}))" if calls else cost

    def look(self, spent: str, most: int) -> None:
        """Where more than that is spent: leave the loop if the call is to end; then loops around it are left at once
        too."""
        with self.writer.if_(f"gt({spent}, int64({most}))"):
            leave_if_interrupted(self.writer)
            self.writer.assign(spent, "int64(0)")

    def head(self) -> None:
        """At the beginning of the body of a loop."""
        watch, writer = self.around[-1], self.writer
        if watch.spent and not watch.part:
            writer.assign(watch.spent, f"add({watch.spent}, {watch.cost})")
            self.look(watch.spent, LOOK)

    def turns(self, name: str, bounds: tuple[str, ...], body: Callable[[], None]) -> None:
        """The loop over a range, whose body is written by `body`."""
        watch, writer = self.around[-1], self.writer
        if not watch.part:
            with writer.for_(name, *bounds):
                body()
            return
        first = writer.names.fresh("_first")
        writer.assign(first, bounds[0] if len(bounds) > 1 else "int64(0)")
        stop = writer.held("_stop", bounds[-1])
        if watch.spent:
            turns = f"minimum(sub({stop}, {first}), int64({LOOK}))"
            writer.assign(watch.spent, f"add({watch.spent}, mul({turns}, {watch.cost}))")
        if not watch.twice:
            self._parts(name, first, stop, body)
            return
        with writer.if_(f"usually(le(sub({stop}, {first}), {watch.part}))"), writer.for_(name, first, stop):
            body()
        with writer.else_():
            self._parts(name, first, stop, body)

    def _parts(self, name: str, first: str, stop: str, body: Callable[[], None]) -> None:
        """The same, part by part; after the first as long as the call goes on."""
        writer, last = self.writer, self.writer.names.fresh("_last")
        with writer.while_(f"lt({first}, {stop})"):
            writer.assign(last, f"add({first}, minimum(sub({stop}, {first}), {self.around[-1].part}))")
            with writer.for_(name, first, last):
                body()
            with writer.else_():
                writer.assign(first, last)
                leave_if_interrupted(writer, f"lt({first}, {stop})")
                writer.line("continue")
            writer.line("break")

    def _is_long(self, n: object) -> bool:
        """Whether it has, or is, a loop that may have many iterations."""
        return isinstance(n, (For, While, Parallel, Reduce)) and not is_short(n) or self._calls_long(n)

    def _is_open(self, n: object) -> bool:
        """Whether nobody knows what it costs before it runs."""
        if isinstance(n, For):
            return not self._ends_soon(n) and not all(_follows(e, self.known) for e in (n.start, n.stop, n.step))
        if isinstance(n, (Parallel, Reduce)):
            counts = n.counts if isinstance(n, Parallel) else (n.count,)
            return not all(_follows(e, self.known) or self._is_small(e) for e in counts)
        return isinstance(n, While) or self._calls_long(n)

    def _interval(self, e: Expr) -> Interval:
        """What follows from the text alone."""
        intervals = self.intervals[self.in_helper]
        intervals.assumed.clear()
        interval = intervals.of(e)
        return None if intervals.assumed else interval

    def _at_most(self, count: Expr) -> int | None:
        interval = self._interval(count)
        return interval and interval[1]

    def _turns(self, loop: For) -> int | None:
        """No more than these."""
        start, stop, step = map(self._interval, (loop.start, loop.stop, loop.step))
        if start is None or stop is None or step is None or step[0] <= 0 <= step[1]:
            return 0 if step == (0, 0) else None
        distance = stop[1] - start[0] if step[0] > 0 else start[1] - stop[0]
        return max(-(-distance // min(map(abs, step))), 0)

    def _is_small(self, count: Expr) -> bool:
        """Whether it is no more than a small number of the text."""
        most = self._at_most(count)
        return most is not None and most <= _FEW

    def _ends_soon(self, n: Loop) -> bool:
        """Whether it is less work than a slice, by numbers of the text alone."""

        def counted(n: Any) -> Any:
            """With its largest counts in place of those that are only known when it runs."""
            n = rebuilt(n, counted)
            if isinstance(n, For) and (turns := self._turns(n)) is not None:
                return replace(n, start=Const(0, "int64"), stop=Const(turns, "int64"), step=Const(1, "int64"))
            return n

        if is_short(n):
            return True
        loop = counted(n)
        for inside in walk(loop):
            match inside:
                case While() | Reduce() | CallHelper():
                    return False
                case For():
                    counts: tuple[Expr, ...] = (inside.start, inside.stop, inside.step)
                case Parallel():
                    counts = inside.counts
                case _:
                    continue
            if not all(isinstance(e, Const) for e in counts):
                return False
        cost = constant(cost_of((loop,), set(), self.write, self.helpers, scalar=4))
        return cost is not None and cost <= SLICE

    def _looks_alone(self, n: object) -> bool:
        """Whether it is a loop that counts what it costs, with none inside."""
        return isinstance(n, While) and not any(self._is_long(m) for m in walk_body(n))

    def _is_endless(self, n: object) -> bool:
        """Whether it is a loop over a range that no array's length bounds: one turn around it may take for ever."""
        names: Set[str] = frozenset() if self.in_helper else self.lengths
        return isinstance(n, For) and not is_short(n) and not all(is_bounded(e, names) for e in (n.start, n.stop))

    def _calls_long(self, n: object) -> bool:
        return isinstance(n, CallHelper) and any(self._is_long(m) for s in self.helpers[n.helper].body for m in walk(s))


def leave_if_interrupted(writer: Writer, condition: str = "") -> None:
    """Where the condition holds: leave the loop that is written, if the call is to end."""
    with writer.if_(" and ".join(filter(None, (condition, f"interrupted({FAULTS})")))):
        writer.line("break")


def walk_body(s: Loop) -> Iterator[object]:
    return (n for inner in s.body for n in walk(inner))


def _follows(e: Expr, known: set[str]) -> bool:
    """Whether it follows from these scalars."""
    nodes = list(walk(e))
    return {n.name for n in nodes if isinstance(n, Var)} <= known and not any(
        isinstance(n, (Load, CallHelper)) for n in nodes
    )
