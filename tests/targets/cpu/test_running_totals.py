"""Elements that a sequential loop adds up in stay in a register in it: the same bits, and no access that was not there."""

from __future__ import annotations

import numpy as np
import pytest

from pydotcompute.check import memory
from pydotcompute.targets.cpu.running_totals import in_scalars
from tests.targets.built import agree, draw, loop

TARGET = "cpu:x86-64-v3"
EXACT = "fastmath: []"  # what the interpreter computes, to the bit

HELD = {
    "a product, all in ranges": ("(a: float64[n, m], b: float64[m, n]) -> (out: float64[n, n])", """
        for i in range(n):
            for j in range(n):
                out[i, j] = 0.5
                for k in range(m):
                    out[i, j] += a[i, k] * b[k, j]
    """),
    "under conditions, in a grid": ("(x: float32[m, n], total: inout float32[n]) -> (out: float32[n])", """
        for i in grid(n):
            out[i] = total[i]
            for k in range(m):
                if x[k, i] > 0:
                    out[i] = out[i] * float32(0.5) + x[k, i]
                    total[i] -= x[k, i]
    """),
    "beside others of the same array": ("(x: float64[n, n]) -> (out: float64[n])", """
        for i in range(n):
            out[i] = x[i, i]
            for j in range(i):
                out[i] -= x[i, j] * out[j]
    """),
    "in place, as Cholesky's": ("(A: inout float64[n, n], m: int64) -> (out: float64)", """
        for i in range(n):
            for j in range(i):
                for k in range(j):
                    A[i, j] -= A[i, k] * A[j, k]
                A[i, j] *= 0.5 + abs(A[j, j])
            for k in range(i):
                A[i, i] -= A[i, k] * A[i, k]
        out[()] = 0.0 * m
    """),
    "in place, as Gauss's": ("(A: inout float64[n, n], b: inout float64[n]) -> (out: float64)", """
        for i in range(n):
            for j in range(i, n):
                for k in range(i):
                    A[i, j] -= A[i, k] * A[k, j]
                    A[i, j] *= 0.5
        for i in range(n - 1, -1, -1):
            for j in range(i + 1, n):
                b[i] -= A[i, j] * b[j]
        out[()] = 0.0
    """),
    "in loops in loops": ("(x: float64[n, m]) -> (out: float64[n] = 0)", """
        for i in range(n):
            for p in range(2):
                for k in range(m):
                    out[i] += x[i, k]
                out[i] *= 0.5
    """),
    "an output scalar": ("(x: float64[n, m]) -> (out: float64)", """
        out[()] = 1.0
        for i in range(n):
            for k in range(m):
                out[()] = out[()] * 0.5 + x[i, k]
    """),
    "an array of the kernel's own": ("(x: float64[n, m]) -> (out: float64[n])", """
        for i in grid(n):
            t = local((2,), float64)
            t[0] = 0.0
            for k in range(m):
                t[0] = t[0] * 0.5 + x[i, k]
            t[1] = t[0]
            out[i] = t[0] - t[1] * 0.25
    """),
}  # fmt: skip

LEFT = {
    "one of the elements that the loop reads": ("(x: float64[n, n]) -> (out: float64[n])", """
        for i in range(n):
            out[i] = x[i, i]
            for j in range(i + 1):
                out[i] -= x[i, j] * out[j]
    """),
    "one that another turn may read": ("(A: inout float64[n, n], m: int64) -> (out: float64)", """
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    A[i, j] -= A[i, k] * 0.25
        out[()] = 0.0 * m
    """),
    "one that is read under another name": ("(A: inout float64[n, n], m: int64) -> (out: float64)", """
        for i in range(n):
            for j in range(i):
                q = j
                for k in range(j + 1):
                    A[i, j] = A[i, j] * 0.5 + A[i, q]
                    q = k
        out[()] = 0.0 * m
    """),
    "inside under a condition alone": ("(x: float64[n, m]) -> (out: float64[n])", """
        for i in range(n):
            out[i] = x[i, 0]
        for k in range(m):
            if n > 3:
                out[n - 4] += x[n - 1, k]
    """),
    "written by one of two iterations": ("(x: float64[n, m]) -> (out: float64[n] = 0)", """
        for i, p in grid(n, 2):
            for k in range(m):
                if p == 1:
                    out[i] += x[i, k]
    """),
    "of threads that are inside": ("(x: float64[n, m]) -> (out: float64[n])", """
        for b in blocks((n + 7) // 8):
            total = shared((8,), float64)
            for i in threads(8):
                total[i] = 0.0
            for k in range(m):
                for i in threads(8):
                    if b * 8 + i < n:
                        total[i] = total[i] * 0.5 + x[b * 8 + i, k]
            for i in threads(8):
                if b * 8 + i < n:
                    out[b * 8 + i] = total[i]
    """),
    "at an index that changes": ("(x: float64[n, m], at: int64[n]) -> (out: float64[n] = 0)", """
        for i in range(n):
            r = 0
            for k in range(m):
                out[(i + r) % n] += x[i, k]
                r = k
    """),
}  # fmt: skip


def _built(signature: str, body: str, *more: str):
    kernel = loop(TARGET, signature, body, EXACT, *more)
    return kernel, in_scalars(kernel.tree).body != kernel.tree.body


@pytest.mark.slow
@pytest.mark.parametrize("name", [*HELD, *LEFT])
def test_totals_are_what_they_were(name):
    kernel, held = _built(*(HELD | LEFT)[name])
    assert held == (name in HELD)
    for n in (0, 1, 5, 17, 40):
        for m in (1, 2, 9):
            given = [p for p in kernel.specialisation.parameters if p.role != "out"]
            shapes = [[{"n": n, "m": m}[d] for d in p.dims or ()] for p in given]
            agree(kernel, *(draw(*shape, dtype=p.dtype, seed=k) if shape else m for k, (shape, p) in enumerate(
                zip(shapes, given))))  # fmt: skip


def test_nothing_is_touched_where_a_condition_forbids_it():
    kernel, held = _built(*LEFT["inside under a condition alone"])
    assert not held
    out, _ = memory.guarded((2,), np.dtype("f8"))
    kernel.call(draw(2, 3, dtype="f8"), out=out)


def test_the_word_of_the_author_is_of_what_happens():
    """That every index is inside says nothing of an access that is never made."""
    kernel, held = _built("(x: float64[n], times: int64, at: int64) -> (out: float64[n] = 0)", """
        for k in range(times):
            out[at] += x[k]
    """, "unchecked: true")  # fmt: skip
    assert not held
    assert not kernel.call(draw(5, dtype="f8"), 0, 10**9).any()


def test_in_place():
    kernel, held = _built("(x: float64[n, m]) -> (out: float64[n, m])", """
        for i, j in grid(n, m):
            v = x[i, j]
            out[i, j] = v
            for k in range(3):
                out[i, j] = out[i, j] * 0.5 + v
    """)  # fmt: skip
    x = draw(7, 40, dtype="f8")
    wanted = kernel.call(x)
    np.testing.assert_array_equal(kernel.call(x, out=x), wanted)
    assert held
