"""Random grids whose iterations each go round a loop until something of their own ends it: of floats, counters and
conditions alone, as those are that lanes of vectors go round together."""

from __future__ import annotations

from .scope import Array
from .turns import Turns


class Until(Turns):
    def write_until(self) -> None:
        dims = self.rng.choice((("n",), ("n",), ("n",), ("m", "n"), (70,)))
        self.main, self.leading, self.extents = dims, "", []
        self.fastmath, self.dtype = "[]", self.rng.choice(("float32", "float64"))
        self.params, self.type_variables = {}, {"T": self.dtype} if self.type_variables else {}
        names = ("i", "j")[-len(dims) :]
        at = ", ".join(names)
        x, y = self.name("x"), self.name("x")
        self.arrays += [Array(x, self.dtype, dims, layout=self.rng.choice(("C", "C", "strided"))), Array(y, self.dtype, dims[-1:])]
        self.given = (f"{x}[{at}]", f"{y}[{names[-1]}]")
        outputs = [Array(self.name("o"), dtype, dims, "out") for dtype in (self.dtype, self.dtype, "int64")]
        self.arrays += outputs
        with self.block(f"for {at} in grid({', '.join(map(str, dims))}):"):
            self.line(f"s = {self.rng.choice((self.given[0], f'{self.dtype}(0.5)', f'{x}[{at}] * {self.given[0]}'))}")
            self.line(f"t = {self.rng.choice((self.given[1], f'{self.dtype}(1)'))}")
            self.line(f"c = {self.rng.choice(('0', '0', names[-1] + ' % 3'))}")
            if self.chance(0.2):
                with self.block("if s > t:"):
                    self.line("s = t")
            self.until_done()
            if self.chance(0.4):
                with self.block("if c > 3:"):
                    self.line(f"s += {self.given[0]}")
            for array, name in zip(outputs, "stc"):
                self.line(f"{array.name}[{at}] = {name}")
        self.bind_symbols()

    def until_done(self) -> None:
        most = self.rng.choice((7, 12, 30))
        if self.chance(0.5):
            also = self.rng.choice(("", " and s < 2", " and abs(s - t) > 0.01", " and (s > 0.1 or t > 0.2)"))
            with self.block(f"while c < {most}{also}:"):
                self.line("c += 1")
                self.of_a_turn(0, "1")
        else:
            bounds = self.rng.choice(("9", "0, 9", "c, 14", "3, 8"))
            with self.block(f"for k in range({bounds}):"):
                self.of_a_turn(0, "k")

    def of_a_turn(self, depth: int, step: str) -> None:
        for _ in range(self.rng.randint(1, 3)):
            form = self.rng.random()
            if form < 0.4:
                name, value = self.rng.choice("sst"), self.next_value()
                self.line(f"{name} = {f'where({self.end()}, {value}, {name})' if self.chance(0.15) else value}")
            elif form < 0.5:
                self.line(f"c += {self.rng.choice(('1', step))}")
            elif form < 0.8 and depth < 2:
                self.a_way(f"if {self.end()}:", depth, step)
                if self.chance(0.35):
                    self.a_way("else:", depth, step)
            else:
                with self.block(f"if {self.end()}:"):
                    if self.chance(0.5):
                        self.line(f"{self.rng.choice('st')} = {self.next_value()}")
                    self.line("break")

    def a_way(self, head: str, depth: int, step: str) -> None:
        with self.block(head):
            self.of_a_turn(depth + 1, step)
            if self.chance(0.3) and "break" not in self.lines[-1]:
                self.line("break")

    def next_value(self) -> str:
        x, y = self.given
        return self.rng.choice((
            "s * 0.5 + t", "s - t * 0.25", "s * s * 0.125 + 0.3", "max(s, t) * 0.75", "sqrt(abs(s)) + 0.1", "t / (1 + abs(s))",
            f"{y} - s * 0.5", "(t if s > 0.5 else s) * 0.9", f"{x} * 0.5 + s * 0.25", "s * 0.5 + c",
        ))  # fmt: skip

    def end(self) -> str:
        return self.rng.choice((
            "s > 0.6", "abs(s - t) < 0.05", "c > 5", "s < t", "c == 3", "not (s > -1)", f"t > {self.given[1]}", "s > 0.2 and c > 2",
            "s != s",
        ))  # fmt: skip
