"""Random loops that may race: an array `a` stored into and read at indices of all sorts, `h` updated there by atomics,
and `b`, each iteration's own. Some indices wrap in their types.

If the race rules accept a program, all three are the same in every order.
"""

from __future__ import annotations

from random import Random

import numpy as np

HEADS = (
    ("for i in grid(n):", ("i",)), ("for i, j in grid(m, n):", ("i", "j")), ("for i, j in grid(n, 3):", ("i", "j")),
    ("for i in blocks(m):\n    for j in threads(n):", ("i", "j")), ("for i in blocks(m):\n    for j in threads(4):",
    ("i", "j")), ("for i in grid((1, n)):", ("i",)), ("for i, j in grid((m - 1, -1, -1), (1, n, 2)):", ("i", "j")),
    ("for i in blocks(m):\n    for j in threads((i, n)):", ("i", "j")), ("for i in grid((c, n, 3)):", ("i",)),
)  # fmt: skip


# Among the first iterations there are two that meet.
WRAPPING = (
    f"{{j}} * {2**62}", f"int64(int32({{j}}) * int32({2**30}))", f"{{j}} * {2**61} + {{k}}", "({i} << 62) + {j}",
    f"{{j}} * {2**62} * 4", f"{{i}} * {2**62} * 4 + {{j}}", "int64(int8({j} * 64))",
    "int64(uint8({j} * 128 + {k}))", f"({{j}} + {{i}} * {2**62}) // 2",
    f"{{j}} * {2**62} % 5", f"min({{j}} * {2**62}, 3)", "int64(-int8({j} * 64))",
)  # fmt: skip


