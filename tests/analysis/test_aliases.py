"""Which arrays may be one view; and that calls on one view then mean what the kernel means on two, in every order."""

import numpy as np
import pytest

from pydotcompute.interpreter import execute as interpret

CASES = {
    "elementwise": ("(x: T[m]) -> (out: T[m])", "for i in grid(m):\n    out[i] = 2 * x[i]", {("out", "x")}),
    "two inputs": (
        "(x: T[m], y: T[m]) -> (out: T[m])",
        "for i in grid(m):\n    out[i] = x[i] + y[i]",
        {("out", "x"), ("out", "y")},
    ),
    "in place": ("(x: T[m], y: inout T[m])", "for i in grid(m):\n    y[i] += x[i]", {("y", "x")}),
    "summed in a loop": (
        "(x: T[m]) -> (out: T[m])",
        "for i in grid(m):\n    s = T(0)\n    for k in range(3):\n        s += x[i]\n    out[i] = s",
        {("out", "x")},
    ),
    "reversed": ("(x: T[m]) -> (out: T[m])", "for i in grid(m):\n    out[i] = x[m - 1 - i]", set()),
    "a neighbour": ("(x: T[m]) -> (out: T[m])", "for i in grid(m - 1):\n    out[i] = x[i + 1]", set()),
    "read after the store": (
        "(x: T[m]) -> (out: T[m])",
        "for i in grid(m):\n    out[i] = 0\n    out[i] = x[i] + 1",
        set(),
    ),
    "read for another store": (
        "(x: T[m]) -> (out: T[m], other: T[m])",
        "for i in grid(m):\n    a = x[i]\n    out[i] = 1\n    other[i] = a",
        {("other", "x")},
    ),
    "filled first": ("(x: T[m]) -> (out: T[m] = 0)", "for i in grid(m):\n    out[i] += x[i]", set()),
    "another shape": ("(x: T[m, m]) -> (out: T[m])", "for i in grid(m):\n    out[i] = x[i, i]", set()),
    "another dtype": ("(x: int32[m]) -> (out: T[m])", "for i in grid(m):\n    out[i] = x[i]", set()),
    "strides": ("(x: strided T[m]) -> (out: T[m])", "for i in grid(m):\n    out[i] = x[i]", set()),
    "both written": (
        "(x: inout T[m], y: inout T[m])",
        "for i in grid(m):\n    a = x[i]\n    x[i] = y[i]\n    y[i] = a",
        set(),
    ),
    "both written, apart": (
        "(x: inout T[m], y: inout T[m])",
        "for i in grid(m // 2):\n    x[2 * i] = 1\n    y[2 * i + 1] = 2",
        set(),
    ),
    "one that gives its shape alone": ("(x: T[m]) -> (out: T[m])", "for i in grid(m):\n    out[i] = 1", {("out", "x")}),
    "a guard that reads": (
        "(x: T[m]) -> (out: T[m])",
        "for i in grid(m):\n    if x[i] > 1:\n        out[i] = 0",
        {("out", "x")},
    ),
    "a row in order": (
        "(x: T[n, m]) -> (out: T[n, m])",
        "for i in grid(n):\n    for k in range(m):\n        out[i, k] = x[i, k] * 2",
        {("out", "x")},
    ),
    "a row with the one before": (
        "(x: T[n, m]) -> (out: T[n, m])",
        "for i in grid(n):\n    for k in range(1, m):\n        out[i, k] = x[i, k] + x[i, k - 1]",
        set(),
    ),
    "a row with the next": (
        "(x: T[n, m]) -> (out: T[n, m])",
        "for i in grid(n):\n    for k in range(m - 1):\n        out[i, k] = x[i, k] + x[i, k + 1]",
        set(),
    ),
    "a row in a while loop": (
        "(x: T[n, m]) -> (out: T[n, m])",
        "for i in grid(n):\n    k = 0\n    while k < m:\n        out[i, k] = x[i, k]\n        k += 1",
        set(),
    ),
    "softmax": (
        "(x: T[..., m]) -> (out: T[..., m])",
        """
        for r in blocks(rows):
            top = max(x[r, c] for c in threads(m))
            s = T(0)
            for c in threads(m):
                e = exp(x[r, c] - top)
                out[r, c] = e
                s += e
            for c in threads(m):
                out[r, c] /= s
        """,
        {("out", "x")},
    ),
    "softmax that reads again": (
        "(x: T[..., m]) -> (out: T[..., m])",
        """
        for r in blocks(rows):
            top = max(x[r, c] for c in threads(m))
            s = T(0)
            for c in threads(m):
                out[r, c] = exp(x[r, c] - top)
                s += exp(x[r, c] - top)
            for c in threads(m):
                out[r, c] /= s
        """,
        set(),
    ),
    "a row by other threads": (
        "(x: T[n, m]) -> (out: T[n, m])",
        """
        for r in blocks(n):
            mine = shared((8,), T)
            for c in threads(m):
                mine[c] = x[r, m - 1 - c]
            for c in threads(m):
                out[r, c] = mine[c]
        """,
        set(),
    ),
    "set-up that reads": (
        "(x: T[m]) -> (out: T[m])",
        "first = x[0]\nfor i in grid(m):\n    out[i] = x[i] - first",
        set(),
    ),
    "atomics": ("(x: T[m], out: inout T[m])", "for i in grid(m):\n    atomic_add(out, i, x[i])", set()),
}


@pytest.mark.parametrize("name", CASES)
def test_pairs(name, check):
    signature, body, wanted = CASES[name]
    assert check(signature, body).aliases == wanted


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[2]])
def test_one_view_gives_what_two_arrays_give(name, check):
    signature, body, _ = CASES[name]
    tree = check(signature, body)
    dims = {"n": 3, "rows": 3, "m": 7}
    shapes = {("m",): (7,), ("n", "m"): (3, 7)}
    random = np.random.default_rng(0)
    original = {
        p.name: random.standard_normal((3, 7) if p.ellipsis else shapes[p.dims]).astype(p.dtype)
        for p in tree.parameters
    }
    for written, other in tree.aliases:
        start = original | {written: original[other]}  # what one view holds
        apart = {k: v.copy() for k, v in start.items()}
        interpret.run(tree, apart, dims)
        for order in ("forward", "reverse", "random"):
            together = {k: v.copy() for k, v in start.items()}
            together[written] = together[other]
            interpret.run(tree, together, dims, order)
            assert np.array_equal(together[written], apart[written])
