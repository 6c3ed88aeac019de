"""Counts of loops on CUDA, and the position in row-major order of an iteration."""

from __future__ import annotations

import re
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


def unpack(writer: Writer, names: tuple[str, ...], widths: tuple[str, ...], flat: str) -> None:
    """Set the indices of a row-major position; `widths` are the extents, the first of which is not needed."""
    left = flat
    for k in range(len(names) - 1, 0, -1):
        quotient = writer.held("_quotient", f"divided({left}, {widths[k]})")
        writer.assign(writer.names.of(names[k]), f"sub({left}, mul({quotient}, {widths[k]}))")
        left = quotient
    writer.assign(writer.names.of(names[0]), left)
