"""What the turn before has only just come to is compared last: the same minimum, of floats too."""

from __future__ import annotations

import numpy as np
import pytest

from pydotcompute.ir.printer import text
from pydotcompute.targets.cpu.late_operands import latest_last
from tests.targets.built import agree, draw, loop

TARGET = "cpu:x86-64-v3"
TURNS = """
    row[0] = 3
    for j in range(m):
        row[j + 1] = x[j]
    for i in range(n):
        for j in range(m):
            {}
"""
ORDERED = {
    "row[j + 1] = min(row[j + 1] + 1, row[j] + 1, x[j] + y[i])": True,
    "row[j + 1] = x[j] + max(y[i], row[j], row[j + 1], max(row[j] - 1, x[i]))": True,
    "row[j + 1] = max(x[j], min(row[j], y[i], row[j + 1]))": True,
    "row[j + 1] = min(row[j + 1] + 1, x[j] + y[i], row[j] + 1)": False,
    "row[j + 1] = min(row[j], y[i])": False,
    "row[j] = min(row[j], y[i], x[j])": False,
}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("statement", ORDERED)
def test_minima_are_what_they_were(statement, dtype):
    kernel = loop(TARGET, f"(x: {dtype}[m], y: {dtype}[n]) -> (row: {dtype}[m + 1])", TURNS.format(statement),
                  'requires: ["n <= m"]', "fastmath: []")  # fmt: skip
    assert (text(latest_last(kernel.tree)) != text(kernel.tree)) == ORDERED[statement]
    for m, n in ((0, 0), (5, 3), (40, 17)):
        x, y = draw(m, dtype=dtype), draw(n, dtype=dtype, seed=1)
        agree(kernel, x, y)
        if dtype == "float32" and n > 3:
            x[[3, 9]], y[[1, 2]] = (np.nan, -0.0), (0.0, np.inf)
            agree(kernel, x, y)


def test_a_scalar_that_is_kept():
    kernel = loop(TARGET, "(x: int32[n], y: int32[n]) -> (best: int32)", """
        top = -100
        for i in range(n):
            top = max(top, x[i] - y[i], y[i] - x[i])
        best[()] = top
    """)  # fmt: skip
    assert "y[i] - x[i]))), top)" in text(latest_last(kernel.tree)).replace("int64", "")
    agree(kernel, draw(50, dtype="i4"), draw(50, dtype="i4", seed=1))
