"""What of loops and arrays shows in PTX alone: registers, and grids whose counts only the kernel knows."""

import numpy as np
import pytest
from tests.targets.built import agree, draw
from tests.targets.cuda.cuda_support import loop


def test_private_arrays_of_few_elements_stay_in_registers():
    """One element a thread: nothing is left in memory."""
    body = """
        for r in blocks(m):
            keep = private((70,), float32)
            wide = private((9, 8), float32)
            for c in threads(n):
                keep[c] = x[r, c]
            for i, j in threads(9, 5):
                wide[i, j] = i * 10 + j
            for c in threads(n):
                out[r, c] = keep[c]
            for i, j in threads(9, 5):
                two[r, i, j] = wide[i, j]
    """
    signature = "(x: float32[m, n]) -> (out: float32[m, n], two: float32[m, 9, 5])"
    built = loop(signature, body, "launch: {block: 256}")
    agree(built, draw(5, 70))
    assert ".local" not in built.ptx


def test_private_arrays_stay_in_registers():
    body = """
        for r in blocks(m):
            keep = private((32, 32), float32)
            for i, j in threads(32, 32):
                keep[i, j] = 0
            for t in range(k):
                for i, j in threads(32, 32):
                    keep[i, j] += x[r, t]
            for i, j in threads(32, 32):
                out[r, i, j] = keep[i, j]
    """
    built = loop("(x: float32[m, k]) -> (out: float32[m, 32, 32])", body)
    agree(built, draw(2, 5))
    assert ".local" not in built.ptx and built.meta["resources"]["k"]["stack"] == 0


def test_a_count_that_only_the_kernel_knows():
    built = loop("(k: int64[m], x: float32[n]) -> (out: float32[n] = 7)", "for i in grid(k[0]):\n    out[i] = x[i]")
    assert built.meta["launches"][0]["grid"]["counts"] == [None]
    for k in (0, 5, 1000, -(2**63)):
        agree(built, np.array([k]), draw(1000))


@pytest.mark.parametrize("dtype, launch", [("float64", ()), ("int64", ("launch: {block: 64, grid: 2}",))])
def test_a_count_far_below_0_is_none(dtype, launch):
    """Also where a thread does several iterations at once, and something is subtracted from the count."""
    body = "for i in grid(min(int64(k), n)):\n    out[i] = x[i]"
    built = loop(f"(k: {dtype}, x: float32[n]) -> (out: float32[n] = 7)", body, *launch)
    for k in (-(2**63), -(2**63) + 2048, -1, 20):
        agree(built, k, draw(1000))


def test_private_elements_of_loops_of_four_counts():
    """What is beyond any of a loop's counts is no iteration of it, where rows are as wide as the array's."""
    body = """
        for r in blocks(m):
            keep = private((2, 2, 3, 4), float32)
            for i, j, k, l in threads(a, b, c, d):
                keep[i, j, k, l] = x[r, i, j, k, l]
            for i, j, k, l in threads(a, b, c, d):
                out[r, i, j, k, l] = keep[i, j, k, l] + 1
    """
    more = 'requires: ["a <= 2", "b <= 2", "c <= 3", "d <= 4"]'
    built = loop("(x: float32[m, a, b, c, d]) -> (out: float32[m, a, b, c, d])", body, more)
    for shape in ((2, 2, 3, 4), (2, 2, 3, 3), (2, 2, 2, 4), (2, 1, 3, 4), (1, 2, 1, 2)):
        agree(built, draw(2, *shape))


def test_an_iteration_that_ends_early_ends_no_other():
    """Of a private array's, several turns of a thread stand in one body."""
    body = """
        for r in blocks(m):
            keep = private((2048,), float32)
            s = float32(0)
            for c in threads(n):
                keep[c] = x[r, c]
                if x[r, c] < 0:
                    continue
                s += float32(1)
            for c in threads(n):
                out[r, c] = keep[c] * s
    """
    built = loop("(x: float32[m, n]) -> (out: float32[m, n])", body, 'requires: ["n <= 2048"]')
    for n in (700, 1500, 2048):
        agree(built, draw(2, n))
