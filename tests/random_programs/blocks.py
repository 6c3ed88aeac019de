"""Random bodies of `blocks`: shared and private arrays, `threads` loops under block-level control, reductions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .elements import bare
from .counters import Counters
from .scope import Array, Scope
from .values import Expr, Retry

_NAMES = ("c", "d", "f")


class Blocks(Counters):
    """State of the block that is being written: `pool` is what its threads store, `views` its part of an output."""

    place: str  # "set-up" "grid" "blocks" "threads" "after"
    block_names: tuple[str, ...]
    block_dims: tuple
    thread_dims: list[tuple]  # counts that threads loops may have
    pool: list[tuple[tuple, Expr, Array]]
    views: list[Array]

    def table(self) -> list[str]:
        found = super().table()
        if self.place == "blocks":
            found += ["threads_loop"] * 8 + ["reduced_name"] * 4 + ["accumulating_threads"] * 3 + ["reduced_store"] * 2
            if self.scope.depth == 0:
                found += ["shared_array"] * 3 + ["private_array"] * 2 + ["rounded_store"]
        elif self.place in ("grid", "threads") and not self.scope.sequential and not self.scope.depth:
            found += ["elementary_store"] * 16
        return found

    # ------------------------------------------------------------------------------------------ threads loops

    def thread_scope(self, dims: tuple, written: list[Array]) -> Scope:
        """What an iteration of `threads` may name: of an array that the loop writes, its own elements alone."""
        names = [a.name for a in written]
        scope = self.scope.child(sequential=0, depth=0, targets=[], mutable=[])
        scope.arrays = [a for a in scope.arrays if a.name not in names]
        scope.indices |= dict(zip(_NAMES, dims))
        scope.positive |= {d for d in dims if isinstance(d, str)}
        return scope

    def threads_loop(self, accumulators: Sequence = ()) -> None:
        dims = self.rng.choice(self.thread_dims)
        names = _NAMES[: len(dims)]
        old = [(target, array) for other, target, array in self.pool if other == dims and self.chance(0.5)]
        updated = []
        for array in self.scope.arrays:
            if array.role == "shared" and array.dtype in self.has.integers and self.chance(0.25):
                updated.append((array, self.rng.choice(("add", "min", "max"))))
        private = [a for a in self.arrays if a.role == "private" and a.dims == dims]
        taken = [a for a, _ in updated]
        old = [(t, a) for t, a in old if a not in taken]
        scope = self.thread_scope(dims, [a for _, a in old] + taken + self.stored_views(old))
        for target, array in old:
            scope.targets.append(target)
            if array.role in ("inout", "shared") or array.fill:
                scope.elements.append(target)
        for array in private:
            element = Expr(f"{array.name}[{', '.join(names)}]", array.dtype)
            scope.targets.append(element)
            scope.elements.append(element)
        if self.chance(0.5) or not scope.targets and not accumulators:
            self.new_thread_outputs(scope, names, dims)
        used = [t.text for t, _ in accumulators]
        scope.scalars = [v for v in scope.scalars if v.text not in used]
        outer = self.place, self.accumulators, self.atomics
        self.place, self.accumulators, self.atomics = "threads", accumulators, self.atomics + updated
        self.iterations("threads", names, tuple(map(str, dims)), scope, self.rng.randint(1, 4))
        self.place, self.accumulators, self.atomics = outer

    def stored_views(self, old) -> list[Array]:
        names = {array.name for _, array in old}
        return [view for view in self.views if view.name in names]

    def new_thread_outputs(self, scope: Scope, names: tuple, dims: tuple) -> None:
        own, depth = len(scope.targets), self.scope.depth
        made = self.targets_of(scope, (*self.block_names, *names), (*self.block_dims, *dims), self.rng.randint(1, 2))
        for target, array in zip(scope.targets[own:], made):
            self.pool.append((dims, target, array))
            plain = target.text == f"{array.name}[{', '.join((*self.block_names, *names))}]"
            if plain and (array.role == "inout" or array.fill):
                self.views.append(replace(array, dims=dims, prefix=f"{', '.join(self.block_names)}, "))
                if not depth:
                    self.scope.arrays.append(self.views[-1])

    def accumulating_threads(self) -> None:
        found = self.begin_accumulators(self.rng.randint(1, 3))
        self.threads_loop(found)
        for name, _ in found:
            self.scope.add(name)

    # ------------------------------------------------------------------------------------------------- arrays

    def shared_array(self) -> None:
        any_kind = self.rng.choice((*self.has.dtypes, *self.has.integers)), self.shape(6), self.rng.choice((1, 1, 2))
        dtype, dims, count = self.wanted_by_actors() or any_kind
        if self.chance(0.3) and "TILE" in self.params:
            dims = ("TILE", *dims[1:])
        self.known(dims)
        first = Array(self.name("t"), dtype, dims, "shared")
        for number in range(count):
            array = replace(first, name=self.name("t")) if number else first
            self.new_array(array)
            self.scope.arrays.append(array)
            self.pool.append((dims, Expr(f"{array.name}[{', '.join(_NAMES[: len(dims)])}]", array.dtype), array))

    def private_array(self) -> None:
        dims = self.pick([d for d in self.thread_dims if all(isinstance(n, int) or n == "TILE" for n in d)])
        array = Array(self.name("p"), self.rng.choice(self.has.dtypes), dims, "private")
        self.new_array(array)
        self.arrays.append(array)

    def new_array(self, array: Array) -> None:
        """Make it and fill it, in a threads loop over its elements."""
        shape = ", ".join(bare(str(d)) for d in array.dims)
        dtype = self.narrow(array) if array.dtype == "float32" else self.dtype_name(array.dtype)
        self.line(f"{array.name} = {array.role}(({shape}{',' * (len(array.dims) == 1)}), {dtype})")
        names = _NAMES[: len(array.dims)]
        place, self.place = self.place, "threads"
        with self.block(f"for {', '.join(names)} in threads({shape}):", self.thread_scope(array.dims, [])):
            self.line(f"{array.name}[{', '.join(names)}] = {bare(self.storable(array.dtype, 2).text)}")
        self.place = place

    # --------------------------------------------------------------------------------------------- reductions

    def reduction_text(self, op: str = "") -> tuple[str, Expr]:
        dims = self.rng.choice(self.thread_dims)
        place, self.place = self.place, "threads"
        found = self.functional("threads", _NAMES[: len(dims)], tuple(map(str, dims)), self.thread_scope(dims, []), op)
        self.place = place
        return found

    def reduced_name(self) -> None:
        text, result = self.reduction_text()
        name = self.name()
        self.line(f"{name} = {text}")
        self.scope.add(result._replace(text=name), not result.weak)

    def reduced_store(self) -> None:
        target = self.pick(self.scope.targets)
        text, result = self.reduction_text()
        if result.rank == 3 and not target.dtype.startswith("complex"):
            raise Retry
        if self.chance(0.3) and result.rank < 3:
            other, of_other = self.reduction_text()
            text = f"{text} + {other}" if of_other.rank in (1, 2) and result.rank in (1, 2) else text
        self.line(f"{target.text} = {text}")
        self.scope.elements.append(target)

    def rounded_store(self) -> None:
        if not all(isinstance(d, str) and d.isidentifier() for d in self.block_dims):
            raise Retry
        dims = self.rng.choice(self.thread_dims)
        scope = self.thread_scope(dims, [])
        dtype, text, sizes = self.rounded_sum("threads", _NAMES[: len(dims)], tuple(map(str, dims)), scope)
        total, size = self.plain_output(self.block_dims, dtype), self.plain_output(self.block_dims, self.has.widest)
        place = ", ".join(self.block_names)
        self.line(f"{total.name}[{place}] = {text}")
        self.line(f"{size.name}[{place}] = {sizes}")
        self.loose[total.name] = ("sum", size.name, " * ".join(map(str, dims)))
        self.loose[size.name] = ("sum", size.name, " * ".join(map(str, dims)))

    def plain_output(self, dims: tuple, dtype: str) -> Array:
        array = Array(self.name("o"), dtype, dims, "out", ellipsis=bool(dims) and dims[0] in ("size", "rows"))
        self.arrays.append(array)
        return array
