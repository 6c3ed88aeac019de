"""What a call costs: nanoseconds, the best of several rounds, with kernels and with NumPy's closest."""

from __future__ import annotations

import timeit
from typing import Any, Iterator

from .own import own

COLUMNS = ("call", "elements", "ns")
CALLS = (
    "axpy(2.0, x, y, out)", "axpy(2.0, x, y, out=out)", "axpy(2.0, x, y, **named)", "axpy(2.0, x, y)", "add(x, y, out)",
    "np.add(x, y, out)", "add(x, y)", "np.add(x, y)", "sum(x)", "np.add.reduce(x)", "softmax(table)",
)  # fmt: skip


def measure(rounds: int = 7) -> Iterator[dict[str, Any]]:
    import numpy as np

    names = ("axpy", "add", "sum", "softmax")
    kernels = dict(zip(names, own(*names)))
    for n, number in ((16, 100_000), (1000, 20_000), (1_000_000, 50)):
        x, y, out = np.linspace(0, 1, n, dtype="f4"), np.ones(n, "f4"), np.empty(n, "f4")
        table = x.reshape(-1, 8) if n < 1000 else x.reshape(-1, 1000)
        named = {"".join(("o", "ut")): out}  # a keyword that is not interned
        known = {"np": np, **kernels, "x": x, "y": y, "out": out, "table": table, "named": named}
        for call in CALLS:
            best = min(timeit.repeat(call, globals=known, number=number, repeat=rounds)) / number
            yield {"call": call, "elements": n, "ns": best * 1e9}