class Racy:
    def __init__(self, seed: int):
        self.rng, self.seed = Random(seed), seed
        self.head, self.names = self.rng.choice(HEADS)
        self.count, self.lines = 0, []
        self.depth = self.head.count("\n") + 1
        self.flat = len(self.names) == 1 or self.rng.random() < 0.4
        self.values: list[str] = []
        self.pool = [self.index() for _ in range(self.rng.randint(1, 2))]
        style = seed % 3
        if style == 0:
            self.block(self.rng.randint(1, 4), 0)
        elif style == 1:
            self.wrapped()
        own = ", ".join(self.names)
        self.line(f"b[{own}] = {self.value()}")
        if style == 2:
            self.atomics()
        dims = "N" if self.flat else "N, M"
        shape = {("i",): "n"}.get(self.names) or (
            "n, 3" if "(n, 3)" in self.head else "m, 4" if "threads(4)" in self.head else "m, n"
        )
        self.shape = shape.split(", ")
        arrays = f"a: inout int64[{dims}], h: inout int64[N]"
        self.signature = f"(x: int64[n], c: int64, m: int64, {arrays}) -> (b: int64[{shape}] = 0)"
        self.body = "\n".join([self.head, *self.lines])

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def one(self) -> str:
        """An index of one dimension."""
        i, j = self.names[0], self.names[-1]
        k = self.rng.choice((0, 1, 1, 2, 3, 5))
        if self.rng.random() < 0.5:  # indices that are an iteration's own more often than not
            return self.rng.choice((
                i, j, f"{i} + {k}", f"{j} + {k}", f"2 * {j} + {k % 2}", f"n - 1 - {j}", f"{i} * n + {j}",
                f"{i} * 4 + {j}", f"{j} * m + {i}", f"3 * {i} + {k}", f"({j} + {k}) % n", f"({j} * 3 + {k}) // 3",
            ))  # fmt: skip
        if self.rng.random() < 0.15:
            return self.rng.choice(WRAPPING).format(i=i, j=j, k=k)
        return self.rng.choice((
            i, j, f"{i} + {k}", f"{j} + {k}", f"2 * {j} + {k % 2}", f"{i} // 2", f"{j} % 3", f"n - 1 - {j}", str(k),
            f"{i} * n + {j}", f"{i} * 4 + {j}", f"{i} * m + {j}", f"{i} + {j}", f"{j} + c", f"{j} * c", f"x[{j} % n]",
            f"{j} + n", f"{i} + m", f"min({j}, {k})", f"max({j}, {k})", f"({j} + {k}) % n", f"{j} ^ 1", f"{j} & 3",
            f"{j} >> 1",
            f"3 * {i} + {k}", f"{j} if {j} < {k} else {j} + 1", f"{i} * n + n - 1 - {j}", f"{j} * m + {i}",
            f"({i} + 1) * n + {j}",
        ))  # fmt: skip

    def wrapped(self) -> None:
        """Updates of one element, most of them under a condition on the index, which may wrap."""
        if not self.flat:
            return
        i, j, k = self.names[0], self.names[-1], self.rng.randint(0, 3)
        for number in range(self.rng.randint(1, 2)):
            name = f"w{number}"
            place = self.rng.choice(WRAPPING).format(i=i, j=j, k=k) if self.rng.random() < 0.7 else self.one()
            self.line(f"{name} = {place}")
            test = self.rng.choice(("{} == 0", "{} >= 0", "0 <= {} < 9", "{} < n", f"{j} % 4 == 0", f"{j} < 2", ""))
            change = self.rng.choice((f"a[{name}] += 1", f"a[{name}] = {j}", f"a[{name}] = a[{name} + 1]"))
            self.line(f"if {test.format(name)}:" if test else "if True:")
            self.depth += 1
            self.line(change)
            self.depth -= 1

    def atomics(self) -> None:
        """Two or three updates of `h`, of kinds that may be others, at places that may be apart."""
        i, j = self.names[0], self.names[-1]
        for _ in range(self.rng.randint(2, 3)):
            place = self.rng.choice((
                f"2 * {j}", f"2 * {j} + 1", f"2 * (n - 1 - {j}) + 1", j, i, f"{j} + n", "0", "1", f"x[{j} % n] + 2",
            ))  # fmt: skip
            op = self.rng.choice(("add", "add", "add", "min", "max"))
            self.line(f"atomic_{op}(h, {place}, {self.rng.choice((*self.names, 'c', f'x[{j} % n]', '5'))})")

    def index(self) -> str:
        return self.one() if self.flat else f"{self.one()}, {self.one()}"

    def place(self) -> str:
        return self.rng.choice(self.pool) if self.rng.random() < 0.9 else self.index()

    def value(self) -> str:
        found = self.rng.choice((*self.names, "c", f"x[{self.names[-1]} % n]", *self.values * 3, f"a[{self.place()}]"))
        return f"{found} + {self.value()}" if self.rng.random() < 0.3 else found

    def condition(self) -> str:
        i, j, k = self.names[0], self.names[-1], self.rng.randint(0, 4)
        return self.rng.choice((
            f"{j} % 2 == {k % 2}", f"{j} < {k}", f"{i} > {k}", f"{j} >= c", f"x[{j} % n] > 0", f"{j} + {k} < n",
            f"{i} == {k}", f"{j} * {2**61} == 0", f"int32({j}) * int32({2**30}) == 0",
            f"{i} < {j}", f"{i} == {j}", f"{j} * 2 < n", f"{k} <= {j} < n - 1", f"{j} != 0 and {i} != 1", f"c > {k}",
        ))  # fmt: skip

    def block(self, count: int, nested: int) -> None:
        kept = len(self.values)
        for _ in range(count):
            form = self.rng.randrange(6 if nested < 2 else 4)
            if form < 2:
                self.line(f"a[{self.place()}] = {self.value()}")
            elif form == 2:
                self.line(f"a[{self.place()}] += {self.value()}")
            elif form == 3:
                self.count += 1
                self.line(f"v{self.count} = {self.value()}")
                self.values.append(f"v{self.count}")
            elif form == 4:
                self.line(f"if {self.condition()}:")
                self.depth += 1
                self.block(self.rng.randint(1, 2), nested + 1)
                if self.rng.random() < 0.2:
                    self.line("continue")
                self.depth -= 1
            else:
                self.count += 1
                name = f"q{self.count}"
                self.line(f"for {name} in range({self.rng.choice(('2', '3', 'c', 'm'))}):")
                self.depth += 1
                i = self.names[-1]
                self.pool.append(self.rng.choice((f"{i} * 3 + {name}", f"{name}", f"{i} + {name}",
                    f"{i} * m + {name}", f"{name} * n + {i}"))
                                 if self.flat else f"{self.one()}, {name}")  # fmt: skip
                self.block(self.rng.randint(1, 2), nested + 1)
                self.pool.pop()
                self.depth -= 1
        del self.values[kept:]

    def arguments(self, n: int, m: int, c: int, side: int = 0) -> tuple[dict, dict]:
        """(arguments, dims) for these sizes; `a` is larger than most indices."""
        rng = np.random.default_rng([self.seed, n, m])
        side = side or (4 * (n + 2) * (m + 2) if self.flat else 4 * (n + m + 3))
        dims = {"n": n, "m": m, "N": side, "M": side}
        known = {"n": n, "m": m, "3": 3, "4": 4}
        found = {
            "x": rng.integers(-2, 5, n), "c": np.int64(c), "m": np.int64(m),
            "a": rng.integers(0, 99, (side,) if self.flat else (side, side)),
            "h": rng.integers(-5, 5, side),
            "b": np.zeros([known[d] for d in self.shape], np.int64),
        }  # fmt: skip
        return found, dims
