"""Loops that LLVM may reorder and vectorise: what iterations share is kept out of that, at every level."""

import re

import numpy as np
import pytest
from tests.targets.cpu.compiled import agree, kernel, tree_of

from pydotcompute.backends.cpu.levels import unfit
from pydotcompute.targets.cpu.compiler import kernel_ir, optimised
from pydotcompute.targets.cpu.lowering import lower

LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
# name: signature, body; x holds squares of small whole numbers, so that every result is exact in any order
SHARED = {
    "an output": (
        "(bins: int64[b], k: int64[m, n], x: T[m, n]) -> (out: T[b] = 0)",
        "for i, j in grid(m, n):\n    atomic_add(out, k[i, j], x[i, j] * x[i, j] + sqrt(x[i, j]))",
    ),
    "a shared array": (
        "(bins: int64[b], k: int64[m, n], x: T[m, n]) -> (out: T[m, 7])",
        """
        for r in blocks(m):
            h = shared((7,), T)
            for c in threads(7):
                h[c] = 0
            for c in threads(n):
                atomic_add(h, k[r, c], x[r, c] * x[r, c] + sqrt(x[r, c]))
            for c in threads(7):
                out[r, c] = h[c]
        """,
    ),
    "a local array, which every iteration uses anew": (
        "(bins: int64[b], k: int64[m, n], x: T[m, n]) -> (out: T[m, n])",
        """
        for i, j in grid(m, n):
            v = local((8,), T)
            for q in range(8):
                v[q] = x[i, j] * x[i, j] + q
            out[i, j] = v[k[i, j]] + sqrt(x[i, j])
        """,
    ),
    "an array that is only updated under a condition": (
        "(bins: int64[b], k: int64[m, n], x: T[m, n]) -> (out: T[b] = 0)",
        """
        for i, j in grid(m, n):
            if x[i, j] > 1:
                atomic_max(out, k[i, j], x[i, j] * x[i, j] + sqrt(x[i, j]))
        """,
    ),
}  # fmt: skip


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SHARED)
def test_no_update_is_lost(name, dtype, level):
    if unfit(level):
        pytest.skip(unfit(level))
    signature, body = SHARED[name]
    k = kernel(body, signature, types=f"{{T: [{dtype}]}}", target=f"cpu:{level}")
    rng = np.random.default_rng(0)
    m, n, bins = 3, 1003, 7
    x = (rng.integers(0, 5, (m, n)) ** 2).astype(dtype)
    extents = {"m": m, "n": n, "b": bins, "7": 7}
    shape = tuple(extents[word] for word in re.search(r"out: T\[(.*?)\]", signature)[1].split(", "))
    given = {"bins": np.zeros(bins, "i8"), "k": rng.integers(0, bins, (m, n)), "x": x, "out": np.zeros(shape, dtype)}
    for threads in (1, 2):
        agree(k, {"m": m, "n": n, "b": bins}, threads, **given)


# name: signature, body, whether what it touches may be in the group; all that is touched is one array
GROUPS = {
    "an output": ("(n: int64) -> (out: T[n] = 0)", "for i in grid(n):\n    atomic_add(out, i // 2, 1)", False),
    "a shared array": (
        "(n: int64, m: int64) -> (out: T[m] = 0)",
        "for r in blocks(m):\n    h = shared((7,), T)\n    for c in threads(n):\n        atomic_add(h, c // 2, 1)", False,
    ),
    "a local array": (
        "(n: int64) -> (out: T[n] = 0)",
        "for i in grid(n):\n    v = local((8,), T)\n    for q in range(8):\n        v[q] = i + q\n"
        "    atomic_add(out, i, v[i % 8])", False,
    ),
    "elements that no other iteration touches": (
        "(n: int64) -> (out: T[n] = 0)", "for i in grid(n):\n    out[i] = i", True
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GROUPS)
def test_what_iterations_share_is_in_no_group(name):
    """Where no compiler of today makes vectors of such a loop, one of tomorrow may."""
    signature, body, grouped = GROUPS[name]
    text = kernel_ir(lower(tree_of(body, signature, types="{T: [float32]}")), "f.py")
    assert ("!llvm.access.group" in text) == grouped


@pytest.mark.parametrize("value, long", [("x[i] ** x[i]", True), ("tanh(x[i])", True), ("exp(x[i])", False)])
def test_two_turns_are_done_at_once_of_long_chains_of_steps(value, long):
    text = kernel_ir(lower(tree_of(f"for i in grid(size):\n    out[i] = {value}"), False), "f.py")
    assert ("llvm.loop.interleave.count" in text) == long


STENCIL = """
for i, j in grid((1, m - 1), (1, n - 1)):
    x = image[i - 1, j + 1] + 2 * image[i, j + 1] - image[i - 1, j - 1] - 2 * image[i, j - 1]
    y = image[i - 1, j - 1] + 2 * image[i - 1, j] + image[i - 1, j + 1]
    out[i, j] = sqrt(x * x + y * y)
"""


def test_neighbours_are_loaded():
    """And not put together from what this turn and the last one have loaded, which took twice as long."""
    text = kernel_ir(lower(tree_of(STENCIL, "(image: T[m, n]) -> (out: T[m, n] = 0)")), "f.py")
    module, machine = optimised(text, "cpu:x86-64-v3", "f")
    assembly = machine.emit_assembly(module)
    assert "vsqrtps\t%ymm" in assembly and "vperm2f128" not in assembly
