"""Rounding to whole numbers before SSE 4.1, which has no instruction for it: to the bit what NumPy gives, at every level."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.built import loop, marked

levels = pytest.mark.parametrize("target", [marked(f"cpu:x86-64{level}") for level in ("", "-v2")])
ROUNDINGS = {"down": np.floor, "up": np.ceil, "cut": np.trunc, "near": np.rint}
OUT = ", ".join(f"{name}: {{0}}[n]" for name in ROUNDINGS)
BODY = """
for i in grid(n):
    down[i] = floor(x[i])
    up[i] = ceil(x[i])
    cut[i] = trunc(x[i])
    near[i] = round(x[i])
"""
ONE_BY_ONE = """
s = x[0]
for i in range(n):
    s = x[i] + s - s
    down[i] = floor(s)
    up[i] = ceil(s)
    cut[i] = trunc(s)
    near[i] = round(s)
"""


def values(dtype):
    bits = np.finfo(dtype).nmant
    whole = np.concatenate([np.arange(-6, 7), 2.0 ** np.arange(0, bits + 12), 2.0**bits + np.arange(-4, 4)])
    halves = np.concatenate([whole, whole + 0.5, whole - 0.5, whole + 0.25, np.random.default_rng(0).normal(size=200) * 99])
    edges = [0.0, 0.49999997, np.nextafter(dtype(0.5), dtype(0)), np.finfo(dtype).tiny, np.finfo(dtype).max, np.inf]
    found = np.concatenate([halves, edges]).astype(dtype)
    return np.concatenate([found, -found, [dtype(np.nan)]]).astype(dtype)


@levels
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fast", ["", "fastmath: [contract, reassoc, arcp, afn]"])
def test_of_vectors(target, dtype, fast):
    name = np.dtype(dtype).name
    built = loop(target, f"(x: {name}[n]) -> ({OUT.format(name)})", BODY, *[fast] * bool(fast))
    for x in (values(dtype), values(dtype)[3:10]):
        for got, function in zip(built.call(x), ROUNDINGS.values(), strict=True):
            wanted = function(x)
            np.testing.assert_array_equal(got, wanted)
            known = ~np.isnan(x)
            np.testing.assert_array_equal(np.signbit(got)[known], np.signbit(wanted)[known])


@levels
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_by_one(target, dtype):
    name = np.dtype(dtype).name
    built = loop(target, f"(x: {name}[n]) -> ({OUT.format(name)})", ONE_BY_ONE, "fastmath: []")
    x = values(dtype)[np.isfinite(values(dtype))]
    x = x[np.abs(x) < 1e6]
    seen, s = [], x[0]
    for v in x:
        s = dtype(dtype(v + s) - s)
        seen.append(s)
    for got, function in zip(built.call(x), ROUNDINGS.values(), strict=True):
        np.testing.assert_array_equal(got, function(np.array(seen, dtype)))


@levels
def test_functions_that_round(target):
    """Powers and sines reduce their arguments by it."""
    body = "for i in grid(n):\n    out[i] = x[i] ** y[i] + sin(x[i]) + x[i] ** k"
    built = loop(target, "(x: float64[n], y: float64[n], k: int64) -> (out: float64[n])", body)
    x, y = np.random.default_rng(1).uniform(0.1, 30, (2, 100))
    np.testing.assert_allclose(built.call(x, y / 10, 3), x ** (y / 10) + np.sin(x) + x**3, rtol=1e-14)
