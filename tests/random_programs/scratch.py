"""Random arrays of a program's own: `local` ones and those of the call (`temp`), of shapes that are known when it is
compiled or at the call; some are made in twos and threes, which may be swapped."""

from __future__ import annotations

from dataclasses import replace

from .elements import bare
from .scope import Array, Extent, Scope
from .statements import Statements
from .values import Expr, Retry, rank

_NAMES = ("i", "j", "g", "w")
_FILLS = {0: ("True", "False"), 1: ("0", "1", "100"), 2: ("0", "-inf", "0.5", "nan"), 3: ("0", "1+2j")}
MOST_SWAPS = 3  # of a program: each multiplies the ways in which it may go on


class Scratch(Statements):
    form: str
    counts: list[str]  # integer arguments that stay small and are not negative
    swaps: int  # so far

    def own_roles(self) -> tuple[str, ...]:
        """Those arrays that a statement here has for itself, at any index."""
        at_top = ("local", "temp") if self.form == "sequential" else ("temp",)
        return {"grid": ("local", "row"), "threads": ("local", "row"), "blocks": ("shared",), "set-up": at_top,
                "helper": ("own", "local")}.get(self.place, ())  # fmt: skip

    def table(self) -> list[str]:
        own = [a for a in self.scope.arrays if a.role in self.own_roles()]
        return super().table() + ["swap_arrays"] * 4 * (len(own) > 1)

    def store_own_array(self) -> None:
        array = self.pick([a for a in self.scope.arrays if a.role in self.own_roles()])
        target = Expr(self.element(array, 1), array.dtype)
        if self.chance(0.25):
            self.line(f"{target.text} {self.augmented(target)}")
        else:
            self.line(f"{target.text} = {bare(self.storable(array.dtype, 2).text)}")

    # ----------------------------------------------------------------------------------------------- their shapes

    def shape(self, most: int, rank: int = 0, arguments: bool = True) -> tuple[Extent, ...]:
        """One or two extents, now and then one that is known at the call."""
        dims = [self.rng.randint(1, most) for _ in range(rank or self.rng.choice((1, 1, 2)))]
        symbols = [*self.extents, *(self.counts if arguments else ())]
        if symbols and self.chance(0.4):
            symbol = self.rng.choice(symbols)
            dims[self.rng.randrange(len(dims))] = self.rng.choice((symbol, f"({symbol} + 1)", f"({symbol} + 2)"))
        return tuple(dims)

    def known(self, dims: tuple[Extent, ...]) -> None:
        """Of what is at least 1 whatever the arguments are, indices may be drawn here."""
        self.scope.positive |= {d for d in dims if isinstance(d, str) and d.startswith("(")}

    def filled_in(self, array: Array, kind: str, names: tuple[str, ...], scope: Scope) -> None:
        """Store into each element, in one loop or loops in loops."""
        indents, outer = self.indent, self.scope
        if kind == "range":
            for name, extent in zip(names, array.dims):
                self.line(f"for {name} in range({bare(str(extent))}):")
                self.indent += 1
        else:
            self.line(f"for {', '.join(names)} in {kind}({', '.join(map(str, array.dims))}):")
            self.indent += 1
        self.scope = scope
        self.line(f"{array.name}[{', '.join(names)}] = {bare(self.storable(array.dtype, 1).text)}")
        self.indent, self.scope = indents, outer

    # ------------------------------------------------------------------------------------------------------- local

    def own_array(self) -> None:
        """A local array, or two alike, filled before they are read."""
        dtype, dims, count = self.wanted_by_actors() or (self.rng.choice(self.has.dtypes), self.shape(4), self.rng.choice((1, 1, 2)))
        first = Array(self.name("a"), dtype, dims, "local")
        text = self.narrow(first) if dtype == "float32" else self.dtype_name(dtype)
        made = [first] + [replace(first, name=self.name("a")) for _ in range(1, count)]
        self.known(dims)
        for array in made:
            self.line(f"{array.name} = local({self.tuple_of(dims)}, {text})")
            names, scope = tuple(self.name("q") for _ in dims), self.scope
            inner = scope.child(indices={**scope.indices, **dict(zip(names, dims))}, sequential=1)
            self.filled_in(array, "range", names, inner)
        self.scope.arrays += made
        if len(dims) == 1 and isinstance(dims[0], int) and rank(dtype) < 3 and self.chance(0.3):
            self.ordered(first.name, dtype, dims[0])
        if self.actors and self.chance(0.6):
            self.statements(1, ["act"])

    def tuple_of(self, dims: tuple[Extent, ...]) -> str:
        return f"({', '.join(bare(str(d)) for d in dims)}{',' * (len(dims) == 1)})"

    def wanted_by_actors(self) -> tuple[str, tuple[Extent, ...], int] | None:
        """Sometimes what a helper that stores takes: a dtype, a shape, and how many arrays."""
        wanted = [[p for p in actor.parameters if p.dims] for actor in self.actors]
        if not wanted or self.chance(0.2):
            return None
        like = self.rng.choice(wanted)
        return like[0].dtype, self.shape(4, len(like[0].dims)), len(like)

    def ordered(self, array: str, dtype: str, extent: int) -> None:
        """The first elements of an array sorted, their median, and where a number belongs among them."""
        count, median, place = self.rng.randint(0, extent), self.name("v"), self.name("v")
        if self.chance(0.5):
            self.line(f"{median} = median({array}, {count})")
            self.scope.add(Expr(median, dtype if rank(dtype) == 2 else "float64"))
        self.line(f"sort({array}, {count})")
        if self.chance(0.5):
            self.line(f"{place} = searchsorted({array}, {count}, {array}[{extent - 1}], {self.rng.randint(0, 1)})")
            self.scope.add(Expr(place, "int64"))

    # -------------------------------------------------------------------------------------------------------- temp

    def begin_scratch(self, dims: tuple, kind: str) -> None:
        """Arrays of the call, each filled by its declaration or by a loop of this kind at the top level."""
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            shape = self.rng.choice((dims, dims, dims[:1], self.shape(5, arguments=False)))
            self.arrays_of_the_call(self.rng.choice(self.has.dtypes), shape, kind, self.rng.choice((1, 1, 2, 3)))

    def arrays_of_the_call(self, dtype: str, shape: tuple, kind: str, count: int) -> None:
        first = Array(self.name("q"), dtype, shape, "temp")
        self.narrow(first)
        for number in range(count):
            array = replace(first, name=self.name("q")) if number else first
            self.arrays.append(array)
            self.known(shape)
            if self.chance(0.5):
                array.fill = self.rng.choice(_FILLS[rank(dtype)])
            else:
                place, self.place = self.place, "grid" if kind == "grid" else self.place
                names = _NAMES[: len(shape)]
                self.filled_in(array, kind, names, self.loop_scope(names, shape))
                self.place = place
            self.scope.arrays.append(array)

    # ------------------------------------------------------------------------------------------------------- swaps

    def swap_arrays(self) -> None:
        """Two arrays of one shape and dtype swapped, or three in a ring."""
        alike: dict[tuple, list[Array]] = {}
        for array in self.scope.arrays:
            if array.role in self.own_roles() and array.role != "row" and (array.role != "own" or array.swapped):
                alike.setdefault((array.role, array.dims, array.dtype, array.narrow), []).append(array)
        group = self.pick([g for g in alike.values() if len(g) > 1])
        if self.swaps >= MOST_SWAPS:
            raise Retry
        self.swaps += 1
        names = [a.name for a in self.rng.sample(group, self.rng.choice((2, 2, min(3, len(group)))))]
        self.line(f"{', '.join(names)} = {', '.join(names[1:] + names[:1])}")
