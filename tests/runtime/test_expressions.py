"""Dimensions and conditions that are computed: natively as Python computes them, or on the Python path."""

import numpy as np
import pytest
from entries import Native, f4
from support import array, scalar, write_kernel

from pydotcompute.artifact.dimensions import Operation

EXPRESSIONS = [
    "n - 2", "n // 2 + m", "(n + 3) % 4", "-n + 9", "n * m", "n ** 3", "m << 2", "n >> 1", "min(n, m, 4)", "max(n, m)",
    "abs(n - m)", "n if n < m else m", "n - m", "(n - m) // 3", "(n - m) % 3", "n // m", "n % m", "n % (m - 2)", "+n",
    "(n < m) + 1", "not n", "n and m", "n or m", "3 < n <= 5 and m", "K * n", "n - K", "2 ** 2",
    "n * 9223372036854775807",
    "(n == 3 or m) + 1", "abs(n - 4) if n != m else 0", "(n == n) + n", "K",
]  # fmt: skip


@pytest.mark.parametrize("chunk", range(4))
def test_dimensions_are_computed_as_python_computes_them(tmp_path, chunk):
    for number, text in enumerate(EXPRESSIONS[chunk::4]):
        parameters = [array("x", "float32", "n"), array("y", "float32", "m"), array("o", "uint8", text, role="out")]
        native = Native(write_kernel(tmp_path / str(number), "k", parameters, params={"K": 3}))
        shapes, python = [], native.kernel._dispatcher.call
        for n in range(7):
            for m in range(4):
                try:
                    wanted = int(eval(text, {"n": n, "m": m, "K": 3}))
                except ZeroDivisionError:
                    wanted = -1
                args = f4(n), f4(m)
                if 0 <= wanted < 10_000:
                    shapes.append(wanted)
                    assert native.entry()(*args).shape == (wanted,) == python(*args).shape, (text, n, m)
                    assert native.serves(*args, np.zeros(wanted, "u1"))
                    assert not native.serves(*args, np.zeros(wanted + 1, "u1"))
                else:
                    assert not native.serves(*args)
                    with pytest.raises((ValueError, MemoryError)):
                        python(*args)
        assert shapes


@pytest.mark.parametrize("text, right", [("n * m", 6), ("n + 3", 5)])
def test_a_negative_dimension_is_refused_where_the_shape_made_of_it_is_a_right_one(tmp_path, text, right):
    parameters = [scalar("n", "int64"), scalar("m", "int64"), array("o", "uint8", text, role="out")]
    native = Native(write_kernel(tmp_path, "k", parameters))
    python = native.kernel._dispatcher.call
    assert native.entry()(2, 3).shape == (right,) == python(2, 3).shape
    assert not native.serves(-2, -3)
    with pytest.raises(ValueError, match="-2 is a dimension, and negative"):
        python(-2, -3)


def test_conditions_are_python_s(tmp_path):
    for number, text in enumerate(
        ["n % 2 == 0", "n > m", "n == m or m == 0", "not n < m", "1 <= n < 4 and m != 2", "n // m > 1"]
    ):
        parameters = [array("x", "float32", "n"), array("y", "float32", "m"), array("o", "float32", "n", role="out")]
        native = Native(write_kernel(tmp_path / str(number), "k", parameters, requires=[text]))
        outcomes = set()
        for n in range(6):
            for m in range(4):
                try:
                    wanted = bool(eval(text, {"n": n, "m": m}))
                except ZeroDivisionError:
                    wanted = False
                outcomes.add(wanted)
                assert native.serves(f4(n), f4(m)) == wanted, (text, n, m)
        assert outcomes == {True, False}


def test_what_is_no_integer_arithmetic_goes_the_python_path(tmp_path):
    parameters = [array("x", "float32", "n"), array("o", "float32", "n", role="out")]
    shifted = Operation("<", (Operation("<<", ("n", "n")), 99))
    for number, text in enumerate(["n / 2 > 1", "n * 0.5 > 1", "n < 1e3", shifted]):
        native = Native(write_kernel(tmp_path / str(number), "k", parameters, requires=[text]))
        assert not native.serves(f4(3))
        assert native.kernel._dispatcher.call(f4(3)).shape == (3,)
    parameters[1] = array("o", "uint8", shifted.operands[0], role="out")
    native = Native(write_kernel(tmp_path / "shape", "k", parameters))
    assert not native.serves(f4(3))
    assert native.kernel._dispatcher.call(f4(3)).shape == (3 << 3,)
