"""Random kernels that index wildly: by data, by scalars, by arithmetic that wraps, under conditions that save some.

They read `a`, `w` and `x` and update `h` by atomics, so that no race rule refuses them.
"""

from __future__ import annotations

from random import Random

import numpy as np

HEADS = (
    ("for i in grid(n):", ("i",), "n"), ("for i, j in grid(n, m):", ("i", "j"), "n, m"),
    ("for i, j in grid(n, 3):", ("i", "j"), "n, 3"),
    ("for i in blocks(n):\n    for j in threads(m):", ("i", "j"), "n, m"),
    ("for i in blocks(n):\n    t = shared((4,), int64)\n    for q in threads(4):\n        t[q] = q\n"
     "    for j in threads(4):", ("i", "j"), "n, 4"),
)  # fmt: skip
TYPES = ("int64", "int64", "int32", "int8", "uint8", "uint32", "uint64")
EXTREMES = (0, 1, 2, 3, 5, 7, -1, -2, -5, 63, 64, 100, 127, 128, 255, -128, 2**31 - 1, 2**31, -(2**31), 2**32, 2**61,
            2**62, 2**63 - 1, -(2**63), -(2**62), 10**12)  # fmt: skip
REQUIRES = ("", "", "", "m % 2 == 0", "m == 2 * n", "n <= N", "m <= n", "N > 0", "n + m <= N", "N == n * m")


