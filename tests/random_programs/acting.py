"""Random helpers that act: they store into arrays that they are given, make arrays of their own, return anywhere, give a
number or nothing; and sweeps, which are called between parallel loops and have such loops in them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .elements import bare
from .scope import Array, Scope
from .scratch import Scratch
from .values import Expr, Retry

_NAMES = ("i", "j", "g")
_TABLE = [
    "local_name", "augment", "reassign", "branch", "for_loop", "while_loop", "swap", "branches_that_set", "swap_arrays",
    *["store_own_array"] * 5, "swap_arrays", "act",
]  # fmt: skip


@dataclass
class Actor:
    name: str
    parameters: list[Array]  # those with dims are arrays that it writes
    result: str  # "" for none
    arrays: bool  # whether it makes arrays of its own, which an iteration has and a block has not
    extents: tuple[int, ...] = ()  # of the first array, that follow in the call


class Acting(Scratch):
    actors: list[Actor]
    sweeps: list[Actor]
    aside: bool  # a helper is written, which has no outputs of its own

    # ------------------------------------------------------------------------------------------------ written first

    def write_actors(self) -> list[str]:
        """The text of one or two helpers, each of which may call the one before."""
        return self.apart([lambda k=k: self.write_actor(f"act{k}") for k in range(self.rng.randint(1, 2))])

    def apart(self, writers: list) -> list[str]:
        """What these write, with none of the kernel's names in sight."""
        outer = self.lines, self.scope, self.indent, self.extents, self.counts, self.place, self.atomics, self.accumulators
        self.extents, self.counts, self.place, self.atomics, self.accumulators, text = [], [], "helper", [], [], []
        budget, self.aside = self.budget, True
        for write in writers:
            self.lines, self.indent, self.scope, self.budget = [], 0, Scope(), 8
            write()
            text += [*self.lines, ""]
        (self.lines, self.scope, self.indent, self.extents, self.counts, self.place, self.atomics,
         self.accumulators) = outer  # fmt: skip
        self.budget, self.aside = budget, False
        return text

    def write_actor(self, name: str) -> None:
        parameters, words = [], []
        for _ in range(self.rng.randint(0, 2)):
            parameters.append(Array(self.name("u"), self.rng.choice(self.has.dtypes), None))
            words.append(parameters[-1].name)
            self.scope.add(Expr(words[-1], parameters[-1].dtype), mutable=self.chance(0.5))
        own = Array(self.name("y"), self.rng.choice(self.has.dtypes), (), "own", swapped=self.chance(0.5))
        extents = tuple(self.name("n") for _ in range(self.rng.choice((1, 1, 2))))
        own.dims = extents if self.chance(0.5) else (f"len({own.name})", *extents[1:])
        both = [own] + [Array(self.name("y"), own.dtype, own.dims, "own", swapped=True)] * own.swapped
        for array in both:
            parameters.append(array)
            words.append(array.name)
        words += [d for d in own.dims if d in extents]
        self.scope.arrays += both
        self.scope.positive |= set(own.dims)
        result, makes = self.rng.choice(("", *self.rng.sample(self.has.dtypes, 2))), self.chance(0.3)
        with self.block(f"def {name}({', '.join(words)}):", self.scope):
            if makes:
                self.own_array()
            self.statements(self.rng.randint(0, 3), _TABLE)
            if self.chance(0.4):
                with self.block(f"if {bare(self.condition(2))}:"):
                    self.statements(self.rng.randint(0, 1), _TABLE)
                    self.give(result)
            self.budget += 1
            self.statements(1, ["store_own_array"])
            if result:
                self.give(result)
        makes = makes or any("local(" in line for line in self.lines)
        follow = tuple(k for k, d in enumerate(own.dims) if d in extents)
        self.actors.append(Actor(name, parameters, result, makes, follow))

    def give(self, result: str) -> None:
        self.line(f"return {bare(self.typed(result, 2).text)}" if result else "return")

    # -------------------------------------------------------------------------------------------------- and called

    def table(self) -> list[str]:
        return super().table() + ["act"] * 6 * bool(self.actors)

    def act(self) -> None:
        actor = self.pick([a for a in self.actors if not (a.arrays and self.place == "blocks")])
        self.called(actor, [a for a in self.scope.arrays if a.role in self.own_roles()])

    def called(self, actor: Actor, found: list[Array]) -> None:
        """A call with these arrays, as a statement or with its value in an expression."""
        words, given = [], []
        for p in actor.parameters:
            if p.dims is None:
                words.append(bare(self.typed(p.dtype, 1).text))
                continue
            like = [a for a in found if a.dtype == p.dtype and len(a.dims) == len(p.dims) and a not in given]
            if p.swapped:  # with another: alike, and no row of an array
                like = [a for a in like if a.role not in ("row", "own") or a.swapped]
                like = [a for a in like if all((a.dims, a.narrow, a.role) == (g.dims, g.narrow, g.role) for g in given)]
            array = self.pick(like)
            if actor in self.actors and any(isinstance(d, str) and d not in self.scope.positive for d in array.dims):
                raise Retry
            given.append(array)
            words.append(f"{array.name}[{array.prefix.removesuffix(', ')}]" if array.prefix else array.name)
        words += [self.extent(given[0], axis) for axis in actor.extents]
        text = f"{actor.name}({', '.join(words)})"
        if not actor.result:
            self.line(text)
            return
        name, value = self.name(), Expr(text, actor.result)
        self.line(f"{name} = {value.text}")
        self.scope.add(value._replace(text=name))

    def extent(self, array: Array, axis: int) -> str:
        """A dimension as an argument. A number has a name: what the helper computes from a literal might not fit. What
        is computed from a scalar is its length: the helper is written for a dimension, which is weak."""
        dim = array.dims[axis]
        if isinstance(dim, str):
            strong = any(name in self.counts for name in re.findall(r"\w+", dim))
            if strong and axis:
                raise Retry
            return f"len({array.name})" if strong else bare(dim)
        name = self.name("n")
        self.line(f"{name} = {dim}")
        return name

    def own_row(self, scope: Scope, names: tuple[str, ...], dims: tuple) -> None:
        """An output of which each iteration has a row for itself."""
        extent = self.rng.randint(1, 4)
        wanted = [p.dtype for a in self.actors for p in a.parameters if p.dims and len(p.dims) == 1 and not p.swapped]
        array = self.output((*dims, extent), dtype=self.rng.choice(wanted) if wanted else "")
        if array.role == "out" and not array.fill:
            array.role = "inout"
        scope.arrays.append(Array(array.name, array.dtype, (extent,), "row", prefix="".join(f"{n}, " for n in names)))

    # ------------------------------------------------------------------------------------------------------ sweeps

    def write_sweep(self, dims: tuple) -> None:
        """A helper with parallel loops, for two arrays of the call: it reads one anywhere and writes the other."""
        dtype, name = self.rng.choice(self.has.dtypes), f"sweep{len(self.sweeps)}"
        v, w, factor = self.name("y"), self.name("y"), Array(self.name("u"), self.rng.choice(self.has.dtypes), None)
        result = self.rng.choice(("", "any", "max", "argmin"))
        parameters = [Array(v, dtype, dims, swapped=True), Array(w, dtype, dims, swapped=True), factor]
        names = _NAMES[: len(dims)]
        self.scope.add(Expr(factor.name, factor.dtype), mutable=False)
        self.scope.arrays.append(parameters[0])
        with self.block(f"def {name}({v}, {w}, {factor.name}):", self.scope):
            outer = self.indent
            if turns := self.chance(0.5):
                self.line(f"for {self.name('t')} in range({self.rng.randint(0, 3)}):")
                self.indent += 1
            scope = self.loop_scope(names, dims)
            scope.targets = [Expr(f"{w}[{', '.join(names)}]", dtype)]
            scope.elements = list(scope.targets)
            self.place = "grid"
            self.iterations("grid", names, tuple(map(str, dims)), scope, self.rng.randint(1, 3))
            self.place = "helper"
            if turns or self.chance(0.3):
                self.line(f"{v}, {w} = {w}, {v}")
            self.indent = outer
            place, self.place = self.place, "grid"
            if result:
                text, found = self.functional("grid", names, tuple(map(str, dims)), self.loop_scope(names, dims), result)
                self.line(f"return {text}")
                result = self.cast(found, found.dtype).dtype if not found.weak else ""
            self.place = place
        self.sweeps.append(Actor(name, parameters, result, False))

    def sweep(self) -> None:
        self.called(self.pick(self.sweeps), [a for a in self.scope.arrays if a.role == "temp"])
