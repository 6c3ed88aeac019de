"""Private arrays in loops that have more iterations than these have elements, or longer rows: an element stays with its
indices, what is beyond is done too, and an index there is a fault."""

import numpy as np
import pytest
from tests.targets.built import agree, draw, every_target, loop

MORE = """
    for r in blocks(m):
        keep = private((700,), float32)
        s = float32(0)
        for c in threads(n):
            if c < 700:
                keep[c] = x[r, c]
            s += x[r, c]
            out[r, c] = 1
        for c in threads(min(n, 700)):
            out[r, c] = keep[c] + s
"""
WIDER = """
    for r in blocks(m):
        keep = private((4, 8), float32)
        other = private((2, 9), float32)
        for i, j in threads(a, 8):
            keep[i, j] = 3
        for i, j in threads(2, 9):
            other[i, j] = i * 10 + j
        best = argmax(x[r, i, j] + keep[i, j] if j < 8 else x[r, i, j] for i, j in threads(a, b))
        for i, j in threads(a, b):
            if j < 8:
                keep[i, j] += x[r, i, j]
            out[r, i, j] = best
        for i, j in threads(a, 8):
            if j < b:
                out[r, i, j] += keep[i, j]
        for i, j in threads(2, 9):
            two[r, i, j] = other[i, j]
"""
OUTSIDE = """
    for r in blocks(m):
        keep = private((768,), float32)
        for c in threads(n):
            keep[c] = x[r, c]
        for c in threads(n):
            out[r, c] = keep[c]
"""


@every_target
def test_more_iterations(target):
    built = loop(target, "(x: float32[m, n]) -> (out: float32[m, n])", MORE)
    rng = np.random.default_rng(0)
    for n in (1, 700, 701, 3000):
        agree(built, rng.integers(-9, 9, (2, n)).astype("f4"))


@every_target
def test_longer_rows(target):
    more = 'requires: ["a <= 4"]'
    built = loop(target, "(x: float32[m, a, b]) -> (out: float32[m, a, b], two: float32[m, 2, 9])", WIDER, more)
    rng = np.random.default_rng(0)
    for a, b in ((4, 8), (3, 16), (4, 5), (2, 300)):
        agree(built, rng.integers(-9, 9, (2, a, b)).astype("f4"))


@every_target
def test_an_index_behind_the_last_element(target):
    built = loop(target, "(x: float32[m, n]) -> (out: float32[m, n])", OUTSIDE)
    agree(built, draw(2, 768))
    for n in (769, 3000):
        with pytest.raises(IndexError, match="keep"):
            built.call(draw(2, n))
