"""Elementwise loops whose outputs no cache could keep: whole cache lines of them go past the caches.

An ordinary store reads the line that it writes to first, and pushes another one out of the cache. So where a loop over
a grid does little with an element, and a call moves more than a last cache holds, a slice computes what fills a line in
registers and stores it with instructions that do neither. What stands before the first whole line and behind the last
one is left to the plain function; so is every other call. Elements are computed alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from ...analysis.cost import constant, cost_of
from ...artifact.signature import DTYPE_BYTES
from ...ir.dtypes import COMPLEX
from ...ir.effects import arrays_read
from ...ir.tree import (
    Access,
    Atomic,
    CallHelper,
    For,
    If,
    KernelTree,
    Load,
    NewArray,
    Parallel,
    Reduce,
    Scatter,
    Stmt,
    Store,
    Var,
    While,
    walk,
)  # fmt: skip
from .arrays import LINE, Array, before_line
from .bodies import assigned, jumps
from .code import Code
from .common_stores import common_store
from .index_set_splitting import index_conditions

LEAST = 1 << 26  # bytes that a call moves for which it pays: few last caches hold more
MOST = 70  # what an iteration costs, in the units of analysis/cost.py: a longer one hardly waits for memory
_NEVER = (Atomic, CallHelper, For, NewArray, Parallel, Reduce, Scatter, While)


@dataclass(frozen=True)
class Streamed:
    """A loop to stream. index: its name. outputs: what it stores to. along: what it reads element by element. shared:
    pairs of an output and something that it reads, which may be one array."""

    index: str
    body: tuple[Stmt, ...]
    outputs: tuple[Array, ...]
    along: tuple[Array, ...]
    shared: tuple[tuple[Array, Array], ...]

    @property
    def lanes(self) -> int:
        """Iterations that fill a line of each output, or several."""
        return LINE // min(DTYPE_BYTES[a.dtype] for a in self.outputs)

    def condition(self, count: str) -> str:
        """That so many iterations move enough."""
        moved = sum(DTYPE_BYTES[a.dtype] for a in (*self.outputs, *self.along))
        return f"streams({count}, int64({-(-LEAST // moved)}))"

    def write(self, code: Code, plain: str, arguments: Sequence[str]) -> None:
        """The body of the function for iterations start to stop. plain: the one that does any; arguments: of both,
        before start and stop."""
        writer, lanes = code.writer, self.lanes

        def rest(start: str, stop: str) -> str:
            return f"{plain}({', '.join((*arguments, start, stop))})"

        first = writer.held("_first", f"minimum(stop, add(start, {_before_line(self.outputs[0], 'start')}))")
        tests = [f"eq({_before_line(a, first)}, int64(0))" for a in self.outputs[1:]]
        tests += [f"ne(address({a.pointer}), address({b.pointer}))" for a, b in self.shared]
        dense = {}
        for a in self.along:
            if a.strides is not None:
                size = f"int64({DTYPE_BYTES[a.dtype]})"
                tests.append(f"is_dense({a.view[0]}, {size})" if a.view else f"eq({a.strides[0]}, {size})")
                dense[a.name] = replace(a, strides=(size,), view=())
        if tests:
            with writer.if_(f"invert({reduce(lambda a, b: f'band({a}, {b})', tests)})"):
                writer.return_(rest("start", "stop"))
        lines = {a.name: replace(a, pointer=writer.held("_line", f"stack_{a.dtype}({lanes})")) for a in self.outputs}
        writer.held("_done", rest("start", first))
        shift = f"int64({lanes.bit_length() - 1})"
        whole = writer.held("_whole", f"shr(sub(stop, {first}), {shift})")
        turn, lane = writer.names.fresh("_turn"), writer.names.fresh("_lane")
        writer.names.bind(lane, lane)
        with writer.for_(turn, "int64(0)", whole):
            here = writer.held("_here", f"at({turn}, int64({lanes}), {first})")
            with writer.for_(lane, "int64(0)", f"int64({lanes})"):
                writer.line("independent_vectors()")
                writer.assign(writer.names.of(self.index), f"add({here}, {lane})")
                place = (Var(lane, "int64"),)
                body: list[Stmt] = [replace(s, indices=place) if isinstance(s, Store) else s for s in self.body]
                with code.arrays.bound({**code.arrays.by_name, **dense, **lines}), code.statements.iteration():
                    code.statements.write(body)
            for a in self.outputs:
                writer.line(f"stream({a.pointer}, {here}, {lines[a.name].pointer}, {lanes})")
            writer.line("rolled()")
        writer.line("end_of_stream()")
        writer.return_(rest(f"add({first}, shl({whole}, {shift}))", "stop"))


def _before_line(array: Array, start: str) -> str:
    return before_line(f"at({start}, int64({DTYPE_BYTES[array.dtype]}), address({array.pointer}))", array.dtype)


def streamed(tree: KernelTree, loop: Parallel, code: Code) -> Streamed | None:
    """The loop, if it is one to stream: each iteration, whatever it decides, stores its element of outputs that nothing
    reads, does little else, and needs no other code where the loop begins and ends."""
    if loop.kind != "grid" or len(loop.names) > 1 or loop.reductions or jumps(loop.body):
        return None
    if loop.names[0] in assigned(loop.body) or index_conditions(loop):
        return None
    nodes = [n for s in loop.body for n in walk(s)]
    if any(isinstance(n, _NEVER) or isinstance(n, Access) and code.faults.checks(n) for n in nodes):
        return None
    if (constant(cost_of(loop.body, set(), code.expressions.text, {})) or 0) > MOST:
        return None
    arrays, index = code.arrays, (Var(loop.names[0], "int64"),)
    body = tuple(part for s in loop.body for part in (isinstance(s, If) and common_store(s, code.names) or (s,)))
    stores = {s.array: s.indices for s in body if isinstance(s, Store)}
    if not stores or len(stores) < sum(isinstance(n, Store) for s in body for n in walk(s)):
        return None
    outputs = [arrays[name] for name in stores]
    if stores.keys() & arrays_read(*tree.body) or any(indices != index for indices in stores.values()):
        return None
    if any(a.strides is not None or a.number < 0 or a.dtype in COMPLEX for a in outputs):
        return None
    loads = [n for n in nodes if isinstance(n, Load)]
    along = dict.fromkeys(n.array for n in loads if n.indices == index)
    if not along or any(arrays[n.array].strides is not None for n in loads if n.indices != index):
        return None
    pairs = sorted({*tree.aliases} & {(s, name) for s in stores for name in dict.fromkeys(n.array for n in loads)})
    shared = tuple((arrays[a], arrays[b]) for a, b in pairs)
    return Streamed(loop.names[0], body, tuple(outputs), tuple(arrays[name] for name in along), shared)
