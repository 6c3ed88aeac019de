"""Compiled kernels on one thread against NumPy: ns an element and their ratio, in one run.

    python benchmarks/cpu.py [TARGET]           needs the build half; TARGET is cpu:x86-64-v3 unless given
"""

from __future__ import annotations

import ctypes
import sys
import tempfile
import timeit
from pathlib import Path

import numpy as np

from pydotcompute.artifact import abi
from pydotcompute import declare
from pydotcompute.targets.cpu.compiler import compile_kernel
from pydotcompute.frontend.build import build_tree
from pydotcompute.analysis.races import check

ROOT = Path(__file__).resolve().parent.parent
FLOAT = np.float32


def best(call, number: int = 1, repeat: int = 200) -> float:
    """Seconds of one call, the least of many: what else runs on the machine disturbs some."""
    return min(timeit.repeat(call, number=number, repeat=repeat)) / number


def compiled(name: str, target: str):
    """`call(dims, **arguments)` of a float32 specialisation of one of this repository's kernels: seconds a call."""
    kernel = declare.load(ROOT).kernels[name]
    specialisation = kernel.specialisations[0]
    tree = check(build_tree(kernel, specialisation, declare.render(kernel, specialisation, "cpu", ROOT)))
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(compile_kernel(tree, f"{name}.py", [target])[target])
        file.flush()
        library = ctypes.CDLL(file.name)
    slots, count = abi.slots(tree.parameters, tree.symbols)

    def measure(dims: dict[str, int], **arguments) -> float:
        words = (ctypes.c_int64 * count)()
        for slot in slots:
            value = dims[slot.name] if slot.kind == "symbol" else arguments[slot.name]
            if slot.kind == "scalar":
                value = int(np.array([value, 0], FLOAT).view(np.int64)[0])
            words[slot.index] = value.ctypes.data if slot.kind == "data" else int(value)
        return best(lambda: library.run(words))

    return measure


def main() -> None:
    target = sys.argv[1] if len(sys.argv) > 1 else "cpu:x86-64-v3"
    x = (np.random.default_rng(0).standard_normal((1000, 1000)) * 5).astype(FLOAT)
    y, out, row, total = x[::-1].copy(), np.empty_like(x), np.empty(1000, FLOAT), np.empty((), FLOAT)
    n = x.size
    flat, rows = {"size": n}, {"rows": 1000, "cols": 1000, "n": 1000, "size": 1000}

    def softmax():
        np.exp(x - x.max(1, keepdims=True), out=out)
        np.divide(out, out.sum(1, keepdims=True), out=out)

    def silu():
        np.divide(x, 1 + np.exp(-x), out=out)

    def rmsnorm():
        np.multiply(x, row / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + FLOAT(1e-6)), out=out)

    def laplacian():
        out[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]

    cases = (
        ("axpy", flat, {"a": 2.0, "x": x, "y": y, "out": out}, lambda: np.add(FLOAT(2) * x, y, out=out)),
        ("silu", flat, {"x": x, "out": out}, silu),
        ("sum", flat, {"x": x, "total": total}, lambda: x.sum()),
        ("sum_last", rows, {"x": x, "out": row}, lambda: x.sum(1)),
        ("softmax", rows, {"x": x, "out": out}, softmax),
        ("rmsnorm", rows, {"x": x, "w": row, "eps": 1e-6, "out": out}, rmsnorm),
        ("laplacian", {"m": 1000, "n": 1000}, {"x": x, "out": out}, laplacian),
    )
    print(f"{'float32, 10⁶ elements':24}{target:>16}{'NumPy':>10}{'ratio':>8}")
    for name, dims, arguments, reference in cases:
        ours, theirs = compiled(name, target)(dims, **arguments), best(reference)
        print(f"{name:24}{ours / n * 1e9:13.3f} ns{theirs / n * 1e9:7.3f} ns{theirs / ours:8.1f}")


if __name__ == "__main__":
    main()
