"""Random loops that fill a matrix by loops inside: turns that could come in any order, and others that only look so."""

from __future__ import annotations

import contextlib

from .scope import Array
from .until import Until


class Filled(Until):
    def write_filled(self) -> None:
        self.main, self.leading, self.extents = ("m", "n"), "", []
        self.fastmath, self.dtype = "[]", self.rng.choice(("float32", "float64"))
        self.params, self.type_variables = {}, {"T": self.dtype} if self.type_variables else {}
        layout = self.rng.choice((*["C"] * 7, "strided"))
        shapes = {"a": ("m", "k"), "b": ("n", "k"), "d": ("k", "n"), "e": ("m", "n")}
        self.given = {letter: self.name(letter) for letter in shapes}
        self.arrays += [Array(self.given[name], self.dtype, shape, layout=layout) for name, shape in shapes.items()]
        self.filled = [Array(self.name("o"), self.dtype, ("m", "n"), "out", fill=self.rng.choice(("0", "1"))) for _ in range(2)]
        self.filled[1].role = self.rng.choice(("out", "inout"))
        self.filled[1].fill = "" if self.filled[1].role == "inout" else "1"
        low, high = (Array(self.name("a"), "int64", None) for _ in "lh")
        self.arrays += [low, high]
        last = Array(self.name("o"), self.dtype, ("m",), "out", fill="0")
        self.arrays += [*self.filled, last]
        form = self.rng.randrange(4)
        if form < 1:
            with self.block("for i, j in grid(m, n):"):
                self.fill()
        else:
            with self.block("for i in range(m):" if form == 1 else "for i in grid(m):"):
                self.line(f"p = {self.dtype}(1)")
                self.line(f"best = {self.dtype}(0)")
                bounds = ("n", "n", "1, n", "n - 1", f"max({low.name}, 0), min({high.name}, n)")
                with self.block(f"for j in range({self.rng.choice(bounds)}):"):
                    self.fill(goes_on=True)
                if self.chance(0.4):
                    self.line(f"{last.name}[i] = {self.rng.choice(('p', 'best', 'p'))}")
        self.bind_symbols()

    def fill(self, goes_on: bool = False) -> None:
        """A turn. goes_on: whether it may have something from the turn before."""
        a, b, d, e = (f"{self.given[name]}[{at}]" for name, at in zip("abde", ("i, z", "j, z", "z, j", "i, j")))
        own = [f"{o.name}[i, j]" for o in self.filled]
        starts = [f"{self.dtype}(0)", f"{self.dtype}(0.5)", f"{self.dtype}(j)"] + [e, own[1]] * self.chance(0.3)
        starts += [f"{self.filled[0].name}[i, max(j - 1, 0)]"] if goes_on and self.chance(0.3) else []
        carries = goes_on and self.chance(0.3)
        self.line(f"s = {'p' if carries else self.rng.choice(starts)}")
        self.line(f"q = {self.rng.choice((f'{self.dtype}(1)', e))}")
        self.line(f"r = {self.rng.choice((f'{self.dtype}(3)', f'{self.dtype}(j)'))}")
        index = self.rng.choice("zy")
        if beside := self.chance(0.2):  # the index of a loop, as a scalar
            self.line(f"{index} = {self.rng.choice(('j', '2'))}")
        if self.chance(0.3):
            with self.block(f"if {self.rng.choice(('j > 1', 's > 0.5', 'j % 3 == 0'))}:"):
                self.line("s = s + 1")
        for _ in range(self.rng.choice((1, 1, 1, 2))):
            counts = (*["k"] * 9, "1, k", "min(j, k)", "k - 1, -1, -1")
            with self.block(f"for z in range({self.rng.choice(counts)}):"):
                self.line(f"t = {self.rng.choice((f'{a} - {b}', f'{a} * {d}', f'{a} + s'))}")
                for _ in range(self.rng.choice((1, 1, 2))):
                    steps = (f"s += {a} * {b}", f"s += {a} * {d}", f"s = s * 0.5 + {d}", "s += t * t", "s = max(s, t)", f"s = s * 0.5 + {d} * r", f"q = q * 0.5 + {b}")
                    self.line(self.rng.choice(steps))
            if self.chance(0.4):
                self.fill_again(index, self.rng.choice((a, b, d)).replace("z", index), own[1] if beside else "")
        if carries or goes_on and self.chance(0.1):
            self.line(self.rng.choice(("p = s * 0.5", "p += q" if carries else "best = max(best, s)")))
            if self.chance(0.5):
                with self.block("if p > 0.5:" if carries else "if best > 0.5:"):
                    self.line("r = s")
        self.line(f"{own[0]} = {self.rng.choice(('s', 's + q', 's + r', 'sqrt(abs(s))'))}")
        if self.chance(0.5):
            self.line(f"{own[1]} = q" if self.chance(0.7) else f"{own[1]} = {own[0]}")

    def fill_again(self, index: str, term: str, kept: str) -> None:
        """After a loop of a turn, another one: of the turn's own, or that it leaves. kept: where its index is kept
        before that, where it is a scalar besides."""
        if kept:
            self.line(f"{kept} = {self.dtype}({index})")
        form = self.rng.randrange(5)
        condition = "if s > 0.5:" if form == 0 else "if j >= 0:"
        loop = f"for {index} in range({('k', 'j % 3', '5', '4', 'min(k, 3)')[form]}):"
        with contextlib.ExitStack() as blocks:
            for head in (condition, loop) if form == 0 or self.chance(0.3) else (loop,):
                blocks.enter_context(self.block(head))
            if form == 0:
                self.line(f"s = s * 0.5 + {term}")
                return
            if kept and self.chance(0.5):
                self.line(f"{index} = {index} * 2 + 1")
            if form == 1:
                self.line(f"r = {self.dtype}(2)")
                return
            self.line(f"s = s * 0.5 + {self.dtype}({index})")
            with self.block(f"if {self.rng.choice(('s > 0.4', f'{index} == j', 's < q'))}:"):
                self.line(self.rng.choice(("break", "continue")))
            self.line("s = s + r * 0.25")
