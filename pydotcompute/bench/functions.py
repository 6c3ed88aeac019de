"""Elementary functions on one thread: nanoseconds an element, against NumPy's, on 10,000 numbers, which stay in the
caches: the best of many rounds. A kernel for each function is built in a temporary project."""

from __future__ import annotations

import os
import tempfile
import timeit
from typing import Any, Callable, Iterator

from .own import built

COLUMNS = ("function", "dtype", "target", "ns an element", "NumPy", "times as fast")
SIZE = 10_000
NUMPY = {"acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "pow": "power"}
RANGES = {  # others: -1 to 1
    "exp": (-10, 10), "exp2": (-10, 10), "expm1": (-2, 2), "log": (0.1, 10), "log2": (0.1, 10), "log10": (0.1, 10),
    "log1p": (-0.5, 5), "sin": (-20, 20), "cos": (-20, 20), "tan": (-20, 20), "sinh": (-5, 5), "cosh": (-5, 5),
    "tanh": (-3, 3), "erf": (-3, 3), "erfc": (-3, 3), "pow": (0.1, 5), "hypot": (0.1, 5), "cbrt": (-9, 9),
    "rsqrt": (0.1, 10), "sqrt": (0.1, 10), "atan": (-5, 5), "acos": (-1, 1), "asin": (-1, 1), "atan2": (-1, 1),
}  # fmt: skip
BINARY = ("atan2", "hypot", "pow")


def declaration(names: list[str]) -> str:
    def kernels(label: str, arguments: str, call: str, chosen: list[str]) -> list[str]:
        if not chosen:
            return []
        members = ", ".join(f"{name}: {{F: {name}}}" for name in chosen)
        return [
            f"  {label}:",
            f"    family: {{{members}}}",
            f'    signature: "({arguments}) -> (out: T[...])"',
            "    types: {T: [float32, float64]}",
            "    body: |",
            "      for i in grid(size):",
            f"          out[i] = {{{{ F }}}}({call})",
        ]

    one = [name for name in names if name not in BINARY]
    two = [name for name in names if name in BINARY]
    lines = ["version: 1", "kernels:", *kernels("one", "x: T[...]", "x[i]", one)]
    return "\n".join([*lines, *kernels("two", "x: T[...], y: T[...]", "x[i], y[i]", two)]) + "\n"


def best(function: Callable[..., Any], rounds: int, *arrays: Any) -> float:
    """Nanoseconds an element."""
    return min(timeit.repeat(lambda: function(*arrays), number=5, repeat=rounds)) / 5 / SIZE * 1e9


def measure(targets: list[str], functions: list[str], rounds: int = 60) -> Iterator[dict[str, Any]]:
    import numpy as np

    names, targets = functions or list(RANGES), targets or ["cpu:x86-64-v2", "cpu:x86-64-v3"]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "kernels.yaml"), "w") as file:
            file.write(declaration(names))
        libraries = built(folder, targets)
        generator = np.random.default_rng(0)
        for name in names:
            for dtype in ("float32", "float64"):
                arrays = [generator.uniform(*RANGES[name], SIZE).astype(dtype) for _ in range(1 + (name in BINARY))]
                out, theirs = np.empty(SIZE, dtype), getattr(np, NUMPY.get(name, name), None)
                reference = best(theirs, rounds, *arrays, out) if theirs else None
                for target, library in zip(targets, libraries):
                    ours = best(library[name], rounds, *arrays, out)
                    row = {"function": name, "dtype": dtype, "target": target, "ns an element": ours}
                    yield row | ({"NumPy": reference, "times as fast": reference / ours} if reference else {})
