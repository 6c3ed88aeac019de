"""Counts of loops on CUDA, and the position in row-major order of an iteration."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from math import prod

from ...ir.tree import Const, Parallel
from ..llvm.expressions import Expressions
from ..llvm.faults import Faults
from ..llvm.statements import MOST
from ..llvm.writer import Writer


def held_counts(loop: Parallel, writer: Writer, expressions: Expressions, faults: Faults) -> tuple[str, ...]:
    """The loop's counts under names of their own, constants as they are; none are left where there was a fault."""
    texts = [(expressions.text(c), isinstance(c, Const)) for c in loop.counts]
    held = tuple(text if known else writer.held("_count", text) for text, known in texts)
    own = [name for name, (_, known) in zip(held, texts, strict=True) if not known]
    if faults.any and own:
        writer.assign(own[0], faults.none(own[0]))
    return held


def product(counts: tuple[str, ...]) -> str:
    """How many iterations there are; a negative count is none."""
    first, *others = (f"maximum({c}, int64(0))" for c in counts)
    return reduce(lambda one, other: f"times({one}, {other})", others, first)


def fixed(counts: tuple[str, ...]) -> int | None:
    """The product of counts that are all known; at most the largest int64."""
    found = [re.fullmatch(r"int64\((-?\d+)\)", c) for c in counts]
    known = [max(int(f[1]), 0) for f in found if f]
    return min(prod(known), MOST) if len(known) == len(counts) else None


Number = Callable[[str, str], None]  # sets the indices of an iteration: see number_turns


def unpack(writer: Writer, names: tuple[str, ...], widths: tuple[str, ...], flat: str) -> None:
    """Set the indices of a row-major position; `widths` are the extents, the first of which is not needed."""
    left = flat
    for k in range(len(names) - 1, 0, -1):
        quotient = writer.held("_quotient", f"divided({left}, {widths[k]})")
        writer.assign(writer.names.of(names[k]), f"sub({left}, mul({quotient}, {widths[k]}))")
        left = quotient
    writer.assign(writer.names.of(names[0]), left)


def number_turns(writer: Writer, names: tuple[str, ...], widths: tuple[str, ...], where: str, rows: int = 0) -> Number:
    """What sets the indices of the position `where`, given a position and how many turns of a block behind it that is.
    rows: of a turn, where that is whole ones: then indices are counted from the first position's, of which NVVM sees
    that all but the outermost stay the same, and how far the rows are apart."""

    def number(first: str, turn: str) -> None:
        unpack(writer, names, widths, first if rows else where)
        if rows:
            outermost = writer.names.of(names[0])
            writer.assign(outermost, f"at({turn}, int64({rows}), {outermost})")

    return number


def rows_of(block: int, widths: tuple[str, ...]) -> int:
    """How many rows as wide as all widths but the first a block does in a turn; 0: it does no whole ones."""
    row = fixed(widths[1:])
    return block // row if row and block % row == 0 else 0
