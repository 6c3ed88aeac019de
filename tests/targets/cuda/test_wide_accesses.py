"""Loads and stores of several elements, where arrays are contiguous and aligned to them: the same bits."""

import re

import numpy as np
import pytest
from tests.targets.built import agree, draw
from tests.targets.cuda.cuda_support import build, loop

SIZES = (0, 1, 3, 4, 5, 1023, 1024, 1025, 2500)


def kernel(signature, *statements, more=()):
    return loop(signature, "for i in grid(n):\n" + "\n".join(f"    {s}" for s in statements), "fastmath: []", *more)


def wide(built):
    """Its accesses of several elements: v2 or v4, type."""
    return re.findall(r"(?:ld|st)\.global(?:\.nc)?\.(v\d)\.(\w+)", built.ptx)


@pytest.mark.parametrize("n", SIZES)
def test_elementwise(n):
    built = kernel("(a: float32, x: float32[n], y: float32[n]) -> (out: float32[n])", "out[i] = a * x[i] + y[i]")
    assert wide(built) == [("v4", "f32")] * 3
    agree(built, np.float32(1.5), draw(n), draw(n, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("shift", [(1, 0, 0), (0, 2, 0), (0, 0, 3), (4, 4, 4), (8, 0, 4)], ids=str)
def test_arrays_that_begin_anywhere(shift):
    built = kernel("(x: float32[n], y: float32[n]) -> (out: float32[n])", "out[i] = x[i] + y[i]")
    x, y, out = (draw(1100, seed=k)[s : s + 1025] for k, s in enumerate(shift))
    wanted = x + y
    assert built.call(x, y, out=out) is out
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.slow
@pytest.mark.parametrize(
    "x, y, out, wanted",
    [
        ("float64", "float64", "float64", {"v2"}), ("float32", "float64", "float32", {"v2"}),
        ("float32", "float32", "float64", {"v2", "v4"}), ("int16", "int32", "int64", {"v2", "v4"}),
        ("int8", "int8", "int8", {"v4"}), ("bool", "bool", "bool", {"v4"}),
        ("complex64", "complex64", "complex64", {"v4"}), ("uint8", "float32", "float32", {"v4"}),
        ("float16", "float16", "float32", set()),  # whose conversions are helpers
    ],
)  # fmt: skip
def test_types(x, y, out, wanted):
    operation = "x[i] != y[i]" if out == "bool" else "x[i] + y[i]"
    built = kernel(f"(x: {x}[n], y: {y}[n]) -> (out: {out}[n])", f"out[i] = {operation}")
    assert {size for size, _ in wide(built)} == wanted
    for n in (7, 1500):
        agree(built, draw(n, dtype=x), draw(n, dtype=y, seed=1))


@pytest.mark.slow
def test_stores_in_their_order():
    built = kernel("(x: float32[n], y: inout float32[n]) -> (out: float32[n])", "t = x[i] * y[i]", "y[i] = t - x[i]", "out[i] = t", "out[i] = t + 1")
    assert len(wide(built)) >= 4
    agree(built, draw(1500), draw(1500, seed=1))


@pytest.mark.slow
def test_what_is_stored_and_loaded_again():
    built = kernel("(x: inout float32[n]) -> (out: float32[n])", "x[i] = x[i] + 1", "out[i] = x[i] * 2")
    agree(built, draw(1500))


@pytest.mark.slow
def test_onto_an_argument():
    body = "for i in grid(size):\n    out[i] = x[i] - y[i]"
    built = loop("(x: float32[...], y: float32[...]) -> (out: float32[...])", body)
    x, y = draw(1500), draw(1500, seed=1)
    wanted = x - y
    assert built.call(x, y, out=x) is x
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize(
    "statement", ["out[i] = x[n - 1 - i]", "out[i] = x[i] + x[max(i - 1, 0)]", "out[i] = x[i] if i % 2 else 0"]
)
def test_others_stay_a_block_apart(statement):
    built = kernel("(x: float32[n]) -> (out: float32[n])", statement)
    assert not wide(built)
    agree(built, draw(1500))


@pytest.mark.slow
def test_indices_that_are_looked_at():
    built = loop("(x: float32[m], n: int64) -> (out: float32[n])", "for i in grid(n):\n    out[i] = x[i]")
    assert not wide(built)
    agree(built, draw(1500), 1400)


@pytest.mark.slow
def test_what_is_the_same_in_every_iteration():
    built = kernel("(x: float32[n], w: float32[1]) -> (out: float32[n])", "out[i] = x[i] * w[0]")
    assert wide(built)
    agree(built, draw(1500), draw(1))


@pytest.mark.slow
def test_contiguous_views():
    built = build("""
        signature: "(x: broadcast float32[...], y: broadcast float32[...]) -> (out: float32[...])"
        body: |
          for i in grid(size):
              out[i] = x[i] - y[i]
    """)
    assert wide(built)
    for x in (draw(40, 50), draw(40, 60)[:, 10:], draw(41, 50)[1:], draw(2003)[3:].reshape(40, 50)):
        for y in (draw(40, 50, seed=1), draw(50, seed=2)):
            np.testing.assert_array_equal(built.call(x, y), x - y)
