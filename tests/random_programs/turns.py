"""Random grids whose iterations turn in sequential loops, as sums and recurrences do: loops that all iterations of a
grid take together, and others; last counts of a few iterations; counters of `while`; sums and searches along rows."""

from __future__ import annotations

from contextlib import suppress

from .elements import bare, stored
from .forms import Forms
from .scope import Array, Scope
from .values import Expr, Retry, rank

_AROUND = ["local_name", "local_name", "reassign", "augment", "branch", "index_branch", "store", "several", "best"]
_INSIDE = [*_AROUND, "update_element", "branches_that_set", *["same_for_all"] * 3, *["neighbour"] * 7]
_RARE = ["for_loop", "while_loop", "skip_turn"]


class Turns(Forms):
    carried: list[Expr]  # what goes on from one turn of the loop around to the next

    def write_turns(self) -> None:
        """One or two loops over a grid, in whose iterations there are loops."""
        dims = self.rng.choice((*[("n",)] * 4, *[("m", "n")] * 2, ("n", 3), ("n", 4, 1), ("m", "n", 1), (70,)))
        self.leading, self.carried, self.extents = "", [], ["k"]
        self.begin(dims)
        self.budget += 16
        along = [("k", dims[-1]), (dims[0], "k"), ("k",), ("k",), ("k", "k"), (*dims, "k"), ("k", *dims)]
        for shape in self.rng.sample(along, 4):
            integers = self.chance(0.2)
            dtype = self.rng.choice(self.has.integers if integers else self.has.floats)
            layout = "strided" if self.chance(0.15) else "C"
            data = "small" if not integers and self.chance(0.5) else "any"
            self.arrays.append(Array(self.name("x"), dtype, shape, "in", layout, data=data))
            self.scope.arrays.append(self.arrays[-1])
        names = ("i", "j", "g")[: len(dims)]
        for _ in range(self.rng.choice((1, 1, 2))):
            scope = self.loop_scope(names, dims)
            self.targets_of(scope, names, dims, self.rng.randint(1, 2))
            atomics, self.atomics = self.atomics, self.atomics if self.chance(0.2) else []
            self.place = "grid"
            with self.block(f"for {', '.join(names)} in grid({self.counted(tuple(map(str, dims)))}):", scope):
                self.statements(self.rng.randint(0, 2), _AROUND)
                for _ in range(self.rng.choice((1, 1, 2))):
                    results = self.turns(0)
                    self.statements(self.rng.randint(0, 1), _AROUND)
                    self.line(stored(self.rng.choice(scope.targets), bare(self.cast(self.rng.choice(results), "float32").text)))
                self.finish_targets(self.scope)
            self.place, self.atomics = "set-up", atomics
        self.bind_symbols()

    def turns(self, depth: int) -> list[Expr]:
        """A loop in an iteration, or in such a loop; the names of what it carries."""
        outer, self.carried = self.carried, list(self.carried)
        for _ in range(self.rng.choice((0, 1, 1, 2)) if depth else self.rng.choice((1, 1, 2, 3))):
            dtype = self.rng.choice((*self.has.floats * 6, *self.has.dtypes))
            start = self.typed(dtype, 1) if self.chance(0.3) else Expr(f"{dtype}({self.rng.choice((0, 1, 3))})", dtype)
            name = self.name("s")
            self.line(f"{name} = {bare(start.text)}")
            self.carried.append(Expr(name, dtype))
            self.scope.add(self.carried[-1])
        inner = self.scope.inner()
        inner.sequential += 1
        if self.chance(0.2):
            self.counting(inner, depth)
        else:
            name = self.name("q")
            with self.block(f"for {name} in range({self.bounds(name, inner)}):", inner):
                self.turn_of(depth)
        carried, self.carried = self.carried, outer
        return carried

    def bounds(self, name: str, inner: Scope) -> str:
        """Of a range; of most the index is one of k."""
        own = [v.text for v in self.scope.scalars if v.dtype == "int64" and v.rank == 1]
        if self.chance(0.15) and own:
            inner.scalars.append(Expr(name, "int64", True))
            low, high = f"max(min({self.rng.choice(own)}, 3), -3)", f"max(min({self.rng.choice(own)}, 5), 0)"
            return f"{low}, {high}"
        inner.indices[name] = "k"
        inner.positive.add("k")
        others = [v for v, extent in self.scope.indices.items() if extent == "k"]
        more = [f"{v}, k" for v in others] + [f"{v} + 1" for v in others] + [f"k - {v}" for v in others]
        return self.rng.choice(("k", "k", "k", "0, k", "1, k", "k - 1", "k - 1, -1, -1", "0, k, 2", "k - 1, 0, -2", *more * 2))

    def counting(self, inner: Scope, depth: int) -> None:
        """`while` with a counter that goes up, to a number that may change; the counter is read after it."""
        name, stop = self.name("w"), self.name("e")
        self.line(f"{name} = {self.rng.choice((0, 0, 0, 1, -2))}")
        first = self.lines[-1].endswith("= 0")
        form = self.rng.randrange(4)
        if form < 2:
            stop = "k"
        else:
            self.line(f"{stop} = {'k' if form == 2 else bare(self.cast(self.expr(1, 1), 'int64').text) + ' % 6'}")
        if form < 3 and first:
            inner.indices[name] = "k"
            inner.positive.add("k")
        also = f" and {self.condition(1)}" if self.chance(0.15) else ""
        with self.block(f"while {name} < {stop}{also}:", inner):
            self.turn_of(depth)
            changed = self.rng.randrange(12)
            if changed == 0 and stop != "k":
                with self.block(f"if {bare(self.condition(1))}:"):
                    self.line(f"{stop} -= 1")
            if changed == 1:
                with self.block(f"if {bare(self.condition(1))}:"):
                    self.line(f"{name} += 1")
                    self.line("continue")
            self.line(f"{name} += {2 if changed == 2 else 1}")
        self.scope.scalars.append(Expr(name, "int64", True))

    def turn_of(self, depth: int) -> None:
        """The body of such a loop."""
        self.statements(self.rng.randint(0, 3), _INSIDE)
        if self.chance(0.15):
            self.statements(1, _RARE)
        if depth < 2 and self.chance(0.35):
            self.turns(depth + 1)
        for variable in self.carried:
            if self.chance(0.8):
                self.carry(variable)
        self.statements(self.rng.randint(0, 1), _INSIDE)

    def skip_turn(self) -> None:
        with self.block(f"if {bare(self.condition(2))}:"):
            self.line("break")

    def carry(self, variable: Expr) -> None:
        """What a turn makes of a value that goes on."""
        term = bare(self.typed(variable.dtype, 2).text)
        name, form = variable.text, self.rng.randrange(8)
        rows = [a for a in self.scope.arrays if a.role == "in" and len(a.dims) > 1 and a.dims[-1] == "k"]
        if rows and self.chance(0.3):
            array = self.rng.choice(rows)
            with suppress(Retry):
                term = bare(self.cast(Expr(self.element(array, 0), array.dtype), variable.dtype).text)
        if variable.rank != 2 or form == 0:
            self.line(f"{name} = {bare(self.typed(variable.dtype, 2).text)}")
        elif form == 1:
            self.line(f"{name} = {self.rng.choice(('min', 'max'))}({name}, {term})")
        elif form == 2:
            with self.block(f"if {bare(self.condition(2))}:"):
                self.line(f"{name} = {self.faded(name, 0.5)} + ({term})")
        elif form < 6:
            self.line(f"{name} += {term}")
        else:
            self.line(f"{name} = {self.faded(name, 0.25)} - ({term})")

    def faded(self, name: str, factor: float) -> str:
        """What is left of a value that goes on."""
        return f"{name} * {factor}"

    # -------------------------------------------------------------------------------------------- statements

    def over_range(self, depth: int) -> Expr:
        """Seldom, here: such a loop is not one for all iterations."""
        if self.form == "turns" and self.chance(0.9):
            raise Retry
        return super().over_range(depth)

    def same_for_all(self) -> None:
        """A name, or a condition, of what all iterations have in common."""
        scope, outer = self.scope, self.scope
        shared = {v: extent for v, extent in scope.indices.items() if extent == "k"}
        arrays = [a for a in scope.arrays if a.role == "in" and all(d == "k" or isinstance(d, int) for d in a.dims)]
        self.scope = scope.child(scalars=[], elements=[], mutable=[], indices=shared, arrays=arrays)
        self.scope.positive &= {"k"}
        dtype = self.rng.choice(("int64", *self.has.floats))
        value = self.typed(dtype, 2)
        self.scope = outer
        name = self.name()
        self.line(f"{name} = {bare(value.text)}")
        self.scope.add(Expr(name, dtype), self.chance(0.3))

    def neighbour(self) -> None:
        """What stands beside the turn's own element, under a condition that it is there; at a place that data say."""
        name = self.pick([v for v, extent in self.scope.indices.items() if extent == "k"])
        along = [a for a in self.scope.arrays if a.dims == ("k",) and a.role == "in"]
        values, places = self.pick(along), [a for a in along if a.dtype in self.has.integers and a.dtype != "uint64"]
        place = f"{name} - 1"
        if places and self.chance(0.5):
            place = f"int64({self.rng.choice(places).name}[{place}]) % k"
        variable = self.pick([v for v in self.scope.mutable if v.rank == 2])
        with self.block(f"if {name} > 0{f' and {self.expr(0, 1).text}' if self.chance(0.3) else ''}:"):
            element = self.cast(Expr(f"{values.name}[{place}]", values.dtype), variable.dtype)
            self.line(f"{variable.text} = {self.faded(variable.text, 0.5)} + {element.text}")

    def best(self) -> None:
        """A search or a sum along a row, in the iteration."""
        own = [v for v, extent in self.scope.indices.items() if extent != "k"]
        name, rows = self.name("z"), [a for a in self.scope.arrays if a.role == "in" and "k" in a.dims and rank(a.dtype) < 3]
        array = self.pick(rows)
        scope = self.scope.child(mutable=[])
        scope.indices[name] = "k"
        scope.positive.add("k")
        places = [name if d == "k" and axis == array.dims.index("k") else None for axis, d in enumerate(array.dims)]
        outer, self.scope = self.scope, scope
        found = [place or self.index(d, 1) for place, d in zip(places, array.dims)]
        self.scope = outer
        ops = ("argmin", "argmax", "min", "max") + ("sum",) * 4 * (array.data == "small")
        op, result = self.rng.choice(ops), self.name()
        test = f" if {name} != {self.rng.randint(0, 3)}" if self.chance(0.3) else ""
        self.line(f"{result} = {op}({array.name}[{', '.join(found)}] for {name} in range(k){test})")
        self.scope.add(Expr(result, "int64" if op.startswith("arg") else array.dtype), bool(own))