class Indexing:
    """`signature`, `extra`, `template`; `arguments(rng)` draws a call that keeps what it requires."""

    def __init__(self, seed: int):
        self.rng, self.seed = Random(seed), seed
        head, self.names, self.shape = self.rng.choice(HEADS)
        self.c, self.d = self.rng.choice(TYPES), self.rng.choice(TYPES)
        self.requires = self.rng.choice(REQUIRES)
        self.lines, self.known, self.depth, self.count = [], [*self.names], head.count("\n"), 0
        self.depth = len(head.splitlines()[-1]) - len(head.splitlines()[-1].lstrip()) + 4
        self.arrays = [("a", ("N",)), ("x", ("n",)), ("w", ("n", "m"))] + [("t", ("4",))] * ("shared" in head)
        self.helps = self.rng.random() < 0.4
        self.line("s = int64(0)")
        self.block(self.rng.randint(2, 5), 0)
        self.line(f"b[{', '.join(self.names)}] = s")
        self.signature = (
            f"(a: int64[N], x: {self.d}[n], w: int64[n, m], c: {self.c}, g: int64, h: inout int64[N]) -> "
            f"(b: int64[{self.shape}] = 0)"
        )
        self.extra = f'requires: ["{self.requires}"]' if self.requires else ""
        body = "\n".join("    " + line for line in [*head.splitlines(), *self.lines])
        k = self.rng.choice((0, 1, "c"))
        other = self.rng.choice(("k", "c", "0", "k + 1"))
        helper = f"def pick(v, k, c):\n    if k >= {k}:\n        return v[k - {k}]\n    return v[{other}]\n\n\n"
        self.template = helper * self.helps + f"def f(a, x, w, c, g, h, b):\n{body}\n"

    def line(self, text: str) -> None:
        self.lines.append(" " * self.depth + text)

    def leaf(self) -> str:
        return self.rng.choice((*self.known * 3, "n", "m", "N", "int64(c)", "g", str(self.rng.choice(EXTREMES[:10])),
                                f"int64(x[{self.rng.choice(('i', 'i % n', 'n - 1 - i', 'i // 2'))}])"))  # fmt: skip

    def index(self, levels: int = 2) -> str:
        if levels == 0 or self.rng.random() < 0.3:
            return self.leaf()
        a, b, k = self.index(levels - 1), self.index(levels - 1), self.rng.choice((1, 2, 3, 4, 7))
        t = self.rng.choice(TYPES)
        return self.rng.choice((
            f"({a} + {b})", f"({a} + {k})", f"({a} - {k})", f"({a} - {b})", f"({a} * {b})", f"({a} * {k})",
            f"({a} // {k})", f"({a} % {k})", f"({a} // {b})", f"({a} % {b})", f"({a} % N)", f"({a} % n)",
            f"min({a}, {b})", f"max({a}, {b})", f"min(max({a}, 0), N - 1)", f"max(min({a}, n - 1), 0)",
            f"({a} << {k})", f"({a} >> {k})", f"({a} & {2 * k - 1})", f"({a} & {b})", f"({a} ^ 1)", f"(-{a})",
            f"abs({a})", f"int64({t}({a}))", f"int64({t}({a}) * {t}({k}))", f"int64({t}({a}) + {t}({b}))",
            f"int64(-{t}({a}))", f"({a} * {2**62})", f"({a} if {self.condition(0)} else {b})",
            f"({a} + int64({self.condition(0)}))", f"({a} - int64({self.condition(0)}))",
            f"int64({self.condition(0)})", f"popcount({a})", f"clz({a})", f"sign({a})",
            f"({a} + {2**63 - 1})", f"int64(float64({a}))", f"where({self.condition(0)}, {a}, {b})",
        ))  # fmt: skip

    def condition(self, levels: int = 1, of: str = "") -> str:
        a, b = of or self.index(levels), self.index(0)
        op = self.rng.choice(("<", "<=", ">", ">=", "==", "!="))
        one = self.rng.choice((f"{a} {op} {b}", f"0 <= {a} < {b}", f"0 <= {a} < N", f"{a} < N", f"{a} >= 0",
                               f"not {a} {op} {b}"))  # fmt: skip
        if levels and self.rng.random() < 0.3:
            return f"{one} {self.rng.choice(('and', 'or'))} {self.condition(0)}"
        return one

    def load(self, place: str = "") -> str:
        name, dims = self.rng.choice(self.arrays)
        indices = [place or self.index(self.rng.randint(0, 2))]
        if len(dims) == 2:
            indices.insert(self.rng.randint(0, 1), self.index(1))
        if len(dims) == 1 and name != "t" and self.helps and self.rng.random() < 0.3:
            return f"int64(pick({name}, {indices[0]}, int64(c)))"
        return f"int64({name}[{', '.join(indices)}])"

    def use(self, place: str = "") -> None:
        if self.rng.random() < 0.25:
            self.line(f"atomic_add(h, {place or self.index()}, 1)")
        else:
            self.line(f"s += {self.load(place)}")

    def block(self, count: int, nested: int) -> None:
        known = [*self.known]
        for _ in range(count):
            form = self.rng.randrange(11 if nested < 2 else 5)
            if form < 2:
                self.use()
            elif form < 4:
                self.count += 1
                self.line(f"v{self.count} = {self.index()}")
                self.known.append(f"v{self.count}")
            elif form == 4:  # what is looked at is used
                self.count += 1
                place = f"v{self.count}"
                self.line(f"{place} = {self.index()}")
                ends = self.rng.choice((("0", "N"), ("0", "n"), ("0", "m"), ("1", "N"), ("-1", "N"), ("0", "N + 1")))
                between = f"{ends[0]} <= {place} < {ends[1]}"
                self.line(f"if {self.condition(0, place) if self.rng.random() < 0.3 else between}:")
                self.depth += 4
                self.use(self.rng.choice((place, place, f"{place} - 1", f"{place} + 1", f"N - 1 - {place}")))
                self.depth -= 4
            elif form == 5:
                self.line(f"if {self.condition()}:")
                self.depth += 4
                self.block(self.rng.randint(1, 2), nested + 1)
                if self.rng.random() < 0.2:
                    self.line("continue")
                self.depth -= 4
            elif form == 6:
                self.count += 1
                name = f"q{self.count}"
                bounds = self.rng.choice((
                    "N", "n", "i, n", "i + 1", "n - 1, -1, -1", "n, 0, -1", "1, N - 1", "0, N, 2", "N - 1, -1, -2",
                    f"{self.index(1)}, {self.index(1)}", f"{self.index(1)}, N", "-3, n", "int64(c), int64(c) + 3",
                    f"0, N, ({self.index(0)}) | 1",
                ))  # fmt: skip
                self.line(f"for {name} in range({bounds}):")
                self.depth += 4
                self.known.append(name)
                self.use(name if self.rng.random() < 0.5 else "")  # which ends a run of endless ones
                self.block(1, nested + 1)
                if self.rng.random() < 0.3:
                    self.line(f"if {self.condition(0)}:")
                    self.line(f"    {self.rng.choice(('break', 'continue'))}")
                self.known.remove(name)
                self.depth -= 4
            elif form == 7:
                self.count += 1
                name = f"p{self.count}"
                self.line(f"{name} = {self.index(1)}")
                self.line(f"while {self.rng.choice((f'{name} < N', f'{name} >= 0', f'0 <= {name} < n'))}:")
                self.depth += 4
                self.use(name)
                self.line(f"{name} = {name} {self.rng.choice(('+ 1', '- 1', '* 2 + 1', '// 2 - 1'))}")
                self.depth -= 4
            elif form in (8, 9):
                self.neighbours()
            else:
                self.count += 1
                self.line(f"v{self.count} = {self.load()}")
                self.known.append(f"v{self.count}")
        if nested:
            self.known = known

    def neighbours(self) -> None:
        """Elements around one, beyond the ends from the other end or the nearest."""
        self.count += 1
        offset = f"q{self.count}"
        terms = [self.names[-1], offset, *self.rng.choice(((), ("g",), ("int64(c)",), ("g", "int64(c)"), ("1",)))]
        self.rng.shuffle(terms)
        place = terms[0] + "".join(f" {self.rng.choice('++-')} {term}" for term in terms[1:])
        load, n = self.rng.choice((("x[{}]", "n"), ("w[i, {}]", "m"), ("a[{}]", "N")))
        index = self.rng.choice((f"({place}) % {n}", f"({place} + {n}) % {n}", f"min(max({place}, 0), {n} - 1)",
                                 f"max(min({place}, {n} - 1), 0)", f"max({place}, 0)", f"min({place}, {n} - 1)"))  # fmt: skip
        self.line(f"for {offset} in range({self.rng.choice(('-1, 2', '0, 3', '-2, 1', '5'))}):")
        self.line(f"    s = 3 * s + int64({load.format(index)})")

    def arguments(self, rng: np.random.Generator) -> tuple[dict, dict] | None:
        """(arguments, dims) of a call that keeps what the kernel requires; None where none was found."""
        for _ in range(200):
            dims = {"n": int(rng.integers(0, 7)), "m": int(rng.integers(0, 9)), "N": int(rng.integers(0, 14))}
            if not self.requires or eval(self.requires, {}, dims):
                break
        else:
            return None

        def whole(dtype: str, count: int) -> np.ndarray:
            info = np.iinfo(dtype)
            wild = [v for v in EXTREMES if info.min <= v <= info.max]
            tame = [v for v in wild if abs(v) < 10]
            return np.array(rng.choice(wild if rng.random() < 0.5 else tame, count), dtype)

        ends = np.array([2**63 - 1 - rng.integers(4), -(2**63) + rng.integers(4)], "int64")  # where sums of it wrap
        g = rng.choice(ends) if rng.random() < 0.3 else whole("int64", 1)[0]
        known = {**dims, "3": 3, "4": 4}
        arguments = {
            "a": whole("int64", dims["N"]), "x": whole(self.d, dims["n"]),
            "w": whole("int64", dims["n"] * dims["m"]).reshape(dims["n"], dims["m"]), "c": whole(self.c, 1)[0],
            "g": g, "h": np.zeros(dims["N"], "int64"),
            "b": np.zeros([known[d] for d in self.shape.split(", ")], "int64"),
        }  # fmt: skip
        return arguments, dims
