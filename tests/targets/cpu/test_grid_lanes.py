"""Iterations of a grid that go through a sequential loop together, as lanes: the bits are those of one after the other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pydotcompute.check import memory
from pydotcompute.ir.from_zero import from_zero
from pydotcompute.targets.cpu.lanes import in_lanes
from pydotcompute.ir.tree import walk
from tests.targets.built import agree, draw, loop
from tests.targets.cpu.compiled import tree_of

TARGET = "cpu:x86-64-v3"
COUNTS = (0, 1, 4, 7, 8, 9, 13, 15, 16, 17, 31, 32, 33, 41, 67)  # fewer than lanes, as many, and some more
EXACT = "fastmath: []"  # what the interpreter computes, to the bit

BODIES = {
    "columns": ("(x: float32[m, n]) -> (out: float32[n])", """
        for i in grid(n):
            s = 0.0
            for k in range(m):
                s += x[k, i] * x[k, i]
            out[i] = s
    """),
    "rows, which lie apart": ("(x: float64[n, m]) -> (out: float64[n], more: float64[n])", """
        for i in grid(n):
            s = 0.0
            p = 1.0
            for k in range(m):
                s += x[i, k]
                p = p * 0.5 + s
            out[i] = s
            more[i] = p
    """),
    "a nest, whose outer loop keeps the best": ("(x: float32[n, m], y: float32[3, m]) -> (out: int64[n])", """
        for i in grid(n):
            best = inf
            at = -1
            for c in range(3):
                s = 0.0
                for k in range(m):
                    s += (x[i, k] - y[c, k]) ** 2
                if s < best:
                    best = s
                    at = c
            out[i] = at
    """),
    "under conditions of each lane": ("(x: float64[m, n], y: float64[m]) -> (out: float64[n], hits: int64[n])", """
        for i in grid(n):
            total = 0.0
            count = 0
            for k in range(m):
                if y[k] < x[k, i] and x[k, i] < 1.0:
                    total += y[k]
                    count += 1
            out[i] = total
            hits[i] = count
    """),
    "conditions that keep an index inside": ("(x: float64[m, n], y: float64[m]) -> (out: float64[n])", """
        for i in grid(n):
            s = 0.0
            for k in range(m + 2):
                if k > 0 and k <= m:
                    s = s * 0.5 + y[k - 1]
            out[i] = s
    """),
    "two dimensions, a range": ("(x: float32[m, n], y: float32[m]) -> (out: float32[m, n] = 0)", """
        for r, i in grid(m, (1, n - 1)):
            s = 0.0
            for k in range(r, m):
                s += x[k, i - 1] * y[k] + x[k, i + 1]
            out[r, i] = s
    """),
    "in place, some turns later": ("(x: float64[m, n]) -> (out: float64[m, n])", """
        for i in grid(n):
            s = 0.25
            for k in range(m):
                s = s * 0.5 + x[k, i]
                out[k, i] = s
            for k in range(m):
                s = s * 0.5 + out[k, i]
                out[k, i] = s
    """),
    "once each": ("(x: float64[m, n], sums: inout float64[n]) -> ()", """
        for i in grid(n):
            s = sums[i]
            for k in range(m):
                s = s * 0.5 + x[k, i]
            sums[i] = s
    """),
    "rows, once each": ("(x: float64[n, m], sums: inout float64[n]) -> ()", """
        for i in grid(n):
            s = sums[i]
            for k in range(m):
                s = s * 0.5 + x[i, k]
            sums[i] = s
    """),
    "what one loop leaves to the next": ("(x: float32[m, n]) -> (out: float32[n])", """
        for i in grid(n):
            a = x[0, i]
            b = T0(0)
            for k in range(1, m):
                if x[k, i] > 0:
                    b = x[k, i] - a
                a += b
            twice = a + a
            for k in range(m):
                a = a * 0.5 + twice * x[k, i]
            out[i] = a + b
    """.replace("T0", "float32")),
    "a row that data choose": ("(x: float32[m, n], at: int64[m]) -> (out: float32[n])", """
        for i in grid(n):
            s = 0.0
            for k in range(m):
                r = at[k]
                s += x[r, i]
            out[i] = s
    """),
    "flags, and complex numbers": ("(x: float64[m, n]) -> (out: float64[n])", """
        for i in grid(n):
            seen = x[0, i] > 0.5
            z = complex128(x[0, i], 1.0)
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[k, i]
                seen = seen or s > 1.0
            if seen:
                s += imag(z)
            out[i] = s + real(z)
    """),
    "a flag that turns, and the turn before": ("(x: float64[n], y: float64[m], z: float64[m]) -> (out: bool[n])", """
        for i in grid(n):
            hit = False
            j = m - 1
            for k in range(m):
                if (y[k] > x[i]) != (y[j] > x[i]):
                    if x[i] < (z[j] - z[k]) * (x[i] - y[k]) + z[k]:
                        hit = not hit
                j = k
            out[i] = hit
    """),
    "the turn before, of some turns": ("(x: float64[n], y: float64[m]) -> (out: bool[n], last: int64[n])", """
        for i in grid(n):
            hit = False
            j = 0
            for k in range(m):
                if y[k] > x[i]:
                    hit = not hit
                    if y[j] > y[k]:
                        j = k
            out[i] = hit
            last[i] = j
    """),
    "what is the same for all, read a turn later": ("(x: float64[m, n]) -> (out: float64[n])", """
        for i in grid(n):
            s = 0.0
            a = 1
            for k in range(m):
                s = s * 0.5 + x[k, i] * a
                a = k * 2
                b = k + a
                s += b
            out[i] = s
    """),
    "a name of a loop that is set before it": ("(x: float64[m, n]) -> (out: float64[n])", """
        for i in grid(n):
            k = int64(x[0, i])
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[k, i]
            out[i] = s
    """),
    "loops in loops, whose bounds change": ("(x: float64[m, n]) -> (out: float64[n])", """
        for i in grid(n):
            s = 0.0
            for k in range(m):
                last = m - k
                for q in range(k, last):
                    s = s * 0.25 + x[q, i]
            out[i] = s
    """),
    "sums of any order in it": ("(x: float64[n, m]) -> (out: float64[n])", """
        for i in grid(n):
            s = 0.0
            for k in range(m):
                s = 0.5 * s + max(x[i, q] for q in range(k, m))
            out[i] = s
    """),
    "heavy turns, a few": ("(x: float32[n]) -> (out: float32[n])", """
        for i in grid(n):
            s = 0.0
            for a in range(-2, 3):
                for b in range(-2, 3):
                    v = x[min(max(i + a, 0), n - 1)] + x[min(max(i + b, 0), n - 1)]
                    s += (a * b) * abs(v) + v * v * 0.5 + min(v, s)
            out[i] = s
    """),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_lanes_are_iterations(name):
    signature, body = BODIES[name]
    kernel = loop(TARGET, signature, body, EXACT)
    for n in COUNTS:
        for m in (1, 5, 40):
            given = []
            for k, p in enumerate(kernel.specialisation.parameters):
                if p.role in ("in", "inout"):
                    shape = tuple({"m": m, "n": n}.get(d, d) for d in p.dims)
                    x = draw(*shape, dtype=p.dtype, seed=k)
                    given.append(np.abs(x) % m if p.name == "at" else x)
            agree(kernel, *given)


def test_of_what_all_load_no_index_is_outside():
    """What all lanes load, by an index that is not proved to be inside: where it is not, and a lane wants it, that is
    said; where none does, nothing is."""
    kernel = loop(
        TARGET,
        "(x: float64[n], y: float64[m], d: int64) -> (out: bool[n])",
        """
        for i in grid(n):
            hit = False
            j = 0
            for k in range(m):
                if x[i] > 0.5:
                    if y[j] > x[i]:
                        hit = not hit
                j = k + d
            out[i] = hit
        """,
    )
    y, few, many = np.arange(5.0), np.zeros(40), np.ones(40)
    agree(kernel, many, y, 0)
    agree(kernel, few, y, 10)
    for d in (2, 2**62, -6):
        with pytest.raises(IndexError, match="'y'"):
            kernel.call(many, y, d)


SUMS = {
    "a product": ("(x: T[m, q], y: T[q, n]) -> (out: T[m, n])", """
        for i, j in grid(m, n):
            out[i, j] = sum(x[i, k] * y[k, j] for k in range(q))
    """),
    "a convolution": ("(x: T[h, q], y: T[3, q, n]) -> (out: T[h - 2, n])", """
        for i, j in grid(h - 2, n):
            out[i, j] = sum(x[i + p, k] * y[p, k, j] for p in range(3) for k in range(q) if k != 1)
    """),
}  # fmt: skip


def _sums(name, x, y, m, kind):
    """What a sum is of: its terms, along the last axis, exact for integers and in float64 for floats."""
    x, y = x.astype(kind), y.astype(kind)
    if name == "a product":
        return x[:, None, :] * y.T[None]
    parts = [x[p : p + m, None, :] * y[p].T[None] for p in range(3)]
    return np.stack(parts, -1)[:, :, np.arange(x.shape[-1]) != 1].reshape(m, y.shape[-1], -1)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SUMS)
def test_sums_across_are_as_good_as_any(name, dtype):
    """Within 8 + log2(n) roundings, and the same bits wherever an element is."""
    kernel = loop(TARGET, SUMS[name][0].replace("T[", f"{dtype}["), SUMS[name][1])
    eps = np.finfo(dtype).eps / 2
    for m, q in ((1, 1), (2, 8), (3, 40), (2, 3000)):
        x = draw(m + 2 * (name != "a product"), q, dtype=dtype, seed=q) * 1e3
        y = draw(*(3,) * (name != "a product"), q, 67, dtype=dtype, seed=m)
        whole = kernel.call(x, y)
        terms = _sums(name, x, y, m, np.longdouble)
        allowed = (8 + np.log2(max(terms.shape[-1], 1))) * eps * np.abs(terms).sum(-1)
        assert (np.abs(whole - terms.sum(-1)) <= allowed).all(), (m, q)
        for n in COUNTS:
            np.testing.assert_array_equal(kernel.call(x, np.ascontiguousarray(y[..., :n])), whole[:, :n])


TOTALS = """
    total = 1.0
    most = -inf
    hits = 3
    for i in grid(n):
        s = 0.0
        for k in range(m):
            s = s * 0.5 + x[LOAD]
        out[i] = s
        if s > 0.5:
            hits += 1
        total += s
        most = max(most, s)
    sums[()] = total
    top[()] = most
    count[()] = hits
