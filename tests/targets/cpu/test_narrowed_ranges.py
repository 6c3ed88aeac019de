"""Ranges of loops cut down to the turns in which their condition may hold: the bits are those of the whole range."""

from __future__ import annotations

import numpy as np
import pytest

from pydotcompute.ir.from_zero import from_zero
from pydotcompute.ir.tree import For, Select, walk
from pydotcompute.targets.cpu.lanes import in_lanes
from pydotcompute.targets.cpu.narrowed_ranges import with_narrowed_ranges
from tests.targets.built import agree, draw, loop

TARGET = "cpu:x86-64-v3"
LARGEST, LEAST = 2**63 - 1, -(2**63)

BODIES = {  # d: any integer
    "in lanes": """
        for k in grid(n + 3):
            lag = k - d
            s = 0.0
            for i in range(n):
                j = i - lag
                if j >= 0 and j < m:
                    s = s * 0.5 + x[i] * y[j]
            out[k] = s
    """,
    "in lanes, from above, of one side": """
        for k in grid(n + 3):
            s = 0.0
            for i in range(-2, n):
                if d + k > i and i >= 0:
                    s = s * 0.5 + x[i]
            out[k] = s
    """,
    "in lanes, where sums may wrap": """
        for k in grid(n + 3):
            s = 0.0
            for i in range(n):
                if i + d - k < 0:
                    s = s * 0.5 + x[i]
            out[k] = s
    """,
    "one after the other": """
        for k in range(n + 3):
            s = 0.0
            for i in range(d, n):
                if 0 <= i + k <= m - 1:
                    s = s * 0.5 + y[i + k]
            out[k] = s
    """,
    "what a turn leaves to a later one": """
        for k in range(n + 3):
            s = 0.0
            j = 1
            last = 7
            for i in range(n):
                old = j
                j = i + 3
                if i > d:
                    s = s * 0.5 + x[i] * old
                    last = i
            out[k] = s + last + j
    """,
    "the index after the loop": """
        for k in range(n + 3):
            s = 0.0
            i = 5
            for i in range(n):
                if i < d:
                    s += x[i]
            out[k] = s + i
    """,
    "limits of each lane's own": """
        for k in grid(n + 3):
            s = 0.0
            low = int64(abs(x[k % n]) * 3)
            for i in range(n):
                if i >= low and i < d + low:
                    s = s * 0.5 + x[i]
            out[k] = s
    """,
    "limits of each lane's own, and conditions that change": """
        for k in grid(n + 3):
            s = 0.0
            low = int64(abs(x[k % n]) * 3)
            for i in range(n):
                if i >= low and i < d + low:
                    s = s * 0.5 + x[i]
                    low += 1
            out[k] = s
    """,
}


@pytest.mark.parametrize("name", BODIES)
def test_the_turns_left_out_do_nothing(name):
    kernel = loop(
        TARGET, "(x: float64[n], y: float64[m], d: int64) -> (out: float64[n + 3])", BODIES[name], "fastmath: []"
    )
    for n, m in ((1, 1), (7, 20), (40, 5)):
        x, y = draw(n, dtype="float64", seed=1), draw(m, dtype="float64", seed=2)
        ends = (LARGEST, LEAST, LARGEST - 20, LEAST + 20, 2**62, -(2**62))
        for d in (0, 1, -1, 3, 19, 60, *(() if name == "one after the other" else ends)):
            agree(kernel, x, y, d)


def starts(body):
    """How the loops over i that are left begin."""
    tree = loop(TARGET, "(x: float64[n], y: float64[m], d: int64) -> (out: float64[n + 3])", body).tree
    made = with_narrowed_ranges(in_lanes(from_zero(tree)))
    return [n.start for s in made.body for n in walk(s) if isinstance(n, For) and n.name.startswith("i")]


@pytest.mark.parametrize("name", BODIES)
def test_which_loops_are_cut_down(name):
    some = any(isinstance(start, Select) for start in starts(BODIES[name]))
    assert some == (list(BODIES).index(name) < 4)


def test_time_is_that_of_the_turns_left():
    """A filter of few terms over a long row takes no time for the rest of it."""
    body = """
        for k in grid(n):
            s = 0.0
            for i in range(n << 40):
                if i >= k and i < k + m:
                    s += x[min(i, n - 1)] * y[i - k]
            out[k] = s
    """
    kernel = loop(TARGET, "(x: float64[n], y: float64[m]) -> (out: float64[n])", body)
    x, y = np.arange(40.0), np.array([1.0, 2.0])
    np.testing.assert_array_equal(kernel.call(x, y), x + 2 * np.minimum(x + 1, 39))


def test_a_loop_of_nothing():
    body = "for i in grid(n):\n    for k in range(n):\n        pass\n    out[i] = x[i]"
    agree(loop(TARGET, "(x: float32[n]) -> (out: float32[n])", body), draw(5))
