"""Counters that many threads add to: each slice of work adds to a copy of its own, and that to the array at its end.

An atomic instruction takes as long as thirty plain updates, and threads that update the same elements wait for each
other: a histogram would be slower on several threads than on one. Whole numbers add up to the same in any order. So
where a phase adds to arrays of those, and they are small, a slice has copies on its stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce

from ...ir.tree import KernelTree, Parallel
from ..counters import counters, elements
from ..llvm.expressions import constant
from .arrays import Array
from .code import Code

MOST = 4096  # elements of all copies: a thread that calls may have little of a stack
_ARRAYS = 16
COST = 4000  # of an element, in the units of analysis/cost.py: to set it to 0, and to add it atomically


def few_counters(tree: KernelTree, loop: Parallel, arrays: dict[str, Array]) -> tuple[str, ...]:
    """The arrays of which slices of this phase may have copies: all that it updates atomically, or none."""
    found = counters(tree, loop, arrays)
    return found if len(found) <= _ARRAYS else ()


def all_small(arrays: Sequence[Array]) -> str:
    """The condition that each is small enough."""
    most = MOST // len(arrays)
    return reduce(lambda a, b: f"band({a}, {b})", (f"le({elements(a)}, int64({most}))" for a in arrays))


def cost(arrays: Sequence[Array]) -> str:
    """What a slice's copies cost."""
    return f"mul(int64({COST}), {reduce(lambda a, b: f'add({a}, {b})', map(elements, arrays))})"


@contextmanager
def copied(code: Code, names: Sequence[str]) -> Iterator[None]:
    """What is written inside updates copies, which are added to the arrays after it."""
    writer, arrays = code.writer, [code.arrays[name] for name in names]
    copies = []
    for array in arrays:
        pointer = writer.held("_copy", f"stack_{array.dtype}({MOST // len(arrays)})")
        copies.append(replace(array, pointer=pointer))
        with writer.for_(number := writer.names.fresh("_number"), elements(array)):
            writer.line(f"store{array.access}({pointer}, {number}, {constant(0, array.dtype)})")
    with code.arrays.bound({**code.arrays.by_name, **dict(zip(names, copies, strict=True))}):
        yield
    for array, copy in zip(arrays, copies, strict=True):
        with writer.for_(number := writer.names.fresh("_number"), elements(array)):
            count = writer.held("_count", f"load{copy.access}({copy.pointer}, {number})")
            with writer.if_(f"ne({count}, {constant(0, array.dtype)})"):
                writer.line(f"atomic_add{array.shared_access}({array.pointer}, {number}, {count})")
