"""What integers the indices of loops can be, and what is worked out from them: where that is known, nothing wraps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..ir import tree as t
from ..ir.dtypes import integer_range

Interval = tuple[int, int]  # the least and the greatest


class Intervals:
    """known: of the indices of the loops that are being written, whose counts are constants."""

    def __init__(self) -> None:
        self.known: dict[str, Interval] = {}

    @contextmanager
    def inside(self, loop: t.Parallel | t.For) -> Iterator[None]:
        """The body of a loop."""
        nodes = [node for s in loop.body for node in t.walk(s)]
        changed = {node.name for node in nodes if isinstance(node, (t.Assign, t.Accumulate, t.For, t.Reduce))}
        changed |= {name for node in nodes for name in getattr(node, "names", ())}
        before, found = self.known, _indices(loop)
        self.known = {name: own for name, own in (before | found).items() if name not in changed}
        yield
        self.known = before

    def of(self, e: t.Expr) -> Interval:
        """Of an integer: of one that nothing is known of, or that may wrap, all that its type has."""
        if isinstance(e, t.Const):
            return e.whole, e.whole
        if isinstance(e, t.Var) and e.name in self.known:
            return self.known[e.name]
        found = self._exact(e)
        return found if found and _fits(found, e.type) else integer_range(e.type)

    def may_wrap(self, e: t.Binary) -> bool:
        """Of integers: whether it may be another number than that of Python's operator, or is no such."""
        found = self._exact(e)
        return found is None or not _fits(found, e.type)

    def _exact(self, e: t.Expr) -> Interval | None:
        """Before it wraps."""
        if not isinstance(e, t.Binary) or e.op not in ("+", "-", "*", "//", "%"):
            return None
        return _combined(e.op, self.of(e.left), self.of(e.right))


def _fits(found: Interval, dtype: str) -> bool:
    least, greatest = integer_range(dtype)
    return least <= found[0] and found[1] <= greatest


def _indices(loop: t.Parallel | t.For) -> dict[str, Interval]:
    if isinstance(loop, t.For):
        start, stop, step = (n.whole if isinstance(n, t.Const) else None for n in (loop.start, loop.stop, loop.step))
        if start is None or stop is None or not step or not (turns := range(start, stop, step)):
            return {}
        return {loop.name: (min(turns[0], turns[-1]), max(turns[0], turns[-1]))}
    counts = zip(loop.names, loop.counts, strict=True)
    return {name: (0, n.whole - 1) for name, n in counts if isinstance(n, t.Const) and n.whole > 0}


def _combined(op: str, left: Interval, right: Interval) -> Interval | None:
    if op == "+":
        return left[0] + right[0], left[1] + right[1]
    if op == "-":
        return left[0] - right[1], left[1] - right[0]
    if op != "*" and right[0] < 1:
        return None
    if op == "%":
        return 0, right[1] - 1
    ends = [a * b if op == "*" else a // b for a in left for b in right]
    return min(ends), max(ends)
