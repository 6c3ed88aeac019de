"""Helpers that store into arrays, make arrays, take rows, have parallel loops or no result, for every target: its code
against the interpreter, and both against NumPy."""

import numpy as np
import pytest
from tests.targets.built import agree, build, draw, every_target, loop

SWEEPS = """
    def smooth(v, w, c):
        for i in grid((1, n - 1)):
            w[i] = c * v[i] + (1 - c) / 2 * (v[i - 1] + v[i + 1])
    def steps(v, w, count):
        for t in range(count):
            smooth(v, w, 0.5)
            v, w = w, v
        return max(v[i] for i in grid(n))
    for i in grid(n):
        u[i] = x[i]
        w[i] = x[i]
    total[()] = steps(u, w, k)
    smooth(u, w, 1)
    for i in grid(n):
        out[i] = w[i]
"""


def smoothed(x, steps):
    u, w = x.copy(), x.copy()
    a, b = u, w
    for _ in range(steps):
        b[1:-1] = 0.5 * a[1:-1] + 0.25 * (a[:-2] + a[2:])
        a, b = b, a
    total = a.max()
    w[1:-1] = u[1:-1]
    return w, total


@pytest.mark.slow
@every_target
def test_sweeps(target):
    """Helpers with `grid` in them, that swap what they are given: the names of the caller stay."""
    signature = "(x: float64[n], k: int64) -> (out: float64[n], total: float64) temp (u: float64[n], w: float64[n])"
    built = loop(target, signature, SWEEPS, "fastmath: []")
    x = draw(50, dtype="f8")
    for k in range(4):
        out, total = agree(built, x, k, seed=k)
        wanted, most = smoothed(x, k)
        assert (out == wanted).all() and total == most


ROWS = """
    def first_above(row, limit):
        for j in range(len(row)):
            if row[j] > limit:
                return j
        return -1
    def rotate(row, by):
        kept = local((8,), T)
        if by == 0:
            return
        for j in range(len(row)):
            kept[j] = row[j]
        for j in range(len(row)):
            row[(j + by) % len(row)] = kept[j]
    def ends(row):
        rotate(row, 1)
        low = row[0]
        for j in range(1, len(row)):
            if row[j] < low:
                low = row[j]
        return low, row[len(row) - 1]
    for i in grid(n):
        at[i] = first_above(x[i], T(0.5))
        for j in range(m):
            y[i, j] = x[i, j]
        rotate(y[i], i % 3)
        a, b = ends(y[i])
        low[i] = a
        last[i] = b + (first_above(y[i], a) if i % 2 == 0 else 0)
"""


@pytest.mark.slow
@every_target
def test_rows_that_are_read_and_written(target):
    """Each iteration has its row: no race. Arrays of a helper's own, no result, a tuple, `return` anywhere, helpers that
    call helpers, one of them in a part of an expression that is evaluated only sometimes."""
    signature = "(x: T[n, m]) -> (y: T[n, m], at: int64[n], low: T[n], last: T[n])"
    built = loop(target, signature, ROWS, "types: {T: [float32]}")
    x = draw(20, 5)
    y, at, low, last = agree(built, x)
    above = x > 0.5
    assert (at == np.where(above.any(1), above.argmax(1), -1)).all()
    wanted = np.array([np.roll(row, i % 3 + 1) for i, row in enumerate(x)])
    assert (y == wanted).all() and (low == x.min(1)).all()
    more = [(row > row.min()).argmax() if i % 2 == 0 else 0 for i, row in enumerate(wanted)]
    assert (last == wanted[:, -1] + np.array(more, "f4")).all()


PLANES = """
    def plane(p, q, k):
        for j in range(len(p)):
            total = T(0)
            for c in range(len(p[j])):
                total += p[j, c]
            store(q[j], total, k)
    def store(row, value, k):
        row[k] = value
        row[1 - k] += value
    for b in blocks(n):
        tile = shared((4, 2), T)
        for j, k in threads(4, 2):
            tile[j, k] = T(j)
        plane(x[b], tile, 0)
        plane(x[b], tile, 1)
        for j, k in threads(4, 2):
            out[b, j, k] = tile[j, k]
"""


@pytest.mark.slow
@every_target
def test_parts_of_parts_in_a_block(target):
    """`x[b]` of three dimensions, rows of it, rows of a shared array: each statement once in the block."""
    built = loop(target, "(x: T[n, 4, m]) -> (out: T[n, 4, 2])", PLANES, "types: {T: [float64]}")
    x = draw(3, 4, 6, dtype="f8")
    out = agree(built, x)
    total = np.zeros((3, 4))
    for c in range(6):
        total += x[:, :, c]
    first = np.arange(4.0) + total
    assert np.array_equal(out, np.stack([total + total, total], -1)) and first.shape == (3, 4)


@pytest.mark.slow
@every_target
def test_a_sequential_kernel(target):
    """A kernel without parallel loops, whose helper makes an array and reads a constant tuple of its own."""
    body = """
        def filtered(row, at):
            w = (0.25, 0.5, 0.25)
            t = local((3,), float64)
            for k in range(3):
                t[k] = w[k] * row[at + k - 1]
            s = 0.0
            for k in range(3):
                s += t[k]
            return s
        carry = 0.0
        for i in range(1, n - 1):
            carry = 0.5 * carry + filtered(x, i)
            out[i] = carry
        out[0] = 0.0
        out[n - 1] = filtered(out, 1)
    """
    built = loop(target, "(x: float64[n]) -> (out: float64[n])", body, "fastmath: []")
    x = draw(9, dtype="f8")
    wanted, carry = np.zeros(9), 0.0
    for i in range(1, 8):
        carry = 0.5 * carry + (0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1])
        wanted[i] = carry
    wanted[8] = 0.25 * wanted[0] + 0.5 * wanted[1] + 0.25 * wanted[2]
    assert np.allclose(agree(built, x), wanted, rtol=1e-15)


@pytest.mark.slow
@every_target
def test_arrays_of_a_helper_between_loops(target):
    """Of a size that is known at the call, swapped, used by several loops; anew in each call."""
    template = """
        def turned(a, out, m, steps):
            v = local((m, 2), float64)
            w = local((m, 2), float64)
            for i in grid(m):
                v[i, 0] = a[i % n]
            for t in range(steps):
                for i in grid(m):
                    w[i, 0] = v[m - 1 - i, 0] * 2
                v, w = w, v
            for i in grid(n):
                out[i] = v[min(i, m - 1), 0]

        def first(a):
            c = local((4,), float64)
            for j in range(4):
                c[j] = a[0] * j
            return c[3]

        def k(x, r, out):
            turned(x, out, r + 1, 3)
            f = first(out)
            turned(out, out, n, 2)
            for i in grid(n):
                out[i] += f
    """
    kernel = build(target, 'signature: "(x: float64[n], r: int32) -> (out: float64[n])"\ntemplate: k.py.j2', template)
    for n in (1, 2, 300):
        agree(kernel, draw(n, dtype="f8"), np.int32(n // 2), seed=n)
