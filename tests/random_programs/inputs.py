"""What a random program is given: arrays and scalars to compute from, helpers, and arrays that atomics update."""

from __future__ import annotations

import re

from .elements import Elements
from .helpers import write_helpers
from .scope import Array, Scope
from .values import STORED, Expr, rank

_DEFAULTS = {0: ("True", "False"), 1: ("0", "1", "100"), 2: ("0", "-inf", "0.5", "nan", "-2.5e-3"), 3: ("0", "1+2j")}


class Inputs(Elements):
    counts: list[str]  # integer arguments that stay small and are not negative

    def inputs(self, dims: tuple) -> None:
        """Arrays and scalars to compute from; `dims` are the extents of the parallel loops."""
        symbols = [d for d in dims if isinstance(d, str) and d != "TILE"]
        pool = [*dims, *self.extents, self.rng.randint(1, 5)]
        flat = {"size": ("size",), "rows": ("rows", *(symbols[1:2] or ["k"]))}.get(dims[0] if dims else None)
        for number in range(self.rng.randint(2, 5)):
            if flat and (number == 0 or self.chance(0.6)):
                layout = "broadcast" if self.broadcast else "strided" if self.chance(0.15) else "C"
                shape = flat
            else:
                shape = (
                    tuple(dims)
                    if self.chance(0.5)
                    else tuple(self.rng.choice(pool) for _ in range(self.rng.choice((1, 1, 2))))
                )
                shape = tuple(d for d in shape if d not in ("size", "rows", "TILE")) or (self.rng.randint(1, 5),)
                layout = "strided" if self.chance(0.2) else "C"
            dtype = self.rng.choice((*self.has.dtypes, *self.has.floats, *self.has.integers, *self.type_variables.values()))
            data = "small" if dtype in self.has.floats and self.chance(0.5) else "any"
            array = Array(self.name("x"), dtype, shape, "in", layout, shape[:1] in (("size",), ("rows",)), data=data)
            longer = len(shape) == 1 and shape[0] in (*symbols, *self.extents) and not (array.ellipsis or self.style)
            if longer and self.chance(0.2):
                array.written = self.rng.choice((f"{shape[0]} + {self.rng.randint(1, 3)}", f"2 * {shape[0]}"))
            self.arrays.append(array)
            self.scope.arrays.append(array)
        if not {a.dtype for a in self.arrays} & {*self.type_variables.values()}:
            self.type_variables = {}
        for _ in range(self.rng.choice((0, 0, 1, 1, 2))):
            scalar = Array(self.name("a"), self.rng.choice((*self.has.dtypes, "int64", "int64")), None)
            self.arrays.append(scalar)
            self.scope.add(Expr(scalar.name, scalar.dtype), mutable=False)
        if self.chance(0.25) and not self.style:
            scalar = Array(self.name("c"), self.rng.choice(("int32", "int64")), None, data="count")
            self.arrays.append(scalar)
            self.counts.append(scalar.name)
            self.scope.add(Expr(scalar.name, scalar.dtype), mutable=False)
        if "TILE" in self.params:
            self.scope.scalars.append(Expr("TILE", "int64", True, max(self.params["TILE"])))
        for symbol in (*symbols, *self.extents):
            if symbol not in ("size", "rows") and self.chance(0.3) and not self.style:
                self.scope.scalars.append(Expr(symbol, "int64", True))

    def bind_symbols(self) -> None:
        """Every symbol needs an array that has it, or a scalar argument of its name."""
        used = {d for a in self.arrays if a.dims and not a.written for d in a.dims if isinstance(d, str) and d[0] != "("}
        used |= set(self.extents) | {d for d in self.main if isinstance(d, str)}
        bound = {d for a in self.arrays if a.role in ("in", "inout") and a.dims and not a.written for d in a.dims}
        for symbol in sorted(used - bound - {"TILE", "?"}):
            if symbol in ("size", "rows"):
                dims = (symbol, *(["k"] if symbol == "rows" else []))
                self.arrays.insert(0, Array(self.name("x"), "float32", dims, ellipsis=True))
                if symbol == "rows" and "k" not in bound:
                    self.extents.append("k")
            elif self.chance(0.5) and any(symbol in (a.dims or ()) for a in self.arrays):
                self.arrays.insert(0, Array(symbol, self.rng.choice(("int64", "int64", "int32")), None))
            else:
                self.arrays.insert(0, Array(self.name("x"), self.rng.choice(self.has.dtypes), (symbol,)))

    def begin(self, dims: tuple) -> None:
        self.main = dims
        self.broadcast = self.leading == "size" and self.chance(0.5)
        self.inputs(dims)
        if self.chance(0.35):
            self.helpers, self.helper_lines = write_helpers(self)
        if self.chance(0.35) and not self.style:
            self.helper_lines += self.write_actors()
        if self.chance(0.25):
            self.constant_tuple()
        for _ in range(self.rng.choice((0, 0, 0, 1, 2)) if not self.style else 0):
            array = Array(self.name("h"), self.rng.choice((*self.has.integers, "float32")), (self.rng.randint(1, 9),), "inout")
            array.data = "small" if array.dtype == "float32" else "any"
            self.arrays.append(array)
            self.atomics.append((array, self.rng.choice(("add", "min", "max"))))
        for _ in range(self.rng.choice((0, 0, 1)) if not self.style else 0):
            array = Array(self.name("h"), self.rng.choice(self.has.dtypes), (self.rng.randint(1, 9),), "inout")
            self.arrays.append(array)
            self.atomics.append((array, "scatter"))
        if self.chance(0.4):
            outer, self.atomics = self.atomics, []
            positive, self.scope.positive = self.scope.positive, set()
            self.statements(
                self.rng.randint(1, 3), ["local_name", "local_name", "augment", "reassign", "for_loop", "branch"]
            )
            self.atomics, self.scope.positive = outer, positive

    def constant_tuple(self) -> None:
        """Constants to be indexed: plain numbers, or some of them converted to one type."""
        name, count, dtype = self.name("w"), self.rng.randint(1, 4), self.rng.choice(("int64", *self.has.floats, "float64"))
        values = [self.rng.choice(("0", "1", "5", "100") if dtype == "int64" else ("0.25", "1.0", "7", "-2.5"))
                  for _ in range(count)]  # fmt: skip
        weak = dtype in ("int64", "float64")
        if not weak:
            values[self.rng.randrange(count)] = f"{dtype}({values[0]})"
        elif dtype == "float64":
            values[0] = "0.5"
        self.line(f"{name} = ({', '.join(values)}{',' * (count == 1)})")
        known = tuple(map(int if dtype == "int64" else float, values)) if weak else ()
        self.scope.arrays.append(Array(name, dtype, (count,), "tuple", weak=weak, values=known))

    def with_defaults(self) -> None:
        """Scalars that bind nothing may come last, with a default."""
        bound = {d for a in self.arrays for d in a.dims or ()} | {*self.extents, *self.main}
        found = [a for a in self.parameters if a.dims is None and a.name not in bound]
        for scalar in found:
            if scalar.dtype not in self.type_variables.values() and self.side.random() < 0.4:
                self.arrays.remove(scalar)
                self.arrays.append(scalar)
                scalar.default = self.side.choice(_DEFAULTS[rank(scalar.dtype)])
                if scalar.data == "count":
                    scalar.default = "2"

    def loop_scope(self, names: tuple, dims: tuple) -> Scope:
        scope = self.scope.child(mutable=[], depth=0, sequential=0)
        scope.indices |= dict(zip(names, dims))
        scope.positive |= {d for d in dims if isinstance(d, str)}
        return scope

    def narrow(self, array: Array) -> str:
        """What an array or scalar is stored as: now and then a float32 one in 16 bits, but those that sums of
        atomics update, which round each, and outputs that may be off by a rounding."""
        updated = any(re.search(rf"atomic_add\({array.name},", line) for line in self.lines)
        free = array.dtype == "float32" and array.dtype not in self.type_variables.values() and not array.narrow
        if free and not updated and not (array.writable and self.loose) and self.side.random() < 0.5:
            array.narrow = self.side.choice(STORED)
        return array.stored
