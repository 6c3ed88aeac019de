"""Random statements of one iteration: assignments, branches, sequential loops, stores, atomics."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import Iterator

from .elements import bare, place_of, stored
from .expressions import Expressions
from .scope import Array, Scope
from .values import Expr, Retry, adopted, common, fits, literal, rank


class Statements(Expressions):
    """`lines` is the text so far. A statement that cannot be finished is taken back."""

    lines: list[str]
    indent: int
    count: int  # of the names made so far
    budget: int  # how many statements more
    extents: list  # symbols that stay small, to run sequential loops over
    atomics: list[tuple[Array, str]]  # "add" "min" "max", or "scatter"
    factors: dict[str, int]  # of the values that are scattered into an array: one function of the index for each
    accumulators: list[tuple[Expr, str]]  # of the parallel loop around: name and op
    terms: dict[str, str]  # accumulator → the type of its terms, where that is smaller than its own
    skips: bool  # a `continue` of this parallel loop has been written

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def name(self, base: str = "v") -> str:
        self.count += 1
        return f"{base}{self.count}"

    @contextmanager
    def block(self, header: str, scope: Scope | None = None) -> Iterator[None]:
        self.line(header)
        outer, self.scope = self.scope, scope or self.scope.inner()
        self.indent += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.line("pass")
        self.indent -= 1
        self.scope = outer

    def statements(self, count: int, table=None) -> None:
        for _ in range(count):
            if self.budget <= 0:
                return
            self.budget -= 1
            for _ in range(8):
                lines, indent, scope, kept = len(self.lines), self.indent, self.scope, self.scope.child()
                try:
                    getattr(self, self.rng.choice(table or self.table()))()
                    break
                except Retry:
                    del self.lines[lines:]
                    self.indent = indent
                    scope.__dict__.update(kept.__dict__)
                    self.scope = scope

    def table(self) -> list[str]:
        found = (
            ["local_name"] * 4 + ["reassign"] * 2 + ["augment"] * 2 + ["swap", "pair", "branch", "branch", "several"]
        )
        found += (
            ["index_branch"] * 2
            + ["adopting_name"]
            + ["store"] * 4
            + ["update_element"] * 2
            + ["atomic"] * 2
            + ["helper_pair"]
            + ["store_own_array"] * 2
        )
        if self.scope.depth < 3:
            found += ["for_loop"] * 2 + ["while_loop"] + ["branches_that_set"]
        if self.accumulators and not self.scope.sequential:
            found += ["accumulate"] * 5
        return found

    # -------------------------------------------------------------------------------------------- assignments

    def local_name(self) -> None:
        value = self.of_any_kind(self.rng.choice((1, 1, 2, 3)), 3)
        if value.weak and value.value is not None and value.rank == 1 and not fits(value.value, "int64"):
            raise Retry
        name = self.name()
        self.line(f"{name} = {bare(value.text)}")
        self.scope.add(Expr(name, value.dtype, value.weak), not value.weak)

    def several(self) -> None:
        value = self.typed(self.rng.choice(self.has.dtypes), 2)
        a, b = self.name(), self.name()
        self.line(f"{a} = {b} = {bare(value.text)}")
        for name in (a, b):
            self.scope.add(Expr(name, value.dtype))

    def reassign(self) -> None:
        variable = self.pick(self.scope.mutable)
        self.line(f"{variable.text} = {bare(self.typed(variable.dtype, 2).text)}")

    def augmented(self, variable: Expr) -> str:
        """`+= e`, where the result has the type of the name."""
        kind = variable.rank
        ops = {0: "& | ^ + *", 1: "+ - * // % & | ^ << >>", 2: "+ - * / // %", 3: "+ - * /"}[kind].split()
        op = self.rng.choice(ops)
        value = self.expr(kind, 2) if self.chance(0.7) else self.typed(variable.dtype, 2)
        if common(variable, value)[0] != variable.dtype or kind == 0 and value.weak and op in "+*":
            value = self.cast(value, variable.dtype)
        return f"{op}= {bare(value.text)}"

    def augment(self) -> None:
        variable = self.pick(self.scope.mutable)
        self.line(f"{variable.text} {self.augmented(variable)}")

    def swap(self) -> None:
        a = self.pick(self.scope.mutable)
        b = self.pick([v for v in self.scope.mutable if v.dtype == a.dtype and v.text != a.text])
        if self.chance(0.6):
            self.line(f"{a.text}, {b.text} = {b.text}, {a.text}")
        else:
            self.line(f"{a.text}, {b.text} = {bare(self.typed(b.dtype, 1).text)}, {bare(self.typed(a.dtype, 1).text)}")

    def pair(self) -> None:
        values = [self.typed(self.rng.choice(self.has.dtypes), 2) for _ in range(2)]
        names = [self.name(), self.name()]
        self.line(f"{', '.join(names)} = {', '.join(bare(v.text) for v in values)}")
        for name, value in zip(names, values):
            self.scope.add(Expr(name, value.dtype))

    def helper_pair(self) -> None:
        helper = self.pick([h for h in self.helpers if len(h.results) > 1])
        call = self.helper_call(helper, 2)
        names = [self.name() for _ in helper.results]
        self.line(f"{', '.join(names)} = {call}")
        for name, dtype in zip(names, helper.results):
            self.scope.add(Expr(name, dtype))

    # ------------------------------------------------------------------------------------------------- stores

    def store(self) -> None:
        target = self.pick(self.scope.targets)
        self.line(stored(target, bare(self.storable(target.dtype, self.rng.choice((1, 2, 2, 3))).text)))
        if not place_of(target).startswith("scatter("):  # at a permuted index: not provably this iteration's own
            self.scope.elements.append(target)

    def update_element(self) -> None:
        target = self.pick([t for t in self.scope.targets if t in self.scope.elements])
        self.line(f"{target.text} {self.augmented(target)}")

    def atomic(self) -> None:
        array, op = self.pick(self.atomics)
        if op == "scatter":
            return self.scatter(array)
        places = [self.index(extent, 2) for extent in array.dims]
        place = places[0] if len(places) == 1 else f"({', '.join(places)})"
        kind = rank(array.dtype)
        value = self.typed(array.dtype, 2) if kind == 1 else self.small(array.dtype)
        self.line(f"atomic_{op}({array.name}, {place}, {bare(value.text)})")

    def scatter(self, array: Array) -> None:
        """A store at any index, of a value that follows from the index: where stores meet, theirs are the same."""
        name, factor = self.name("q"), self.factors.setdefault(array.name, self.rng.randint(-3, 3))
        self.line(f"{name} = {bare(self.index(array.dims[0], 2))}")
        value = self.cast(Expr(f"({name} * {factor} + 1)", "int64", True), array.dtype)
        self.line(f"scatter({array.name}, {name}, {bare(value.text)})")

    def small(self, dtype: str) -> Expr:
        """A whole number between -32 and 32 in a float or complex dtype: sums of these are exact in any order."""
        arrays = [a for a in self.scope.arrays if a.data == "small" and a.dtype in self.has.floats]
        text = f"popcount({bare(self.cast(self.expr(1, 1), 'int16').text)})"
        if arrays and self.chance(0.8):
            with suppress(Retry):
                text = self.element(self.rng.choice(arrays), 1)
        if self.chance(0.4):
            text = f"({text} {self.rng.choice(('* 2', '* -1', '+ 3', '- 1'))} if {self.condition(1)} else {text})"
        return Expr(f"{self.dtype_name(dtype)}({bare(text)})", dtype)

    def sign_factor(self, dtype: str) -> Expr:
        """1 or -1: products of these are exact in any order."""
        return Expr(f"{self.dtype_name(dtype)}(1 if {self.condition(1)} else -1)", dtype)

    # ----------------------------------------------------------------------------------------------- branches

    def branch(self) -> None:
        with self.block(f"if {bare(self.condition(2))}:"):
            self.statements(self.rng.randint(1, 2))
        while self.chance(0.3):
            with self.block(f"elif {bare(self.condition(2))}:"):
                self.statements(1)
        if self.chance(0.5):
            with self.block("else:"):
                self.statements(self.rng.randint(1, 2))

    def index_branch(self) -> None:
        """A condition on a loop index, as stencils have them; some of the limits are extreme."""
        if self.style == "elementwise":
            raise Retry
        name = self.pick([*self.scope.indices])
        extent, k = self.scope.indices[name], self.rng.choice((0, 1, 1, 2, 7))
        limit = self.rng.choice([str(extent), *(v.text for v in self.scope.scalars if v.rank == 1)])
        tests = [
            self.rng.choice((
                f"{name} > {k}", f"0 < {name} < {extent} - 1", f"{name} + {k} < {limit}", f"{name} - {k} >= {limit}",
                f"{name} * 2 <= {limit}", f"{limit} > {name}", f"{name} < {limit}", f"{k} <= {name} <= {limit}",
                f"{name} != {k}",
                f"{limit} - {k} > {name}", f"{limit} + {k} >= {name}",
            ))
            for _ in range(self.rng.choice((1, 1, 2)))
        ]  # fmt: skip
        if self.chance(0.2):
            tests.append(self.condition(1))
        with self.block(f"if {' and '.join(tests)}:"):
            self.statements(self.rng.randint(1, 2))
            if self.scope.targets and self.chance(0.7):
                self.store()
        if self.chance(0.4):
            with self.block("else:"):
                self.statements(1)

    def adopting_name(self) -> None:
        """`v = 0` that takes the type of what is added to it later."""
        dtype, name = self.rng.choice((*self.has.integers, *self.has.floats, *self.has.complexes)), self.name()
        self.line(f"{name} = {self.rng.choice(('0', '1', '200') if rank(dtype) == 1 else ('0', '0.5', '1.0'))}")
        if self.chance(0.5):
            with self.block(f"for {self.name('q')} in range({self.rng.randint(0, 3)}):"):
                self.line(f"{name} += {bare(self.typed(dtype, 2).text)}")
        else:
            with self.block(f"if {bare(self.condition(1))}:"):
                self.line(f"{name} = {bare(self.typed(dtype, 2).text)}")
        if rank(dtype) == 1 and self.chance(0.4):  # another size of integer, which the name holds too
            small = [d for d in self.has.integers if d != "uint64" and (d[0] == "u" or dtype[0] == "i")]
            value = bare(self.typed(self.rng.choice(small), 2).text)
            self.line(f"{name} {self.rng.choice(('+=', '^=', '-='))} {value}")
        self.scope.add(Expr(name, adopted(dtype)))

    def branches_that_set(self) -> None:
        dtype, name = self.rng.choice(self.has.dtypes), self.name()
        for header in (f"if {bare(self.condition(2))}:", "else:"):
            with self.block(header):
                self.statements(self.rng.randint(0, 1))
                self.line(f"{name} = {bare(self.typed(dtype, 2).text)}")
        self.scope.add(Expr(name, dtype))

    def skip_iteration(self) -> None:
        """`continue` in the parallel loop."""
        with self.block(f"if {bare(self.condition(1))}:"):
            self.statements(self.rng.randint(0, 1))
            self.line("continue")
        self.skips = True

    # --------------------------------------------------------------------------------------- sequential loops

    def for_loop(self) -> None:
        name = self.name("q")
        inner = self.scope.inner()
        inner.sequential += 1
        form = self.rng.randrange(4)
        if form == 0 and self.extents:
            extent = self.rng.choice(self.extents)
            header, inner.indices[name] = f"range({extent})", extent
            inner.positive.add(extent)
        elif form <= 1:
            extent = self.rng.randint(0, 5)
            header, inner.indices[name] = f"range({extent})", extent
        else:
            a, b = (bare(self.cast(self.expr(1, 1), "int64").text) for _ in range(2))
            step = self.rng.choice(
                ("", ", 1", ", 2", ", -1", ", -3", f", {self.cast(self.expr(1, 1), 'int8').text} | 1")
            )
            # converted in any case: a name whose values are all indices and literals takes the type of what it meets
            low, high = f"min(max(int64({a}), -4), 4)", f"min(max(int64({b}), -4), 4)"
            header = f"range({low}, {high}{step})" if step or self.chance(0.5) else f"range({high})"
            inner.scalars.append(Expr(name, "int64", True))
        with self.block(f"for {name} in {header}:", inner):
            self.turn(len(self.lines))
            if self.chance(0.1) and name not in inner.indices:
                self.line(f"{name} = {name} * 2 + 1")
                self.statements(1)

    def while_loop(self) -> None:
        name = self.name("w")
        self.line(f"{name} = {self.rng.randint(0, 6)}")
        also = f" and {self.condition(1)}" if self.chance(0.4) else ""
        inner = self.scope.inner()
        inner.sequential += 1
        inner.scalars.append(Expr(name, "int64", True))
        with self.block(f"while {name} > 0{also}:", inner):
            self.line(f"{name} {self.rng.choice(('-= 1', '-= 2', '//= 2', '>>= 1'))}")
            self.turn(len(self.lines))
        self.scope.scalars.append(Expr(name, "int64", True))

    def turn(self, start: int) -> None:
        self.statements(self.rng.randint(1, 3))
        if self.chance(0.35):
            with self.block(f"if {bare(self.condition(2))}:"):
                self.statements(self.rng.randint(0, 1))
                self.line(self.rng.choice(("break", "continue")))
            self.statements(self.rng.randint(0, 2))

    # --------------------------------------------------------------------------------------------- reductions

    def accumulate(self) -> None:
        if self.chance(0.3):
            with self.block(f"if {bare(self.condition(2))}:"):
                self.update(*self.rng.choice(self.accumulators))
            return
        self.update(*self.rng.choice(self.accumulators))

    def update(self, name: Expr, op: str) -> None:
        term = self.term(self.terms.get(name.text, name.dtype), op)
        if op in ("min", "max"):
            parts = [name.text, bare(term.text)]
            if self.chance(0.4):
                parts.reverse()
            self.line(f"{name.text} = {op}({', '.join(parts)})")
        else:
            if op == "+" and name.rank and self.chance(0.3):
                op = "-"
            self.line(f"{name.text} {op}= {bare(term.text)}")

    def term(self, dtype: str, op: str) -> Expr:
        if rank(dtype) < 2 or op in ("min", "max"):
            return self.typed(dtype, 2)
        return self.small(dtype) if op == "+" else self.sign_factor(dtype)

    def begin_accumulators(self, count: int) -> list[tuple[Expr, str]]:
        """Set the scalars that the next loop reduces into."""
        found = []
        for _ in range(count):
            dtype = self.rng.choice(("bool", *self.has.integers, *self.has.floats, *self.has.floats, *self.has.complexes))
            ops = {0: "& | ^", 1: "+ * & | ^ min max", 2: "+ + * min max", 3: "+"}[rank(dtype)].split()
            op, name = self.rng.choice(ops), self.name("s")
            start = literal(self.chance(0.5)) if dtype == "bool" else literal(self.rng.choice((0, 1, 2)))
            if op not in ("min", "max") and self.chance(0.6):
                text = start.text if rank(dtype) < 2 else f"{start.text}.0" if self.chance(0.5) else start.text
                if rank(dtype) == 1:
                    self.terms[name], dtype = dtype, adopted(dtype)
            else:
                value = self.typed(dtype, 1) if rank(dtype) < 2 or op in ("min", "max") else self.cast(start, dtype)
                text = bare(value.text)
            self.line(f"{name} = {text}")
            found.append((Expr(name, dtype), op))
        return found
