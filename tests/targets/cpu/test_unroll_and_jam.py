"""Turns of a loop with loops inside, several together: the bits are those of one after the other, and turns that may not
be taken together are not."""

from __future__ import annotations

import numpy as np
import pytest

from pydotcompute.targets.cpu.lowering import lower
from tests.targets.built import agree, draw, loop, marked

EXACT = "fastmath: []"  # what the interpreter computes, to the bit
SIZES = ((16, 4, 9), (17, 7, 1), (8, 3, 5), (41, 13, 6), (9, 5, 130), (8, 4, 128), (5, 19, 12), (20, 0, 3), (0, 5, 2), (33, 6, 0))

TOGETHER = {
    "a product by rows of both": ("(a: float32[m, l], b: float32[n, l]) -> (out: float32[m, n])", """
        for i in grid(m):
            for j in range(n):
                s = float32(0)
                for k in range(l):
                    s += a[i, k] * b[j, k]
                out[i, j] = s
    """),
    "a grid of both, rows of the second": ("(a: float64[n, l], b: float64[m, l]) -> (out: float64[n, m])", """
        for i, j in grid(n, m):
            s = 0.0
            for k in range(l):
                s += a[i, k] * b[j, k]
            out[i, j] = s
    """),
    "a grid of both, columns of the second": ("(a: float32[n, l], b: float32[l, m]) -> (out: float32[n, m])", """
        for i, j in grid(n, m):
            s = float32(0)
            for k in range(l):
                s += a[i, k] * b[k, j]
            out[i, j] = s * 2 if j % 3 == 1 else s
    """),
    "a sum of products": ("(a: float64[n, l], b: float64[l, m]) -> (out: float64[n, m])", """
        for i, j in grid(n, m):
            out[i, j] = sum(a[i, k] * b[k, j] for k in range(l))
    """),
    "two sums, and what a turn has of its own": ("(a: float32[m, l], b: float32[n, l]) -> (out: float32[m, n])", """
        for i in grid(m):
            for j in range(n):
                s = float32(0)
                q = float32(j)
                near = j > 2
                for k in range(l):
                    t = a[i, k] - b[j, k]
                    s += t * t
                    q = q * 0.5 + b[j, k]
                if near:
                    s = s - q
                out[i, j] = sqrt(s) if s > 0 else q
    """),
    "from another start": ("(a: float64[m, l], b: float64[n, l]) -> (out: float64[m, n] = 7)", """
        for i in grid(m):
            for j in range(1, n):
                s = 1.0
                for k in range(l):
                    s += a[i, k] * b[j, k]
                out[i, j] = s
    """),
    "what it stores, it has read": ("(a: float64[n, l], b: float64[l, m], c: inout float64[n, m]) -> ()", """
        for i, j in grid(n, m):
            s = c[i, j] * 0.5
            for k in range(l):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    """),
    "three loops": ("(a: float32[2, n, l], b: float32[2, l, m]) -> (out: float32[2, n, m])", """
        for h, i, j in grid(2, n, m):
            s = float32(0)
            for k in range(l):
                s += a[h, i, k] * b[h, k, j]
            out[h, i, j] = s
    """),
}  # fmt: skip

ALONE = {
    "a best one that goes on": ("(a: float64[m, l], b: float64[n, l]) -> (out: float64[m])", """
        for i in grid(m):
            best = 0.0
            for j in range(n):
                s = 0.0
                for k in range(l):
                    s += a[i, k] * b[j, k]
                best = max(best, s)
            out[i] = best
    """),
    "what goes on from turn to turn, and is not read afterwards": (
        "(a: float64[m, l], b: float64[n, l]) -> (out: float64[m, n])", """
        for i in grid(m):
            p = 1.0
            for j in range(n):
                s = p
                for k in range(l):
                    s += a[i, k] * b[j, k]
                p = s * 0.5
                out[i, j] = s
    """),
    "a turn that reads what the one before stored": ("(a: float64[m, l], b: float64[n, l]) -> (out: float64[m, n] = 0)", """
        for i in grid(m):
            for j in range(1, n):
                s = out[i, j - 1]
                for k in range(l):
                    s += a[i, k] * b[j, k]
                out[i, j] = s
    """),
    "loops as long as the turn says": ("(a: float64[m, l], b: float64[n, l]) -> (out: float64[m, n])", """
        for i in grid(m):
            for j in range(n):
                s = 0.0
                for k in range(min(j, l)):
                    s += a[i, k] * b[j, k]
                out[i, j] = s
    """),
    "the last is read afterwards": ("(a: float64[m, l], b: float64[n, l]) -> (out: float64[m, n], last: float64[m])", """
        for i in grid(m):
            s = 0.0
            for j in range(n):
                s = 0.25
                for k in range(l):
                    s += a[i, k] * b[j, k]
                out[i, j] = s
            last[i] = s
    """),
    "three sums": ("(a: float64[m, l], b: float64[n, l]) -> (out: float64[m, n])", """
        for i in grid(m):
            for j in range(n):
                s = p = q = 0.0
                for k in range(l):
                    s += a[i, k] * b[j, k]
                    p += a[i, k]
                    q += b[j, k]
                out[i, j] = s * p + q
    """),
    "rows that read nothing alike": ("(a: float64[n, l, m]) -> (out: float64[n, m])", """
        for i, j in grid(n, m):
            s = 0.0
            for k in range(l):
                s += a[i, k, j]
            out[i, j] = s
    """),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("target", [marked(f"cpu:x86-64{level}") for level in ("-v2", "-v3", "-v4")])
@pytest.mark.parametrize("name", [*TOGETHER, *ALONE])
def test_turns_together(name, target):
    kernel = loop(target, *(TOGETHER | ALONE)[name], EXACT)
    together = "_together" in lower(kernel.tree, False).text
    assert together == (name in TOGETHER)
    for one, other, terms in SIZES:
        for dims in ({"m": one, "n": other, "l": terms}, {"m": other, "n": one, "l": terms}):
            arrays = [p for p in kernel.specialisation.parameters if p.role in ("in", "inout")]
            shapes = [[dims.get(d, d) for d in p.dims] for p in arrays]
            given = [draw(*shape, dtype=p.dtype, seed=k) for k, (p, shape) in enumerate(zip(arrays, shapes))]
            if "sum(" in TOGETHER.get(name, ("", ""))[1]:  # of which the order is open
                given = [np.round(x * 8) / 8 for x in given]
            agree(kernel, *given)


@pytest.mark.parametrize(("p", "q"), [(5, 2), (2**63 - 1, -2), (5, -(2**63)), (-(2**63), 2**63 - 1), (2, 2**63 - 1)])
def test_bounds_that_lie_farther_apart_than_a_number_tells(p, q):
    body = """
        for i in grid(m):
            for j in range(max(p, 0), min(q, n)):
                s = 0.0
                for k in range(l):
                    s = s * 0.5 + a[i, k] * b[j, k]
                out[i, j] = s
    """
    signature = "(a: float64[m, l], b: float64[n, l], p: int64, q: int64) -> (out: float64[m, n] = 3)"
    agree(loop("cpu:x86-64-v3", signature, body, EXACT), draw(4, 3, dtype="f8"), draw(6, 3, dtype="f8"), p, q)
