"""Loop versioning by the length of a row: a loop in whose every iteration a sum goes along a row, as often as there are
forms of such a sum (targets/cpu/innermost_loops.py). Chosen inside, what a row costs beyond its terms is as much as
many of them, and more than the terms of a short one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import contextmanager
from typing import Any, Iterator, NamedTuple

from ...ir.dtypes import FLOATS
from ...ir.tree import Const, Expr, Parallel, Reduce, Var, walk
from ..llvm.expressions import Expressions, is_cheap
from ..llvm.words import EXTREMA
from ..llvm.writer import Writer
from .bodies import assigned, body_size, has_loops, has_much_code
from .loop_reductions import Lanes, lanes_together
from .search import SEARCHES

_LARGE = 150  # nodes of a body that is not written three times
SHORT = 64  # elements of a row that is a few vectors
UNLIMITED = 1 << 63


class _Row(NamedTuple):
    """versions: for rows that are no longer than this, the shorter ones first."""

    length: Expr
    versions: tuple[int, ...]


class RowVersions:
    """range: of the lengths of rows, in the version that is being written: they are longer than the first, and the
    second at most; UNLIMITED: they are longer than a block of a sum."""

    def __init__(self, writer: Writer, expressions: Expressions):
        self.writer, self.expressions = writer, expressions
        self.range: dict[Expr, tuple[int, int]] = {}

    def write(self, loop: Parallel, iterations: Callable[[], None]) -> None:
        """The iterations of a loop, in each of which a row may be summed up, in as many versions as it takes."""
        if (row := _row_of(loop)) is None or row.length in self.range:
            return iterations()
        length = self.writer.held("_row", self.expressions.text(row.length))
        branch, shorter = self.writer.if_, -1
        for most in row.versions:
            with branch(f"le({length}, int64({most}))"), self._known(row.length, shorter, most):
                iterations()
            branch, shorter = self.writer.elif_, most
        with self.writer.else_(), self._known(row.length, shorter, UNLIMITED):
            iterations()

    def is_short(self, loop: Parallel) -> bool:
        """Whether it goes along a row of a few vectors at most."""
        return 0 < self.lengths(loop.counts[-1])[1] <= SHORT

    def lengths(self, count: Expr) -> tuple[int, int]:
        """What is known of the length of a row here: it is more than the first, and the second at most; of 0, 0
        nothing."""
        return (count.whole - 1, count.whole) if isinstance(count, Const) else self.range.get(count, (0, 0))

    def are_in(self, loop: Parallel) -> bool:
        """Whether it is written in several versions."""
        return (row := _row_of(loop)) is not None and row.length not in self.range

    @contextmanager
    def _known(self, length: Expr, shorter: int, most: int) -> Iterator[None]:
        before, self.range = self.range, {**self.range, length: (shorter, most)}
        yield
        self.range = before


def _row_of(loop: Parallel) -> _Row | None:
    """The first row that an iteration sums up, if its length does not depend on the iteration."""
    if body_size(loop) > _LARGE:
        return None
    inside = {name for s in loop.body for n in walk(s) if isinstance(n, Parallel) for name in n.names}
    changed = assigned(loop.body) | inside | set(loop.names)
    for count, inner in _rows(node for s in loop.body for node in walk(s)):
        names = {part.name for part in walk(count) if isinstance(part, Var)}
        reductions = inner.reductions if isinstance(inner, Parallel) else (inner.reduction,)
        if not is_cheap(count) or names & changed:
            continue
        if together := lanes_together(reductions):
            lanes = Lanes(count=together)
            if has_much_code(inner):
                return _Row(count, (lanes.piece, lanes.count - 1))
            return _Row(count, (lanes.piece, 2 * lanes.piece, lanes.block))
        if any(r.op in (*EXTREMA, *SEARCHES) and r.operand_type in FLOATS for r in reductions):
            return _Row(count, (SHORT,))
    return None


def _rows(nodes: Iterable[Any]) -> Iterator[tuple[Expr, Parallel | Reduce]]:
    """Those whose length is not known, and whose terms have no rows of their own, next to which what a row costs is
    nothing."""
    for node in nodes:
        if not isinstance(node, (Parallel, Reduce)) or has_loops(*node.body):
            continue
        count = node.counts[-1] if isinstance(node, Parallel) else node.count
        if not isinstance(count, Const) and not (isinstance(node, Reduce) and node.short):
            yield count, node
