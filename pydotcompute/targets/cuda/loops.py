"""Parallel loops on CUDA: grid-stride and block-stride loops, `threads` loops, and the barriers between them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial, reduce

from ...analysis.barriers import barriers
from .thread_coarsening import CudaBatches
from ..llvm.python_source import MOST
from ...ir.tree import Continue, For, If, Load, Parallel, Stmt, Store, While, walk

MOST_CHUNKS = 4096  # of a reduction over a grid
MOST_UNROLLED = 16  # turns of a `threads` loop of known length
CHUNK_TERMS = 4  # of each thread, at least, before there are two chunks


class CudaLoops(CudaBatches):
    path: tuple[int, ...] | None = None  # of the statement at block level that is being written

    def begin(self) -> None:
        """What every kernel starts with; arrays are made where `allocate` is called."""
        self.lanes, self.exchanged = {}, set()
        self.points = barriers(self.tree, reductions_synchronise=True)
        self.widths: dict[int, tuple[int, ...]] = {}  # rank of private arrays → their largest trailing extents
        for a in self.tree.arrays.values():
            if a.kind == "private":
                known = self.widths.get(len(a.shape), a.shape)
                self.widths[len(a.shape)] = tuple(map(max, known, a.shape))

    def write_thread(self) -> None:
        self.line(f"_thread = thread_below({self.block_size})")
        self.line("_lane = band(_thread, int64(31))")
        self.line("_warp = shr(_thread, int64(5))")
        if ragged := self.block_size % 32:
            last = self.block_size // 32
            self.line(
                f"_members = select(eq(_warp, int64({last})), int64({(1 << ragged) - 1}), int64({(1 << 32) - 1}))"
            )
        self.line("_turn = int64(0)")

    def allocate(self) -> None:
        """The kernel's own arrays; private ones hold a thread's elements alone."""
        for a in self.tree.arrays.values():
            count = self.slots(len(a.shape)) if a.kind == "private" else _product(a.shape)
            where = "shared" if a.kind == "shared" else "local"
            self.line(f"{self.arrays[a.name].pointer} = {where}_{a.dtype}({count})")

    def slots(self, rank: int) -> int:
        """How many elements of a private array of this rank a thread has."""
        return -(-_product(self.widths[rank]) // self.block_size)

    # ------------------------------------------------------------------------------------------------ control

    def write_continue(self, s: Continue) -> None:
        if self.advance:
            self.line(self.advance)
        self.line("continue")

    def write_for(self, s: For) -> None:
        outer, self.advance = self.advance, ""
        super().write_for(s)
        self.advance = outer

    def write_while(self, s: While) -> None:
        outer, self.advance = self.advance, ""
        super().write_while(s)
        self.advance = outer

    # --------------------------------------------------------------------------------------------------- grid

    def write_chunks(self, s: Parallel, counts: tuple[str, ...], scratch: list[str]) -> None:
        """A reduction over a grid: fixed chunks, which depend on the counts alone, a partial value for each."""
        total, chunks, length = self.chunks(counts)
        chunk, last = self.names.fresh("_chunk"), self.names.fresh("_last")

        def one_chunk() -> None:
            lanes = self.open_lanes(s.reductions)
            self.line(f"{last} = minimum({total}, at({chunk}, {length}, {length}))")
            self.position = where = self.names.fresh("_at")
            first = f"at({chunk}, {length}, _thread)"
            number = partial(self.unpack, s.names, counts, where)
            self.write_turns(s, self.early_loads(s), where, first, last, number, self.statements)
            self.combine_block(lanes)
            parts = [name for lane in lanes for name, _ in lane.parts]
            with self.block("if eq(_thread, int64(0)):"):
                for pointer, name in zip(scratch, parts):
                    self.line(f"store({pointer}, {chunk}, {name})")

        self.stride_loop(chunk, "ctaid_x()", chunks, "nctaid_x()", one_chunk)

    def combine_chunks(self, s: Parallel, counts: tuple[str, ...], scratch: list[str]) -> None:
        """The second step, in one block: the chunks in order."""
        _, chunks, _ = self.chunks(counts)
        lanes = self.open_lanes(s.reductions)
        chunk = self.names.fresh("_chunk")

        def one() -> None:
            left = list(scratch)
            for lane in lanes:
                values = [self.names.fresh("_value") for _ in lane.parts]
                for name in values:
                    self.line(f"{name} = load({left.pop(0)}, {chunk})")
                if lane.positioned:
                    self.take(lane, *values)
                else:
                    self.include(lane, values[0])

        self.stride_loop(chunk, "_thread", chunks, f"int64({self.block_size})", one)
        self.combine_block(lanes)
        self.finish_lanes(lanes)

    def chunks(self, counts: tuple[str, ...]) -> tuple[str, str, str]:
        """Names of: the number of iterations, of chunks, and of iterations in a chunk."""
        total, chunks, length = (self.names.fresh(n) for n in ("_total", "_chunks", "_length"))
        self.line(f"{total} = {self.product(counts)}")
        unit = CHUNK_TERMS * self.block_size
        wanted = f"maximum(divided(add({total}, int64({unit - 1})), int64({unit})), int64(1))"
        self.line(f"{chunks} = minimum({wanted}, int64({MOST_CHUNKS}))")
        self.line(f"{length} = divided(add({total}, sub({chunks}, int64(1))), {chunks})")
        size = self.block_size
        self.line(f"{length} = mul(divided(add({length}, int64({size - 1})), int64({size})), int64({size}))")
        return total, chunks, length

    @staticmethod
    def product(counts: tuple[str, ...]) -> str:
        """How many iterations there are; a negative count is none."""
        first, *others = (f"maximum({c}, int64(0))" for c in counts)
        return reduce(lambda one, other: f"times({one}, {other})", others, first)

    def unpack(self, names: tuple[str, ...], widths: tuple[str, ...], flat: str) -> None:
        """The indices of a row-major position; `widths` are the extents, the first of which is not needed."""
        left = flat
        for k in range(len(names) - 1, 0, -1):
            quotient = self.names.fresh("_quotient")
            self.line(f"{quotient} = divided({left}, {widths[k]})")
            self.line(f"{self.names.of(names[k])} = sub({left}, mul({quotient}, {widths[k]}))")
            left = quotient
        self.line(f"{self.names.of(names[0])} = {left}")

    # ------------------------------------------------------------------------------------------------- blocks

    def write_blocks(self, s: Parallel, counts: tuple[str, ...]) -> None:
        """A block-stride loop over all counts as one."""
        flat = self.names.fresh("_block")
        total = self.names.fresh("_total")
        self.line(f"{total} = {self.product(counts)}")

        def body() -> None:
            self.unpack(s.names, counts, flat)
            self.by_one, self.path = True, ()
            self.statements(s.body)
            self.by_one, self.path = False, None

        self.stride_loop(flat, "ctaid_x()", total, "nctaid_x()", body)

    def statements(self, body: Iterable[Stmt]) -> None:
        """Statements; at block level with the barriers that stand before them."""
        if self.path is None:
            super().statements(body)
            return
        base, body = self.path, tuple(body)
        for k, s in enumerate(body):
            outer, self.at = self.at, s.at or self.at
            self.path = (*base, k)
            if self.path in self.points:
                self.line("barrier()")
            self._block_statement(s)
            self.at = outer
        self.path = base
        if (*base, len(body)) in self.points:
            self.line("barrier()")

    def _block_statement(self, s: Stmt) -> None:
        path = self.path
        assert path is not None
        if isinstance(s, If):
            with self.block(f"if {self.expression(s.condition)}:"):
                self.path = (*path, 0)
                self.nonempty(s.body)
            if s.orelse or (*path, 1, 0) in self.points:
                with self.block("else:"):
                    self.path = (*path, 1)
                    self.nonempty(s.orelse)
            return
        if isinstance(s, (For, While)):
            self.path = (*path, 0)
        getattr(self, f"write_{type(s).__name__.lower()}")(s)

    def write_parallel(self, s: Parallel) -> None:
        self.write_threads(s)

    # ------------------------------------------------------------------------------------------------ threads

    def write_threads(self, s: Parallel) -> None:
        """Iteration t of a `threads` loop is done by thread t modulo the size of the block. In several dimensions t
        counts rows as wide as the private arrays' where those are wider, so that their elements stay with a thread."""
        lanes = self.open_lanes(s.reductions)
        counts = tuple(self.held("_count", c) for c in s.counts)
        widths = self._widths(counts)
        if self.path is not None and (*self.path, 0, 0) in self.points:  # the loop stores to what its counts read
            self.line("barrier()")
        outer = self.by_one, self.path
        self.by_one, self.path = False, None
        padded = widths != counts
        where = self.names.fresh("_at")

        number = partial(self.unpack, s.names, widths, where)

        def iteration(body: tuple[Stmt, ...]) -> None:
            if not padded:
                self._iteration(s, body, counts, where)
                return
            names = [self.names.of(n) for n in s.names]
            inside = [f"lt({n}, {c})" for n, c in zip(names[1:], counts[1:])]
            condition = inside[0] if len(inside) == 1 else f"band({inside[0]}, {inside[1]})"
            with self.block(f"if {condition}:"):
                self._iteration(s, body, counts, where)

        sizes = (counts[0], *widths[1:])
        fixed = _fixed(sizes)
        total = f"int64({fixed})" if fixed is not None else self.held_text("_total", self.product(sizes))
        private = self._touches_private(s)
        early = None if private or padded else self.early_loads(s)
        if private or fixed is not None and fixed <= MOST_UNROLLED * self.block_size and not early:
            turns = self.slots(len(counts)) if private else -(-fixed // self.block_size)
            turn = self.names.fresh("_turn_of")
            advance, self.advance, slot = self.advance, "", self.slot
            with self.block(f"for {turn} in range({turns}):"):
                self.slot = f"to_int64({turn})"
                self.line(f"{where} = at({self.slot}, int64({self.block_size}), _thread)")
                if fixed == turns * self.block_size:
                    number()
                    iteration(s.body)
                else:
                    with self.block(f"if lt({where}, {total}):"):
                        number()
                        iteration(s.body)
            self.advance, self.slot = advance, slot
        else:
            self.write_turns(s, early, where, "_thread", total, number, iteration)
        self.by_one, self.path = outer
        if lanes:
            self.combine_block(lanes)
            self.finish_lanes(lanes)

    def _iteration(self, s: Parallel, body: tuple[Stmt, ...], counts: tuple[str, ...], where: str) -> None:
        self.position = where
        if any(r.op in ("argmin", "argmax") for r in s.reductions) and len(counts) > 1:
            self.position = self.names.fresh("_position")
            text = self.names.of(s.names[0])
            for name, count in zip(s.names[1:], counts[1:]):
                text = f"at({text}, {count}, {self.names.of(name)})"
            self.line(f"{self.position} = {text}")
        self.statements(body)

    def _widths(self, counts: tuple[str, ...]) -> tuple[str, ...]:
        private = self.widths.get(len(counts))
        if private is None or len(counts) == 1:
            return counts
        result = [counts[0]]
        for count, extent in zip(counts[1:], private[1:]):
            if count == f"int64({extent})":
                result.append(count)
            else:
                result.append(self.held_text("_width", f"maximum({count}, int64({extent}))"))
        return tuple(result)

    def _touches_private(self, s: Parallel) -> bool:
        arrays = self.tree.arrays
        return any(
            isinstance(n, (Load, Store)) and n.array in arrays and arrays[n.array].kind == "private" for n in walk(s)
        )


def _fixed(counts: tuple[str, ...]) -> int | None:
    """The product of counts that are all known; at most the largest int64."""
    found = [re.fullmatch(r"int64\((-?\d+)\)", c) for c in counts]
    known = tuple(max(int(f[1]), 0) for f in found if f)
    return min(_product(known), MOST) if len(known) == len(counts) else None


def _product(shape: tuple[int, ...]) -> int:
    result = 1
    for n in shape:
        result *= n
    return result
