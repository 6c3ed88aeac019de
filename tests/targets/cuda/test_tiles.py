"""Blocks that lie along two or three axes: no block divides to find its place, and any grid computes the same."""

import numpy as np
import pytest
from tests.targets.cuda.cuda_support import loop

TURN = """
    for i, j in blocks((m + 7) // 8, (n + 7) // 8):
        tile = shared((8, 8), float32)
        for a, b in threads(8, 8):
            if i * 8 + a < m and j * 8 + b < n:
                tile[a, b] = x[i * 8 + a, j * 8 + b]
        for b, a in threads(8, 8):
            if i * 8 + a < m and j * 8 + b < n:
                out[j * 8 + b, i * 8 + a] = tile[a, b]
"""
THREE = """
    for i, j, k in blocks(a, b, c):
        out[i, j, k] = sum(x[i, j, k, e] for e in threads(d))
"""


@pytest.mark.slow
@pytest.mark.parametrize("grid", [None, [1], [2, 1], [1, 2], [3, 3]], ids=str)
def test_two_axes(grid):
    built = loop("(x: float32[m, n]) -> (out: float32[n, m])", TURN)
    assert built.meta["launches"][0]["grid"]["kind"] == "tiles" and "%ctaid.y" in built.ptx and "div." not in built.ptx
    if grid:
        built.meta["launches"][0]["grid"] = {"kind": "given", "counts": grid}
    for m, n in ((1, 1), (8, 17), (20, 9), (0, 5)):
        x = np.arange(m * n, dtype="f4").reshape(m, n)
        assert np.array_equal(built.call(x), x.T), (m, n)


@pytest.mark.slow
@pytest.mark.parametrize("grid", [None, [1], [2, 2, 1], [1, 1, 2]], ids=str)
def test_three_axes(grid):
    built = loop("(x: float32[a, b, c, d]) -> (out: float32[a, b, c])", THREE)
    assert "%ctaid.z" in built.ptx
    if grid:
        for one in built.meta["launches"]:
            one["grid"] |= {"kind": "given", "counts": grid}
    x = np.arange(2 * 3 * 4 * 5, dtype="f4").reshape(2, 3, 4, 5)
    for seed in (0, 1):  # by a warp, and by a block
        assert np.array_equal(built.call(x, seed=seed), x.sum(-1))


@pytest.mark.slow
def test_other_blocks_lie_along_one_axis():
    scratch = "for i, j in blocks(m, n):\n    q = shared((n,), float32)\n    for c in threads(n):\n        q[c] = x[i, c]\n    out[i, j] = q[j]"
    assert loop("(x: float32[m, n]) -> (out: float32[m, n])", scratch).meta["launches"][0]["grid"]["kind"] == "blocks"
