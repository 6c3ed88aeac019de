"""Conditions of innermost loops as values: the same results, and nothing touched that the conditions keep from it."""

from __future__ import annotations

import numpy as np
import pytest

from pydotcompute.check import memory
from pydotcompute.targets.cpu.if_conversion import without_conditions
from pydotcompute.targets.cpu.lowering import lower
from tests.targets.built import agree, draw, loop

TARGET = "cpu:x86-64-v3"
EXACT = "fastmath: []"  # what the interpreter computes, to the bit

CONVERTED = {
    "neighbours that a direction chooses": ("(x: float32[n, m], d: float32[n, m]) -> (out: uint8[n, m] = 7)", """
        for i in grid((1, n - 1)):
            for j in range(1, m - 1):
                v = x[i, j]
                if v < -1:
                    continue
                if d[i, j] > 1:
                    a = x[i, j - 1]
                    b = x[i, j + 1]
                elif d[i, j] > 0:
                    a = x[i - 1, j]
                    b = x[i + 1, j]
                else:
                    a = x[i - 1, j - 1]
                    b = x[i + 1, j + 1]
                if v > a and v >= b:
                    out[i, j] = 255 if v > 1 else 128
    """),
    "an element of several": ("(x: float32[n], low: float32) -> (out: int16[n] = 3)", """
        for i in grid(n):
            if x[i] > low:
                out[i] = 2
            elif x[i] < 0:
                out[i] = out[i] + 1
            if x[i] > 1:
                out[i] = out[i] * 2
    """),
    "one that is read too": ("(x: float64[n, m], to: inout float64[n, m])", """
        for i, j in grid(n, m):
            if x[i, j] > 0:
                to[i, j] = to[i, j] * 0.5 + x[i, j]
    """),
    "by an index beside": ("(x: int32[n]) -> (out: int8[n + 1] = 0)", """
        for i in grid(n):
            if x[i] > 0:
                out[i + 1] = x[i]
    """),
    "locals of one branch, and of both": ("(x: float32[n], y: float32[n]) -> (out: float32[n])", """
        for i in grid(n):
            s = x[i]
            t = y[i]
            if s > t:
                s, t = t, s
                r = s * 2
                if r > 1:
                    t = r
            else:
                r = t - s
            if r < 0:
                s = r
            out[i] = s * t + r
    """),
    "rest of a turn": ("(x: float32[n], y: float32[n]) -> (out: float32[n] = 0)", """
        for i in range(n):
            v = x[i]
            if v < 0:
                v = v * 2
                out[i] = v + out[i]
                continue
            if v > 1:
                v = y[i]
            out[i] = v
    """),
    "another branch than the one that goes on": ("(x: float32[n], y: float32[n]) -> (out: float32[n] = 0)", """
        for i in range(n):
            v = x[i]
            if v < 0:
                out[i] = out[i] - v
                continue
            else:
                v = y[i]
            out[i] = v
    """),
    "conditions in conditions": ("(x: float32[n], y: float32[n]) -> (out: uint8[n] = 0)", """
        for i in grid(n):
            if x[i] > 0:
                if y[i] > 0:
                    out[i] = 1
                elif y[i] < -1:
                    out[i] = 2
            else:
                if y[i] > 1:
                    out[i] = 3
    """),
}  # fmt: skip

