"""Kernels of a project on one thread against NumPy: ns an element and their ratio, at 10⁶ float32 elements."""

from __future__ import annotations

import os
import tempfile
import timeit
from functools import partial
from typing import Any, Callable, Iterator

from .own import built, copy

COLUMNS = ("kernel", "target", "ns an element", "NumPy", "times as fast")


def best(call: Callable[[], Any], rounds: int) -> float:
    """Seconds of one call, the least of many: what else runs on the machine disturbs some."""
    return min(timeit.repeat(call, number=1, repeat=rounds))


def measure(directory: str, targets: list[str], rounds: int = 200) -> Iterator[dict[str, Any]]:
    import numpy as np

    FLOAT = np.float32
    x = (np.random.default_rng(0).standard_normal((1000, 1000)) * 5).astype(FLOAT)
    y, out, row, total = x[::-1].copy(), np.empty_like(x), np.empty(1000, FLOAT), np.empty((), FLOAT)

    def softmax() -> None:
        np.exp(x - x.max(1, keepdims=True), out=out)
        np.divide(out, out.sum(1, keepdims=True), out=out)

    def silu() -> None:
        np.divide(x, 1 + np.exp(-x), out=out)

    def rmsnorm() -> None:
        np.multiply(x, row / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + FLOAT(1e-6)), out=out)

    def laplacian() -> None:
        out[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]

    cases: dict[str, tuple[tuple[Any, ...], Callable[[], Any]]] = {
        "axpy": ((2.0, x, y, out), lambda: np.add(FLOAT(2) * x, y, out=out)),
        "silu": ((x, out), silu),
        "sum": ((x, total), lambda: x.sum()),
        "sum_last": ((x, row), lambda: x.sum(1)),
        "softmax": ((x, out), softmax),
        "rmsnorm": ((x, row, 1e-6, out), rmsnorm),
        "laplacian": ((x, out), laplacian),
    }
    with tempfile.TemporaryDirectory() as folder:  # the project's own cache stays as it is
        root = os.path.join(folder, "project")
        copy(directory, root)
        libraries = built(root, targets or ["cpu:x86-64-v3"], *cases)
        for name, (arguments, reference) in cases.items():
            theirs = best(reference, rounds)
            for target, library in zip(targets or ["cpu:x86-64-v3"], libraries):
                kernel = library[name]
                ours = best(partial(kernel, *arguments), rounds)
                yield {
                    "kernel": name, "target": target, "ns an element": ours / x.size * 1e9,
                    "NumPy": theirs / x.size * 1e9, "times as fast": theirs / ours,
                }  # fmt: skip
