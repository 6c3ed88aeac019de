"""Checks that are made once before a loop, of indices in steps and of rows found by an index that is looked at itself: with
indices that are inside and outside in each place, what is read in guarded memory."""

import ast
import re

import numpy as np
import pytest
from tests.targets.built import loop, marked

from pydotcompute.check import memory

levels = pytest.mark.parametrize("target", [marked(f"cpu:x86-64-v{k}") for k in (2, 3, 4)])


def guarded(x):
    array, _ = memory.guarded(x.shape, x.dtype)
    array[...] = x
    return array


def outcome(call, *args):
    try:
        return call(*args)
    except IndexError as error:
        said = re.search(r"index (\S+) (?:of axis \d )?is outside (\w+), which has (\d+)$", str(error))
        array, _, extent, index, *_ = (said[2], 0, said[3], said[1]) if said else ast.literal_eval(str(error))
        return f"{array} {extent} {index}"


def same(got, wanted, in_order):
    """in_order: else which of several that are outside is told, nobody knows."""
    if in_order or not isinstance(wanted, str):
        np.testing.assert_equal(got, wanted)
    else:
        assert isinstance(got, str)


@levels
@pytest.mark.parametrize("index", ["2 * i", "3 * i + 1", "k - 2 * i", "(i - k) * 4 + i", "k * i", "-5 * (2 * i - k)"])
@pytest.mark.parametrize("form", ["grid", "range"])
def test_indices_in_steps(target, index, form):
    body = f"for i in {form}({{}}):\n    out[i] = x[{index}] + 1"
    body = body.format("n" if form == "grid" else "0, n")
    built = loop(target, "(x: float64[m], n: int64, k: int64) -> (out: float64[n])", body)
    for m, n, k in [(m, n, k) for m in (0, 1, 7, 64) for n in (0, 1, 3, 20, 64) for k in (-3, 0, 1, 2, 19, 63)]:
        x = guarded(np.arange(m, dtype=np.float64))
        same(outcome(built.call, x, n, k), outcome(built.python, x, n, k), form == "range")


@levels
@pytest.mark.parametrize("start, stop", [
    (0, 2**62 + 1), (2**62, 2**62 + 2), (-(2**62), 3), (2**62 - 1, 2**62 + 1), (2**61, 2**62 + 2**61),
])  # fmt: skip
def test_indices_that_come_round(target, start, stop):
    """Modulo 2^64 four times both ends are inside, and what is between them is not, or all of it is."""
    body = "s = 0.0\nfor i in range(start, stop):\n    s += x[4 * i]\nout[()] = s"
    built = loop(target, "(x: float64[m], start: int64, stop: int64) -> (out: float64)", body)
    x = guarded(np.arange(6, dtype=np.float64))
    np.testing.assert_equal(outcome(built.call, x, start, stop), outcome(built.python, x, start, stop))


ROWS = {
    "of lanes": ("grid(n)", "range(d)", "E[t[k], j] * x[j]"),
    "in a range": ("range(n)", "range(d)", "E[t[k], j] * x[j]"),
    "of a part": ("range(low, low + n)", "range(1, d)", "E[t[k], j - 1] * x[j]"),
    "of rows": ("range(low, low + n)", "range(d)", "E[t[t[k]], j] * E[t[k], j]"),
}  # fmt: skip


@levels
@pytest.mark.parametrize("fast", ["fastmath: [fast]", "fastmath: []"])
@pytest.mark.parametrize("form", ROWS)
def test_rows_that_are_found_by_an_index(target, form, fast):
    outer, inner, term = ROWS[form]
    body = f"for k in {outer}:\n    s = 0.0\n    for j in {inner}:\n        s += {term}\n    out[k] = s"
    signature = "(E: float64[v, d], t: int64[m], x: float64[d], n: int64, low: int64) -> (out: float64[m] = 0)"
    built = loop(target, signature, body.replace("grid(n)", "grid(m)"), fast)
    rng = np.random.default_rng(0)
    for d in (0, 1, 5, 40):
        E, x = guarded(rng.integers(-9, 9, (30, d)).astype(float)), guarded(rng.integers(-9, 9, d).astype(float))
        for place, wrong in [(None, 0), (0, -1), (3, 30), (7, 2**62), (20, -(2**63)), (21, 2**60)]:
            t = guarded(rng.integers(0, 22, 22))
            if place is not None:
                t[place] = wrong
            for n, low in ((22, 0), (5, 3), (30, 0), (4, -1), (3, 2**63 - 4), (0, 0)):
                args = E, t, x, n, low
                same(outcome(built.call, *args), outcome(built.python, *args), form != "of lanes")
