"""Reductions over `range`, anywhere an expression stands, for every target: its code against the interpreter, and
against NumPy."""

from math import log2

import numpy as np
from tests.targets.built import agree, build, draw, every_target, loop


@every_target
def test_in_a_grid(target):
    built = loop(
        target, "(a: int64[n, m]) -> (out: int64[n, n])",
        "for i, j in grid(n, n):\n    out[i, j] = sum(a[i, k] * a[j, k] for k in range(m))",
    )  # fmt: skip
    for n, m in ((7, 30), (3, 1), (2, 0), (1, 700)):
        a = draw(n, m, dtype="i8")
        assert (agree(built, a) == a @ a.T).all()


@every_target
def test_every_reduction(target):
    body = """
        for i in grid(n):
            a = i % 3
            total[i] = sum(x[i, k] for k in range(a, m))
            low[i] = min(x[i, k] for k in range(a, m, 2))
            high[i] = max(x[i, k] for k in range(m - 1, a, -3))
            some[i] = any(x[i, k] > 40 for k in range(m))
            every[i] = all(x[i, k] < 40 for k in range(m) if k % 2 == 0)
            at[i] = argmin(x[i, k] for k in range(a, m)) * 1000 + argmax(x[i, k] for k in range(m) if x[i, k] < 30)
    """
    outputs = "total: int64[n], low: int64[n], high: int64[n], some: bool[n], every: bool[n], at: int64[n]"
    built = loop(target, f"(x: int64[n, m]) -> ({outputs})", body)
    for m in (50, 9, 1, 0):
        x = draw(20, m, dtype="i8")
        found = agree(built, x)
        for i, row in enumerate(x):
            a = i % 3
            assert found[0][i] == row[a:].sum()
            assert found[3][i] == (row > 40).any() and found[4][i] == (row[::2] < 40).all()
            assert found[1][i] == min(row[a::2], default=2**63 - 1)
            assert found[2][i] == max(row[slice(m - 1, a, -3)] if m else [], default=-(2**63))


@every_target
def test_special_values(target):
    body = """
        for i in grid(n):
            low[i] = min(x[i, k] for k in range(m))
            at[i] = argmax(x[i, k] for k in range(m))
            two[i] = argmin(x[j, k] for j in range(i, n) for k in range(m))
    """
    built = loop(target, "(x: float32[n, m]) -> (low: float32[n], at: int64[n], two: int64[n])", body)
    x = draw(6, 300)
    x[1, 7] = x[1, 200] = np.nan
    x[2, 5], x[3, 9] = -np.inf, np.inf
    low, at, two = agree(built, x)
    assert np.array_equal(low, x.min(1), equal_nan=True) and (at == x.argmax(1)).all()
    assert (two == [x[i:].argmin() for i in range(6)]).all()
    nothing = agree(built, x[:, :0])
    assert (nothing[0] == np.inf).all() and (nothing[1] == -1).all() and (nothing[2] == -1).all()


@every_target
def test_several_clauses(target):
    body = """
        for i in grid(n):
            out[i] = sum(x[a, b] for a in range(i) if a != 3 for b in range(a, m) if x[a, b] % 2 == 0)
            at[i] = argmax(x[a, b] for a in range(i, n) for b in range(0, m, 3) if b != a)
            top[i] = max(max(x[a, b] for b in range(m)) - a for a in range(i + 1))
    """
    built = loop(target, "(x: int64[n, m]) -> (out: int64[n], at: int64[n], top: int64[n])", body)
    x = draw(8, 11, dtype="i8")
    out, at, top = agree(built, x)
    for i in range(8):
        assert out[i] == sum(v for a in range(i) if a != 3 for v in x[a, a:].tolist() if v % 2 == 0)
        terms = [(x[a, b], b != a) for a in range(i, 8) for b in range(0, 11, 3)]
        best = max(v for v, kept in terms if kept)
        assert at[i] == next(k for k, (v, kept) in enumerate(terms) if kept and v == best)
        assert top[i] == (x.max(1) - np.arange(8))[: i + 1].max()


@every_target
def test_where_it_is_evaluated_only_sometimes(target):
    """What is not evaluated must not be read: it may lie outside."""
    body = """
        for i in grid(n):
            a = at[i]
            t = 0 if a >= m else sum(x[a + k] for k in range(3))
            u = a < m and any(x[a + k] > 20 for k in range(3))
            v = a >= m or x[a] > 0 or all(x[a + k] < 0 for k in range(3))
            w = -1 < a < m and 0 <= a < sum(x[a + k] for k in range(3)) < 60
            s = 0
            while s < 3 and sum(x[k] for k in range(s)) < 40:
                s += 1
            out[i] = t + 1000 * s if u or not v else t - w
    """
    built = loop(target, "(x: int64[l], at: int64[n], m: int64) -> (out: int64[n])", body)
    agree(built, draw(40, dtype="i8"), np.array([0, 5, 37, 38, 39, 99, 2, 36]), 38)


