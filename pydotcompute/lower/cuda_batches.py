"""The loops of one thread on CUDA: by strides, and several iterations at once so that their loads wait together."""

from __future__ import annotations

from collections.abc import Callable

from .cuda_reductions import CudaReductions
from .early_loads import early_loads
from .tree import Atomic, CallHelper, Const, Expr, For, Load, Parallel, While, walk

SMALL = 40  # nodes of the tree of a loop that is unrolled
CHUNK_BYTES = 32  # of each array, under way in a thread of a reduction over a grid, which does little else


class CudaBatches(CudaReductions):
    """`advance` is the line that goes to the next iteration of the innermost loop, where that is parallel."""

    advance = ""

    def stride_loop(
        self, name: str, first: str, stop: str, step: str, body: Callable[[], None], unrolled: bool = False
    ) -> None:
        """`for name in range(first, stop, step)` for a step above 0, without numba's count of iterations."""
        place = self.names.fresh("_place")
        self.line(f"{place} = {first}")
        outer, self.advance = self.advance, f"{place} = {'advanced' if unrolled else 'add'}({place}, {step})"
        with self.block(f"while lt({place}, {stop}):"):
            self.line(f"{name} = {place}")
            body()
            if unrolled:
                self.line("unrolled()")
            self.line(self.advance)
        self.advance = outer

    def held(self, base: str, e: Expr) -> str:
        """The value of an expression under a name of its own; a constant as it is."""
        return self.expression(e) if isinstance(e, Const) else self.held_text(base, self.expression(e))

    def held_text(self, base: str, text: str) -> str:
        name = self.names.fresh(base)
        self.line(f"{name} = {text}")
        return name

    # ---------------------------------------------------------------------------------------------- of a grid

    def at_once(self, s: Parallel) -> int:
        """How many iterations of a grid a thread does at once."""
        alone = s.kind == "grid" and len(s.counts) == 1 and not s.reductions
        return self.early_loads(s)[1] if alone else 1

    def early_loads(self, s: Parallel) -> tuple[tuple[Load, ...], int]:
        if not is_small(s):
            return (), 1
        size = {"size": CHUNK_BYTES} if s.kind == "grid" and s.reductions else {}
        return early_loads(s, self.tree.arrays.keys(), self.tree.aliases, **size)

    def write_batches(self, s: Parallel, count: str) -> None:
        """A block does a run of iterations as long as several of it; a thread those that are a block apart, all their
        loads before anything else. Not at the end, and not where an array's view takes divisions."""
        loads, at_once = self.early_loads(s)
        name = self.names.of(s.names[0])
        views = [a for a in self.arrays.values() if a.view]
        is_flat = "".join(f"band(eq({a.view[0]}, int64(0)), " for a in views)
        run, each = self.names.fresh("_run"), [self.names.fresh("_each") for _ in range(at_once)]

        def one_run() -> None:
            for k, one in enumerate(each):
                self.line(f"{one} = at(int64({k}), ntid_x(), {run})")
            with self.block(f"if {is_flat}lt({each[-1]}, {count}){')' * len(views)}:"):
                whole, self.arrays = self.arrays, {name: a.flat for name, a in self.arrays.items()}
                early = []
                for one in each:
                    self.line(f"{name} = {one}")
                    early.append(self.load_early(loads))
                for one, self.early in zip(each, early):
                    self.line(f"{name} = {one}")
                    self.statements(s.body)
                self.early, self.arrays = {}, whole
            with self.block("else:"):
                last = f"minimum({count}, at(int64({at_once}), ntid_x(), {run}))"
                self.stride_loop(name, run, self.held_text("_last", last), "ntid_x()", lambda: self.statements(s.body))

        first = f"at(mul(ctaid_x(), int64({at_once})), ntid_x(), tid_x())"
        step = f"mul(mul(nctaid_x(), int64({at_once})), ntid_x())"
        self.stride_loop(run, first, count, step, one_run)

    def load_early(self, loads: tuple[Load, ...]) -> dict[Load, str]:
        """Names for the values of the loads of the iteration whose indices are set."""
        self.early = {}
        for load in loads:
            self.early[load] = self.held_text("_early", self.expression(load))
        return self.early

    # --------------------------------------------------------------------------------------------- of a block

    def write_turns(
        self, s: Parallel, where: str, first: str, stop: str, number: Callable[[], None],
        iteration: Callable[[], None], all_exist: bool = True,
    ) -> None:  # fmt: skip
        """A block's iterations from `first` on, those of a thread a block apart, in order. `where` is the name of an
        iteration's position; `number` sets the indices of the iteration there; `all_exist` if every position has one.

        Few loops over a block are whole batches: rows are as long as they are. So each iteration of a batch is done if
        there is one, and where there is none, what is loaded is what the first of the batch loads, which is known to
        be there.
        """
        loads, at_once = self.early_loads(s)
        step = f"int64({self.block_size})"
        if not all_exist or at_once < 2 or any(self.arrays[load.array].view for load in loads):

            def one() -> None:
                number()
                iteration()

            self.stride_loop(where, first, stop, step, one, unrolled=is_small(s))
            return
        run, each = self.names.fresh("_run"), [self.names.fresh("_each") for _ in range(at_once)]

        def batch() -> None:
            early = []
            for k, one in enumerate(each):
                self.line(f"{one} = at(int64({k}), {step}, {run})")
                self.line(f"{where} = select(lt({one}, {stop}), {one}, {run})")
                number()
                early.append(self.load_early(loads))
            for one, self.early in zip(each, early):
                with self.block(f"if lt({one}, {stop}):"):
                    self.line(f"{where} = {one}")
                    number()
                    iteration()
            self.early = {}

        self.stride_loop(run, first, stop, f"int64({at_once * self.block_size})", batch)


def is_small(s: Parallel) -> bool:
    """Whether a loop's iterations are worth doing several at once: short, and mostly waiting for memory."""
    nodes = list(walk(s))
    return len(nodes) <= SMALL and not any(isinstance(n, (For, While, Atomic, CallHelper)) for n in nodes)
