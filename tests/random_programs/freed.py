"""Random programs whose arithmetic may be reordered: floats that come out the same in whatever order `fastmath` lets a
compiler take them, so that what it makes of them is compared to the bit.

Every float is a whole number, or a few halves, that is far from what its type holds exactly. Three sizes: *tiny* ones,
up to 4 (elements of inputs, literals); *small* sums of a few products of two of these; and *wide* ones, names and
elements, which are moved, compared and raised by small ones, and never multiplied or added to one another, so that
they grow with the turns of loops alone. What rounds is in sums of their own, beside the sum of their terms' sizes. There
is no NaN and no infinity, and nothing looks at the sign of a zero.
"""

from __future__ import annotations

from .elements import bare
from .scope import Array, Extent
from .nested import Nested
from .values import COMPLEX, EVERY, Expr, Retry, Table, common, literal, rank

FREED = Table(tuple(d for d in EVERY.dtypes if d not in COMPLEX), is_exact=False)
FLAGS = (
    "[fast]", "[fast]", "[reassoc]", "[reassoc, nsz, contract]", "[nnan, ninf, nsz]", "[contract, arcp, afn]", None, None,
    "[]", "[]",
)  # fmt: skip
_LITERALS = (0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 0.5)
_PRODUCTS = (
    "alone", "alone", "alone", "product", "product", "product", "square", "fused", "halved", "chosen", "extreme", "unary",
    "call_helper", "over_range", "over_range",
)  # fmt: skip


