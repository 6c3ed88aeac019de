"""Counters that many threads add to: each block of a loop over a grid adds to copies of its own in shared memory, and
those to the arrays at its end.

Threads that update the same few elements of global memory wait for each other there, all of a GPU's: a histogram would
take a hundred times as long as its elements take to be read. In shared memory a GPU adds to words of 32 bits by one
instruction, and to 64 bits by a loop of swaps: so copies have 32 bits, where what a launch adds up fits.

A version of the kernel does so; which one a call launches follows from its sizes: artifact/launch.py. It takes no more
blocks than a GPU holds at once, because each sets its copies to 0 and adds them to the arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce

from ...artifact.dimensions import Operation, Tree
from ...ir.dtypes import INTEGER_BITS
from ...ir.tree import ArrayName, CallHelper, Const, For, KernelTree, Parallel, Reduce, While, walk
from ..counters import counters, elements, updates_of
from .arrays import Array
from .code import Code
from .stride_loops import stride_loop

WORD, MOST_SUM = "int32", 2**31 - 1
# Words of a block's copies: 16 KiB, of which every GPU since Volta has enough for the blocks of 256 threads that its
# registers hold, or nearly; with 48 KiB, the most that a block may have, half of its threads would be missing, and so
# would the loads that they wait for.
MOST = 4096
MOST_THREADS = 2**18  # of a launch: 1,024 blocks of 256, about as many as the largest GPUs hold at once
# Iterations that a block has at least, for each element of its copies and besides: its flush takes as long as reading
# some tens of elements for each of them, and is not to take most of the time; of more iterations a GPU has too few
# blocks where there are few.
OF_ELEMENT, OF_BLOCK = 4, 2048
FEWEST = 32  # iterations for each element: with fewer, to clear and to add copies may take longer than is saved


@dataclass(frozen=True)
class BlockCounters:
    """arrays: those that a block has copies of; when: the condition of a launch that does so; threads: how many that
    has."""

    arrays: tuple[str, ...]
    when: Tree
    threads: Tree


def block_counters(
    tree: KernelTree, counts: Sequence[Tree | None], arrays: Mapping[str, Array], block: int
) -> BlockCounters | None:
    """How blocks of so many threads count in copies; None for a kernel in which they cannot. counts: those of its
    loop."""
    main = tree.main
    if main is None or main.kind != "grid" or main.reductions or len(counts) != 1 or counts[0] is None:
        return None
    if any(a.scratch for a in tree.arrays.values()):  # which is for so many threads
        return None
    count, found = counts[0], counters(tree, main, arrays)
    helped = {a.name for n in walk(main) if isinstance(n, CallHelper) for a in n.arguments if isinstance(a, ArrayName)}
    steps = [_step(tree, main, name, arrays[name].dtype) for name in found]
    if not found or helped & set(found) or None in steps:
        return None
    sizes = [_size(tree, name) for name in found]
    size = reduce(lambda a, b: Operation("+", (a, b)), sizes)
    few = Operation("<=", (size, MOST))  # asked first: then nothing of what follows is beyond 64 bits
    worth = Operation(">", (count, Operation("*", (size, FEWEST))))
    when = Operation("and", (few, worth))
    if largest := max(step for step in steps if step is not None):
        when = Operation("and", (when, Operation("<=", (count, MOST_SUM // largest))))
    of_block = Operation("+", (Operation("*", (size, OF_ELEMENT)), OF_BLOCK))
    blocks = Operation("min", (Operation("//", (count, of_block)), max(MOST_THREADS // block, 1)))
    return BlockCounters(found, when, Operation("*", (Operation("max", (blocks, 1)), block)))


def _step(tree: KernelTree, main: Parallel, name: str, dtype: str) -> int | None:
    """How much an iteration adds to a copy's element at most; 0 where it may go round, as the array's own does; None:
    it cannot be told."""
    if INTEGER_BITS[dtype] <= INTEGER_BITS[WORD]:
        return 0
    repeated = {id(n) for loop in walk(main) if isinstance(loop, (For, While, Reduce)) for n in walk(loop)}
    total = 0
    for update in updates_of(tree, main):
        if update.array == name:
            if id(update) in repeated or not isinstance(update.value, Const):
                return None
            total += abs(update.value.whole)
    return total if total <= MOST_SUM else None


def _size(tree: KernelTree, name: str) -> Tree:
    """How many elements an array has, as a launch knows it."""
    p = next(p for p in tree.parameters if p.name == name)
    leading = (("rows" if p.dims else "size"),) if p.ellipsis else ()
    sizes: tuple[Tree, ...] = (*leading, *(p.dims or ()))
    return reduce(lambda a, b: Operation("*", (a, b)), sizes) if sizes else 1


@contextmanager
def counted(code: Code, names: Sequence[str]) -> Iterator[None]:
    """What is written inside, by every thread of a block, adds to the block's copies, which are added to the arrays
    after it; names: of these arrays."""
    if not names:
        yield
        return
    writer, arrays = code.writer, [code.arrays[name] for name in names]
    total, copies = "int64(0)", []
    words = writer.held("_words", f"shared_{WORD}({MOST})")
    for array in arrays:
        pointer = writer.held("_copy", f"moved({words}, {total})")
        copies.append(replace(array, pointer=pointer, dtype=WORD, kind="shared", counted=True))
        total = writer.held("_total", f"add({total}, {elements(array)})")
    _by_all(code, total, lambda number: writer.line(f"store({words}, {number}, {WORD}(0))"))
    writer.line("barrier()")
    with code.arrays.bound({**code.arrays.by_name, **dict(zip(names, copies, strict=True))}):
        yield
    writer.line("barrier()")
    for array, copy in zip(arrays, copies, strict=True):

        def flush(number: str, array: Array = array, copy: Array = copy) -> None:
            count = writer.held("_count", f"load({copy.pointer}, {number})")
            with writer.if_(f"ne({count}, {WORD}(0))"):
                writer.line(f"atomic_add({array.pointer}, {number}, to_{array.dtype}({count}))")

        _by_all(code, elements(array), flush)


def _by_all(code: Code, count: str, write: Callable[[str], None]) -> None:
    """What is written for the name of a number is done for so many of them, by the threads of a block."""
    number, step = code.writer.names.fresh("_number"), f"int64({code.block})"
    stride_loop(code.writer, code.statements, number, "_thread", count, step, lambda: write(number))
