"""Sums under `fastmath: [fast]`: loops over a range, with the values of any other sum within their roundings."""

from __future__ import annotations

import numpy as np
import pytest

from pydotcompute.ir.from_zero import from_zero
from pydotcompute.ir.tree import Reduce, walk
from pydotcompute.targets.cpu.fast_sums import with_plain_sums
from tests.targets.built import loop

TARGET = "cpu:x86-64-v3"
SIGNATURE = "(x: float32[n, m], y: float32[m, n]) -> (out: float32[n])"
SUMS = {
    "rows": ("sum(x[i, k] * x[i, k] for k in range(m))", lambda x, y: (x * x).sum(1)),
    "columns": ("sum(y[k, i] for k in range(m))", lambda x, y: y.sum(0)),
    "rows and columns": (
        "sum(x[i, k] for k in range(m)) - 2 * sum(y[k, i] for k in range(m))", lambda x, y: x.sum(1) - 2 * y.sum(0)
    ),
    "some terms": ("sum(x[i, k] for k in range(1, m) if x[i, k] > 0)", lambda x, y: np.maximum(x, 0)[:, 1:].sum(1)),
    "two ranges": (
        "sum(x[i, k] * y[q, i] for k in range(m) for q in range(k, m))",
        lambda x, y: (x * np.cumsum(y[::-1], 0)[::-1].T).sum(1),
    ),
    "a sum in a sum": (
        "sum(x[i, k] * sum(y[q, i] for q in range(m)) for k in range(m))", lambda x, y: x.sum(1) * y.sum(0)
    ),
    "beside the largest": (
        "max(x[i, k] for k in range(m)) + sum(x[i, k] for k in range(m))", lambda x, y: x.max(1) + x.sum(1)
    ),
}  # fmt: skip


@pytest.mark.parametrize("flags", ["fast", "reassoc"])
@pytest.mark.parametrize("name", SUMS)
def test_of_all_lengths(name, flags):
    text, expected = SUMS[name]
    kernel = loop(TARGET, SIGNATURE, f"for i in grid(n):\n    out[i] = {text}", f"fastmath: [{flags}]")
    rng = np.random.default_rng(0)
    for n in (1, 5, 40):
        for m in (1, 3, 8, 33, 130):
            x, y = rng.normal(size=(n, m)).astype(np.float32), rng.normal(size=(m, n)).astype(np.float32)
            terms = expected(*(np.abs(a).astype(np.float64) for a in (x, y)))
            wanted = expected(x.astype(np.float64), y.astype(np.float64))
            np.testing.assert_array_less(np.abs(kernel.call(x, y) - wanted), 1e-6 * m * (1 + np.abs(terms)))


@pytest.mark.parametrize("flags, left", [("fast", {"max"}), ("reassoc, nsz", {"max"}), ("nsz", {"max", "sum"})])
def test_which_are_loops(flags, left):
    """What is no sum, or has to have few roundings, stays as it is."""
    text, _ = SUMS["beside the largest"]
    tree = loop(TARGET, SIGNATURE, f"for i in grid(n):\n    out[i] = {text}", f"fastmath: [{flags}]").tree
    made = with_plain_sums(from_zero(tree))
    assert {n.reduction.op for s in made.body for n in walk(s) if isinstance(n, Reduce)} == left


def test_no_sum_begins_with_what_another_left():
    kernel = loop(
        TARGET,
        "(x: float64[n, m]) -> (out: float64[n])",
        """
        for i in grid(n):
            for turn in range(3):
                out[i] = sum(x[i, k] for k in range(m))
        """,
        "fastmath: [fast]",
    )
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(kernel.call(x), x.sum(1))
    np.testing.assert_array_equal(kernel.call(x[:, :0]), 0)
