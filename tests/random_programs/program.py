"""One random kernel: its signature, its text as a user would write it, and what a test must know to call it."""

from __future__ import annotations

import re
import textwrap
from random import Random

from .elements import bare
from .helpers import Helper, write_helpers
from .scans import Scans
from .scope import Array, Scope
from .values import DTYPES, FLOATS, INTEGERS, STORED, Expr

_FORMS = (
    "grid", "blocks", "grid_reduction", "phases", "grid", "blocks", "whole", "sequential", "blocks", "tiles", "phases",
    "scans",
)  # fmt: skip
ELEMENTARY = {
    1: "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh erf erfc rsqrt cbrt".split(),
    2: "atan2 hypot pow".split(),
}


class Program(Scans):
    """`entry` is its text in kernels.yaml, `template` that of its template, if it has one."""

    def __init__(self, seed: int, name: str = "k", form: str = "", style: str = ""):
        self.rng, self.seed, self.kernel, self.style = Random(seed), seed, name, style
        self.side = Random(f"narrow {seed}")
        self.lines, self.indent, self.count, self.skips, self.budget = (
            [],
            0,
            0,
            False,
            self.rng.choice((2, 3, 4, 5, 6, 8, 12)),
        )
        self.arrays, self.atomics, self.accumulators, self.loose, self.terms = [], [], [], {}, {}
        self.factors: dict[str, int] = {}
        self.pool, self.views, self.block_names, self.block_dims, self.thread_dims = [], [], (), (), []
        self.place = "set-up"
        self.params = {"TILE": self.rng.choice(([4], [3, 8]))} if self.chance(0.25) else {}
        self.type_variables = {"T": self.rng.choice(DTYPES)} if self.chance(0.5) else {}
        self.fastmath = "[]" if self.chance(0.85) else None
        self.form = form or _FORMS[seed % len(_FORMS)]
        self.extents = ["k"] if self.chance(0.4) else []
        self.scope = Scope()
        self.leading = self.rng.choice(("", "", "", "size", "rows"))
        if style == "elementwise":
            self.form, self.leading, self.extents, self.params, self.fastmath = "grid", "", [], {}, None
        self.helpers: list[Helper] = []
        self.helper_lines: list[str] = []
        getattr(self, f"write_{self.form}")()
        for array in self.parameters:
            self.narrow(array)
        self.requires = ["TILE * 2 > TILE"] if self.params and self.chance(0.3) else []

    def narrow(self, array: Array) -> str:
        """What an array or scalar is stored as: now and then a float32 one in 16 bits, but those that atomics update,
        and outputs that may be off by a rounding."""
        updated = any(re.search(rf"atomic_\w+\({array.name},", line) for line in self.lines)
        free = array.dtype == "float32" and array.dtype not in self.type_variables.values() and not array.narrow
        if free and not updated and not (array.writable and self.loose) and self.side.random() < 0.5:
            array.narrow = self.side.choice(STORED)
        return array.stored

    # ------------------------------------------------------------------------------------------------- inputs

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
            dtype = self.rng.choice((*DTYPES, *FLOATS, *INTEGERS, *self.type_variables.values()))
            data = "small" if dtype in FLOATS and self.chance(0.5) else "any"
            array = Array(self.name("x"), dtype, shape, "in", layout, shape[:1] in (("size",), ("rows",)), data=data)
            longer = len(shape) == 1 and shape[0] in (*symbols, *self.extents) and not (array.ellipsis or self.style)
            if longer and self.chance(0.2):
                array.written = self.rng.choice((f"{shape[0]} + {self.rng.randint(1, 3)}", f"2 * {shape[0]}"))
            self.arrays.append(array)
            self.scope.arrays.append(array)
        if not {a.dtype for a in self.arrays} & {*self.type_variables.values()}:
            self.type_variables = {}
        for _ in range(self.rng.choice((0, 0, 1, 1, 2))):
            scalar = Array(self.name("a"), self.rng.choice((*DTYPES, "int64", "int64")), None)
            self.arrays.append(scalar)
            self.scope.add(Expr(scalar.name, scalar.dtype), mutable=False)
        if "TILE" in self.params:
            self.scope.scalars.append(Expr("TILE", "int64", True, max(self.params["TILE"])))
        for symbol in (*symbols, *self.extents):
            if symbol not in ("size", "rows") and self.chance(0.3) and not self.style:
                self.scope.scalars.append(Expr(symbol, "int64", True))

    def bind_symbols(self) -> None:
        """Every symbol needs an array that has it, or a scalar argument of its name."""
        used = {d for a in self.arrays if a.dims and not a.written for d in a.dims if isinstance(d, str)}
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
                self.arrays.insert(0, Array(self.name("x"), self.rng.choice(DTYPES), (symbol,)))

    def begin(self, dims: tuple) -> None:
        self.main = dims
        self.broadcast = self.leading == "size" and self.chance(0.5)
        self.inputs(dims)
        if self.chance(0.35):
            self.helpers, self.helper_lines = write_helpers(self)
        for _ in range(self.rng.choice((0, 0, 0, 1, 2)) if not self.style else 0):
            array = Array(self.name("h"), self.rng.choice((*INTEGERS, "float32")), (self.rng.randint(1, 9),), "inout")
            array.data = "small" if array.dtype == "float32" else "any"
            self.arrays.append(array)
            self.atomics.append((array, self.rng.choice(("add", "min", "max"))))
        for _ in range(self.rng.choice((0, 0, 1)) if not self.style else 0):
            array = Array(self.name("h"), self.rng.choice(DTYPES), (self.rng.randint(1, 9),), "inout")
            self.arrays.append(array)
            self.atomics.append((array, "scatter"))
        if self.chance(0.4):
            outer, self.atomics = self.atomics, []
            positive, self.scope.positive = self.scope.positive, set()
            self.statements(
                self.rng.randint(1, 3), ["local_name", "local_name", "augment", "reassign", "for_loop", "branch"]
            )
            self.atomics, self.scope.positive = outer, positive

    def loop_scope(self, names: tuple, dims: tuple) -> Scope:
        scope = self.scope.child(mutable=[], depth=0, sequential=0)
        scope.indices |= dict(zip(names, dims))
        scope.positive |= {d for d in dims if isinstance(d, str)}
        return scope

    # -------------------------------------------------------------------------------------------------- forms

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
            rounded = self.name("s"), self.name("s"), self.rng.choice(FLOATS)
            self.line(f"{rounded[0]} = 0")
            self.line(f"{rounded[1]} = 0")
        scope = self.loop_scope(names, dims)
        used = [name.text for name, _ in found]
        scope.scalars = [v for v in scope.scalars if v.text not in used]
        amount = self.rng.randint(0 if accumulators else 1, 3)
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
            self.line(f"{term} = {bare(self.typed(dtype, 2).text)}")
            self.line(f"{total} += {term}")
            self.line(f"{sizes} += abs(float64({term}))")
            for name, op in self.accumulators:
                self.update(name, op)
        count = " * ".join(map(str, dims))
        for name, kind in ((total, dtype), (sizes, "float64")):
            array = Array(self.name("o"), kind, (), "out")
            self.arrays.append(array)
            self.line(f"{array.name}[()] = {name}")
            self.loose[array.name] = ("sum", array.name, count)
        self.loose = {name: ("sum", array.name, count) for name in self.loose}

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
            array = self.output((), dtype=self.rng.choice(DTYPES))
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
        scope = self.loop_scope(self.block_names, dims)
        if dims[0] == "rows":
            array = self.plain_output(("rows", "n"), self.rng.choice(DTYPES))
            self.pool.append((("n",), Expr(f"{array.name}[r, c]", array.dtype), array))
        else:
            self.targets_of(scope, self.block_names, dims, self.rng.randint(0, 2))
        self.place = "blocks"
        self.iterations("blocks", self.block_names, tuple(map(str, dims)), scope, self.rng.randint(2, 7))
        self.bind_symbols()

    def new_thread_outputs(self, scope, names, dims) -> None:
        if self.block_dims != ("rows",):
            return super().new_thread_outputs(scope, names, dims)
        if dims == ("n",):  # the only shape that fits `T[..., n]`
            array = self.plain_output(("rows", "n"), self.rng.choice(DTYPES))
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
            array = Array(self.name("t"), self.rng.choice(DTYPES), (width,), "shared")
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

    def elementary_store(self) -> None:
        """A listed function that rounds, of exact arguments, into an output of its own."""
        if self.leading or not self.scope.indices or "r" in self.scope.scalars or self.form == "tiles":
            return self.store()
        names = [
            n
            for n in (*self.block_names, "i", "j", "g", "w", *(("c", "d") if self.place == "threads" else ()))
            if n in self.scope.indices
        ]
        dims = tuple(self.scope.indices[n] for n in names)
        if not all(isinstance(d, (str, int)) for d in dims):
            return self.store()
        dtype = self.rng.choice(FLOATS)
        count = self.rng.choice((1, 1, 2))
        parts = ", ".join(bare(self.typed(dtype, 2).text) for _ in range(count))
        array = self.plain_output(dims, dtype)
        function = self.rng.choice(ELEMENTARY[count])
        self.line(f"{array.name}[{', '.join(names)}] = {function}({parts})")
        self.loose[array.name] = ("ulp", function)

    # --------------------------------------------------------------------------------------------------- text

    @property
    def parameters(self) -> list[Array]:
        """In the order of the signature: inputs, then outputs."""
        kept = [a for a in self.arrays if a.role != "private"]
        return [a for a in kept if a.role != "out"] + [a for a in kept if a.role == "out"]

    @property
    def signature(self) -> str:
        outputs = [p for p in self.parameters if p.role == "out"]
        inputs = [self.declared(p) for p in self.parameters if p.role != "out"]
        return f"({', '.join(inputs)})" + (f" -> ({', '.join(map(self.declared, outputs))})" if outputs else "")

    def declared(self, p: Array) -> str:
        names = [name for name, dtype in self.type_variables.items() if dtype == p.dtype]
        dtype = names[0] if names else p.stored
        words = ["inout"] * (p.role == "inout") + [p.layout] * (p.layout != "C")
        dims = ""
        if p.dims:
            dims = p.written or ", ".join(["..."] * p.ellipsis + [str(d) for d in p.dims[p.ellipsis :]])
            dims = f"[{dims}]"
        return " ".join([f"{p.name}:", *words, dtype + dims, *(["=", p.fill] if p.fill else [])])

    @property
    def template(self) -> str:
        if not self.helper_lines:
            return ""
        names = ", ".join(p.name for p in self.parameters)
        body = textwrap.indent("\n".join(self.lines), "    ")
        return "\n".join([*self.helper_lines, f"def {self.kernel}({names}):", body, ""])

    @property
    def entry(self) -> str:
        lines = [f"  {self.kernel}:", f'    signature: "{self.signature}"']
        for name, dtype in self.type_variables.items():
            lines.append(f"    types: {{{name}: [{dtype}]}}")
        if self.params:
            lines.append(f"    params: {{TILE: {self.params['TILE']}}}")
        if self.requires:
            lines.append(f"    requires: {self.requires}".replace("'", '"'))
        if self.fastmath:
            lines.append(f"    fastmath: {self.fastmath}")
        if self.helper_lines:
            return "\n".join([*lines, f"    template: {self.kernel}.py.j2"])
        return "\n".join([*lines, "    body: |", textwrap.indent("\n".join(self.lines), "      ")])
