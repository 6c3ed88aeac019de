"""Loops over the grid on CUDA: grid-stride loops of threads, and block-stride loops."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...ir.tree import KernelTree, Parallel
from ..llvm.faults import Faults
from ..llvm.statements import Statements
from ..llvm.writer import Writer
from .barriers import body_with_barriers
from .contiguous import Contiguous, Version
from .counts import product, unpack
from .early_loads import Early
from .stride_loops import stride_loop
from .teams import Team
from .thread_coarsening import ThreadCoarsening, coarsened_axis
from .views import Views


class Loops:
    """statements: what writes those of one thread; block_statements: those that all threads of a block execute."""

    def __init__(
        self, writer: Writer, statements: Statements, block_statements: Statements, coarsening: ThreadCoarsening,
        team: Team, near: bool, faults: Faults,
    ):  # fmt: skip
        self.writer, self.names = writer, writer.names
        self.statements, self.block_statements, self.coarsening = statements, block_statements, coarsening
        self.team, self.near, self.faults, self.views = team, near, faults, Views(writer, coarsening.arrays)
        self.contiguous = Contiguous(writer, coarsening.arrays, faults)

    def grid(self, s: Parallel, counts: tuple[str, ...]) -> None:
        """One to three nested grid-stride loops, the last count along x, the first ones of more than three as one along
        z; along one of them coarsened."""
        names = [self.names.of(n) for n in s.names]
        first_names, first_counts = (s.names[:-2], counts[:-2]) if len(counts) > 3 else ((), ())
        if first_names:
            names = [self.names.fresh("_first"), *names[-2:]]
            counts = (self.writer.held("_total", product(first_counts)), *counts[-2:])
        axes = "xyz"[: len(counts)][::-1]
        coarsened = coarsened_axis(len(counts))
        run, writer, head = self.names.fresh("_run"), self.writer, self.faults.leave
        one = partial(self.statements.write, s.body)

        def level(k: int, version: Version, body: Callable[[], None]) -> None:
            if first_names and k == 1:
                unpack(writer, first_names, first_counts, names[0])
            if k == len(counts):
                body()
                return
            first, step = f"ctaid_{axes[k]}()", f"nctaid_{axes[k]}()"
            early, near = version.early if k == coarsened else None, version.near
            width, thread = self._width(axes, k), f"tid_{axes[k]}()"
            if early and not version.wide:
                first, step = (f"mul({text}, int64({early.at_once}))" for text in (first, step))
            first, step = f"{'near' if near else 'at'}({first}, {width}, {thread})", f"mul({step}, {width})"
            if early and version.wide:
                first, step = (f"mul({text}, int64({early.at_once}))" for text in (first, step))
            if early:
                rounds(k, version, early, first, step, "int64(1)" if version.wide else width)
            else:
                inner = partial(level, k + 1, version, body)
                stride_loop(writer, self.statements, names[k], first, counts[k], step, inner, head=head, near=near)

        def rounds(k: int, version: Version, early: Early, first: str, step: str, width: str) -> None:
            """Whole rounds, and a last one."""
            near = version.near
            whole = partial(self.coarsening.whole_round, early, names[k], run, width, near)
            if version.wide:
                whole = partial(self.coarsening.wide_round, early, names[k], run)
            last = partial(self.coarsening.last_round, s, early, names[k], counts[k], run, width, near)
            stop = f"sub({counts[k]}, mul(int64({early.at_once - 1}), {width}))"
            inner = partial(level, k + 1, version, whole)
            place = stride_loop(writer, self.statements, run, first, stop, step, inner, head=head, near=near)
            with writer.if_(f"lt({place}, {counts[k]})"):
                writer.assign(run, place)
                level(k + 1, version, last)

        def write(version: Version) -> None:
            level(0, version, one)

        early = self.coarsening.early_loads(s)
        contiguous = partial(self.contiguous.versions, s, counts, early, write)
        self.views.versions(s, contiguous, partial(write, Version(early)), partial(write, Version()))

    def _width(self, axes: str, k: int) -> str:
        """How many threads a block has along an axis: along the only one, all."""
        return f"int64({self.coarsening.block})" if len(axes) == 1 else f"ntid_{axes[k]}()"

    def blocks(self, tree: KernelTree, s: Parallel, counts: tuple[str, ...]) -> None:
        """A block-stride loop over all counts as one, with the barriers that its body needs."""
        flat = self.names.fresh("_block")
        total = self.writer.held("_total", product(counts))
        body = body_with_barriers(tree, self.team)

        def one() -> None:
            unpack(self.writer, s.names, counts, flat)
            with self.views.rows(s):
                self.block_statements.write(body)

        self._block_stride("x", flat, total, one)

    def tiles(self, tree: KernelTree, s: Parallel, counts: tuple[str, ...]) -> None:
        """A block-stride loop for each count, the last along x, with the barriers that the body needs."""
        body, axes = body_with_barriers(tree, self.team), "xyz"[: len(counts)][::-1]

        def level(k: int) -> None:
            if k == len(counts):
                with self.views.rows(s):
                    self.block_statements.write(body)
                return
            self._block_stride(axes[k], self.names.of(s.names[k]), counts[k], lambda: level(k + 1))

        level(0)

    def _block_stride(self, axis: str, name: str, count: str, body: Callable[[], None]) -> None:
        first, step, head = self.team.first(axis), self.team.step(axis), self.faults.leave_together
        if not self.team.is_part or axis != "x":
            stride_loop(
                self.writer, self.block_statements, name, first, count, step, body, head=head, near=self.near
            )
            return

        def own() -> None:
            self.writer.assign(name, self.team.own(self.writer, rows, count))
            body()

        rows = self.names.fresh("_rows")
        stride_loop(self.writer, self.block_statements, rows, first, count, step, own, head=head)
