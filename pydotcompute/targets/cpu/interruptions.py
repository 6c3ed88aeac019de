"""Where the sequential loops of a CPU's code look whether their call is to end: `interrupted` of run.py.

A look costs some 30 ns, so there is one after about as much work as a slice is. The outermost loop counts what its
iterations cost, if that is known before each; where it is not (`while`, counts from data), the loops inside count too.
A loop without loops inside, which may become vectors, is written as parts of so many iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ...analysis.cost import SLICE, cost_of
from ...ir.tree import CallHelper, Expr, For, Helper, KernelTree, Load, Parallel, Reduce, Var, While, walk
from ..llvm.faults import FAULTS
from ..llvm.writer import Writer
from ..phases import phases_of
from ..sites import is_short

Loop = For | While


def may_take_long(tree: KernelTree) -> bool:
    """Whether a call with small dimensions may take long: it has loops of another length, or in each other."""
    bodies, dims = [*(h.body for h in tree.helpers), tree.body], set(tree.symbols)
    loops = [n for body in bodies for s in body for n in walk(s) if isinstance(n, (For, While)) and not is_short(n)]
    bounds = [(n.start, n.stop, n.step) for n in loops if isinstance(n, For)] + [n.counts for n in phases_of(tree)]
    if any(isinstance(n, While) for n in loops) or not all(_follows(e, dims) for each in bounds for e in each):
        return True
    return any(inner is not n and inner in loops for n in loops for inner in walk(n))


class _Watch(NamedTuple):
    """What a loop does about it. spent: the name of what was spent since the last look. cost: of an iteration, where it
    counts. part: of how many iterations its parts are. settled: the loops inside have nothing to do."""

    spent: str
    cost: str = ""
    part: str = ""
    settled: bool = True


class Interruptions:
    """write: Python of an expression."""

    def __init__(self, tree: KernelTree, writer: Writer, write: Callable[[Expr], str]):
        self.writer, self.write = writer, write
        self.helpers: dict[str, Helper] = {h.name: h for h in tree.helpers}
        self.known = {*tree.symbols, *(p.name for p in tree.parameters if not p.in_memory)}
        self.in_helper = False  # whose names are its own
        self.around: list[_Watch] = []

    def loop(self, s: Loop, write: Callable[[], None]) -> None:
        """A loop, which `write` writes."""
        if is_short(s) or self.around and self.around[-1].settled:
            watch = _Watch("")
        else:
            spent = self.around[-1].spent if self.around else self.writer.held("_spent", "int64(0)")
            known = set() if self.in_helper else self.known
            cost = cost_of(s.body, known, self.write, self.helpers, scalar=4)
            settled = not any(self._is_open(n, known) for n in walk_body(s))
            if isinstance(s, For) and settled:
                part = self.writer.held("_part", f"maximum(floordiv_integer(int64({SLICE}), {cost}), int64(1))")
                watch = _Watch(spent if self.around else "", cost, part)
            else:
                watch = _Watch(spent, cost, settled=settled)
        self.around.append(watch)
        write()
        self.around.pop()

    def head(self) -> None:
        """At the beginning of the body of a loop."""
        watch, writer = self.around[-1], self.writer
        if watch.spent and not watch.part:
            writer.assign(watch.spent, f"add({watch.spent}, {watch.cost})")
            with writer.if_(f"gt({watch.spent}, int64({SLICE}))"):
                writer.assign(watch.spent, "int64(0)")
                leave_if_interrupted(writer)

    @contextmanager
    def turns(self, name: str, *bounds: str) -> Iterator[None]:
        """The loop over a range, with its body inside."""
        watch, writer = self.around[-1], self.writer
        if not watch.part:
            with writer.for_(name, *bounds):
                yield
            return
        first, last = writer.names.fresh("_first"), writer.names.fresh("_last")
        writer.assign(first, bounds[0] if len(bounds) > 1 else "int64(0)")
        stop = writer.held("_stop", bounds[-1])
        if watch.spent:
            turns = f"minimum(sub({stop}, {first}), int64({SLICE}))"
            writer.assign(watch.spent, f"add({watch.spent}, mul({turns}, {watch.cost}))")
        with writer.while_(f"lt({first}, {stop})"):
            writer.assign(last, f"add({first}, minimum(sub({stop}, {first}), {watch.part}))")
            with writer.for_(name, first, last):
                yield
            with writer.else_():
                writer.assign(first, last)
                leave_if_interrupted(writer, f"lt({first}, {stop})")
                writer.line("continue")
            writer.line("break")

    def _is_long(self, n: object) -> bool:
        """Whether it has, or is, a loop that may have many iterations."""
        return isinstance(n, (For, While, Parallel, Reduce)) and not is_short(n) or self._calls_long(n)

    def _is_open(self, n: object, known: set[str]) -> bool:
        """Whether nobody knows what it costs before it runs."""
        if isinstance(n, For):
            return not is_short(n) and not all(_follows(e, known) for e in (n.start, n.stop, n.step))
        return isinstance(n, While) or self._calls_long(n)

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
