"""Grids of several counts, whose indices take 32 bits where all of them fit, and 64 elsewhere: the same bits."""

import re

import numpy as np
import pytest
from tests.targets.built import agree, draw
from tests.targets.cuda.cuda_support import loop

from pydotcompute.targets.cuda import near

STENCIL = """
    for i, j in grid(m, n):
        if 0 < i < m - 1 and 0 < j < n - 1:
            out[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j]
        else:
            out[i, j] = 0
"""
TURN = """
    for p, h, i in grid(positions, heads, half):
        a = x[p, h, i]
        b = x[p, h, i + half]
        x[p, h, i] = a * w[p, i] - b
        x[p, h, i + half] = b * w[p, i] + a
"""
FOUR = "for i, j, k, l in grid(a, b, c, d):\n    out[l, k, j, i] = x[i, j, k, l] + y[k, i]"
CHOSEN = """
    for i, j in grid(m, n):
        v = x[k[i], j] if j % 3 == 0 and k[i] < 5 else 1
        out[i, j] = v if j % 3 == 0 and k[i] < 5 else 2 * v
"""


@pytest.fixture(params=["near", "far"])
def width(request, monkeypatch):
    if request.param == "far":
        monkeypatch.setattr(near, "FEW", 0)  # but where there is nothing to do
    return request.param


@pytest.mark.slow
@pytest.mark.parametrize("grid", [None, [1], [2, 1], [1, 3]], ids=str)
def test_a_stencil(width, grid):
    built = loop("(x: float32[m, n]) -> (out: float32[m, n])", STENCIL, "fastmath: []")
    if grid:
        built.meta["launches"][0]["grid"] |= {"kind": "given", "counts": grid}
    for m, n in ((1, 1), (3, 3), (40, 3), (2, 300), (27, 65), (0, 5), (5, 0)):
        agree(built, draw(m, n))


@pytest.mark.slow
def test_three_counts(width):
    signature = "(x: inout float64[positions, heads, dim], w: float64[positions, half])"
    built = loop(signature, TURN, 'requires: ["dim == 2 * half"]', "fastmath: []")
    for positions, heads, half in ((1, 1, 1), (3, 13, 5), (2, 9, 70), (0, 2, 2)):
        agree(built, draw(positions, heads, 2 * half, dtype="f8"), draw(positions, half, dtype="f8", seed=1))


@pytest.mark.slow
def test_four_counts(width):
    built = loop("(x: float32[a, b, c, d], y: float32[c, a]) -> (out: float32[d, c, b, a])", FOUR)
    for a, b, c, d in ((2, 3, 19, 5), (1, 1, 1, 1), (3, 2, 2, 40)):
        agree(built, draw(a, b, c, d), draw(c, a, seed=1))


@pytest.mark.slow
def test_what_a_condition_guards(width):
    built = loop("(x: float32[a, n], k: int64[m]) -> (out: float32[m, n])", CHOSEN)
    agree(built, draw(5, 70), np.arange(33) % 7)


@pytest.mark.slow
def test_views(width):
    built = loop("(x: strided float32[..., n], w: float32[n]) -> (out: float32[..., n])", "for r, c in grid(rows, n):\n    out[r, c] = x[r, c] * w[c]")
    w = draw(40)
    for x in (draw(33, 40), draw(33, 80)[:, ::2], draw(40, 33).T, draw(3, 11, 40)):
        np.testing.assert_array_equal(built.call(x, w), x * w)


def test_a_count_below_zero_is_no_large_one():
    built = loop("(x: float32[m, n], k: int64) -> (out: float32[m, n] = 7)", "for i, j in grid(m - k, n):\n    out[i, j] = x[i, j]")
    built.meta["launches"][0]["grid"] |= {"kind": "given", "counts": [1]}
    for k in (2**32 - 3, 2**63 - 9, 5):
        assert (built.call(draw(3, 4), k) == 7).all()


def test_one_count_has_one_version():
    ptx = loop("(x: float32[n]) -> (out: float32[n])", "for i in grid(n):\n    out[i] = x[n - 1 - i]").ptx
    assert len(re.findall(r"ld\.global", ptx)) == 5  # a round, and what is left of one