@every_target
def test_inside_of_other_reductions_and_at_every_level(target):
    body = """
        first = sum(x[0, k] for k in range(m))
        for r in blocks(n):
            own = sum(x[r, k] for k in range(m)) + first
            part[r] = sum(sum(x[r, k] * x[q, k] for k in range(m)) for q in threads(n)) + own
            for c in threads(m):
                out[r, c] = own - max(x[q, c] for q in range(n) if q != r)
    """
    built = loop(target, "(x: int64[n, m]) -> (part: int64[n], out: int64[n, m])", body, "launch: {block: 32}")
    x = draw(9, 40, dtype="i8")
    part, out = agree(built, x)
    own = x.sum(1) + x[0].sum()
    others = np.array([np.delete(x, r, 0).max(0) for r in range(9)])
    assert (part == (x @ x.T).sum(1) + own).all() and (out == own[:, None] - others).all()
    body = "out[()] = sum(max(x[i, k] for k in range(m)) for i in grid(n))"
    total = loop(target, "(x: int64[n, m]) -> (out: int64)", body)
    assert agree(total, x) == x.max(1).sum()


@every_target
def test_in_helpers(target):
    template = """
        def dot(a, b, i, j, m):
            s = sum(a[i, k] * b[j, k] for k in range(m))
            return s if m > 3 else 2 * max(a[i, k] for k in range(m))

        def k(x, y, out):
            for i, j in grid(n, p):
                out[i, j] = dot(x, y, i, j, m)
    """
    text = 'signature: "(x: int64[n, m], y: int64[p, m]) -> (out: int64[n, p])"\ntemplate: k.py.j2'
    built = build(target, text, template)
    x, y = draw(9, 40, dtype="i8"), draw(5, 40, dtype="i8", seed=1)
    assert (agree(built, x, y) == x @ y.T).all()
    agree(built, x[:, :2].copy(), y[:, :2].copy())


@every_target
def test_the_error_of_a_sum(target):
    """At most 8 + log2(n) roundings of the sum of the terms' sizes, which one after the other would not keep."""
    for dtype, sizes in (("float32", (1, 8, 9, 3000)), ("complex64", (300,))):
        body = "for i in grid(m):\n    out[i] = sum(x[i, k] for k in range(n))"
        built = loop(target, f"(x: {dtype}[m, n]) -> (out: {dtype}[m])", body)
        for n in sizes:
            x = np.full((2, n), 0.1, dtype)
            x[1] = draw(n) + 1
            got, wanted = built.call(x), x.astype("G" if dtype[0] == "c" else "g").sum(1)
            assert (abs(got - wanted) <= (8 + log2(n)) * 2.0**-24 * np.abs(x).astype("g").sum(1)).all(), (dtype, n)


@every_target
def test_between_phases_and_in_their_conditions(target):
    body = """
        t = 0
        while t < 4 and sum(x[0, k] for k in range(m)) < 1000000:
            for i, j in grid((1, n - 1), (1, m - 1)):
                y[i, j] = x[i - 1, j] + x[i + 1, j]
            s = max(y[a, b] for a in range(1, n - 1) for b in range(1, m - 1))
            for i, j in grid((1, n - 1), (1, m - 1)):
                x[i, j] = y[i, j] - s + sum(y[i, k] for k in range(1, m - 1))
            t += 1
    """
    built = loop(target, "(x: inout int64[n, m], y: inout int64[n, m])", body)
    agree(built, draw(6, 7, dtype="i8"), draw(6, 7, dtype="i8", seed=1))


@every_target
def test_searches_through_one_element(target):
    """An output without dims, which has no index."""
    body = """
        for i in grid(n):
            at[i] = argmax(top[()] for k in range(i)) * 10 + argmin(top[()] for k in range(i))
        first[()] = argmax(top[()] for k in range(n))
    """
    built = loop(target, "(x: float32[n]) -> (at: int64[n], first: int64, top: float32 = 0.5)", body)
    at, first, _ = agree(built, draw(5))
    assert (at == [-11, 0, 0, 0, 0]).all() and first == 0
    assert agree(built, draw(0))[1] == -1
