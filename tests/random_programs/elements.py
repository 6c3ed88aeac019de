"""What expressions begin with: literals, names, and elements of arrays at indices that are in range."""

from __future__ import annotations

from contextlib import suppress
from random import Random

from .scope import Array, Extent, Scope
from .values import INTEGERS, Expr, Retry, Table, common, literal, rank

_SMALL = (0, 1, 2, 3, 4, 5, 7, 8, -1, -2, -3)
_LARGE = (31, 32, 63, 64, 100, 127, -128, 128, 255, 256, 32767, 65535, 2**31 - 1, -(2**31), 2**32, 2**63 - 1, -(2**63))
_FLOATS = (0.0, 0.5, 1.0, -1.0, 1.5, 2.5, -0.25, 3.0, 0.1, 1e10, 1e-30, 1e300)


class Elements:
    """`rng` decides everything; `scope` is what may be named."""

    rng: Random
    scope: Scope
    has: Table
    type_variables: dict[str, str]
    params: dict[str, list[int]]
    helpers: list
    kind: int  # that is wanted
    style: str  # "wild": some indices may be out of range; "elementwise": no index but an iteration's own

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    # ------------------------------------------------------------------------------------------------- leaves

    def literal_of(self, kind: int) -> Expr:
        if kind == 0:
            return literal(self.chance(0.5))
        if kind == 1:
            return literal(self.rng.choice(_SMALL if self.chance(0.8) else _LARGE))
        if kind == 2:
            return self.had(self.rng.choice(_FLOATS if self.has.is_exact else _FLOATS[:-3]))
        return self.had(self.rng.choice((1j, 2.5j, 0j)))

    def had(self, value: float | complex) -> Expr:
        """A literal, of a type where one alone would be of another."""
        made = literal(value)
        dtype = "float32" if made.rank == 2 else "complex64"
        return made if made.dtype in self.has.dtypes else Expr(f"{dtype}({bare(made.text)})", dtype)

    def leaf_literal_0(self, depth: int) -> Expr:
        return self.literal_of(0)

    def leaf_literal_1(self, depth: int) -> Expr:
        return self.literal_of(1)

    def leaf_literal_2(self, depth: int) -> Expr:
        if self.chance(0.1):
            name = self.rng.choice(("inf", "nan", "pi", "e"))
            if not self.has.is_exact:
                raise Retry
            return Expr(name, "float64", True)
        return self.literal_of(2)

    def leaf_literal_3(self, depth: int) -> Expr:
        return self.literal_of(3)

    def leaf_scalar(self, depth: int) -> Expr:
        found = self.scope.scalars + self.scope.elements
        return self.pick([v for v in found if v.rank == self.kind] or found)

    def leaf_index(self, depth: int) -> Expr:
        if self.style == "elementwise":
            raise Retry
        names = [*self.scope.indices, *sorted(d for d in self.scope.positive if isinstance(d, str) and d.isidentifier())]
        names = [name for name in names if name != "TILE"]
        if self.chance(0.05):
            names = [f"len({a.name})" for a in self.scope.arrays if a.role == "in" and a.dims[0] in self.scope.positive]
        return Expr(self.pick(names), "int64", True)

    def leaf_load(self, depth: int) -> Expr:
        if depth < 0:
            raise Retry
        kind, found = self.kind, self.scope.arrays
        array = self.pick([a for a in found if rank(a.dtype) == kind] or found)
        load = self.loaded(array, depth)
        if load.rank == kind:
            return load
        return self.cast(load, self.rng.choice([d for d in self.has.dtypes if rank(d) == kind]))

    def pick(self, items):
        if not items:
            raise Retry
        return self.rng.choice(items)

    # ------------------------------------------------------------------------------------------------ elements

    def element(self, array: Array, depth: int) -> str:
        return f"{array.name}[{array.prefix}{', '.join(self.index(extent, depth) for extent in array.dims) or '()'}]"

    def loaded(self, array: Array, depth: int) -> Expr:
        """An element; that of a tuple of plain numbers is a literal where its index is known to the front end too."""
        text, value = self.element(array, depth), None
        if array.values:
            known = {**dict.fromkeys((*INTEGERS, "bool"), int), "min": min, "max": max, "TILE": max(self.params.get("TILE", [0]))}
            with suppress(NameError, TypeError, ArithmeticError, IndexError):
                value = eval(text, {"__builtins__": {}, **known, array.name: array.values})
        return Expr(text, array.dtype, array.weak, value)

    def index(self, extent: Extent, depth: int) -> str:
        """Text of an integer in 0 … extent - 1."""
        direct = [name for name, other in self.scope.indices.items() if other == extent]
        if self.style == "elementwise":
            return self.pick(direct) if isinstance(extent, str) else str(self.rng.randrange(extent))
        if self.style == "wild" and self.chance(0.15) and self.scope.indices:
            name, free = self.rng.choice([*self.scope.indices]), self.expr(1, 0)
            if free.value is not None:  # refused where it is outside
                raise Retry
            return self.rng.choice(
                (f"{name} + 1", f"{name} - 1", f"2 * {name}", self.cast(free, "int64").text)
            )
        if direct and self.chance(0.75 if depth > 0 else 0.95):
            return self.rng.choice(direct)
        known = isinstance(extent, int)
        if not known and extent not in self.scope.positive:
            raise Retry
        form = self.rng.randrange(6)
        if form == 0 or depth <= 0 and form > 2:
            return str(self.rng.randrange(extent)) if known else self.rng.choice((f"{extent} - 1", "0"))
        if form == 1 and direct:
            last = str(extent - 1) if known else f"{extent} - 1"
            return f"{last} - {self.rng.choice(direct)}"
        if form == 2 and self.scope.indices:
            near = self.rng.choice([*self.scope.indices])
            text = f"{near} {self.rng.choice(('+ 1', '+ 2', '- 1', '* 3', '+ 5'))}"
            return f"({text}) % {extent}"
        inner = self.cast(self.expr(1, max(depth - 2, 0) if depth > 1 else -1), "int64")
        if form == 3:
            last = str(extent - 1) if known else f"{extent} - 1"
            return f"min(max({bare(inner.text)}, 0), {last})"
        return f"{inner.text} % {extent}"

    def guarded_load(self, depth: int) -> Expr:
        """`x[i - 1] if i > 0 else y`, the neighbour of a stencil."""
        if self.style == "elementwise":
            raise Retry
        array = self.pick([a for a in self.scope.arrays if a.dims])
        axis = self.rng.randrange(len(array.dims))
        name = self.pick([n for n, extent in self.scope.indices.items() if extent == array.dims[axis]])
        step = self.rng.choice((1, 2))
        extent = array.dims[axis]
        place, guard = self.rng.choice(
            ((f"{name} - {step}", f"{name} >= {step}"), (f"{name} + {step}", f"{name} + {step} < {extent}"),
             (f"{name} - {step}", f"0 <= {name} - {step} < {extent}"))
        )  # fmt: skip
        places = [place if k == axis else self.index(d, 0) for k, d in enumerate(array.dims)]
        load = Expr(f"{array.name}[{array.prefix}{', '.join(places)}]", array.dtype, array.weak)
        other = self.expr(load.rank, depth - 1)
        dtype, weak = common(load, other)
        return Expr(f"({load.text} if {guard} else {other.text})", dtype, weak)


def place_of(target: Expr) -> str:
    """How a store into an element begins: at an index that is an element of its own, values could meet."""
    array, inside, place = target.text.removesuffix("]").partition("[")
    return f"scatter({array}, {place}, " if inside in place else f"{target.text} = "


def stored(target: Expr, value: str) -> str:
    """The store of a value into an element."""
    start = place_of(target)
    return start + value + ")" * start.startswith("scatter(")


def bare(text: str) -> str:
    """The text without the parentheses around it, if they are a pair."""
    if not text.startswith("("):
        return text
    depth = 0
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return text[1:-1] if k == len(text) - 1 else text
    return text
