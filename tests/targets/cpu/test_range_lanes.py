"""Turns of a loop over a range that go in lanes, where they could come in any order: the bits are those of one after the
other, and loops in which one turn needs what another one did stay as they are."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from pydotcompute.ir.from_zero import from_zero
from pydotcompute.ir.tree import Parallel, walk
from pydotcompute.targets.cpu.lanes import in_lanes
from tests.targets.built import agree, draw, loop

TARGET = "cpu:x86-64-v3"
COUNTS = (0, 1, 5, 8, 13, 16, 17, 33, 41)  # fewer than lanes, as many, and some more
EXACT = "fastmath: []"  # what the interpreter computes, to the bit

FREE = {
    "an end that reads an index of an inner loop": ("(x: float64[m, n]) -> (out: float64[n], t: float64)", """
        c = 0.0
        for i in range(n):
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[k, i]
            out[i] = s
            k = i * 2
            c += s * k
        t[()] = c
    """),
    "columns": ("(x: float64[m, n]) -> (out: float64[n])", """
        for i in range(n):
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[k, i]
            out[i] = s
    """),
    "rows, which lie apart": ("(x: float32[n, m]) -> (out: float32[n])", """
        for i in range(n):
            s = float32(0)
            for k in range(m):
                s += x[i, k] * x[i, k]
            out[i] = s
    """),
    "in a grid": ("(x: float64[m, m], y: float64[m, n]) -> (out: float64[m, n])", """
        for r in grid(m):
            for i in range(n):
                s = 0.0
                for k in range(m):
                    s = s * 0.5 + x[r, k] * y[k, i]
                out[r, i] = s
    """),
    "from an index on, under a condition": ("(x: inout float64[n, n], c: int64) -> (m: float64)", """
        m[()] = 0.0
        for r in range(n):
            if r % 3 != c:
                for i in range(r, n):
                    s = x[r, i]
                    for k in range(r):
                        s = s * 0.5 + x[r, k] * x[k, i]
                    x[r, i] = s
    """),
    "a range that is empty, and a name used again": ("(x: float64[m, n]) -> (out: float64[n] = 0)", """
        for i in range(n, n - 3):
            s = 0.0
            for k in range(m):
                s += x[k, i]
            out[i] = s
        for i in range(2, n):
            s = 1.0
            for k in range(m):
                s = s * 0.5 + x[k, i]
            out[i] = s
    """),
    "beside a loop over a grid": ("(x: float64[m, n]) -> (out: float64[n], more: float64[n])", """
        for i in grid(n):
            more[i] = 2.0
        for t in range(2):
            for i in range(n):
                s = 0.25 * t
                for k in range(m):
                    s = s * 0.5 + x[k, i] * more[i]
                out[i] = s
            for i in grid(n):
                more[i] = out[i]
    """),
    "an end of each turn that goes on": ("(x: float64[m, n]) -> (out: float64[n], at: int64, most: float64)", """
        best = -inf
        place = -1
        for i in range(n):
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[k, i]
            out[i] = s
            s *= 2.0
            if s > best:
                best = s
                place = i
        at[()] = place
        most[()] = best
    """),
    "an end of each turn, of rows": ("(x: float32[n, m], y: float32[m]) -> (out: float32)", """
        t = float32(1)
        for i in range(n):
            s = float32(0)
            for k in range(m):
                s += (x[i, k] - y[k]) ** 2
            t = t * float32(0.5) + s
        out[()] = t
    """),
    "functions, whose values go on": ("(x: float32[n]) -> (out: float32[n], total: float32)", """
        t = float32(0)
        for i in range(n):
            e = sqrt(abs(x[i]))
            out[i] = e
            t = t * float32(0.5) + e
        total[()] = t
    """),
    "a scalar of the last turn": ("(x: float64[m, n]) -> (out: float64[n], last: float64)", """
        s = 3.0
        i = 0
        for i in range(n):
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[k, i]
            out[i] = s
        last[()] = s + i
    """),
}  # fmt: skip

BOUND = {
    "what the turn before wrote": ("(x: float64[m, n]) -> (out: float64[n] = 0)", """
        for i in range(1, n):
            s = out[i - 1]
            for k in range(m):
                s = s * 0.5 + x[k, i]
            out[i] = s
    """),
    "what an earlier turn wrote": ("(x: inout float64[n, n], c: float64) -> (m: float64)", """
        m[()] = c
        for r in range(n):
            for i in range(r):
                s = x[r, i]
                for k in range(i):
                    s = s * 0.5 + x[r, k] * x[k, i]
                x[r, i] = s
    """),
    "a scalar that goes on": ("(x: float64[m, n]) -> (out: float64[n])", """
        t = 0.0
        for i in range(n):
            s = t
            for k in range(m):
                s = s * 0.5 + x[k, i]
            t = s
            out[i] = s
    """),
    "a scalar of the last turn, in the next round": ("(x: float64[m, n]) -> (out: float64[n] = 0)", """
        s = 3.0
        for r in range(3):
            t = s
            for i in range(n):
                s = t
                for k in range(m):
                    s = s * 0.5 + x[k, i]
                out[i] = s
    """),
    "an end that the next turn's beginning reads": ("(x: float64[m, n]) -> (out: float64[n])", """
        t = 0.5
        for i in range(n):
            s = t
            for k in range(m):
                s = s * 0.5 + x[k, i]
            out[i] = s
            if s > 0.0:
                t = s
    """),
    "one element, whoever is last": ("(x: float64[m, n]) -> (out: float64[1] = 0)", """
        for i in range(n):
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[k, i]
            out[0] = s
    """),
    "elements that data choose": ("(x: float64[m, n], at: int64[n]) -> (out: float64[n] = 0)", """
        for i in range(n):
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[k, i]
            if 0 <= at[i] and at[i] < n:
                out[at[i]] = s
    """),
    "to the first that is large": ("(x: float64[m, n]) -> (out: float64[n] = 0)", """
        for i in range(n):
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[k, i]
            if s > 0.5:
                break
            out[i] = s
    """),
    "to the first that is large, at the end": ("(x: float64[m, n]) -> (out: float64[n] = 0, t: float64)", """
        t_ = 0.0
        for i in range(n):
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[k, i]
            out[i] = s
            t_ += s
            if t_ > 1.5:
                break
        t[()] = t_
    """),
}  # fmt: skip


def _built(signature: str, body: str):
    kernel = loop(TARGET, signature, body, EXACT)
    tree = from_zero(kernel.tree)
    return kernel, in_lanes(tree).body != tree.body


def _given(kernel, m: int, n: int):
    for k, p in enumerate(kernel.specialisation.parameters):
        if p.role in ("in", "inout"):
            shape = [{"m": m, "n": n}[d] for d in p.dims or ()]
            x = draw(*shape, dtype=p.dtype, seed=k) if p.dims else 1
            yield np.abs(x) % 3 if p.dtype == "int64" else x


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FREE, *BOUND])
def test_turns_are_done_as_if_one_after_the_other(name):
    kernel, made = _built(*(FREE | BOUND)[name])
    assert made == (name in FREE), "in lanes"
    for n in COUNTS:
        for m in (1, 6, 21):
            agree(kernel, *_given(kernel, m, n))


def test_the_first_index_outside_is_told():
    """A loop whose accesses are checked stays: of two, a call tells that which comes first in the text's order."""
    kernel, made = _built("(x: float64[m, n], at: int64[m]) -> (out: float64[n])", """
        for i in range(n):
            s = 0.0
            for k in range(m):
                s += x[at[k] + i, i]
            out[i] = s
    """)  # fmt: skip
    assert not made
    with pytest.raises(IndexError, match="'x', 0, 3, 5"):
        kernel.call(draw(3, 40, dtype="f8"), np.array([0, 5, 0]))


