"""Loads that a condition guards and that follow it in any case: done before it, and nothing else than before is loaded."""

from __future__ import annotations

import numpy as np
import pytest

from pydotcompute.check import memory
from pydotcompute.targets.cpu.load_hoisting import with_hoisted_loads
from tests.targets.built import agree, draw, loop

TARGET = "cpu:x86-64-v3"
EXACT = "fastmath: []"  # what the interpreter computes, to the bit

HOISTED = {
    "a scalar that goes on": ("(x: float32[n], y: float32[n]) -> (out: float32[n])", """
        s = float32(0)
        for i in range(n):
            if x[i] > 0:
                s = y[i] * y[i]
            out[i] = s + y[i]
    """),
    "in both branches, and in a condition": ("(x: float32[n], y: float32[n]) -> (out: float32[n])", """
        s = float32(0)
        for i in range(n):
            if x[i] > 0:
                s = s - y[i]
            elif x[i] < -1:
                s = s + y[i]
            if y[i] > 1:
                s = float32(1)
            out[i] = s
    """),
    "in a condition of a condition": ("(x: float64[n], y: float64[n]) -> (out: float64[n])", """
        s = float64(0)
        for i in range(n):
            if x[i] > 0:
                if x[i] > 1:
                    s = y[i]
                s = s + y[i]
            out[i] = s
    """),
    "by the element of another array": ("(x: float32[n], at: uint8[n], y: float32[256]) -> (out: float32[n])", """
        s = float32(0)
        for i in range(n):
            if x[i] > 0:
                s = y[at[i]]
            out[i] = s + y[at[i]]
    """),
    "of what is stored afterwards": ("(x: float32[n], y: inout float32[n]) -> (out: float32[n])", """
        s = float32(0)
        for i in range(n):
            if x[i] > 0:
                s = y[i]
            out[i] = s + y[i]
            y[i] = s
            out[i] = out[i] - y[i]
    """),
    "in the turn of a `while`": ("(x: float32[n], y: float32[n]) -> (out: float32[n] = 0)", """
        i = 0
        s = float32(0)
        while i < n:
            if x[i] > 0:
                s = y[i]
            out[i] = s - y[i]
            i += 1
    """),
}  # fmt: skip

LEFT = {
    "stored by the branch": ("(x: float32[n], y: inout float32[n])", """
        for i in range(n):
            s = x[i]
            if x[i] > 0:
                y[i] = 2
                s = y[i]
            y[i] = s + y[i]
    """),
    "stored in between": ("(x: float32[n], y: inout float32[n]) -> (out: float32[n])", """
        s = float32(0)
        for i in range(n):
            if x[i] > 0:
                s = y[i]
            y[i] = x[i]
            out[i] = s + y[i]
    """),
    "by an index that the branch sets": ("(x: float32[n], y: float32[8]) -> (out: float32[n])", """
        k = 0
        s = float32(0)
        for i in range(n):
            if x[i] > 0:
                s = y[k & 7]
                k += 1
            out[i] = s + y[k & 7]
    """),
    "by an index that is set in between": ("(x: float32[n], y: float32[8]) -> (out: float32[n])", """
        k = 0
        s = float32(0)
        for i in range(n):
            if x[i] > 0:
                s = y[k & 7]
            k += 1
            out[i] = s + y[k & 7]
    """),
    "by an element that the branch stores": (
        "(x: float32[n], at: inout uint8[n], y: float32[256]) -> (out: float32[n])", """
        s = float32(0)
        for i in range(n):
            if x[i] > 0:
                s = y[at[i]]
                at[i] = 3
            out[i] = s + y[at[i]]
    """),
    "after a way out": ("(x: float32[n], y: float32[m]) -> (out: float32[n] = 0)", """
        s = float32(0)
        for i in range(n):
            if i >= m:
                break
            if x[i] > 0:
                s = y[i]
                if x[i] > 1:
                    continue
            out[i] = s + y[i]
    """),
    "of the other branch": ("(x: float32[n], y: float32[n]) -> (out: float32[n])", """
        s = float32(0)
        for i in range(n):
            if x[i] > 0:
                s = y[i]
            if x[i] < -1:
                s = s + y[i]
            out[i] = s if s > 0 else y[i]
    """),
    "outside its array": ("(x: float32[n], y: float32[m]) -> (out: float32[n])", """
        s = float32(0)
        for i in range(n):
            if x[i] > 0:
                s = y[i]
            out[i] = s + y[i]
    """),
}  # fmt: skip


@pytest.mark.parametrize("name", [*HOISTED, *LEFT])
def test_results_are_what_they_were(name):
    signature, body = (HOISTED | LEFT)[name]
    kernel = loop(TARGET, signature, body, EXACT)
    assert (with_hoisted_loads(kernel.tree) is not kernel.tree) == (name in HOISTED)
    parameters = [p for p in kernel.specialisation.parameters if p.role != "out"]
    for n in (0, 1, 7, 100):
        shapes = [[{"n": n, "m": n}.get(d, d) for d in p.dims or ()] for p in parameters]
        agree(kernel, *(
            draw(*shape, dtype=p.dtype, seed=k) if p.dtype.startswith("f") else np.random.default_rng(k).integers(0, 255, shape, p.dtype)
            for k, (shape, p) in enumerate(zip(shapes, parameters))
        ))  # fmt: skip


def test_in_place():
    kernel = loop(TARGET, *HOISTED["a scalar that goes on"], EXACT)
    x, y = draw(50), draw(50, seed=1)
    wanted = kernel.call(x, y)
    one, other = x.copy(), y.copy()
    np.testing.assert_array_equal(kernel.call(one, y, out=one), wanted)
    np.testing.assert_array_equal(kernel.call(x, other, out=other), wanted)


def test_nothing_is_loaded_that_no_turn_comes_to():
    kernel = loop(TARGET, "(x: float32[n], y: float32[m]) -> (out: float32[n] = 0)", """
        s = float32(0)
        for i in range(n):
            if x[i] > 0:
                s = y[i]
            if i == m - 1:
                break
            out[i] = s + y[i]
    """, EXACT, "unchecked: true")  # fmt: skip
    x, _ = memory.guarded((4,), np.dtype("f4"))
    x[:] = -1
    y, _ = memory.guarded((2,), np.dtype("f4"))
    y[:] = 1, 2
    np.testing.assert_array_equal(kernel.call(x, y), [1, 0, 0, 0])
