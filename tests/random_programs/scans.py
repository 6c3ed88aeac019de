"""Random scans: accumulators that are read in their loop, in a grid or in a block, and what is kept in its order."""

from __future__ import annotations

from .elements import bare
from .phases import Phases
from .scope import Array
from .values import Expr


class Scans(Phases):
    def write_scans(self) -> None:
        """One or two loops over a grid; the values after the loop are read by what follows."""
        dims = self.rng.choice((("n",), ("n",), ("m", "n"), ("n", 3), (7,)))
        self.leading, self.fields = "", []
        self.begin(dims)
        self.begin_scratch(dims, "grid")
        self.budget += 6
        found = []
        for _ in range(self.rng.choice((1, 1, 2))):
            if self.chance(0.3):
                with self.block(self.control(dims)):
                    self.scan_loop(dims)
            else:
                found += self.scan_loop(dims)
        place, outer = self.place, self.atomics
        self.place, self.atomics = "after", []
        self.after(found)
        self.place, self.atomics = place, outer
        self.bind_symbols()

    def control(self, dims: tuple) -> str:
        """A condition, or turns, around a loop."""
        size = next((d for d in dims if isinstance(d, str)), 3)
        return self.rng.choice((
            f"if {bare(self.condition(2))}:", f"if {size} {self.rng.choice('<>')} {self.rng.randint(0, 4)}:",
            f"for {self.name('t')} in range({self.rng.randint(0, 3)}):",
        ))  # fmt: skip

    def kinds(self, depth: int) -> tuple[str, ...]:
        return (*super().kinds(depth), "scan")

    def step(self, dims: tuple, depth: int, kind: str = "") -> None:
        kind = kind or self.rng.choice(self.kinds(depth))
        if kind == "scan":
            self.scan_loop(dims)
        else:
            super().step(dims, depth, kind)

    def scan_loop(self, dims: tuple) -> list[tuple[Expr, str]]:
        """One loop over a grid; its accumulators."""
        names = ("i", "j", "g")[: len(dims)]
        with_kept = len(dims) == 1 and dims[0] == "n" and self.chance(0.5)
        kept = self.kept("n") if with_kept else None
        found = self.begin_accumulators(self.rng.randint(0 if kept else 1, 2))
        plain = self.begin_accumulators(self.rng.choice((0, 0, 1)))
        scope = self.scan_scope(names, dims, found, plain)
        self.targets_of(scope, names, dims, self.rng.randint(1, 2))
        self.place = "grid"
        kind = "blocks" if self.steps.random() < 0.25 else "grid"
        with self.block(f"for {', '.join(names)} in {kind}({self.counted(tuple(map(str, dims)))}):", scope):
            self.scanning(found, plain, kept)
        self.place = "set-up"
        for name, _ in [*found, *plain]:
            self.scope.add(name)
        if kept:
            self.scope.add(kept[0])
            self.line(f"{kept[2].name}[()] = {kept[0].text}")
        return [*found, *plain]

    def kept(self, extent: str) -> tuple[Expr, Array, Array]:
        """A count, an output for what it counts, in order, and one for how many there are."""
        name = self.name("k")
        self.line(f"{name} = 0")
        dtypes = [d for d in ("int32", "float32", "complex64") if d in self.has.dtypes]
        array = Array(self.name("o"), self.rng.choice(dtypes), ("?",), "out", fill="0")
        count = Array(self.name("o"), "int64", (), "out", fill="0")
        array.written = self.rng.choice((f"<= {extent}: {count.name}", extent))
        self.arrays += [array, count]
        return Expr(name, "int64", weak=True), array, count

    def scan_scope(self, names: tuple, dims: tuple, found: list, plain: list):
        scope = self.loop_scope(names, dims)
        scope.scalars = [v for v in scope.scalars if v.text not in [name.text for name, _ in plain]]
        scope.scalars += [name for name, _ in found] * 2
        scope.arrays = [a for a in scope.arrays if a.role not in ("out", "inout")]
        scope.targets, scope.elements = [], []
        return scope

    def scanning(self, found: list, plain: list, kept) -> None:
        """The body: each scan's update once, somewhere among the other statements; its term may read other scans."""
        updates = [*found, *plain, *([kept] if kept else [])]
        self.rng.shuffle(updates)
        table = [word for word in self.table() if word != "skip_iteration"]
        for update in updates:
            self.statements(self.rng.randint(0, 2), table)
            if self.chance(0.15):
                self.skip_iteration()
            if update is kept:
                self.keep(*kept)
            elif self.chance(0.3):
                with self.block(f"if {bare(self.condition(2))}:"):
                    self.update(*update)
                    self.statements(self.rng.randint(0, 1), table)
            else:
                self.update(*update)
        self.statements(self.rng.randint(0, 2), table)
        self.finish_targets(self.scope)

    def keep(self, name: Expr, array: Array, count: Array) -> None:
        with self.block(f"if {bare(self.condition(2))}:"):
            value = bare(self.storable(array.dtype, 2).text)
            store = f"{array.name}[{name.text}] = {value}", f"{name.text} += 1"
            if self.chance(0.5):
                store = store[1], store[0].replace(f"[{name.text}]", f"[{name.text} - 1]", 1)
            for line in store:
                self.line(line)

    def update(self, name: Expr, op: str) -> None:
        """No term of a scan has its name."""
        outer = self.scope.scalars
        self.scope.scalars = [v for v in outer if v.text != name.text]
        super().update(name, op)
        self.scope.scalars = outer

    def scan_in_threads(self) -> None:
        dims = self.rng.choice(self.thread_dims)
        names = ("c", "d")[: len(dims)]
        found = self.begin_accumulators(self.rng.randint(1, 2))
        scope = self.thread_scope(dims, [])
        scope.scalars += [name for name, _ in found] * 2
        self.new_thread_outputs(scope, names, dims)
        written = {t.text.partition("[")[0] for t in scope.targets}
        scope.arrays = [a for a in scope.arrays if a.name not in written]
        outer = self.place, self.atomics, self.accumulators
        self.place, self.atomics, self.accumulators = "threads", [], []
        with self.block(f"for {', '.join(names)} in threads({self.counted(tuple(map(str, dims)))}):", scope):
            self.scanning(found, [], None)
        self.place, self.atomics, self.accumulators = outer
        for name, _ in found:
            self.scope.add(name)

    def table(self) -> list[str]:
        found = super().table()
        return found + ["scan_in_threads"] * 4 if self.place == "blocks" else found
