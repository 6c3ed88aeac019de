"""Dimensions and conditions that are computed: natively as Python computes them, or on the Python path."""

from itertools import product

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


@pytest.mark.parametrize("chunk", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3))])
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


SCALARS = {
    "a": ("float32", (0.1, -2.5, 1, np.float32(0.1), float("nan"), float("inf"), -0.0)),
    "d": ("float64", (0.1, 2**53 + 1, -7, float("-inf"), 1.5)),
    "k": ("int32", (0, 3, -5, np.int8(7))),
    "w": ("int64", (2**53 + 1, -(2**63), 5)),
    "f": ("bool", (True, np.False_)),
    "h": ("float16", (0.1, 2)),
}
NATIVE = [
    "a < d", "a != d", "not a == d", "d > 2 ** 53", "w > d", "k / 2 < a", "d / k > 1", "min(a, d) < 1", "max(d, a, 0.5) < 1",
    "a and d", "a if f else d", "not f and a < 1", "f + k == 1", "-a <= abs(d)", "a * 3 - d + k > 0.5", "0 <= k < n",
    "abs(a - 0.1) < 1e-9", "h == 0.1", "h > 0.1", "w / 3 > d", "n * 0.5 > a", "a == 0.1", "f == True", "S * a > 1",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(4))
def test_conditions_on_scalars_are_python_s(tmp_path, chunk):
    """Of the values that the kernel gets. What a double does not hold is the Python path's."""
    outcomes = []
    for number, text in enumerate(NATIVE[chunk::4]):
        parameters = [scalar(name, dtype) for name, (dtype, _) in SCALARS.items()]
        parameters += [array("x", "float32", "n"), array("o", "float32", "n", role="out")]
        path = write_kernel(tmp_path / str(number), "k", parameters, requires=[text], params={"S": 2.5})
        native, served, same = Native(path), set(), 0
        names = [name for name in SCALARS if name in text.replace("and", "").replace("abs", "").replace("if", "")]
        for values in product(*(SCALARS[name][1] for name in names)):
            given = {name: choices[0] for name, (_, choices) in SCALARS.items()} | dict(zip(names, values))
            held = {name: np.dtype(SCALARS[name][0]).type(value).item() for name, value in given.items()}
            try:
                wanted = bool(eval(text, {**held, "n": 3, "S": 2.5}))
            except ZeroDivisionError:
                wanted = False
            exact = all(abs(v) <= 2**53 for v in held.values() if type(v) is int) or text in ("f == True", "0 <= k < n")
            here = native.serves(*given.values(), f4(3))
            assert here == wanted or not here and not exact, (text, given)
            served.add(here)
            try:
                native.kernel._dispatcher.call(*given.values(), f4(3))
                assert wanted, (text, given)
            except ValueError as error:
                assert not wanted and ("requires" in str(error) or "by zero" in str(error)), (text, given)
            same += here == wanted
        outcomes.append(served)
        assert same
    assert {True, False} in outcomes


def test_an_integer_beyond_a_double_is_compared_exactly(tmp_path):
    parameters = [scalar("w", "uint64"), scalar("d", "float64"), array("x", "float32", "n")]
    native = Native(write_kernel(tmp_path, "k", parameters, requires=["w > d"]))
    assert not native.serves(2**53 + 1, 2.0**53, f4(2)) and native.serves(2**53, 1.0, f4(2))
    native.kernel._dispatcher.call(2**53 + 1, 2.0**53, f4(2))
    native.kernel._dispatcher.call(2**64 - 1, 2.0**53, f4(2))
    with pytest.raises(ValueError, match=r"requires w > d, got w = 9007199254740993, d = 9007199254740996.0"):
        native.kernel._dispatcher.call(2**53 + 1, 2.0**53 + 4, f4(2))


def test_what_is_no_plain_arithmetic_goes_the_python_path(tmp_path):
    parameters = [array("x", "float32", "n"), array("o", "float32", "n", role="out")]
    shifted = Operation("<", (Operation("<<", ("n", "n")), 99))
    for number, text in enumerate(["n // 0.5 > 1", "n ** 2 * 0.5 % 2 > 0", "(n if n > 1 else 0.5) > 1", shifted]):
        native = Native(write_kernel(tmp_path / str(number), "k", parameters, requires=[text]))
        assert not native.serves(f4(3))
        assert native.kernel._dispatcher.call(f4(3)).shape == (3,)
    parameters[1] = array("o", "uint8", shifted.operands[0], role="out")
    native = Native(write_kernel(tmp_path / "shape", "k", parameters))
    assert not native.serves(f4(3))
    assert native.kernel._dispatcher.call(f4(3)).shape == (3 << 3,)
    for x in (f4(64), f4(2**16)):
        with pytest.raises(ValueError, match="^k: 'n << n' has no value "):
            native.kernel._dispatcher.call(x)
