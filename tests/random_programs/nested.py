"""Random iterations with several loops inside: some that all of them go through alike, others of an iteration's own, over
the same index or another one, which may be a scalar besides; and what goes on at the end of a turn."""

from __future__ import annotations

from .filled import Filled
from .scope import Array


class Nested(Filled):
    def write_nested(self) -> None:
        self.main, self.leading, self.extents = ("n",), "", []
        self.fastmath, self.dtype = "[]", self.rng.choice(("float32", "float64"))
        self.params, self.type_variables = {}, {"T": self.dtype} if self.type_variables else {}
        shapes = {"x": ("n", "m"), "z": ("m", "n"), "y": ("m",), "w": (4,)}
        self.given = {letter: self.name(letter) for letter in shapes}
        self.arrays += [Array(self.given[letter], self.dtype, shape) for letter, shape in shapes.items()]
        results = [Array(self.name("o"), dtype, ("n",), "out", fill="0") for dtype in (self.dtype, self.dtype, "int64")]
        total = Array(self.name("o"), self.dtype, (), "out", fill="0")
        self.arrays += [*results, total]
        end = self.rng.choice(("alone", "alone", "goes on", "reduction"))
        if end != "alone":
            self.line(f"h = {self.dtype}({'-inf' if end == 'reduction' else '0'})")
        with self.block("for i in range(n):" if end == "goes on" else f"for i in {self.rng.choice(('grid', 'grid', 'range'))}(n):"):
            self.of_an_iteration([a.name for a in results], end)
        if end != "alone":
            self.line(f"{total.name}[()] = h")
        self.bind_symbols()

    def of_an_iteration(self, outputs: list[str], end: str) -> None:
        self.line(f"s = {self.dtype}({self.rng.choice(('0', '0.5', 'i'))})")
        self.line(f"t = {self.rng.choice((f'{self.dtype}(3)', self.given['w'] + '[1]', f'{self.dtype}(i)'))}")
        pieces = ["shared", *(self.rng.choice(("shared", "own", "turns", "left", "scalar", "where")) for _ in range(self.rng.randint(1, 4)))]
        self.rng.shuffle(pieces)
        self.beside = self.rng.choice("kq") if "scalar" in pieces else ""
        if self.beside:
            self.line(f"{self.beside} = i")
        for piece in pieces:
            self.piece(piece, self.rng.choice("kkq"), outputs[2])
        if end == "reduction":
            self.line("h = max(h, t * s)")
        elif end == "goes on":
            self.line("h = h * 0.5 + s")
        if end != "alone" and self.chance(0.6):
            self.line("t = t - 1")
            self.line("h = max(h, t)" if end == "reduction" else "t = h if h > 0 else t")
        self.line(f"{outputs[0]}[i] = s")
        if end != "reduction" or self.chance(0.5):
            self.line(f"{outputs[1]}[i] = t")

    def piece(self, kind: str, index: str, kept: str) -> None:
        terms = [self.given["x"] + f"[i, {index}]", self.given["z"] + f"[{index}, i]", self.given["y"] + f"[{index}]"]
        term = self.rng.choice((*terms, f"{terms[0]} * t", f"{terms[1]} * t"))
        if kind == "scalar":
            self.line(f"{kept}[i] = {self.beside}")
            if self.chance(0.3):
                self.line(f"{self.beside} = i % 3")
            return
        if kind == "where":
            self.line(f"s = where({self.rng.choice(('s > 0.3', 't > s', 'i % 2 == 0'))}, s * 0.5, s)")
            return
        if kind == "own":
            with self.block(f"if {self.rng.choice(('s > 0', 'i % 2 == 1', 't > 1'))}:"):
                self.loop(index, "m", (f"s = s * 0.5 + {term}",))
        elif kind == "turns":
            self.loop(index, self.rng.choice(("i % 3", "min(i, 4)")), (self.rng.choice((f"t = {self.dtype}(2)", "t = t * 0.5 + 1")),))
        elif kind == "left":
            with self.block(f"for {index} in range({self.rng.choice(('4', '6', 'm'))}):"):
                self.line(f"s = s * 0.5 + {self.dtype}({index}) * 0.25")
                with self.block(f"if {self.rng.choice(('s > 0.4', f'{index} > i', 's < t'))}:"):
                    self.line(self.rng.choice(("break", "continue")))
                self.line("s = s + 0.125")
        else:
            more = (f"s = max(s, {term})",) if self.chance(0.2) else ()
            self.loop(index, self.rng.choice(("m", "m", "m", "1, m", "m - 1, -1, -1")), (f"s = s * 0.5 + {term}", *more))

    def loop(self, index: str, bounds: str, lines: tuple[str, ...]) -> None:
        with self.block(f"for {index} in range({bounds}):"):
            for line in lines:
                self.line(line)
