"""Stores of listed functions that round, each into an output of its own, which may be off by as much as they may."""

from __future__ import annotations

from .elements import bare
from .scans import Scans

ELEMENTARY = {
    1: "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh erf erfc rsqrt cbrt".split(),
    2: "atan2 hypot pow".split(),
}
OF_COMPLEX = "exp log sqrt sin cos sinh cosh".split()
EXPONENTS = ("0.3", "complex64(0.5, -1)", "2.5", "-1.5", "complex128(0, 1)", "-3", "7")


class Functions(Scans):
    def elementary_store(self) -> None:
        """A listed function that rounds, of exact arguments, into an output of its own."""
        if not self.has.is_exact or self.leading or self.aside or not self.scope.indices or "r" in self.scope.scalars or self.form == "tiles":
            return self.store()
        names = [
            n
            for n in (*self.block_names, "i", "j", "g", "w", *(("c", "d") if self.place == "threads" else ()))
            if n in self.scope.indices
        ]
        dims = tuple(self.scope.indices[n] for n in names)
        if not all(isinstance(d, (str, int)) for d in dims):
            return self.store()
        if self.chance(0.3):
            return self.complex_store(names, dims)
        dtype = self.rng.choice(self.has.floats)
        count = self.rng.choice((1, 1, 2))
        parts = ", ".join(bare(self.typed(dtype, 2).text) for _ in range(count))
        array = self.plain_output(dims, dtype)
        function = self.rng.choice(ELEMENTARY[count])
        self.line(f"{array.name}[{', '.join(names)}] = {function}({parts})")
        self.loose[array.name] = ("ulp", function)

    def complex_store(self, names: list[str], dims: tuple) -> None:
        """The same of complex numbers, powers of all kinds too."""
        dtype, function = self.rng.choice(self.has.complexes), self.rng.choice((*OF_COMPLEX, "**"))
        value = bare(self.typed(dtype, 2).text)
        text = f"{function}({value})" if function != "**" else f"({value}) ** {self.rng.choice(EXPONENTS)}"
        array = self.plain_output(dims, dtype)
        self.line(f"{array.name}[{', '.join(names)}] = {text}")
        self.loose[array.name] = ("complex", function)
