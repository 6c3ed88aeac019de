"""Grids whose last index has a few values: what one iteration does, and skips, is the same."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.built import agree, draw, loop


def test_each_column_has_its_iteration():
    kernel = loop("cpu:x86-64-v3", "(x: float32[n, m, 3], w: float32[3]) -> (out: float32[n, m, 3] = 7, many: int64[3] = 0)", """
        for i, j, c in grid(n, m, 3):
            if x[i, j, c] < 0:
                continue
            out[i, j, c] = x[i, j, c] * w[c] + (x[i, j - 1, c] if j > 0 else 0.0)
            atomic_add(many, c, 1)
    """, "fastmath: []")  # fmt: skip
    for n, m in ((0, 5), (1, 1), (3, 0), (4, 9), (2, 33)):
        out, many = agree(kernel, draw(n, m, 3), draw(3, seed=1))
        assert many.sum() == np.count_nonzero(out != 7)


def test_a_fault_names_the_column():
    kernel = loop("cpu:x86-64-v3", "(x: float32[n, 2], at: int64[n]) -> (out: float32[n, 2])", """
        for i, c in grid(n, 2):
            out[i, c] = x[at[i], c]
    """)  # fmt: skip
    x, at = draw(4, 2), np.array([3, 0, 2, 1])
    np.testing.assert_array_equal(kernel.call(x, at), x[at])
    at[2] = 4
    with pytest.raises(IndexError, match="4"):
        kernel.call(x, at)
