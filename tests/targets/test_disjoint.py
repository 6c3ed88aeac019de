"""Arrays that are declared disjoint, for every target: rows whose places the data say. The interpreter tests the word."""

import numpy as np
import pytest
from tests.targets.built import agree, draw, every_target, loop

SIGNATURE = "(start: int64[n + 1], x: float32[m], y: float32[n]) -> (out: float32[m] = 0)"
BODY = """
    for r in grid(n):
        for k in range(start[r], start[r + 1]):
            out[k] = x[k] + y[r]
    for r in blocks(n):
        for k in threads((start[r], start[r + 1])):
            out[k] = out[k] * 2 + sum(out[q] for q in range(start[r], start[r])) + r
"""


@pytest.mark.slow
@every_target
def test_rows_of_data(target):
    built = loop(target, SIGNATURE, BODY, "disjoint: [out]")
    for n, m in ((0, 0), (1, 5), (9, 200)):
        start = np.sort(np.random.default_rng(n).integers(0, m + 1, n + 1))
        x, y = draw(m), draw(n, seed=1)
        out = agree(built, start, x, y, seed=n)
        row = np.repeat(np.arange(n), np.diff(start))
        wanted = np.zeros(m, "f4")
        wanted[start[0] : start[-1]] = (x[start[0] : start[-1]] + y[row]) * 2 + row
        assert np.allclose(out, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_the_word_is_tested():
    """Where stores meet, and where one iteration reads what another stores; not where iterations only read."""
    built = loop("cpu:x86-64-v3", SIGNATURE, BODY, "disjoint: [out]")
    x, y = draw(6), draw(2)
    built.python(np.array([0, 4, 6]), x, y)
    meeting = "    for r in grid(n):\n        for k in range(start[r], start[r] + 3):\n            out[k] = x[k] + y[r]\n"
    built = loop("cpu:x86-64-v3", SIGNATURE, meeting, "disjoint: [out]")
    assert built.python(np.array([0, 3, 6]), x, y).shape == (6,)
    for order in ("forward", "reverse", "random"):
        with pytest.raises(ValueError, match=r"iterations \d and \d of a parallel loop both touch out\[2\], which disjoint"):
            built.python(np.array([0, 2, 6]), x, y, order=order)
    reading = "    for r in grid(n):\n        out[r] = y[r] + out[start[r]]\n"
    built = loop("cpu:x86-64-v3", SIGNATURE, reading, "disjoint: [out]")
    built.python(np.array([0, 1, 2]), x, y)
    with pytest.raises(ValueError, match=r"both touch out\[1\]"):
        built.python(np.array([1, 1, 2]), x, y)
    built = loop("cpu:x86-64-v3", SIGNATURE, "    for r in grid(n):\n        y2 = out[0] + out[start[r]]\n", "disjoint: [out]")
    built.python(np.array([1, 1, 2]), x, y)
