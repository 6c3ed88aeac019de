"""The loops of one thread on CUDA: by strides, and several iterations at once so that their loads wait together."""

from __future__ import annotations

from collections.abc import Callable

from .reductions import CudaReductions
from .early_loads import Early, early_loads
from ...ir.tree import Atomic, CallHelper, Const, Expr, For, Load, Parallel, Stmt, While, walk

SMALL = 64  # nodes of the tree of a loop that is unrolled
BYTES = 16  # of each array, under way in a thread
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

    def early_loads(self, s: Parallel) -> Early | None:
        """What a loop does several iterations at once with; None for one that does one after the other."""
        if not is_small(s):
            return None
        size = CHUNK_BYTES if s.kind == "grid" and s.reductions else BYTES
        early = early_loads(s, self.tree.arrays.keys(), self.tree.aliases, size)
        if not early or s.kind == "grid" and not s.reductions:  # which asks the views themselves
            return early
        loads = [n for value in early.values.values() for n in walk(value) if isinstance(n, Load)]
        return None if any(self.arrays[load.array].view for load in loads) else early

    def write_grid(self, s: Parallel, counts: tuple[str, ...]) -> None:
        """One to three nested grid-stride loops, the last count along x; along one of them in batches."""
        axes = "xyz"[: len(counts)][::-1]
        names = [self.names.of(n) for n in s.names]
        early, batched = self.early_loads(s), batched_axis(len(counts))
        run = self.names.fresh("_run")

        def level(k: int) -> None:
            if k == len(counts):
                if early:
                    self.write_batch(s, early, names[batched], counts[batched], run, f"ntid_{axes[batched]}()")
                else:
                    self.statements(s.body)
                return
            first, step = f"ctaid_{axes[k]}()", f"nctaid_{axes[k]}()"
            if several := early and k == batched:
                first, step = (f"mul({text}, int64({early.at_once}))" for text in (first, step))
            width, thread = f"ntid_{axes[k]}()", f"tid_{axes[k]}()"
            self.stride_loop(
                run if several else names[k], f"at({first}, {width}, {thread})", counts[k], f"mul({step}, {width})",
                lambda: level(k + 1),
            )  # fmt: skip

        level(0)

    def write_batch(self, s: Parallel, early: Early, name: str, count: str, run: str, width: str) -> None:
        """The iterations from `run` on that are a block's width apart, all their loads before anything else. One by
        one at the end, and where an array's view takes divisions."""
        views = [a for a in self.arrays.values() if a.view]
        is_flat = "".join(f"band(eq({a.view[0]}, int64(0)), " for a in views)
        each = [self.names.fresh("_each") for _ in range(early.at_once)]
        for k, one in enumerate(each):
            self.line(f"{one} = at(int64({k}), {width}, {run})")
        with self.block(f"if {is_flat}lt({each[-1]}, {count}){')' * len(views)}:"):
            whole, self.arrays = self.arrays, {a.name: a.flat for a in self.arrays.values()}
            loaded = []
            for one in each:
                self.line(f"{name} = {one}")
                loaded.append(self.load_early(early))
            for one, self.early in zip(each, loaded):
                self.line(f"{name} = {one}")
                self.statements(early.body)
            self.early, self.arrays = {}, whole
        with self.block("else:"):
            last = self.held_text("_last", f"minimum({count}, at(int64({early.at_once}), {width}, {run}))")
            self.stride_loop(name, run, last, width, lambda: self.statements(s.body))

    def load_early(self, early: Early, condition: str = "") -> dict[str, str]:
        """Names for the early values of the iteration whose indices are set, if there is one."""
        self.early = {}
        for name, value in early.values.items():
            text = self.expression(value)
            if condition:
                text = f"({text} if {condition} else {self.constant(0, value.type)})"
            self.early[name] = self.held_text("_early", text)
        return self.early

    # --------------------------------------------------------------------------------------------- of a block

    def write_turns(
        self, s: Parallel, early: Early | None, where: str, first: str, stop: str, number: Callable[[], None],
        iteration: Callable[[tuple[Stmt, ...]], None],
    ) -> None:  # fmt: skip
        """A block's iterations from `first` on, those of a thread a block apart, in order. `where` is the name of an
        iteration's position; `number` sets the indices of the iteration there, `iteration` writes it. With `early`
        several at once.

        Few loops over a block are whole batches: rows are as long as they are. So each iteration of a batch after the
        first has a condition, and the GPU its predicates: nothing waits, and nothing is loaded that is not there.
        """
        step = f"int64({self.block_size})"
        if not early:

            def one() -> None:
                number()
                iteration(s.body)

            self.stride_loop(where, first, stop, step, one, unrolled=is_small(s))
            return
        run, each = self.names.fresh("_run"), [self.names.fresh("_each") for _ in range(early.at_once)]

        def batch() -> None:
            loaded = []
            for k, one in enumerate(each):
                self.line(f"{one} = at(int64({k}), {step}, {run})")
                self.line(f"{where} = {one}")
                number()
                loaded.append(self.load_early(early, f"lt({one}, {stop})" if k else ""))
            for one, self.early in zip(each, loaded):
                with self.block(f"if lt({one}, {stop}):"):
                    self.line(f"{where} = {one}")
                    number()
                    iteration(early.body)
            self.early = {}

        self.stride_loop(run, first, stop, f"int64({early.at_once * self.block_size})", batch)


def batched_axis(counts: int) -> int:
    """Which count of a grid's a thread does several iterations along: the rows of a block's threads, which may be few
    or many, where the last is often short; the only one of one."""
    return max(counts - 2, 0)


def is_small(s: Parallel) -> bool:
    """Whether a loop's iterations are worth doing several at once: short, and mostly waiting for memory."""
    nodes = list(walk(s))
    return len(nodes) <= SMALL and not any(isinstance(n, (For, While, Atomic, CallHelper)) for n in nodes)
