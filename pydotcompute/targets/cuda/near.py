"""Counting in 32 bits where all fits: a GPU takes two instructions or more for what it does with 64. Of a loop over a
grid two versions stand in one kernel; one over blocks that goes by tiles is a kernel of its own then, whose registers
are its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from ...artifact.dimensions import Operation, Tree
from ...ir.tree import Access, Binary, Compare, Expr, For, KernelTree, Parallel, While, walk
from ..intervals import Intervals, extents
from ..llvm.expressions import Expressions
from ..llvm.words import COMPARE
from .arrays import Array, all_of
from .early_loads import is_small

FEW = 2**30  # of two numbers that are no more the sum takes 32 bits


def few(numbers: Iterable[str], sizes: Iterable[str]) -> str:
    """The condition that none of these is more than FEW, no array has more elements than an int32 counts, and none of
    all is below 0."""
    most = {number: FEW for number in numbers} | {size: 2 * FEW - 1 for size in sizes}
    return all_of(f"le(to_uint64({number}), uint64({limit}))" for number, limit in most.items())


def of_rows(s: Parallel, arrays: Mapping[str, Array]) -> list[Array]:
    """Those of a loop whose offsets take multiplications."""
    found = (arrays[name] for name in dict.fromkeys(n.array for n in walk(s) if isinstance(n, Access)))
    return [a for a in found if a.strides is None and len(a.extents) > 1]


def sizes_of(arrays: Iterable[Array]) -> list[str]:
    return [reduce(lambda one, other: f"mul({one}, {other})", a.extents) for a in arrays]


def near_arrays(s: Parallel, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {**arrays, **{a.name: replace(a, at="near") for a in of_rows(s, arrays)}}


class Near:
    """How a kernel is written that counts in 32 bits: indices that are known to fit are computed so. forms: those of
    its expressions, in place of the printer's own."""

    def __init__(self, tree: KernelTree, expressions: Expressions):
        self.expressions, self.intervals = expressions, Intervals(tree, tree.body, most=FEW, held=tree.main)
        self.far = dict(expressions.forms)
        self.forms: dict[type, Callable[[Any], str]] = {Binary: self._binary, Compare: self._compare}

    def _fits(self, *values: Expr) -> bool:
        return values[0].type == "int64" and self.intervals.fits(*values)

    def _binary(self, e: Binary) -> str:
        if e.op not in ("+", "-", "*") or not self._fits(e, e.left, e.right):
            return self.far[Binary](e)
        left, right = self.expressions.text(e.left), self.expressions.text(e.right)
        if e.op == "*":
            return f"near({left}, {right}, int64(0))"
        return f"near({right}, int64({1 if e.op == '+' else -1}), {left})"

    def _compare(self, e: Compare) -> str:
        if not self._fits(e.left, e.right):
            return self.far[Compare](e)
        left, right = (f"to_int32({self.expressions.text(part)})" for part in (e.left, e.right))
        return f"{COMPARE[e.op]}({left}, {right})"


def fits(tree: KernelTree, counts: Sequence[Tree]) -> Tree | None:
    """The condition, as a launch can know it, that all fits that a loop over blocks reaches; None where nothing is won.
    counts: those of the loop."""
    main = tree.main
    names = dict.fromkeys(n.array for n in walk(main) if isinstance(n, Access)) if main else ()
    arrays = [p for p in tree.parameters if p.name in names and p.layout == "C"]
    shapes = [[*(("rows",) if p.ellipsis else ()), *p.dims] for p in arrays if p.dims]
    sizes = [reduce(lambda a, b: Operation("*", (a, b)), dims) for dims in shapes if len(dims) > 1]
    if main is None or not sizes or not _goes_by_tiles(main):
        return None
    if tree.helpers or any(a.scratch for a in tree.arrays.values()):  # whose names and sizes nobody looked at
        return None
    blocks = reduce(lambda a, b: Operation("*", (a, b)), counts)
    dims = extents(tree)
    scalars = [p.name for p in tree.parameters if not p.in_memory and p.name in dims]
    numbers = (Operation("abs", (number,)) for number in (*tree.symbols, *scalars, *counts, blocks))
    few, small = Operation("max", (0, *numbers)), Operation("max", (0, *sizes))
    return Operation("and", (Operation("<=", (few, FEW)), Operation("<=", (small, 2 * FEW - 1))))


def _goes_by_tiles(s: Parallel) -> bool:
    """Whether a loop over blocks mostly moves elements in two dimensions: what takes long is built once."""
    nodes = list(walk(s))
    loops = [n for n in nodes if isinstance(n, Parallel) and n.kind == "threads"]
    moves = all(is_small(loop) and not loop.reductions for loop in loops)
    return moves and any(len(loop.counts) > 1 for loop in loops) and not any(isinstance(n, (For, While)) for n in nodes)
