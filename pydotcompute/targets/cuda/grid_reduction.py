"""A reduction over a grid or over blocks on CUDA, in two kernels: a partial value for each chunk, then the chunks."""

from __future__ import annotations

from ...artifact.launch import CHUNK_TERMS, MOST_CHUNKS
from ...ir.tree import KernelTree, Parallel
from ..lane import Lane
from ..llvm.faults import Faults
from ..llvm.statements import Statements
from ..llvm.writer import Writer
from .barriers import body_with_barriers
from .counts import number_turns, product, unpack
from .loop_reductions import Reductions
from .stride_loops import stride_loop
from .thread_coarsening import ThreadCoarsening
from .views import Views


class GridReduction:
    """statements: what writes those of one thread; block_statements: those that all threads of a block execute."""

    def __init__(
        self, writer: Writer, statements: Statements, block_statements: Statements, reductions: Reductions,
        coarsening: ThreadCoarsening, block: int, faults: Faults,
    ):  # fmt: skip
        self.writer, self.names = writer, writer.names
        self.statements, self.block_statements = statements, block_statements
        self.reductions, self.coarsening, self.block, self.faults = reductions, coarsening, block, faults
        self.views = Views(writer, coarsening.arrays)

    def chunks(self, s: Parallel, counts: tuple[str, ...], scratch: list[str]) -> None:
        """Fixed chunks, which depend on the counts alone, a partial value for each."""
        writer = self.writer
        total, chunks, length = self._sizes(counts)
        chunk, last = self.names.fresh("_chunk"), self.names.fresh("_last")

        def one_chunk() -> None:
            lanes = self.reductions.open(s.reductions)
            writer.assign(last, f"minimum({total}, at({chunk}, {length}, {length}))")
            self.reductions.position = where = self.names.fresh("_at")
            first = f"at({chunk}, {length}, _thread)"
            number = number_turns(writer, s.names, counts, where)
            early = self.coarsening.early_loads(s)
            self.coarsening.turns(s, early, where, first, last, number, self.statements.write)
            self.reductions.combine_block(lanes)
            self._keep(lanes, chunk, scratch)

        head = self.faults.leave_together
        stride_loop(writer, self.statements, chunk, "ctaid_x()", chunks, "nctaid_x()", one_chunk, head=head)

    def blocks(self, tree: KernelTree, s: Parallel, counts: tuple[str, ...], scratch: list[str]) -> None:
        """Fixed chunks of blocks, which every thread of a block accumulates alike."""
        writer = self.writer
        total, chunks, length = self._sizes_of_blocks(counts)
        chunk, last, flat = (self.names.fresh(n) for n in ("_chunk", "_last", "_block"))
        body, head = body_with_barriers(tree, self.reductions.team), self.faults.leave_together

        def one_block() -> None:
            unpack(writer, s.names, counts, flat)
            with self.views.rows(s):
                self.block_statements.write(body)

        def one_chunk() -> None:
            lanes = self.reductions.open(s.reductions, position=flat)
            writer.assign(last, f"minimum({total}, at({chunk}, {length}, {length}))")
            stride_loop(
                writer, self.block_statements, flat, f"mul({chunk}, {length})", last, "int64(1)", one_block, head=head
            )
            self.reductions.settle(lanes)
            self._keep(lanes, chunk, scratch)

        stride_loop(writer, self.block_statements, chunk, "ctaid_x()", chunks, "nctaid_x()", one_chunk, head=head)

    def _keep(self, lanes: list[Lane], chunk: str, scratch: list[str]) -> None:
        """Store a chunk's values, which all threads have."""
        parts = [name for lane in lanes for name, _ in lane.parts]
        with self.writer.if_("eq(_thread, int64(0))"):
            for pointer, name in zip(scratch, parts, strict=True):
                self.writer.line(f"store({pointer}, {chunk}, {name})")

    def combine(self, s: Parallel, counts: tuple[str, ...], scratch: list[str]) -> None:
        """The second step, in one block."""
        _, chunks, _ = self._sizes(counts) if s.kind == "grid" else self._sizes_of_blocks(counts)
        lanes = self.reductions.open(s.reductions)
        chunk = self.names.fresh("_chunk")

        def one() -> None:
            left = list(scratch)
            for lane in lanes:
                values = [self.names.fresh("_value") for _ in lane.parts]
                for name in values:
                    self.writer.assign(name, f"load({left.pop(0)}, {chunk})")
                if lane.positioned:
                    self.reductions.take(lane, *values)
                else:
                    self.reductions.include(lane, values[0])

        stride_loop(self.writer, self.statements, chunk, "_thread", chunks, f"int64({self.block})", one, "rolled")
        self.reductions.combine_block(lanes)
        self.reductions.finish(lanes)

    def _sizes(self, counts: tuple[str, ...]) -> tuple[str, str, str]:
        """Names of: the number of iterations, of chunks, and of iterations in a chunk: CHUNK_TERMS of each thread, or
        twice, four times … as many, so that no thread divides."""
        writer, unit = self.writer, CHUNK_TERMS * self.block
        total, chunks, length = (self.names.fresh(n) for n in ("_total", "_chunks", "_length"))
        writer.assign(total, product(counts))
        units = f"maximum(divided(add({total}, int64({unit - 1})), int64({unit})), int64(1))"
        last = writer.held("_last_unit", f"sub({units}, int64(1))")
        spare = 64 - (MOST_CHUNKS - 1).bit_length()
        twice = writer.held("_twice", f"maximum(sub(int64({spare}), to_int64(clz({last}))), int64(0))")
        writer.assign(chunks, f"add(shr({last}, {twice}), int64(1))")
        writer.assign(length, f"shl(int64({unit}), {twice})")
        return total, chunks, length

    def _sizes_of_blocks(self, counts: tuple[str, ...]) -> tuple[str, str, str]:
        """The same of a reduction over blocks: of nothing, there are no chunks."""
        writer = self.writer
        total, chunks, length = (self.names.fresh(n) for n in ("_total", "_chunks", "_length"))
        writer.assign(total, product(counts))
        others = f"maximum(sub({total}, int64(1)), int64(0))"
        writer.assign(length, f"add(divided({others}, int64({MOST_CHUNKS})), int64(1))")
        writer.assign(chunks, f"divided(add({total}, sub({length}, int64(1))), {length})")
        return total, chunks, length
