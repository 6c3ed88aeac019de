"""What a call costs: nanoseconds, with kernels and with NumPy's closest; and each way to give the arguments against the
plain one. All in turns, the best of several rounds, so that a ratio compares what the machine did at the same time."""

from __future__ import annotations

import timeit
from typing import Any, Iterator

from .own import own

COLUMNS = ("call", "elements", "ns", "to_plain", "to_numpy")
# The call, the plain one that it is another form of, NumPy's closest.
PLAIN, ALLOCATING = "axpy(2.0, x, y, out)", "axpy(2.0, x, y)"
CASES = (
    (PLAIN, "", "np.add(x, y, out)"),
    ("axpy(2.0, x, y, out=out)", PLAIN, "np.add(x, y, out=out)"),
    ("axpy(2.0, x, y, **named)", PLAIN, ""),
    ("axpy(a=2.0, x=x, y=y, out=out)", PLAIN, ""),
    ("axpy(out=out, y=y, x=x, a=2.0)", PLAIN, ""),
    ("axpy(np_scalar, x, y, out)", PLAIN, ""),
    ("axpy(2.0, mapped, y, out)", PLAIN, ""),
    ("axpy(2.0, sub, sub, out)", PLAIN, ""),
    ("axpy(2.0, x64, y64, out64)", PLAIN, ""),
    (ALLOCATING, "", "np.add(x, y)"),
    ("axpy(2.0, x, y, None)", ALLOCATING, ""),
    ("axpy(a=2.0, x=x, y=y)", ALLOCATING, ""),
    ("add(x, y, out)", "", "np.add(x, y, out)"),
    ("add(x, zero, out)", "add(x, y, out)", "np.add(x, zero, out)"),
    ("add(x, repeated, out)", "add(x, y, out)", "np.add(x, repeated, out)"),
    ("add(x, y)", "", "np.add(x, y)"),
    ("operations.add(x, y)", "add(x, y)", "np.add(x, y)"),
    ("operations.add(x, 2.0)", "add(x, y)", "np.add(x, 2.0)"),
    ("fill(16, 2.0)", "", "np.full(16, 2.0)"),
    ("fill(16, np_scalar)", "fill(16, 2.0)", ""),
    ("fill(value=2.0, n=16)", "fill(16, 2.0)", ""),
    ("matmul_vec(square, x16)", "", "np.matmul(square, x16)"),
    ("attention(row, row, row, 1.0)", "", ""),
    ("attention(row, row, row, 1.0, CAUSAL=1)", "attention(row, row, row, 1.0)", ""),
    ("attention(row, row, row, 1.0, CAUSAL=0, DEPTH=64)", "attention(row, row, row, 1.0)", ""),
    ("sum(x)", "", "np.add.reduce(x)"),
    ("softmax(table)", "", ""),
)  # fmt: skip


def measure(rounds: int = 9) -> Iterator[dict[str, Any]]:
    import numpy as np

    from .. import operations

    names = ("axpy", "add", "fill", "matmul_vec", "attention", "sum", "softmax")
    kernels = dict(zip(names, own(*names)))
    for n, number in ((16, 20_000), (1000, 10_000), (1_000_000, 20)):
        x, y, out = np.linspace(0, 1, n, dtype="f4"), np.ones(n, "f4"), np.zeros(n, "f4")
        known = {
            "np": np, **kernels, "operations": operations, "x": x, "y": y, "out": out,
            "x64": x.astype("f8"), "y64": y.astype("f8"), "out64": out.astype("f8"),
            "table": x.reshape(-1, 8) if n < 1000 else x.reshape(-1, 1000),
            "named": {"".join(("o", "ut")): out},  # a keyword that is not interned
            "np_scalar": np.float32(2), "mapped": _mapped(x), "sub": y.view(_subclass()), "zero": np.ones((), "f4"),
            "repeated": np.broadcast_to(y[:1], n), "square": np.ones((16, 16), "f4"), "x16": np.ones(16, "f4"),
            "row": np.ones((1, 16), "f4"),
        }  # fmt: skip
        cases = [case for case in CASES if n == 16 or {"x", "x64", "sub", "mapped", "table"} & _names(case[0])]
        calls = dict.fromkeys(call for case in cases for call in case if call)
        timers = {call: timeit.Timer(call, globals=known) for call in calls}
        for timer in timers.values():
            timer.timeit(3)  # what is loaded at a first call, and admitted at a second
        best = dict.fromkeys(calls, float("inf"))
        for _ in range(rounds):
            for call, timer in timers.items():
                best[call] = min(best[call], timer.timeit(number) / number * 1e9)
        told = set()
        for call, plain, numpy in cases:
            ratios = {"to_plain": best[call] / best[plain] if plain else None}
            ratios["to_numpy"] = best[call] / best[numpy] if numpy else None
            yield {"call": call, "elements": n, "ns": best[call], **ratios}
            if numpy and numpy not in told:
                told.add(numpy)
                yield {"call": numpy, "elements": n, "ns": best[numpy]}


def _names(call: str) -> frozenset[str]:
    return frozenset(compile(call, "call", "eval").co_names)


def _subclass() -> Any:
    import numpy as np

    return type("Subclass", (np.ndarray,), {})


def _mapped(x: Any) -> Any:
    """A copy of it in a file that has no name any more."""
    import tempfile

    import numpy as np

    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, x.dtype, "w+", shape=x.shape)
    mapped[:] = x
    return mapped