def test_in_place_where_a_turn_reads_only_its_own():
    kernel, made = _built("(x: float64[n, m]) -> (out: float64[n, m])", """
        for i in range(n):
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[i, k]
                out[i, k] = s
    """)  # fmt: skip
    assert made
    for n in COUNTS:
        x = draw(n, 9, dtype="f8")
        wanted = kernel.call(x)
        np.testing.assert_array_equal(kernel.call(x, out=x), wanted)


def test_sums_of_any_order_as_of_a_grid():
    """The bits of a sum do not depend on which turn it stands in."""
    kernel, made = _built("(x: float32[m, q], y: float32[q, n]) -> (out: float32[m, n])", """
        for r in range(m):
            for i in range(n):
                out[r, i] = sum(x[r, k] * y[k, i] for k in range(q))
    """)  # fmt: skip
    assert made
    x, y = draw(3, 300), draw(300, 67)
    whole = kernel.call(x, y)
    np.testing.assert_allclose(whole, x.astype("f8") @ y.astype("f8"), rtol=2e-5, atol=2e-5)
    for n in COUNTS:
        np.testing.assert_array_equal(kernel.call(x, np.ascontiguousarray(y[:, :n])), whole[:, :n])


ROWS = {
    "what it reads lies along the row": (True, "s = s * 0.5 + x[i, k] * y[k, j]"),
    "a window": (True, "s = s * 0.5 + x[i, k] * y[k, j] + y[k, max(j - 1, 0)]"),
    "what it reads lies across": (False, "s = s * 0.5 + x[i, k] * z[j, k]"),
    "ways of its own": (False, "if j + k > 3:\n    s = s * 0.5 + x[i, k] * y[k, j]"),
    "ways that all go": (True, "if x[i, k] > 0:\n    s = s * 0.5 + y[k, j]"),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_loop_of_a_grid_that_fills_a_row_goes_in_lanes(name):
    along, term = ROWS[name]
    body = "for i in grid(m):\n    t = 0.25 * i\n    for j in range(2, n):\n        s = t\n        for k in range(q):\n"
    body += textwrap.indent(term, " " * 12) + "\n        out[i, j] = s\n"
    signature = "(x: float64[m, q], y: float64[q, n], z: float64[n, q]) -> (out: float64[m, n] = 1)"
    kernel, made = _built(signature, body)
    assert made
    nodes = [n for s in in_lanes(from_zero(kernel.tree)).body for n in walk(s)]
    kinds = [n.kind for n in nodes if isinstance(n, Parallel) and n.kind != "threads"]
    assert kinds == (["grid", "blocks"] if along else ["blocks"]), "where rows are long, and where they are short"
    for n in COUNTS:
        for m in (1, 9):
            x, y = draw(m, 5, dtype="f8"), draw(5, n, dtype="f8", seed=1)
            agree(kernel, x, y, draw(n, 5, dtype="f8", seed=2))