"""


@pytest.mark.slow
@pytest.mark.parametrize("load", ["k, i", "i, k"])
def test_reductions_of_what_lanes_come_to(load):
    """Those that are exact are; a sum is as good as any, and the same on any number of threads."""
    shape = ", ".join({"k": "m", "i": "n"}[name] for name in load.split(", "))
    outputs = "(out: float64[n], sums: float64, top: float64, count: int64)"
    kernel = loop(TARGET, f"(x: float64[{shape}]) -> {outputs}", TOTALS.replace("LOAD", load), EXACT)
    for n in (*COUNTS, 5000):
        for m in (1, 5, 40):
            x = draw(*({"k": m, "i": n}[name] for name in load.split(", ")), dtype="f8", seed=n)
            out, sums, top, count = kernel.call(x)
            wanted, _, best, hits = kernel.python(x) if n < 100 else (out, 0, np.max(out), 3 + np.sum(out > 0.5))
            np.testing.assert_array_equal(out, wanted)
            assert top == best and count == hits
            terms = [1.0, *out]
            exact, size = math.fsum(terms), math.fsum(map(abs, terms))
            assert abs(sums - exact) <= (8 + math.log2(n + 1)) * 2.0**-53 * size
            assert all(kernel.call(x, seed=seed)[1] == sums for seed in range(3))


@pytest.mark.slow
@pytest.mark.parametrize(
    "term, lanes", [("x[i, k]", False), ("x[i, k] * y[k]", False), ("x[i, k] * y[k] - s / 2", True), ("z[k, i]", True)]
)
def test_a_row_of_terms_is_vectors_itself_where_their_order_is_free(term, lanes):
    kernel = loop(TARGET, "(x: float32[n, m], y: float32[m], z: float32[m, n]) -> (out: float32[n])", f"""
        for i in grid(n):
            s = 0.0
            for k in range(m):
                s = s + {term}
            out[i] = s
    """, "fastmath: [fast]")  # fmt: skip
    assert (in_lanes(from_zero(kernel.tree)).body != from_zero(kernel.tree).body) == lanes
    given = draw(41, 33), draw(33, seed=1), draw(33, 41, seed=2)
    np.testing.assert_allclose(kernel.call(*given), kernel.python(*given), 1e-4, 1e-5)


def test_a_sum_across_of_infinities():
    kernel = loop(TARGET, SUMS["a product"][0].replace("T[", "float32["), SUMS["a product"][1])
    y = np.ones((20, 40), np.float32)
    y[3, 4], y[17, 5], y[2, 6], y[9, 6], y[11, 7] = np.inf, -np.inf, np.inf, -np.inf, np.nan
    y[12:14, 8] = 3e38
    out = kernel.call(np.ones((1, 20), np.float32), y)[0]
    np.testing.assert_array_equal(out[4:9], [np.inf, -np.inf, np.nan, np.nan, np.inf])
    np.testing.assert_array_equal(np.delete(out, range(4, 9)), 20)


def test_nothing_is_read_beyond_its_condition():
    """What all lanes have in common is loaded once for all: only where it is inside, and so is what says where."""
    kernel = loop(TARGET, "(x: float64[m, n], y: float64[m], at: int64[m]) -> (out: float64[n])", """
        for i in grid(n):
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[k, i]
                if k >= 5000:
                    s = s * 0.5 + y[at[k - 5000] % m]
            out[i] = s
    """, EXACT)  # fmt: skip
    at, _ = memory.guarded((5,), np.dtype("i8"))
    at[:] = range(5)
    agree(kernel, draw(5, 40, dtype="f8"), draw(5, dtype="f8"), at)
    kernel.call(draw(5, 40, dtype="f8"), draw(5, dtype="f8"), at)
    agree(kernel, draw(5003, 16, dtype="f8"), draw(5003, dtype="f8"), np.arange(5003) - 2)


def test_a_fault_in_one_lane_is_told():
    kernel = loop(TARGET, *BODIES["a row that data choose"])
    x, at = draw(5, 40), np.arange(5)
    kernel.call(x, at)
    at[3] = 5
    with pytest.raises(IndexError, match="5"):
        kernel.call(x, at)


def test_much_code_is_not_written_for_each_lane():
    """A short loop that all iterations share, beside one of their own that is long in text."""
    own = "\n".join(f"                if x[i, {k} % m] > w:\n                    w += y[i] * {k}" for k in range(60))
    body = f"""
        for i in grid(n):
            w = y[i]
            while w < 7:
                w += 1
{own}
            s = 0.0
            for q in range(m - 1, 0, -2):
                s -= x[i, q]
            out[i] = s + w
    """

    def growth(body):
        tree = tree_of(body, "(x: float64[n, m], y: float64[n]) -> (out: float64[n])", types="")
        before, after = (sum(1 for s in t.body for _ in walk(s)) for t in (tree, in_lanes(from_zero(tree))))
        return after / before

    assert growth(body) < 2 and growth(body.replace(own, "")) > 5
