"""What is proved of a kernel, or taken for its author's word, holds where the code makes use of it: no index is left
unchecked because of what holds elsewhere, and nothing is read or stored that the kernel would not."""

from __future__ import annotations

import numpy as np
import pytest

from pydotcompute.ir.tree import Binary, Const, Var
from pydotcompute.targets.cpu.interruptions import is_bounded
from tests.targets.built import agree, loop

TARGET = "cpu:x86-64-v3"
EXACT = "fastmath: []"  # what the interpreter computes, to the bit
FAR = 2**61 + 2**57  # times 5 and times 4 it wraps, to a negative number

# What `q` is says how large p is, where the conditions around hold.
OUTSIDE = {
    "two ifs, one in the other": ("if p < 100:\n    if p > -100:\n        q = p * 5", "p >= 0", "p * 4", FAR),
    "two choices": ("q = (p * 5 if p > -100 else 0) if p < 100 else 0", "p >= 0", "p * 4", FAR),
    "an absolute value": ("if p < 100 and p > -100:\n    q = abs(p * 5)", "p >= 0", "p * 4", FAR),
    "the larger of two": ("if p < 100 and p > -100:\n    q = max(p * 5, 3)", "p >= 0", "p * 4", FAR),
    "the absolute value of the least number": ("if p > -100:\n    q = abs(p)", "p < 0", "-p", -(2**63)),
}
HEAD = "q = 0\n"
TAIL = """
out[()] = 1.0
if q >= 0 and {condition}:
    k = {index}
    if k < n:
        out[()] = x[k]
"""


@pytest.mark.parametrize("name", OUTSIDE)
def test_facts_of_a_branch_are_none_where_it_is_not_taken(name):
    body, condition, index, p = OUTSIDE[name]
    text = HEAD + body + TAIL.format(condition=condition, index=index)
    kernel = loop(TARGET, "(x: float64[n], p: int64) -> (out: float64)", text, EXACT)
    for call in (kernel.call, kernel.python):
        with pytest.raises(IndexError):
            call(np.arange(10.0), p)
    agree(kernel, np.arange(10.0), 2)


def test_facts_of_a_branch_in_a_grid():
    body = """
        for i in grid(n):
            p = x[i]
            q = 0
            if p < 100:
                if p > -100:
                    q = p * 5
            if q >= 0 and p >= 0:
                k = p * 4
                if k < n:
                    out[i] = x[k]
    """
    kernel = loop(TARGET, "(x: int64[n]) -> (out: float64[n] = 0)", body, EXACT)
    with pytest.raises(IndexError):
        kernel.call(np.array([0, 1, 2, FAR, 3]))
    agree(kernel, np.array([0, 1, 2, 7, 3]))


REDUCTIONS = {
    "sum": """
        for i in grid(n):
            out[i] = sum(x[idx[q]] for j in range(m) if 0 <= q < m)
    """,
    "max": """
        for i in grid(n):
            out[i] = max(x[idx[q]] for j in range(m) if 0 <= q < m)
    """,
    "any, in threads": """
        for b in blocks(1):
            for i in threads(n):
                out[i] = any(x[idx[q]] > j for j in range(m) if 0 <= q < m)
    """,
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_what_the_condition_of_a_reduction_guards_is_not_read_before(name):
    signature = "(x: float64[k], idx: int64[m], n: int64, q: int64) -> (out: float64[n])"
    kernel = loop(TARGET, signature, REDUCTIONS[name], EXACT)
    for q, m in ((2**40, 3), (-(2**50), 3), (0, 0), (1, 3)):
        agree(kernel, np.arange(10.0), np.arange(m), 5, q)


@pytest.mark.parametrize("term", ["sum(x[j]", "max(x[j]"])
@pytest.mark.parametrize("length", ["t", "min(t * 3, n)"])
def test_a_row_as_long_as_a_thread_says(term, length):
    body = f"""
        for b in blocks(m):
            for t in threads(16):
                out[b, t] = {term} for j in range({length}))
    """
    agree(loop(TARGET, "(x: float64[n], m: int64) -> (out: float64[m, 16])", body, EXACT), np.arange(300.0), 3)


@pytest.mark.parametrize("turns", ["l", "count[r]"])
def test_the_word_for_what_iterations_touch_is_not_for_what_they_do_not(turns):
    body = f"""
        for r in grid(n):
            q = r % 8
            for j in range({turns}):
                if p[r]:
                    y[q] = y[q] * 0.5 + x[j, r]
    """
    signature = "(p: bool[n], count: int64[n], x: float64[l, n]) -> (y: float64[8] = 0)"
    kernel = loop(TARGET, signature, body, EXACT, "disjoint: [y]")
    for n in (8, 16, 32):
        given = np.arange(n) < 8
        agree(kernel, given, np.where(given, 3, 0), np.arange(5.0 * n).reshape(5, n))


def test_a_loop_may_be_longer_than_any_array():
    """LLVM adds up at once what so many turns add, so that a number wraps which would take years to do so."""

    def times(factors):
        e = Var("n", "int64")
        for factor in factors:
            e = Binary("*", e, Const(factor, "int64"), "int64")
        return e

    assert is_bounded(times([64, 64]), {"n"}) and is_bounded(times([2, 3, 5, 7]), {"n"})
    assert not is_bounded(times([64, 64, 2]), {"n"}) and not is_bounded(times([8] * 9), {"n"})
