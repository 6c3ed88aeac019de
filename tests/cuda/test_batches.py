"""Grids whose threads do several iterations at once: the same bits, and loads that do not wait for each other."""

import re

import numpy as np
import pytest
from cuda_support import build, loop
from test_language import agree, draw

SIZES = (0, 1, 255, 256, 257, 768, 769, 1023, 1024, 1025, 3000)


def kernel(signature, *statements):
    return loop(signature, "for i in grid(n):\n" + "\n".join(f"    {s}" for s in statements), "fastmath: []")


@pytest.mark.parametrize("n", SIZES)
def test_elementwise(n):
    built = kernel("(a: float32, x: float32[n], y: float32[n]) -> (out: float32[n])", "out[i] = a * x[i] + y[i]")
    assert built.meta["launches"][0]["grid"]["at_once"] == 4
    agree(built, np.float32(1.5), draw(n), draw(n, seed=1))


@pytest.mark.parametrize("dtype, at_once", [("int8", 8), ("int16", 8), ("float32", 4), ("float64", 2)])
def test_as_many_as_keep_16_bytes_under_way(dtype, at_once):
    built = kernel(f"(x: {dtype}[n]) -> (out: {dtype}[n])", "out[i] = x[i] + x[i]")
    assert built.meta["launches"][0]["grid"]["at_once"] == at_once
    agree(built, draw(2500, dtype=dtype))


def test_a_load_stays_behind_the_store_that_it_sees():
    signature = "(x: inout float64[n], y: float64[n]) -> (out: float64[n])"
    built = kernel(signature, "x[i] = x[i] + y[i]", "out[i] = x[i] * y[i]", "x[i] = x[i] + out[i]")
    agree(built, draw(1500, dtype="f8"), draw(1500, dtype="f8", seed=1))


def test_gathers_conditions_and_locals():
    signature = "(x: float32[m], k: int64[n], y: float32[n]) -> (out: float32[n])"
    built = kernel(signature, "t = x[k[i]]", "j = k[i] // 2", "out[i] = t + x[j] if y[i] > 0 else y[i]")
    k = np.random.default_rng(0).integers(0, 300, 3000)
    agree(built, draw(300), k, draw(3000, seed=1))


@pytest.mark.parametrize("shapes", [((2500,), (2500,)), ((50, 50), (50, 50)), ((50, 50), (50,)), ((50, 1), (1, 50))])
def test_broadcast(shapes):
    text = """
        signature: "(x: broadcast float32[...], y: broadcast float32[...]) -> (out: float32[...])"
        body: |
          for i in grid(size):
              out[i] = x[i] - y[i]
    """
    built = build(text)
    x, y = (draw(*shape, seed=k) for k, shape in enumerate(shapes))
    np.testing.assert_array_equal(built.call(x, y), x - y)
    np.testing.assert_array_equal(built.call(x[::-1], y), x[::-1] - y)


def test_all_loads_come_before_the_first_store():
    built = kernel("(x: float32[n], y: float32[n]) -> (out: float32[n])", "out[i] = x[i] + y[i]")
    batches = [re.findall(r"ld\.global|st\.global", part) for part in re.split(r"\n\$L", built.ptx)]
    assert ["ld.global"] * 8 + ["st.global"] * 4 in batches
