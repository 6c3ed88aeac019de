"""Sums whose terms are sums: the same at every length and level, and code that grows by the same for each."""

from __future__ import annotations

import numpy as np
import pytest

from pydotcompute.targets.cpu.lowering import lower
from tests.targets.built import agree, draw, loop

TARGETS = "cpu:x86-64-v2", "cpu:x86-64-v3"
SIGNATURE = "(x: float32[n, m], y: float32[k]) -> (out: float32[n])"
EXACT = "fastmath: []"


def _nested(depth: int) -> str:
    term = "x[i, a0]" + "".join(f" * y[a{k}]" for k in range(1, depth))
    for k in range(depth):
        term = f"sum({term} for a{k} in range({'k' if k else 'm'}))"
    return term


LENGTHS = (0, 1, 7, 8, 9, 31, 33, 64, 300, 1025)


def _whole(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers of which every sum of products is exact."""
    return np.random.default_rng(seed).integers(-2, 3, shape).astype("f4")


@pytest.mark.parametrize("loop_", ["grid(n)", "range(n)"])
def test_a_sum_of_sums(loop_):
    body = f"for i in {loop_}:\n    out[i] = {_nested(2)}"
    kernels = [loop(target, SIGNATURE, body, EXACT) for target in TARGETS]
    for m in (0, 1, 8, 9, 40):
        for k in LENGTHS:
            agree(kernels[1], _whole(5, m, seed=m), _whole(k, seed=k))
            first, second = (kernel.call(draw(5, m, seed=m), draw(k, seed=k)) for kernel in kernels)
            assert first.tobytes() == second.tobytes(), (m, k)


def test_one_of_three_beside_a_sum_in_lanes():
    kernel = loop(TARGETS[1], SIGNATURE, f"""
        for i in grid(n):
            out[i] = {_nested(3)} + sum(x[a, 0] * y[min(a, k - 1)] for a in range(n) if k > 0)
    """, EXACT)  # fmt: skip
    for n, m, k in ((1, 3, 2), (16, 1, 9), (37, 9, 35), (12, 2, 40)):
        agree(kernel, _whole(n, m, seed=m), _whole(k, seed=k))


@pytest.mark.parametrize("flags", [EXACT, "fastmath: [fast]"])
def test_code_grows_by_the_same_for_each(flags):
    """Each sum was written in three to five forms within each form of the one around it."""
    sizes = [
        len(lower(loop(TARGETS[1], SIGNATURE, f"""
            for i in grid(n):
                out[i] = {_nested(depth)}
        """, flags).tree).text.splitlines())
        for depth in (2, 3, 4)
    ]  # fmt: skip
    assert sizes[2] - sizes[1] <= 1.2 * max(sizes[1] - sizes[0], 100), sizes
