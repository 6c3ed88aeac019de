"""The forms of random programs with one parallel loop: over a grid, with and without reductions, over blocks and tiles."""

from __future__ import annotations

from .elements import bare
from .functions import Functions
from .scope import Array
from .values import Expr


class Forms(Functions):
    def grid_dims(self) -> tuple:
        if self.style == "elementwise":
            return ("n",)
        if self.leading == "size":
            return ("size",)
        if self.leading == "rows":
            return ("rows",) if self.chance(0.5) else ("rows", "n")
        return self.rng.choice((("n",), ("n",), ("m", "n"), ("l", "m", "n"), (7,), ("n", 3), (2, "m", 3, "n")))

    def write_grid(self, accumulators: int = 0) -> None:
        dims = self.grid_dims()
        self.begin(dims)
        names = ("i", "j", "g", "w")[: len(dims)]
        found = self.begin_accumulators(accumulators)
        if rounded := accumulators and self.chance(0.4):
            rounded = self.name("s"), self.name("s"), self.rng.choice(self.has.floats)
            self.line(f"{rounded[0]} = 0")
            self.line(f"{rounded[1]} = 0")
        scope = self.loop_scope(names, dims)
        used = [name.text for name, _ in found]
        scope.scalars = [v for v in scope.scalars if v.text not in used]
        amount = self.rng.randint(0 if accumulators else 1, 3)
        if not (self.leading or self.style):
            self.begin_counters(names, dims)
            if self.chance(0.7 if self.actors else 0.15):
                self.own_row(scope, names, dims)
        if self.leading and amount:
            self.leading_targets(scope, names, dims, amount)
        elif amount:
            if self.style == "elementwise":
                self.leading_targets(scope, names, dims, amount)
            else:
                self.targets_of(scope, names, dims, amount)
            if len(dims) == 1 and not self.style and self.chance(0.2):
                self.permuted_target(scope, names[0], dims[0])
        counts = [str(d) for d in dims]
        if len(dims) == 1 and self.chance(0.25) and not accumulators and not self.style:
            counts = [
                self.rng.choice((f"{dims[0]} // 2", f"{dims[0]} - 1", f"({dims[0]} + 1) // 2", f"min({dims[0]}, 9)"))
            ]
        self.place, self.accumulators = "grid", found
        if rounded:
            self.rounded_term(rounded, names, counts, scope, dims)
        else:
            self.iterations("grid", names, tuple(counts), scope, self.rng.randint(1, 5))
        self.accumulators = []
        self.end_counters()
        if accumulators:
            for name, _ in found:
                self.scope.add(name)
            self.after(found)
        self.bind_symbols()

    def rounded_term(self, rounded, names, counts, scope, dims) -> None:
        """A grid loop whose sum rounds, beside the sum of its terms' sizes: for the bound on its error."""
        total, sizes, dtype = rounded
        with self.block(f"for {', '.join(names)} in grid({', '.join(counts)}):", scope):
            self.statements(2)
            self.finish_targets(self.scope)
            term = self.name()
            self.line(f"{term} = {bare(self.rounding(dtype).text)}")
            self.line(f"{total} += {term}")
            self.line(f"{sizes} += abs({self.has.widest}({term}))")
            for name, op in self.accumulators:
                self.update(name, op)
        count = " * ".join(map(str, dims))
        for name, kind in ((total, dtype), (sizes, self.has.widest)):
            array = Array(self.name("o"), kind, (), "out")
            self.arrays.append(array)
            self.line(f"{array.name}[()] = {name}")
        for one in self.arrays[-2:]:
            self.loose[one.name] = ("sum", array.name, count)

    def leading_targets(self, scope, names, dims, amount) -> None:
        for _ in range(amount):
            array = self.output(dims)
            array.ellipsis, array.layout = bool(self.leading), "C"
            if self.broadcast and array.role == "inout":
                array.role, array.fill = "out", "0"
            target = Expr(f"{array.name}[{', '.join(names)}]", array.dtype)
            scope.targets.append(target)
            if array.role == "inout" or array.fill:
                scope.elements.append(target)

    def after(self, results) -> None:
        """What runs once, after a reduction over grid."""
        self.place = "after"
        targets = []
        for _ in range(self.rng.randint(1, 3)):
            array = self.output((), dtype=self.rng.choice(self.has.dtypes))
            array.layout = "C"
            targets.append(Expr(f"{array.name}[()]", array.dtype))
        self.scope.targets = targets
        self.scope.elements += [
            t for t in targets if next(a for a in self.arrays if t.text.startswith(f"{a.name}[")).fill
        ]
        for name, _ in results:
            array = self.output((), dtype=name.dtype)
            array.layout = "C"
            self.line(f"{array.name}[()] = {name.text}")
        outer, self.atomics = self.atomics, []
        self.statements(self.rng.randint(0, 3), ["local_name", "store", "augment", "branch", "update_element", "swap"])
        self.finish_targets(self.scope)
        self.atomics = outer

    def write_grid_reduction(self) -> None:
        self.write_grid(self.rng.randint(1, 3))

    def write_whole(self) -> None:
        """One whole reduction over grid, and statements after it."""
        dims = self.grid_dims()
        self.begin(dims)
        self.atomics = []
        names = ("i", "j", "g", "w")[: len(dims)]
        place, self.place = self.place, "grid"
        text, result = self.functional("grid", names, tuple(map(str, dims)), self.loop_scope(names, dims))
        self.place = place
        name = self.name()
        self.line(f"{name} = {text}")
        variable = result._replace(text=name)
        self.scope.add(variable, not variable.weak)
        self.after([(variable, "")])
        self.bind_symbols()

    def write_blocks(self) -> None:
        if self.leading == "rows":
            dims, thread = ("rows",), "n"
        else:
            self.leading = ""
            dims, thread = self.rng.choice(((("m",), "n"), (("m",), "n"), (("m", "l"), "n"), ((3,), "n"), (("m",), 5)))
        self.thread_dims = [(thread,), (thread,), (self.rng.randint(1, 9),), (thread, self.rng.randint(1, 3))]
        if "TILE" in self.params:
            self.thread_dims += [("TILE",), ("TILE", 2)]
        if self.extents:
            self.thread_dims += [("k",), (thread, "k")]
        self.begin((*dims, thread))
        self.block_names, self.block_dims = ("r", "b")[: len(dims)], dims
        self.main = (*dims, thread)
        found = self.begin_accumulators(self.rng.choice((0, 0, 0, 1, 2)))
        scope = self.loop_scope(self.block_names, dims)
        scope.scalars = [v for v in scope.scalars if v.text not in [name.text for name, _ in found]]
        if dims[0] == "rows":
            array = self.plain_output(("rows", "n"), self.rng.choice(self.has.dtypes))
            self.pool.append((("n",), Expr(f"{array.name}[r, c]", array.dtype), array))
        else:
            self.targets_of(scope, self.block_names, dims, self.rng.randint(0, 2))
        self.place, self.accumulators = "blocks", found
        self.iterations("blocks", self.block_names, tuple(map(str, dims)), scope, self.rng.randint(2, 7))
        self.accumulators = []
        if found:
            for name, _ in found:
                self.scope.add(name)
            self.after(found)
        self.bind_symbols()

    def new_thread_outputs(self, scope, names, dims) -> None:
        if self.block_dims != ("rows",):
            return super().new_thread_outputs(scope, names, dims)
        if dims == ("n",):  # the only shape that fits `T[..., n]`
            array = self.plain_output(("rows", "n"), self.rng.choice(self.has.dtypes))
            scope.targets.append(Expr(f"{array.name}[r, c]", array.dtype))
            self.pool.append((dims, scope.targets[-1], array))

    def write_tiles(self) -> None:
        """`blocks((n + 7) // 8)` with `threads(8)`, and a guard for the last block."""
        width = self.rng.choice((4, 8, 5)) if "TILE" not in self.params else "TILE"
        self.leading = ""
        self.thread_dims = [(width,), (width,), (self.rng.randint(1, 4),)]
        self.begin(("n",))
        self.block_names, self.block_dims = ("r",), (f"(n + {width} - 1) // {width}",)
        scope = self.loop_scope((), ())
        scope.scalars.append(Expr("r", "int64", True))
        self.place = "blocks"
        with self.block(f"for r in blocks((n + {width} - 1) // {width}):", scope):
            self.new_thread_outputs = lambda *arguments: None
            array = Array(self.name("t"), self.rng.choice(self.has.dtypes), (width,), "shared")
            self.new_array(array)
            self.scope.arrays.append(array)
            self.statements(self.rng.randint(0, 3))
            for _ in range(self.rng.randint(1, 2)):
                self.tile_loop(width)
        self.bind_symbols()

    def tile_loop(self, width) -> None:
        scope = self.thread_scope((width,), [])
        place, self.place = self.place, "threads"
        with self.block(f"for c in threads({width}):", scope):
            name = self.name()
            self.line(f"{name} = r * {width} + c")
            inner = self.scope.inner()
            inner.indices[name] = "n"
            inner.positive.add("n")
            self.targets_of(inner, (name,), ("n",), self.rng.randint(1, 2))
            with self.block(f"if {name} < n:", inner):
                self.statements(self.rng.randint(1, 3))
                self.finish_targets(self.scope)
        self.place = place
