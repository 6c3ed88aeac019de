"""Loops of one index, an index that is a scalar besides, and ways out of loops inside: several turns or iterations taken
together do what they did one after the other."""

from __future__ import annotations

import pytest

from pydotcompute.ir.tree import For, walk
from pydotcompute.targets.cpu.lowering import lower
from pydotcompute.targets.cpu.own_indices import with_own_indices
from tests.targets.built import agree, draw, loop

TARGET = "cpu:x86-64-v3"
EXACT = "fastmath: []"  # what the interpreter computes, to the bit
SIZES = ((5, 3, 9), (17, 7, 1), (8, 4, 5), (41, 13, 6), (20, 0, 3), (33, 6, 0))
ROWS, OF_ROWS = "(a: float64[m, l], b: float64[n, l])", "out: float64[m, n]"

BODIES = {
    "an index that a turn sets before": (f"{ROWS} -> ({OF_ROWS}, w: int64[m, n])", """
        for i in grid(m):
            for j in range(n):
                q = j
                s = 0.0
                for k in range(l):
                    s += a[i, k] * b[j, k]
                w[i, j] = q
                for q in range(3):
                    s = s * 0.5 + q
                out[i, j] = s
    """),
    "an index that is changed in its loop": (f"{ROWS} -> ({OF_ROWS})", """
        for i in grid(m):
            for j in range(n):
                s = 0.0
                for k in range(l):
                    s += a[i, k] * b[j, k]
                for q in range(3):
                    q = q * 2 + 1
                    s = s * 0.5 + q
                out[i, j] = s
    """),
    "an index that an iteration sets before": ("(a: float64[n, l], b: float64[l, m]) -> (out: float64[n, m], w: int64[n, m])", """
        for i, j in grid(n, m):
            q = i
            s = 0.0
            for k in range(l):
                s += a[i, k] * b[k, j]
            w[i, j] = q
            for q in range(3):
                s = s * 0.5 + q
            out[i, j] = s
    """),
    "an index that is read afterwards": (f"{ROWS} -> ({OF_ROWS}, w: int64[m, n])", """
        for i in grid(m):
            for j in range(n):
                k = j
                s = 0.0
                for k in range(l):
                    s += a[i, k] * b[j, k]
                w[i, j] = k
                for k in range(2):
                    s = s * 0.5 + k
                out[i, j] = s + k
    """),
    "a loop in one over the same index": (f"{ROWS} -> ({OF_ROWS})", """
        for i in grid(m):
            for j in range(n):
                s = 0.0
                for k in range(l):
                    s += a[i, k] * b[j, k]
                    for k in range(2):
                        s = s * 0.5 + k
                    s += k
                out[i, j] = s
    """),
    "a break": (f"{ROWS} -> ({OF_ROWS})", """
        for i in grid(m):
            for j in range(n):
                s = 0.0
                for k in range(l):
                    s += a[i, k] * b[j, k]
                for q in range(5):
                    s = s * 0.5 + 0.3
                    if s > 0.4:
                        break
                out[i, j] = s
    """),
    "a continue": (f"{ROWS} -> ({OF_ROWS})", """
        for i in grid(m):
            for j in range(n):
                s = 0.0
                for k in range(l):
                    s += a[i, k] * b[j, k]
                for q in range(5):
                    if s > q:
                        continue
                    s = s * 0.5 + 0.3
                out[i, j] = s
    """),
    "a break in a grid's iteration": ("(a: float64[n, l], b: float64[l, m]) -> (out: float64[n, m])", """
        for i, j in grid(n, m):
            s = 0.0
            for k in range(l):
                s += a[i, k] * b[k, j]
            for q in range(6):
                s = s * 0.5 + 0.25
                if s > 0.4:
                    break
            out[i, j] = s
    """),
    "a break, in what is left of a grid in lanes": (f"{ROWS} -> ({OF_ROWS}, last: float64[m])", """
        for i in grid(m):
            t = 0.0
            for r in range(l):
                t = t * 0.5 + a[i, r]
            last[i] = t
            for j in range(n):
                s = 0.0
                for k in range(l):
                    s += a[i, k] * b[j, k]
                    if s > 0.7:
                        break
                out[i, j] = s
    """),
    "another loop over the index, under a condition": ("(x: float64[n, m], y: float64[m]) -> (out: float64[n])", """
        for i in grid(n):
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[i, k]
            if s > 0.0:
                for k in range(m):
                    s = s * 0.5 + y[k]
            out[i] = s
    """),
    "and before it": ("(x: float64[m, n], y: float64[m]) -> (out: float64[n])", """
        for i in grid(n):
            s = 0.0
            if i % 2 == 1:
                for k in range(m):
                    s = s * 0.5 + y[k]
            for k in range(m):
                s = s * 0.5 + x[k, i]
            out[i] = s
    """),
    "a loop of an iteration's own turns": ("(x: float64[m, n]) -> (out: float64[n])", """
        for i in grid(n):
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[k, i]
            t = 1.0
            for k in range(i % 3):
                t = 2.0
            for k in range(m):
                s = s * 0.5 + x[k, i] * t
            out[i] = s
    """),
    "what begins alike and is changed at the end of a turn": ("(x: float64[m, n]) -> (out: float64[n], total: float64)", """
        g = 0.0
        for i in range(n):
            t = 3.0
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[k, i]
            g = g * 0.5 + s
            if g > 0:
                t = g
            out[i] = t
        total[()] = g
    """),
    "and in a reduction": ("(x: float64[m, n]) -> (total: float64)", """
        g = -inf
        for i in grid(n):
            t = 3.0
            s = 0.0
            for k in range(m):
                s = s * 0.5 + x[k, i]
            g = max(g, t * s)
            t = t - 1.0
            g = max(g, t)
        total[()] = g
    """),
    "and where lanes read what lies apart": ("(x: float64[n, m], y: float64[2]) -> (out: float64[n], count: int64)", """
        c = 0
        for i in grid(n):
            t = y[1]
            s = 0.0
            p = 1.0
            for k in range(m):
                s += x[i, k]
                p = p * 0.5 + s
            out[i] = p
            if s > t:
                c += 1
            t = t + 2
            if s > t:
                c += 1
        count[()] = c
    """),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_together_as_one_after_the_other(name):
    kernel = loop(TARGET, *BODIES[name], EXACT)
    for sizes in SIZES:
        dims = dict(zip("mnl", sizes))
        shapes = [[dims.get(d, d) for d in p.dims] for p in kernel.specialisation.parameters if p.role == "in"]
        agree(kernel, *(draw(*shape, dtype="f8", seed=k) for k, shape in enumerate(shapes)))


@pytest.mark.parametrize("name", ["another loop over the index, under a condition", "a loop of an iteration's own turns"])
def test_they_are_still_taken_together(name):
    assert "_of_lanes" in lower(loop(TARGET, *BODIES[name], EXACT).tree, False).text


@pytest.mark.parametrize("name", BODIES)
def test_every_loop_has_an_index_of_its_own(name):
    nodes = [n for s in with_own_indices(loop(TARGET, *BODIES[name]).tree).body for n in walk(s)]
    loops = [n.name for n in nodes if isinstance(n, For)]
    assert len({*loops}) == len(loops)