LEFT = {
    "inside under a condition alone": ("(x: float32[n], at: int64[n]) -> (out: float32[n])", """
        for i in grid(n):
            v = x[i]
            if at[i] >= 0 and at[i] < n:
                v = x[at[i]]
            out[i] = v
    """),
    "each of two iterations its own by a condition": ("(x: float32[n, m]) -> (out: uint8[n] = 0)", """
        for i, p in grid(n, 2):
            if p == 1:
                out[i] = 1
    """),
    "neighbours that other iterations store": ("(u: inout float64[n, m])", """
        for i, j in grid((1, n - 1), (1, m - 1)):
            if (i + j) % 2 == 0:
                r = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                u[i, j] = r - u[i, j]
    """),
    "elements that no one reads": ("(x: float32[n]) -> (out: float32[n] = 0)", """
        for i in grid(n):
            if x[i] > 0:
                out[i] = x[i]
    """),
    "from turn to turn": ("(x: float32[n, m]) -> (out: float32[n, m])", """
        for i in grid(n):
            v = float32(0)
            for j in range(m):
                if x[i, j] > 0:
                    v = x[i, j]
                out[i, j] = v
    """),
    "read after the loop": ("(x: float32[n]) -> (out: float32[n], last: float32)", """
        v = float32(0)
        for i in range(n):
            out[i] = x[i]
            if x[i] > 0:
                v = x[i]
        last[()] = v
    """),
    "set in a branch and read after the loop": ("(x: float32[n]) -> (out: uint8[n] = 0, last: float32)", """
        v = float32(0)
        for i in range(n):
            if x[i] > 0:
                v = x[i] * 2
                out[i] = 1
        last[()] = v
    """),
    "conditions that bound the index": ("(x: float32[n], d: int64) -> (out: uint8[n] = 0)", """
        for i in grid(n):
            if i >= d:
                out[i] = x[i] * x[i] > 1
    """),
    "a division by an argument": ("(x: int32[n], d: int32) -> (out: int32[n])", """
        for i in grid(n):
            v = x[i]
            if x[i] > 0:
                v = x[i] % d
            out[i] = v
    """),
}  # fmt: skip


def _built(signature: str, body: str, *more: str):
    kernel = loop(TARGET, signature, body, EXACT, *more)
    return kernel, without_conditions(kernel.tree) is not kernel.tree


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CONVERTED, *LEFT])
def test_results_are_what_they_were(name):
    signature, body = (CONVERTED | LEFT)[name]
    kernel, converted = _built(signature, body)
    assert converted == (name in CONVERTED)
    parameters = [p for p in kernel.specialisation.parameters if p.role != "out"]
    for n, m in ((0, 5), (1, 1), (3, 3), (5, 40), (33, 70)):
        shapes = [[{"n": n, "m": m}[d] for d in p.dims or ()] for p in parameters]
        agree(kernel, *(
            draw(*shape, dtype=p.dtype, seed=k) if shape else np.dtype(p.dtype).type(1)
            for k, (shape, p) in enumerate(zip(shapes, parameters))
        ))  # fmt: skip


def test_nothing_is_touched_where_a_condition_forbids_it():
    """That every index is inside, the author's word, says nothing of an access that is never made."""
    kernel, converted = _built("(x: float32[n], first: int64) -> (out: float32[n])", """
        for i in grid(n):
            v = float32(1)
            if i < first:
                v = x[n - 4]
            elif x[i] > 0:
                v = x[i] * 2
            out[i] = v
    """, "unchecked: true")  # fmt: skip
    assert not converted
    x, _ = memory.guarded((2,), np.dtype("f4"))
    x[:] = 1, -1
    np.testing.assert_array_equal(kernel.call(x, 0), [2, 1])


def test_no_vectors_of_what_waits_for_its_neighbours():
    kernel, _ = _built(*LEFT["neighbours that other iterations store"])
    assert "rare()" in lower(kernel.tree).text
    kernel, _ = _built(*LEFT["elements that no one reads"])
    assert "rare()" not in lower(kernel.tree).text


def test_in_place():
    kernel, converted = _built("(x: float32[n], d: float32[n]) -> (out: float32[n])", """
        for i in grid(n):
            v = x[i]
            out[i] = v
            if d[i] > 0:
                out[i] = v * 2
    """)  # fmt: skip
    assert not converted  # it does not read the element
    kernel, converted = _built("(x: int8[n], d: float32[n]) -> (out: int8[n])", """
        for i in grid(n):
            v = x[i]
            out[i] = v
            if d[i] > 0:
                out[i] = v * 2
    """)  # fmt: skip
    assert converted
    x, d = draw(100, dtype="i1"), draw(100)
    wanted = kernel.call(x, d)
    np.testing.assert_array_equal(kernel.call(x, d, out=x), wanted)
