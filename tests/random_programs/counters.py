"""Random uses of the values that atomics give: places that a count hands out, and what an element held before."""

from __future__ import annotations

from .elements import bare
from .loops import Loops
from .scope import Array
from .values import Expr, Retry


class Counters(Loops):
    unordered: list[tuple[str, ...]]  # outputs that come permuted, those of a group together
    counters: list[tuple[Array, list[Array], int]]  # a count, what is stored at its values, and its step: once a loop
    own_atomics: list[tuple[Array, str, str]]  # array, the index that the iteration has for itself, and op

    def begin_counters(self, names: tuple[str, ...], dims: tuple) -> None:
        """Counts and arrays for the next loop over a grid."""
        self.counters, self.own_atomics = [], []
        if self.chance(0.35):
            step, count = self.rng.choice((1, 1, 2)), Array(self.name("o"), "int64", (), "out", fill="0")
            most = " * ".join(map(str, dims if step == 1 else (step, *dims)))
            kept = [Array(self.name("o"), self.rng.choice(self.has.dtypes), ("?",), "out", fill="0") for _ in range(self.rng.randint(1, 2))]
            for array in kept:
                array.written = f"<= {most}: {count.name}" if self.chance(0.4) else most
            self.arrays += [*kept, count]
            self.unordered.append(tuple(a.name for a in kept))
            self.counters.append((count, kept, step))
        if self.chance(0.35):
            array = Array(self.name("h"), self.rng.choice((*self.has.integers, "float32")), dims, "inout")
            self.arrays.append(array)
            place = names[0] if len(names) == 1 else f"({', '.join(names)})"
            self.own_atomics.append((array, place, self.rng.choice(("add", "min", "max"))))

    def table(self) -> list[str]:
        found = super().table()
        if self.place == "grid" and not self.scope.sequential:
            found += ["count_up"] * 9 * len(self.counters)
        return found + ["own_atomic"] * 6 * len(self.own_atomics) * (self.place == "grid")

    def count_up(self) -> None:
        """Values at the next place, under a condition or in each iteration."""
        if not self.counters:
            raise Retry
        count, kept, step = self.counters.pop()
        values = [bare(self.storable(array.dtype, 2).text) for array in kept]
        if self.chance(0.6):
            with self.block(f"if {bare(self.condition(2))}:"):
                self.at_the_count(count, kept, step, values)
        else:
            self.at_the_count(count, kept, step, values)

    def at_the_count(self, count: Array, kept: list[Array], step: int, values: list[str]) -> None:
        add = f"atomic_add({count.name}, {step})"
        if len(values) == 1 and self.chance(0.4):
            self.line(f"{kept[0].name}[{add}] = {values[0]}")
            return
        place = self.name("k")
        self.line(f"{place} = {add}")
        for array, value in zip(kept, values):
            self.line(f"{array.name}[{place}] = {value}")

    def own_atomic(self) -> None:
        """An update of an element that no other iteration touches gives what it held."""
        array, place, op = self.pick(self.own_atomics)
        name, value = self.name(), self.typed(array.dtype, 2)
        self.line(f"{name} = atomic_{op}({array.name}, {place}, {bare(value.text)})")
        self.scope.add(Expr(name, array.dtype))

    def end_counters(self) -> None:
        self.counters, self.own_atomics = [], []