class Freed(Nested):
    tinies: set[str]  # names
    of_integers: bool  # what is drawn of any kind
    has_row_sums: bool  # there are turns in proportion to the square of a dimension

    @property
    def is_freed(self) -> bool:
        return self.style == "freed"

    def finish_freed(self) -> None:
        """No fill and no default that is not tiny; sums that round do so once a term."""
        for array in self.arrays:
            if rank(array.dtype) == 2:
                array.fill = "0.5" if array.fill in ("-inf", "nan") else array.fill
                array.default = "0.5" if array.default else ""
        self.loose = {name: ("any order", *rest) for name, (_, *rest) in self.loose.items()}

    # -------------------------------------------------------------------------------------------------- tiny ones

    def tiny(self, depth: int) -> Expr:
        arrays = [a for a in self.scope.arrays if a.role in ("in", "tuple") and rank(a.dtype) == 2 and not a.swapped]
        given = {a.name for a in self.arrays if a.role == "in" and a.dims is None}
        names = [v for v in self.scope.scalars if v.rank == 2 and v.text in self.tinies | given]
        for _ in range(8):
            try:
                form = self.rng.randrange(12)
                if form < 5:
                    array = self.pick(arrays)
                    return Expr(self.element(array, min(depth, 1)), array.dtype, array.weak)
                if form == 5 and not self.aside:
                    return self.beside(self.pick([a for a in arrays if a.dims]))
                if form < 9:
                    return self.pick(names)
                if form < 11:
                    kind = self.rng.choice((0, 1, 1))
                    return self.cast(self.expr(kind, depth - 1), self.rng.choice(self.has.floats))
                break
            except Retry:
                continue
        return literal(self.rng.choice(_LITERALS))

    def beside(self, array: Array) -> Expr:
        """What stands beside the iteration's own element, where there is something."""
        axis = self.rng.randrange(len(array.dims))
        name = self.pick([n for n, extent in self.scope.indices.items() if extent == array.dims[axis]])
        places = [f"{name} - 1" if k == axis else self.index(d, 0) for k, d in enumerate(array.dims)]
        return Expr(f"({array.name}[{', '.join(places)}] if {name} > 0 else {self.rng.choice((0.0, 1.0))})", array.dtype, array.weak)

    # ------------------------------------------------------------------------------------------------- small ones

    def expr(self, kind: int, depth: int) -> Expr:
        if kind != 2 or not self.is_freed:
            if kind == 3 and not self.has.complexes:
                raise Retry
            return super().expr(kind, depth)
        parts = [self.one_product(depth) for _ in range(self.rng.choice((1, 2, 2, 3)) if depth > 0 else 1)]
        made = parts[0]
        for part in parts[1:]:
            if len(made.text) + len(part.text) < 100:
                made = self.binary(self.rng.choice("++-"), made, part)
        return made

    def one_product(self, depth: int) -> Expr:
        for _ in range(8):
            form = self.rng.choice(_PRODUCTS) if depth > 0 else "alone"
            try:
                if form == "call_helper" or form == "over_range":
                    self.kind = 2
                    made = getattr(self, form)(depth)
                else:
                    made = self.of_tinies(form, depth)
                if made.rank == 2 and len(made.text) < 90:
                    return made
            except Retry:
                continue
        return self.tiny(0)

    def of_tinies(self, form: str, depth: int) -> Expr:
        a, b, c = (self.tiny(depth - 1) for _ in range(3))
        two = common(a, b)
        match form:
            case "product":
                return self.binary("*", a, b)
            case "square" if a.value is None:
                return Expr(f"({a.text} ** 2)", a.dtype, a.weak)
            case "fused":
                return Expr(f"fma({', '.join(bare(v.text) for v in (a, b, c))})", *common(a, b, c))
            case "halved" if a.value is None:
                return Expr(f"({a.text}{self.rng.choice((' * 0.5', ' / 2', ' / 0.5', ' * 2'))})", a.dtype, a.weak)
            case "chosen":
                test = self.condition(depth - 1)
                if self.chance(0.5):
                    return Expr(f"({a.text} if {test} else {b.text})", *two)
                return Expr(f"where({bare(test)}, {bare(a.text)}, {bare(b.text)})", *two)
            case "extreme" if a.value is None:
                return Expr(f"{self.rng.choice(('min', 'max'))}({bare(a.text)}, {bare(b.text)})", *two)
            case "unary" if a.value is None:
                word = self.rng.choice(("abs", "sign", "floor", "ceil", "trunc", "round", "-"))
                return Expr(f"{word}({bare(a.text)})" if word != "-" else f"(-{a.text})", a.dtype, a.weak)
        return a

    def over_range(self, depth: int) -> Expr:
        if not self.is_freed or self.kind != 2:
            return super().over_range(depth)
        return self.sum_over((*self.extents, *self.extents, self.rng.randint(0, 40)), 2 if self.chance(0.2) else 1, depth - 1)

    def sum_over(self, counts: tuple[Extent, ...], deep: int, depth: int) -> Expr:
        """A sum of small numbers over a range of one of these counts, or over several ranges."""
        if sum(name.startswith("z") for name in self.scope.indices) > 1:
            raise Retry
        found = {self.name("z"): self.rng.choice(counts) for _ in range(deep)}
        outer, self.scope = self.scope, self.scope.child(mutable=[])
        self.scope.indices |= found
        self.scope.positive |= {d for d in found.values() if isinstance(d, str)}
        term = self.expr(2, depth)
        test = f" if {self.condition(1)}" if self.chance(0.25) else ""
        self.scope = outer
        term = self.cast(term, self.rng.choice(self.has.floats)) if term.weak else term
        ranges = " ".join(f"for {name} in range({bare(self.counted((str(n),), some=True))})" for name, n in found.items())
        return Expr(f"sum({term.text} {ranges}{test})", term.dtype)

    def table(self) -> list[str]:
        return super().table() + ["row_sum"] * 4 * (self.is_freed and self.place in ("grid", "threads", "blocks"))

    def row_sum(self) -> None:
        """A sum along an array, of as many terms as it has."""
        given = [a for a in self.scope.arrays if a.role == "in" and not a.swapped]
        columns = [a for a in given if rank(a.dtype) == 2 and len(a.dims) == 2 and a.dims[1] in self.scope.indices.values()]
        name = self.name()
        if columns and self.chance(0.6):
            value = self.column_sum(self.pick(columns))
        else:
            value = self.sum_over((*self.extents, self.pick([d for a in given for d in a.dims])), 1, 2)
        self.has_row_sums = True
        self.line(f"{name} = {value.text}")
        self.scope.add(Expr(name, value.dtype))

    def best(self) -> None:
        if not self.is_freed:
            return super().best()
        self.row_sum()

    def write_products(self) -> None:
        """A loop over a grid in whose iterations there are sums along rows and columns, and little else."""
        dims = self.rng.choice((("n",), ("m", "n"), ("m", "n"), ("n", 3), (70,)))
        self.leading, self.carried, self.extents = "", [], ["k"]
        self.begin(dims)
        for shape in (("k", dims[-1]), (dims[0], "k"), ("k",)):
            layout = "strided" if self.chance(0.15) else "C"
            self.arrays.append(Array(self.name("x"), self.rng.choice(self.has.floats), shape, "in", layout))
            self.scope.arrays.append(self.arrays[-1])
        names = ("i", "j")[: len(dims)]
        scope = self.loop_scope(names, dims)
        self.targets_of(scope, names, dims, self.rng.randint(1, 2))
        self.place = "grid"
        with self.block(f"for {', '.join(names)} in grid({self.counted(tuple(map(str, dims)))}):", scope):
            for _ in range(self.rng.randint(1, 2)):
                self.row_sum()
                found = self.scope.scalars[-1]
                self.line(f"{self.plain_output(dims, found.dtype).name}[{', '.join(names)}] = {found.text}")
            self.statements(self.rng.randint(0, 1), ["local_name", "store", "branch", "augment", "update_element"])
            self.finish_targets(self.scope)
        self.bind_symbols()

    def column_sum(self, array: Array) -> Expr:
        """As a product of matrices has it: neighbours in the loop around read neighbours in memory."""
        row, column = self.name("z"), self.rng.choice([n for n, extent in self.scope.indices.items() if extent == array.dims[1]])
        outer, self.scope = self.scope, self.scope.child(mutable=[])
        self.scope.indices[row] = array.dims[0]
        term = self.binary("*", Expr(f"{array.name}[{row}, {column}]", array.dtype), self.tiny(1))
        self.scope = outer
        return Expr(f"sum({term.text} for {row} in range({array.dims[0]}))", term.dtype)

    def cast(self, made: Expr, dtype: str) -> Expr:
        if self.is_freed and rank(dtype) == 2 and made.rank == 1:
            made = literal(made.value & 3) if made.value is not None else Expr(f"({made.text} & 3)", made.dtype, made.weak)
        return super().cast(made, dtype)

    def rounding(self, dtype: str) -> Expr:
        if not self.is_freed:
            return super().rounding(dtype)
        return self.cast(Expr(f"({self.expr(2, 1).text} * {self.rng.choice((0.3, 0.7, 1.1))})", "float64"), dtype)

    def functional(self, kind, names, counts, scope, op="") -> tuple[str, Expr]:
        """Of nothing, a minimum of floats is infinite."""
        if self.is_freed:
            op = op or self.rng.choice(("sum", "sum", "any", "all", "argmin", "argmax", "max"))
        outer, self.of_integers = self.of_integers, self.is_freed and op in ("min", "max")
        made = super().functional(kind, names, counts, scope, op)
        self.of_integers = outer
        return made

    def of_any_kind(self, depth: int, most: int = 2) -> Expr:
        return self.expr(self.rng.choice((0, 1, 1)), depth) if self.of_integers else super().of_any_kind(depth, most)

    # -------------------------------------------------------------------------------------------------- wide ones

    def wide(self, dtype: str) -> Expr:
        """A name, or an element that is no input's, at times with a small number."""
        given = {a.name for a in self.arrays if a.role == "in" and a.dims is None}
        names = [v for v in (*self.scope.scalars, *self.scope.elements) if v.rank == 2 and v.text not in given]
        arrays = [a for a in self.scope.arrays if rank(a.dtype) == 2 and (a.role not in ("in", "tuple") or a.swapped)]
        if arrays and self.chance(0.4):
            array = self.pick(arrays)
            made = Expr(self.element(array, 1), array.dtype)
        else:
            made = self.pick(names)
        form = self.rng.randrange(5)
        if form == 0:
            made = self.binary(self.rng.choice("+-"), made, self.expr(2, 1))
        elif form == 1:
            small = self.expr(2, 1)
            made = Expr(f"{self.rng.choice(('min', 'max'))}({bare(made.text)}, {bare(small.text)})", *common(made, small))
        elif form == 2 and not made.weak:
            made = Expr(f"abs({bare(made.text)})", made.dtype)
        return self.cast(made, dtype) if made.dtype != dtype or made.weak else made

    def wide_or_small(self, dtype: str, depth: int) -> Expr:
        if self.chance(0.5):
            try:
                return self.wide(dtype)
            except Retry:
                pass
        return self.typed(dtype, depth)

    def storable(self, dtype: str, depth: int) -> Expr:
        if self.is_freed and rank(dtype) == 2:
            return self.wide_or_small(dtype, depth)
        return super().storable(dtype, depth)

    def compare(self, depth: int) -> Expr:
        if self.is_freed and self.chance(0.4):
            left, right = self.wide(self.rng.choice(self.has.floats)), self.expr(2, depth - 1)
            return Expr(f"({left.text} {self.rng.choice(('<', '<=', '>', '>=', '==', '!='))} {right.text})", "bool")
        return super().compare(depth)

    def local_name(self) -> None:
        if not self.is_freed or self.chance(0.5):
            return super().local_name()
        name, value = self.name(), self.tiny(1) if self.chance(0.6) else self.wide(self.rng.choice(self.has.floats))
        if value.weak:
            raise Retry
        if self.chance(0.6):
            value = self.tiny(1)
            if value.weak:
                raise Retry
            self.tinies.add(name)
        self.line(f"{name} = {bare(value.text)}")
        self.scope.add(Expr(name, value.dtype), name not in self.tinies)

    def reassign(self) -> None:
        if not self.is_freed:
            return super().reassign()
        variable = self.pick(self.scope.mutable)
        made = self.typed(variable.dtype, 2) if variable.rank != 2 else self.wide_or_small(variable.dtype, 2)
        self.line(f"{variable.text} = {bare(made.text)}")

    def augmented(self, variable: Expr) -> str:
        if not self.is_freed or variable.rank != 2:
            return super().augmented(variable)
        return f"{self.rng.choice('++-')}= {bare(self.typed(variable.dtype, 2).text)}"

    def faded(self, name: str, factor: float) -> str:
        return name if self.is_freed else super().faded(name, factor)

    def ordered(self, array: str, dtype: str, extent: int) -> None:
        if not self.is_freed:
            return super().ordered(array, dtype, extent)
        self.line(f"sort({array}, {self.rng.randint(0, extent)})")
