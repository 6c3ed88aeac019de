"""Random sequential programs: kernels without a parallel loop, and several parallel loops with control, scalars, stores
and reductions between and around them."""

from __future__ import annotations

from .blocks import Blocks
from .scope import Array
from .values import Expr

_NAMES = ("i", "j", "g")
_PLAIN = [
    "local_name", "local_name", "reassign", "augment", "swap", "branch", "for_loop", "while_loop", "store",
    "store_own_array", "store_own_array", "swap_arrays", "swap_arrays", "act", "act",
]  # fmt: skip


class Phases(Blocks):
    fields: list[tuple[Array, Expr]]  # outputs that several loops write at their own element, and that element

    def write_sequential(self) -> None:
        """One thing after the other: loops over range in the place of parallel ones."""
        dims = self.rng.choice((("n",), ("n",), ("m", "n"), (7,)))
        self.leading, self.fields = "", []
        self.begin(dims)
        self.atomics = []
        self.begin_scratch(dims, "range")
        self.budget += 4
        if self.chance(0.9 if self.actors else 0.5):
            self.own_array()
        self.scalar_outputs()
        for _ in range(self.rng.randint(1, 3)):
            self.statements(self.rng.randint(0, 2), _PLAIN)
            self.row_by_row(dims)
        self.finish_targets(self.scope)
        self.bind_symbols()

    def row_by_row(self, dims: tuple) -> None:
        names = _NAMES[: len(dims)]
        scope = self.loop_scope(names, dims)
        scope.targets, scope.elements = list(self.scope.targets), list(self.scope.elements)
        made = self.targets_of(scope, names, dims, self.rng.randint(0, 2))
        scope.arrays += [a for a in made if a.fill or a.role == "inout"]  # what it has so far may be read anywhere
        outer, depth = self.scope, self.indent
        for name, dim in zip(names, dims):
            self.line(f"for {name} in range({dim}):")
            self.indent += 1
        self.scope = scope
        scope.sequential, scope.depth = len(dims), len(dims)
        start = len(self.lines)
        self.statements(self.rng.randint(1, 4), [w for w in self.table() if w not in ("atomic", "accumulate")])
        self.finish_targets(scope)
        if len(self.lines) == start:
            self.line("pass")
        self.indent, self.scope = depth, outer
        self.scope.arrays += [a for a in made if (a.fill or a.role == "inout") and "?" not in a.dims]

    def scalar_outputs(self) -> None:
        """Outputs without dimensions, to store into between the loops."""
        for _ in range(self.rng.randint(0, 2)):
            array = self.output((), dtype=self.rng.choice(self.has.dtypes))
            array.layout = "C"
            target = Expr(f"{array.name}[()]", array.dtype)
            self.scope.targets.append(target)
            if array.fill:
                self.scope.elements.append(target)

    def write_phases(self) -> None:
        dims = self.rng.choice((("n",), ("n",), ("m", "n"), ("l", "m", "n"), (7,), ("n", 3)))
        self.leading, self.fields = "", []
        self.begin(dims)
        self.scalar_outputs()
        self.begin_scratch(dims, "grid")
        self.begin_sweeps(dims)
        self.budget += 6
        for _ in range(self.rng.randint(2, 4)):
            self.step(dims, 0)
        self.finish_targets(self.scope)
        self.bind_symbols()

    def begin_sweeps(self, dims: tuple) -> None:
        """A helper with loops in it, and arrays to call it with."""
        if self.chance(0.4):
            self.helper_lines += self.apart([lambda: self.write_sweep(dims)])
            self.arrays_of_the_call(self.sweeps[-1].parameters[0].dtype, dims, "grid", 2)

    def kinds(self, depth: int) -> tuple[str, ...]:
        """Of steps at this depth of control."""
        found = ("loop", *["sweep"] * 3 * len(self.sweeps))
        return (*found, "loop", "loop", "reduction", "once", "swap_arrays", "turns", "branch") if depth < 2 else found

    def step(self, dims: tuple, depth: int, kind: str = "") -> None:
        """A parallel loop, a reduction, what happens once, or control around some of these."""
        kind = kind or self.rng.choice(self.kinds(depth))
        if kind in ("sweep", "swap_arrays"):
            self.statements(1, [kind])
            return
        if kind == "loop":
            self.one_loop(dims)
        elif kind == "reduction":
            names = _NAMES[: len(dims)]
            place, self.place = self.place, "grid"
            over = self.rng.choice(("grid", "grid", "blocks"))
            text, result = self.functional(over, names, tuple(map(str, dims)), self.loop_scope(names, dims))
            self.place, name = place, self.name()
            self.line(f"{name} = {text}")
            self.scope.add(result._replace(text=name), not result.weak)
        elif kind == "once":
            outer, self.atomics = self.atomics, []
            self.statements(self.rng.randint(1, 2), _PLAIN)
            self.atomics = outer
        else:
            self.around(kind, dims, depth)

    def around(self, kind: str, dims: tuple, depth: int) -> None:
        turn = self.name("t")
        size = next((d for d in dims if isinstance(d, str)), 3)
        scope = self.scope.inner()
        if kind == "turns":
            head = f"for {turn} in range({self.rng.randint(0, 3)}):"
            scope.scalars.append(Expr(turn, "int64", True))
        elif self.chance(0.3):
            head = f"if {self.condition(2)}:"
        else:
            head = f"if {size} {self.rng.choice('<>')} {self.rng.randint(0, 4)}:"
        with self.block(head, scope):
            for _ in range(self.rng.randint(1, 2)):
                self.step(dims, depth + 1)
            if kind == "turns" and self.chance(0.3):
                word = self.rng.choice(("break", "continue"))
                self.line(f"if {turn} {self.rng.choice(('>', '==', '<'))} 1:")
                self.line(f"    {word}")
                self.step(dims, depth + 1)
        if kind == "turns" and self.steps.random() < 0.6:  # another loop, or a local, of the name
            total = self.name()
            self.line(f"{total} = 0")
            self.line(f"for {turn} in range({self.steps.randint(0, 3)}):")
            self.line(f"    {total} += {turn}")
            self.scope.add(Expr(total, "int64"))
        if kind == "branch" and self.chance(0.5):
            with self.block("else:"):
                self.step(dims, depth + 1)

    def one_loop(self, dims: tuple) -> None:
        names = _NAMES[: len(dims)]
        found = self.begin_accumulators(self.rng.choice((0, 0, 1, 2)))
        scope = self.loop_scope(names, dims)
        scope.targets, scope.elements = [], []
        scope.scalars = [v for v in scope.scalars if v.text not in [name.text for name, _ in found]]
        again = [field for field in self.fields if self.chance(0.5)]
        for array, target in again:  # written before, at the same element
            scope.targets.append(target)
            scope.elements.append(target)
            scope.arrays = [a for a in scope.arrays if a is not array]
        if not again or self.chance(0.4):
            for array in self.targets_of(scope, names, dims, 1):
                place = f"{array.name}[{', '.join(names)}]"
                if scope.targets[-1].text == place and (array.fill or array.role == "inout"):
                    self.fields.append((array, scope.targets[-1]))
                    if array.layout == "C":
                        self.scope.arrays.append(array)
        self.place, self.accumulators = "grid", found
        self.iterations("grid", names, tuple(map(str, dims)), scope, self.rng.randint(1, 4))
        self.place, self.accumulators = "set-up", []
        for name, _ in found:
            self.scope.add(name)
