"""Thread coarsening on CUDA: a thread does several iterations of a loop at once, so that their loads wait together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import nullcontext
from dataclasses import replace
from functools import partial, reduce

from ...ir.tree import (
    Expr,
    KernelTree,
    Load,
    Parallel,
    Select,
    Stmt,
    Store,
    Var,
    walk,
)  # fmt: skip
from ..llvm.array_scope import ArrayScope
from ..llvm.expressions import Expressions, constant
from ..llvm.faults import Faults
from ..llvm.statements import Statements
from ..llvm.writer import Writer
from .arrays import Array
from .counts import Number, fixed
from .early_loads import Early, early_loads, is_small
from .loop_reductions import Reductions
from .round_sums import RoundSums
from .stride_loops import stride_loop

MOST_UNROLLED = 16  # turns of a loop of known length
BYTES = 16  # of each array, under way in a thread
STORED = "what is stored"  # a name that no kernel has
CHUNK_BYTES = 32  # of each array, under way in a thread of a reduction over a grid, which does little else


class ThreadCoarsening:
    """statements: what writes the statements of one thread; counting: a block adds to copies of its own."""

    def __init__(
        self, writer: Writer, expressions: Expressions, statements: Statements, reductions: Reductions,
        arrays: ArrayScope[Array], tree: KernelTree, block: int, faults: Faults,
        counting: bool,
    ):  # fmt: skip
        self.writer, self.names, self.expressions = writer, writer.names, expressions
        self.statements, self.reductions = statements, reductions
        self.arrays, self.tree, self.block, self.faults, self.counting = arrays, tree, block, faults, counting

    def early_loads(self, s: Parallel) -> Early | None:
        """What a loop does several iterations at once with; None for one that does one after the other."""
        if not is_small(s, self.counting):
            return None
        size = CHUNK_BYTES if s.kind == "grid" and s.reductions else BYTES
        early = early_loads(s, self.tree.arrays.keys(), self.tree.aliases, size)
        if not early or s.kind == "grid" and not s.reductions:  # which asks the views themselves
            return early
        loads = [n for value in early.values.values() for n in walk(value) if isinstance(n, Load)]
        return None if any(self._divides(load) for load in loads) else early

    def _divides(self, load: Load) -> bool:
        array = self.arrays[load.array]
        return bool(array.view) and not (array.row and array.row[0] == self.expressions.text(load.indices[0]))

    # ------------------------------------------------------------------------------------------------ of a grid

    def whole_round(self, early: Early, name: str, run: str, width: str, near: bool) -> None:
        """The iterations from `run` on that are a block's width apart, all their loads before anything else."""
        at = "near" if near else "at"
        each = [self.names.fresh("_each") for _ in range(early.at_once)]
        for k, one in enumerate(each):
            self.writer.assign(one, f"{at}(int64({k}), {width}, {run})")
        places = [partial(self.writer.assign, name, one) for one in each]
        loaded = self._load(early, places, unset=early.values.keys() - early.deciding)
        for one, values in zip(each, loaded, strict=True):
            self.writer.assign(name, one)
            self._give(values)
            self.statements.write(early.body)

    def wide_round(self, early: Early, name: str, run: str) -> None:
        """The iterations from `run` on that are side by side: all their loads, all that is computed, and all stores, of
        one array after the other, so that NVVM makes one of several."""
        each = [self.writer.held("_each", f"add({run}, int64({k}))") for k in range(early.at_once)]
        elements = [{a.name: a.element(k) for a in self.arrays.all()} for k in range(early.at_once)]
        loaded = []
        for one, arrays in zip(each, elements, strict=True):
            with self.arrays.bound(arrays):
                loaded += self._load(early, [partial(self.writer.assign, name, one)])
        stores: list[tuple[Store, list[str]]] = [(s, []) for s in early.body if isinstance(s, Store)]
        for one, values in zip(each, loaded, strict=True):
            self.writer.assign(name, one)
            self._give(values)
            following = iter(stores)
            for s in early.body:
                if isinstance(s, Store):
                    with self.writer.from_position(s.at or self.writer.at):
                        next(following)[1].append(self.writer.held("_stored", self.expressions.text(s.value)))
                else:
                    self.statements.write([s])
        for store, held in stores:
            for one, value, arrays in zip(each, held, elements, strict=True):
                self.writer.assign(name, one)
                self.names.bind(STORED, value)
                with self.arrays.bound(arrays):
                    self.statements.write([replace(store, value=Var(STORED, store.value.type))])

    def last_round(self, s: Parallel, early: Early, name: str, count: str, run: str, width: str, near: bool) -> None:
        """The iterations from `run` on that there are, one by one."""
        writer = self.writer
        last = writer.held("_last", f"minimum({count}, at(int64({early.at_once}), {width}, {run}))")
        one = partial(self.statements.write, s.body)
        stride_loop(writer, self.statements, name, run, last, width, one, "rolled", near=near)

    # ----------------------------------------------------------------------------------------------- of a block

    def turns(
        self, s: Parallel, early: Early | None, where: str, first: str, stop: str, number: Number,
        iteration: Callable[[tuple[Stmt, ...]], None], near: bool = False,
    ) -> None:  # fmt: skip
        """A block's iterations from `first` on, those of a thread a block apart, in order. `where` is the name of an
        iteration's position; `number` sets the indices of the iteration there, `iteration` writes it. With `early`
        several at once: in whole rounds, and a last one in which each iteration after the first has a condition.
        """
        writer, step = self.writer, f"int64({self.block})"
        if not early:

            def one_turn() -> None:
                number(where, "int64(0)")
                iteration(s.body)

            said, head = "unrolled" if is_small(s) else "", self.faults.leave
            stride_loop(writer, self.statements, where, first, stop, step, one_turn, said, head)
            return
        sums = RoundSums(s, writer, self.expressions, self.reductions)
        run, each = self.names.fresh("_run"), [self.names.fresh("_each") for _ in range(early.at_once)]
        unset = early.values.keys() - early.deciding if near else frozenset()
        many, known = early.at_once * self.block, fixed((stop,))

        def go_to(k: int) -> None:
            writer.assign(where, each[k])
            number(run, f"int64({k})")

        def one_round(inside: list[str]) -> None:
            for k, one in enumerate(each):
                writer.assign(one, f"at(int64({k}), {step}, {run})")
            loaded = self._load(early, [partial(go_to, k) for k in range(early.at_once)], inside, unset)
            for k, (one, values) in enumerate(zip(each, loaded, strict=True)):
                self._give(values)
                with sums.iteration(), writer.if_(inside[k]) if inside[k] else nullcontext():
                    writer.assign(where, one)
                    number(run, f"int64({k})")
                    iteration(early.body)
            sums.close()

        def whole_round() -> None:
            one_round([""] * early.at_once)

        guarded = any(isinstance(value, Select) for value in early.values.values())
        short = known is not None and known <= MOST_UNROLLED * self.block and not guarded
        said = "unrolled" if short else "rolled"
        whole = f"sub({stop}, int64({many - self.block}))"
        head = self.faults.leave
        place = stride_loop(writer, self.statements, run, first, whole, f"int64({many})", whole_round, said, head)
        if known is not None and known % many == 0:
            return
        with writer.if_(f"lt({place}, {stop})"):
            writer.assign(run, place)
            left = writer.held("_left", f"to_int32(sub({stop}, {run}))")  # a GPU compares 32 bits in one instruction
            one_round(["", *(f"lt(int32({k * self.block}), {left})" for k in range(1, early.at_once))])

    def _load(
        self, early: Early, places: Sequence[Callable[[], None]], conditions: Sequence[str] = (),
        unset: Set[str] = frozenset(),
    ) -> list[dict[str, str]]:  # fmt: skip
        """Names for the early values of each iteration, whose indices are set by its place, if it is there by its
        condition. unset: those that are anything where their guards do not hold, for nobody asks; else 0, which takes
        fewer registers. Whether indices are inside is asked once for all iterations, and for each where not all are."""
        loaded: list[dict[str, str]] = [{} for _ in places]
        for stage in early.stages:
            names = [{name: self.names.fresh("_early") for name in stage} for _ in places]

            def write(values: Mapping[str, Expr], names: Sequence[dict[str, str]] = names) -> None:
                for k, place in enumerate(places):
                    place()
                    self._give(loaded[k])
                    for name, value in values.items():
                        condition = conditions[k] if conditions else ""
                        self.writer.assign(names[k][name], self._loaded(name, value, condition, unset))
                        self.names.bind(name, names[k][name])

            looked = {} if any(conditions) else self._looked_at(stage)
            if looked:
                inside = ""
                for place, values in zip(places, loaded, strict=True):
                    place()
                    self._give(values)
                    for load in looked.values():
                        inside = self.writer.held("_all_inside", self._inside(load, inside))
                with self.writer.if_(inside):
                    write(stage | {name: replace(load, inside=True) for name, load in looked.items()})
                with self.writer.else_():
                    write(stage)
            else:
                write(stage)
            for values, more in zip(loaded, names, strict=True):
                values |= more
        return loaded

    def _looked_at(self, values: Mapping[str, Expr]) -> dict[str, Load]:
        return {name: one for name, one in values.items() if isinstance(one, Load) and self.faults.checks(one)}

    def _inside(self, load: Load, others: str) -> str:
        """That the indices of a load are inside, and others are."""
        looked, extents = self.faults.sites.looked_at(load), self.arrays[load.array].extents
        pairs = zip(map(self.expressions.text, load.indices[looked]), extents[looked], strict=True)
        within = (f"within({index}, {extent})" for index, extent in pairs)
        return reduce(lambda one, other: f"band({one}, {other})", within, *([others] if others else []))

    def _loaded(self, name: str, value: Expr, condition: str, unset: Set[str]) -> str:
        if isinstance(value, Select) and name in unset:
            load, guard = map(self.expressions.text, (value.then, value.condition))
            text = f"({load} if {guard} else unset_{value.type}())"
        else:
            text = self.expressions.text(value)
        return f"({text} if {condition} else {constant(0, value.type)})" if condition else text

    def _give(self, values: dict[str, str]) -> None:
        """From here on the names of early values stand for these."""
        for name, written in values.items():
            self.names.bind(name, written)


def coarsened_axis(counts: int) -> int:
    """Which count of a grid's a thread does several iterations along: the rows of a block's threads, which may be few
    or many, where the last is often short; the only one of one."""
    return max(counts - 2, 0)
