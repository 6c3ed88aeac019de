"""Random parallel loops: what a `grid` or `blocks` loop runs over, what its iterations may touch, and reductions."""

from __future__ import annotations

from .acting import Acting
from .elements import bare, place_of, stored
from .scope import Array, Scope
from .values import Expr, Retry, adopted, rank

_REDUCTIONS = ("sum", "min", "max", "any", "all", "argmin", "argmax")


class Loops(Acting):
    arrays: list[Array]  # parameters so far
    loose: dict[str, tuple]  # output → how far it may be off

    # ------------------------------------------------------------------------------------------------ outputs

    def output(self, dims: tuple, written: str = "", dtype: str = "", **settings) -> Array:
        role = self.rng.choice(("out", "out", "inout")) if dims and not written and "TILE" not in dims else "out"
        layout = "strided" if role == "inout" and self.chance(0.3) else "C"
        if role == "out" and dims and not written and self.steps.random() < 0.15:
            layout = "strided"
        array = Array(self.name("o"), dtype or self.rng.choice(self.has.dtypes), dims, role, layout, written=written, **settings)
        if role == "out" and not array.fill and self.chance(0.4):
            fills = {0: ("True", "False"), 1: ("0", "1", "100"), 2: ("0", "-inf", "0.5", "nan"), 3: ("0", "1+2j")}
            array.fill = self.rng.choice(fills[rank(array.dtype)])
        self.arrays.append(array)
        return array

    def targets_of(self, scope: Scope, names: tuple[str, ...], dims: tuple, count: int) -> list[Array]:
        """Make outputs with an element, or a few, for each iteration of loops over these names."""
        made = []
        for _ in range(count):
            places, written, shape = [*names], "", [*dims]
            form = self.rng.randrange(7)
            if form == 0 and len(names) > 1:
                order = self.rng.sample(range(len(names)), len(names))
                places, shape = [names[k] for k in order], [dims[k] for k in order]
            elif form == 1:
                places[0] = f"{dims[0]} - 1 - {names[0]}"
            elif form == 2 and len(names) == 1 and isinstance(dims[0], str):
                written, shape = f"2 * {dims[0]}", ["?"]
                places = [self.rng.choice((f"2 * {names[0]}", f"{names[0]} * 2 + 1"))]
            elif form == 3 and len(names) == 2 and all(isinstance(d, str) for d in dims):
                written, shape, places = f"{dims[0]} * {dims[1]}", ["?"], [f"{names[0]} * {dims[1]} + {names[1]}"]
            elif form == 4 and len(names) == 1 and isinstance(dims[0], str):
                written, shape, places = f"{dims[0]} + 3", ["?"], [f"{names[0]} + {self.rng.randint(0, 3)}"]
            array = self.output(tuple(shape), written)
            made.append(array)
            target = Expr(f"{array.name}[{', '.join(places)}]", array.dtype)
            scope.targets.append(target)
            if array.role == "inout" or array.fill:
                scope.elements.append(target)
        return made

    def permuted_target(self, scope: Scope, name: str, extent) -> None:
        """An output scattered into at `p[i]`, where p is a permutation."""
        places = next((a for a in self.arrays if a.data == "places" and a.dims == (extent,)), None)
        if places is None:
            places = Array(self.name("x"), self.has.place, (extent,), data="places")
            self.arrays.insert(0, places)
            scope.arrays.append(places)
        array = self.output((extent,))
        scope.targets.append(Expr(f"{array.name}[{places.name}[{name}]]", array.dtype))

    def finish_targets(self, scope: Scope) -> None:
        """Store into every output that has no store yet, unconditionally, so that it is defined."""
        text = "\n".join(self.lines)
        for target in scope.targets:
            if place_of(target) not in text:
                self.line(stored(target, bare(self.storable(target.dtype, 2).text)))

    def counted(self, counts: tuple[str, ...], some: bool = False) -> str:
        """Counts as a loop has them: of all the same indices, or of some."""
        return ", ".join(self.ranged(count, some) if self.chance(0.3 if some else 0.2) else count for count in counts)

    def ranged(self, count: str, some: bool) -> str:
        whole = (f"(0, {count})", f"({count} - 1, -1, -1)", f"(0, {count}, 1)")
        part = (f"(1, {count})", f"(0, {count}, 2)", f"({count} - 1, 0, -2)", f"({count}, 0)", f"({count} // 2, {count})")
        chosen = self.rng.choice(whole + part if some else whole)
        if self.steps.random() < 0.7:
            return chosen
        one = f"{count} // ({count} + 1)"  # 0, which no compiler knows
        whole = (f"(0, {count}, {one} + 1)", f"({count} - 1, -1, {one} - 1)")
        part = (f"(0, {count}, {count} % 3 + 1)", f"({count} - 1, 0, -1 - {count} % 2)", f"({count}, 0, {one} + 2)")
        return self.steps.choice(whole + part if some else whole)

    # ------------------------------------------------------------------------------------------ loop and body

    def iterations(self, kind: str, names: tuple[str, ...], counts: tuple[str, ...], scope: Scope, amount: int) -> None:
        """One parallel loop with a body of about `amount` statements."""
        outer_skips, self.skips = self.skips, False
        target = ", ".join(names)
        start = len(self.lines) + 1
        with self.block(f"for {target} in {kind}({self.counted(counts)}):", scope):
            if self.chance(0.9 if self.actors else 0.3) and kind != "blocks":
                self.own_array()
            self.statements(amount)
            if self.chance(0.2):
                self.skip_iteration()
                self.statements(2)
            self.finish_targets(self.scope)
            for name, op in self.accumulators:
                if not any(line.strip().startswith(f"{name.text} ") for line in self.lines[start:]):
                    self.update(name, op)
        self.skips = outer_skips

    # --------------------------------------------------------------------------------------------- reductions

    def functional(
        self, kind: str, names: tuple[str, ...], counts: tuple[str, ...], scope: Scope, op: str = ""
    ) -> tuple[str, Expr]:
        """(text, its type) of `sum(e for c in threads(n) if …)`; `scope` is that of its iterations."""
        op = op or self.rng.choice(_REDUCTIONS)
        outer, self.scope = self.scope, scope
        if op in ("any", "all"):
            term = self.of_any_kind(2)
            result = Expr("", "bool", True)
        elif op == "sum":
            dtype = self.rng.choice(("bool", *self.has.integers, *self.has.floats, *self.has.floats, *self.has.complexes))
            term = self.small(dtype) if rank(dtype) > 1 else self.typed(dtype, 2)
            result = Expr("", "int64" if dtype == "bool" else adopted(dtype))
        else:
            term = self.of_any_kind(2)
            result = Expr("", "int64") if op.startswith("arg") else Expr("", term.dtype, term.weak)
            if term.value is not None:
                term = self.cast(term, "int32" if term.rank < 2 else "float32")
                result = Expr("", "int64") if op.startswith("arg") else Expr("", term.dtype)
        test = f" if {self.condition(2)}" if self.chance(0.4) else ""
        while test and self.chance(0.15):
            test += f" if {self.condition(1)}"
        self.scope = outer
        if kind == "range":
            texts = [self.counted((count,), some=True) for count in counts]
            clauses = [f"for {name} in range({bare(text)})" for name, text in zip(names, texts)]
            return f"{op}({term.text} {' '.join(clauses)}{test})", result
        text = f"{op}({term.text} for {', '.join(names)} in {kind}({self.counted(counts, some=True)}){test})"
        return text, result

    def over_range(self, depth: int) -> Expr:
        """A reduction over small ranges, where an expression stands; one or two deep."""
        if depth < 1 or sum(name.startswith("z") for name in self.scope.indices) > 1:
            raise Retry
        counts = [self.rng.choice((*self.extents, self.rng.randint(0, 5))) for _ in range(self.rng.choice((1, 1, 2)))]
        names = tuple(self.name("z") for _ in counts)
        scope = self.scope.child(mutable=[])
        scope.indices |= dict(zip(names, counts))
        scope.positive |= {d for d in counts if isinstance(d, str)}
        text, result = self.functional("range", names, tuple(map(str, counts)), scope)
        return result._replace(text=text)

    def rounding(self, dtype: str) -> Expr:
        """A term of a sum that rounds."""
        return self.typed(dtype, 2)

    def rounded_sum(
        self, kind: str, names: tuple[str, ...], counts: tuple[str, ...], scope: Scope
    ) -> tuple[str, str, str]:
        """(dtype, text of a sum that rounds, text of the sum of its terms' sizes in the widest float)."""
        dtype = self.rng.choice(self.has.floats)
        outer, self.scope = self.scope, scope
        term = self.rounding(dtype)
        test = f" if {self.condition(1)}" if self.chance(0.3) else ""
        self.scope = outer
        loop = f"for {', '.join(names)} in {kind}({self.counted(counts, some=True)}){test}"
        return dtype, f"sum({term.text} {loop})", f"sum(abs({self.has.widest}({bare(term.text)})) {loop})"
