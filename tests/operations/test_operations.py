"""Array operations against NumPy: values, shapes, special values, refusals; and operands on different backends."""

import array
import itertools
import math
import re

import numpy as np
import pandas
import pytest
import xarray

from pydotcompute import AllocationError, operations as op
from pydotcompute.backends import (
    Backend, BackendPreference, get_backend, register_backend, to_backend, unregister_backend,
)

pytestmark = pytest.mark.usefixtures("standard_kernels")
TYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
SHAPES = [(), (1,), (7,), (0,), (3, 5), (4, 0), (0, 4), (2, 3, 4), (2, 0, 3), (3, 1, 2, 5)]


def drawn(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)[()] * np.ones((), dtype)


def near(got, expected, dtype, count=1):
    assert isinstance(got, (np.ndarray, np.generic)) and got.dtype == dtype and got.shape == np.shape(expected)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got, expected, rtol=16 * eps, atol=16 * (1 + count) * eps)


@TYPES
@pytest.mark.parametrize("shape", SHAPES)
def test_creation(dtype, shape):
    count = math.prod(shape)
    for make, value in ((op.zeros, 0), (op.ones, 1), (lambda *a: op.full(a[0], 2.5, *a[1:]), 2.5)):
        made = make(shape, dtype, "cpu")
        assert made.shape == shape and made.dtype == dtype and (made == value).all() and made.flags.writeable
    data = [float(n) for n in range(count)]
    listed = op.from_list(data, shape, dtype, "cpu")
    np.testing.assert_array_equal(listed, np.array(data, dtype).reshape(shape))
    assert op.to_list(listed) == np.array(data).reshape(shape).tolist()
    wrong = r"\(5, 3\) has 15 elements, the data " + str(count)
    if count != 15:
        with pytest.raises(ValueError, match=wrong):
            op.from_list(data, (5, 3), dtype, "cpu")


def test_creation_refuses_and_copies():
    assert op.zeros(3, backend="cpu").dtype == np.float32
    assert op.zeros((2,), backend=BackendPreference.CPU).shape == (2,)
    source = np.arange(3, dtype=np.float32)
    made = op.from_list(source, backend="cpu")
    made[0] = 9
    assert source[0] == 0 and op.from_list([[1, 2], [3, 4]], backend="cpu").shape == (2, 2)
    with pytest.raises(ValueError):
        op.zeros((-1,), backend="cpu")
    for wrong in ((2.5,), 2.0, "ab", None):
        told = f"shape must be an integer or a sequence of integers, got {re.escape(repr(wrong))}"
        with pytest.raises(TypeError, match=told):
            op.zeros(wrong, backend="cpu")
    with pytest.raises(TypeError, match="shape must be an integer"):
        op.from_list([1, 2], 2.0, backend="cpu")
    with pytest.raises(ValueError):
        op.from_list([1, 2], (-1, -2), backend="cpu")
    with pytest.raises(TypeError, match="float32"):
        op.zeros(3, np.int16, "cpu")
    for huge in ((1 << 40, 1 << 40), 1 << 60):
        with pytest.raises(AllocationError):
            op.zeros(huge, backend="cpu")
    with pytest.raises(ValueError, match=r"\(4611686018427387904, 0\) is too large, even for .* without elements"):
        op.zeros((1 << 62, 0), backend="cpu")
    assert op.zeros((1 << 60, 0), backend="cpu").shape == (1 << 60, 0)


@pytest.mark.filterwarnings("error")
def test_a_list_loses_nothing():
    for data, dtype, expected in [
        ([[1, 2.5]], "f4", [[1, 2.5]]), ([], "i8", []), (range(3), "u1", [0, 1, 2]), ([True, 2], "f8", [1, 2]),
        ([1 << 70, -1], "f4", [2.0**70, -1]), ([np.inf, -np.inf], "f4", [np.inf, -np.inf]), ([1, 2j], "c8", [1, 2j]),
    ]:  # fmt: skip
        made = op.from_list(data, dtype=dtype, backend="cpu")
        assert made.dtype == dtype and made.tolist() == expected
    for data, dtype, error, told in [
        ([1, 1e300], "f4", OverflowError, "the data has 1e[+]300, which does not fit float32"),
        ([10**400], "f8", OverflowError, "does not fit float64"),
        ([1, 70000], "i2", OverflowError, "70000, which does not fit int16"),
        (np.array([3, -1]), "u1", OverflowError, "-1, which does not fit uint8"),
        (np.array([1 + 2j]), "f8", TypeError, "the data is complex128, which does not become float64"),
        ([1.5], "i8", TypeError, "float64, which does not become int64"),
        (["1", "2"], "f4", TypeError, "which does not become float32"),
        ([None, 1], "f4", TypeError, "the data must be float32, got NoneType"),
        (iter([1, 2]), "f4", TypeError, "the data must be float32, got list_iterator"),
        ([[1, 2], [3]], "f4", ValueError, "the data must be numbers, in rows of equal lengths"),
    ]:
        with pytest.raises(error, match=told):
            op.from_list(data, dtype=dtype, backend="cpu")


def test_copies_that_are_too_large_are_errors_of_allocation():
    wide = np.broadcast_to(np.float32(1), (1 << 45,))
    with pytest.raises(AllocationError, match=f"{1 << 47} bytes"):
        op.from_list(wide, backend="cpu")
    with pytest.raises(AllocationError, match=f"a contiguous copy of {1 << 47} bytes"):
        op.sum(wide)


@TYPES
def test_arithmetic_broadcasts_and_divides_as_ieee_says(dtype):
    pairs = [
        ((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (5,)), ((2, 1, 3), (4, 1)), ((0, 3), (1, 3)), ((), ()),
    ]  # fmt: skip
    functions = [(op.add, np.add), (op.sub, np.subtract), (op.mul, np.multiply), (op.div, np.divide)]
    for (one, other), (ours, numpy) in itertools.product(pairs, functions):
        x, y = np.asarray(drawn(one, dtype)), np.asarray(drawn(other, dtype, 1))
        np.testing.assert_array_equal(ours(x, y), numpy(x, y))
        np.testing.assert_array_equal(ours(x, 2), numpy(x, np.asarray(2, dtype)))
        np.testing.assert_array_equal(ours(0.5, y.T), numpy(np.asarray(0.5, dtype), y.T))
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], dtype)
    with np.errstate(all="ignore"):
        expected = special[:, None] / special
    got = op.div(special[:, None], special)
    np.testing.assert_array_equal(got, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(expected)[numbers])
    with pytest.raises(ValueError, match=r"\(4,\).*\(3,\)"):
        op.add(np.ones(3, dtype), np.ones(4, dtype))
    with pytest.raises(TypeError, match="one operand must be an array, got int and float"):
        op.add(1, 2.0)


@TYPES
def test_results_of_reductions_are_operands(dtype):
    x = np.arange(1, 5, dtype=dtype)
    for got, expected in [
        (op.div(x, op.sum(x)), x / x.sum()), (op.sub(x, op.mean(x)), x - x.mean()), (op.mul(op.max(x), x), x.max() * x),
        (op.add(x, op.argmax(x)), x + 3), (op.add(x, op.sum(x, 0)), x + 10), (op.div(op.sum(x), op.max(x)), 2.5),
        (op.div(op.sum(x), 4), 2.5),
    ]:  # fmt: skip
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, np.asarray(expected, dtype))


@pytest.mark.filterwarnings("error")
def test_numbers_take_the_type_of_the_array_as_in_a_call_of_a_kernel(standard_kernels):
    x = np.ones(2, np.float32)
    for number in (2, 0.1, True, np.float64(0.1), np.float32(0.1), np.int64(3), 10**20, np.inf, 1e-60):
        got = op.mul(x, number)
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got, standard_kernels.fill(2, number, np.empty(2, np.float32)))
    for number, error in [
        (1e300, OverflowError), (np.float64(1e300), OverflowError), (10**400, OverflowError), (-1e39, OverflowError),
        (10**39, OverflowError), (1j, TypeError), (np.complex64(1), TypeError), (np.str_("1"), TypeError),
        ("1", TypeError), (None, TypeError), ([1, 2], TypeError),
    ]:  # fmt: skip
        for function in (op.add, op.sub, op.mul, op.div):
            with pytest.raises(error, match=f"{function.__name__}: operand 'y'"):
                function(x, number)
            with pytest.raises(error, match=f"{function.__name__}: operand 'x'"):
                function(number, x)
    with pytest.raises(TypeError, match="'y' is float64, but 'x' is float32"):
        op.add(x, np.ones((), np.float64))  # an array, of no dimensions
    with pytest.raises(TypeError, match="'y' must be float32 or float64, got int64"):
        op.add(0.5, np.arange(3))


@TYPES
@pytest.mark.parametrize("shape", SHAPES)
def test_reductions_over_everything_and_every_axis(dtype, shape):
    x = np.asarray(drawn(shape, dtype))
    wide = x.astype("float64")
    near(op.sum(x), wide.sum(), dtype, x.size)
    if x.size:
        near(op.mean(x), wide.mean(), dtype)
        assert (op.min(x), op.max(x), op.argmax(x)) == (x.min(), x.max(), x.argmax())
    else:
        assert np.isnan(op.mean(x)) and (op.min(x), op.max(x), op.argmax(x)) == (np.inf, -np.inf, -1)
    for axis in range(x.ndim):
        for view in (x, np.asfortranarray(x)):
            near(op.sum(view, axis), wide.sum(axis), dtype, x.shape[axis])
            if x.shape[axis]:
                near(op.mean(view, axis), wide.mean(axis), dtype)
                np.testing.assert_array_equal(op.min(view, axis), x.min(axis))
                np.testing.assert_array_equal(op.max(view, axis), x.max(axis))
                np.testing.assert_array_equal(op.argmax(view, axis), x.argmax(axis))
            else:
                rest = x.sum(axis).shape
                assert np.isnan(op.mean(view, axis)).all() and op.mean(view, axis).shape == rest
                assert (op.min(view, axis) == np.inf).all() and (op.argmax(view, axis) == -1).all()
                assert (op.max(view, axis) == -np.inf).all() and op.max(view, axis).shape == rest
    for function in (op.sum, op.mean, op.min, op.max, op.argmax):
        for axis in (x.ndim, -1, x.ndim + 5):
            with pytest.raises(ValueError, match=f"axis {axis} is out of range for an array of shape"):
                function(x, axis)
        for axis in (1.0, (0, 1), True, "0"):
            with pytest.raises(TypeError, match=f"axis must be None or one integer, got {re.escape(repr(axis))}"):
                function(x, axis)
        with pytest.raises(TypeError, match="'x' must be an array, got list"):
            function([1.0, 2.0], 0)


@TYPES
def test_nan_in_reductions(dtype):
    x = np.array([[1, np.nan, 3], [4, 5, 6], [np.inf, -np.inf, 0]], dtype)
    for axis in (None, 0, 1):
        with np.errstate(invalid="ignore"):
            for name in ("sum", "mean", "min", "max", "argmax"):
                ours, numpy = getattr(op, name), getattr(np, name)
                np.testing.assert_array_equal(ours(x, axis), numpy(x, axis=axis))


@TYPES
def test_matrix_products(dtype):
    for m, k, n in [(1, 1, 1), (3, 4, 5), (17, 33, 9), (4, 0, 3), (0, 2, 2), (64, 65, 66)]:
        a, b = drawn((m, k), dtype), drawn((k, n), dtype, 1)
        near(op.matmul(a, b), a.astype(float) @ b.astype(float), dtype, k)
        near(op.matmul(np.asfortranarray(a), b[:, ::-1]), a.astype(float) @ b[:, ::-1].astype(float), dtype, k)
        x, out = np.ascontiguousarray(b[:, 0]) if n else np.zeros(k, dtype), np.full(m, np.nan, dtype)
        near(op.matmul_vec(a, x), a.astype(float) @ x.astype(float), dtype, k)
        assert op.matmul_vec_into(a, x, out) is None
        np.testing.assert_array_equal(out, op.matmul_vec(a, x))
    with pytest.raises(ValueError, match=r"'b' has k = 5 \(shape \(5, 2\)\), but 'a' \(shape \(3, 4\)\) has k = 4"):
        op.matmul(np.ones((3, 4), dtype), np.ones((5, 2), dtype))
    for wrong in [((2, 3, 4), (4, 5)), ((3,), (3, 2)), ((2, 3), (3,))]:
        with pytest.raises(ValueError, match="2 dimensions"):
            op.matmul(*(np.ones(shape, dtype) for shape in wrong))
    w, x = np.ones((3, 4), dtype), np.ones(4, dtype)
    with pytest.raises(ValueError, match="must have shape \\(3,\\)"):
        op.matmul_vec_into(w, x, np.ones(4, dtype))
    square = np.ones((4, 4), dtype)
    with pytest.raises(ValueError, match="share memory"):
        op.matmul_vec_into(square, x, x)
    with pytest.raises(TypeError, match="'out' must be an array, got NoneType"):
        op.matmul_vec_into(w, x, None)


@TYPES
def test_attention_scores_and_weighted_rows(dtype, standard_kernels):
    for n, d in [(5, 8), (0, 3), (7, 1), (33, 64), (4, 0)]:
        keys, q, w = drawn((n, d), dtype), drawn((d,), dtype, 1), drawn((n,), dtype, 2)
        scores = np.full(n, np.nan, dtype)
        assert op.compute_attention_scores(q, keys, scores, 0.125) is None
        near(scores, 0.125 * (keys.astype(float) @ q.astype(float)), dtype, d)
        out = np.full(d, 7, dtype)  # is overwritten, not added to
        assert standard_kernels.weighted_sum_rows(w, keys, out) is out
        near(out, w.astype(float) @ keys.astype(float), dtype, n)
    with pytest.raises(ValueError, match="'keys' has d = 3"):
        op.compute_attention_scores(np.ones(2, dtype), np.ones((4, 3), dtype), np.ones(4, dtype), 1.0)
    with pytest.raises(TypeError, match="'scores' must be an array, got NoneType"):
        op.compute_attention_scores(np.ones(3, dtype), np.ones((4, 3), dtype), None, 1.0)


@TYPES
def test_what_works_in_place(dtype, standard_kernels):
    x, w = drawn((6,), dtype), drawn((6,), dtype, 1)
    expected = x.astype(float) * w / np.sqrt(np.mean(x.astype(float) ** 2) + 0.5)
    assert standard_kernels.rmsnorm_inplace(x, w, 0.5) is None
    near(x, expected, dtype)
    with pytest.raises(ValueError, match="'w' has n = 5"):
        standard_kernels.rmsnorm_inplace(x, w[:5].copy(), 0.5)

    inf, nan = np.inf, np.nan
    rows = np.array([[1, 2, 3, 4], [-inf, 0, -inf, 1], [-inf] * 4, [1, nan, 2, 3], [1e4, 0, -1e4, 1e4]], dtype)
    with np.errstate(invalid="ignore"):
        e = np.exp(rows.astype(float) - rows.max(1, keepdims=True))
        expected = e / e.sum(1, keepdims=True)
    expected[3] = nan
    held = np.full((10, 9), 5, dtype)
    view = held[::2, 1::2]
    view[...] = rows
    standard_kernels.softmax_inplace(view)
    near(view, expected, dtype)
    assert (view[1, [0, 2]] == 0).all() and np.isnan(view[2]).all()
    held[::2, 1::2] = 5
    assert (held == 5).all()  # nothing beside the view was written
    for empty in (np.zeros(0, dtype), np.zeros((3, 0), dtype), np.zeros((0, 3), dtype)):
        standard_kernels.softmax_inplace(empty)
    column = held[:4, 3]
    column[...] = rows[0]
    standard_kernels.softmax_inplace(column)
    near(column, expected[0], dtype)

    silu = standard_kernels.silu(np.array([-inf, -1000, -0.0, 0, 1, inf, nan], dtype))
    np.testing.assert_array_equal(silu[[0, 1, 2, 3, 5, 6]], np.array([0, 0, 0, 0, inf, nan], dtype))

    heads = drawn((3, 8), dtype)
    angle = drawn((4,), dtype, 1)
    c, s = np.cos(angle), np.sin(angle)
    a, b = heads[:, :4].copy(), heads[:, 4:].copy()
    assert standard_kernels.apply_rope(heads, c, s) is None
    near(heads, np.concatenate([a * c - b * s, a * s + b * c], 1), dtype)
    with pytest.raises(ValueError, match="dim % 2 == 0"):
        standard_kernels.apply_rope(np.ones((2, 5), dtype), c[:2].copy(), s[:2].copy())


def test_arrays_of_other_packages_are_reduced_as_their_memory_is():
    x = np.arange(6.0).reshape(2, 3)
    for name in ("sum", "mean", "min", "max", "argmax"):
        function, along = getattr(op, name), getattr(np, name)(x, 0)
        for own in (x, xarray.DataArray(x), memoryview(x)):
            assert function(own) == getattr(np, name)(x)
            np.testing.assert_allclose(function(own, 0), along)
        for own in (pandas.Series(x[1]), array.array("d", x[1]), memoryview(x[:, 0])):
            assert function(own) == function(own, 0) == getattr(np, name)(np.asarray(own)), name
    np.testing.assert_allclose(op.matmul(memoryview(x), xarray.DataArray(x).T), x @ x.T)
    for reduced in (op.sum, lambda x: op.sum(x, 0)):
        with pytest.raises(TypeError, match=r"^'x' is a pandas\.\S*Series of a pandas \w+, which .* \.to_numpy\(\)$"):
            reduced(pandas.Series([1, None], dtype="Int64"))
    with pytest.raises(TypeError, match=r"^add: operand 'y' is a pandas\.\S*Series of a pandas \w+, which "):
        op.add(1.0, pandas.Series([1, None], dtype="Int64"))


def test_operands_on_different_backends_go_to_the_first(standard_kernels):
    class Stored:
        def __init__(self, values):
            self.values, self.dtype = values, values.dtype

    class Arrays:
        @staticmethod
        def owns(value):
            return isinstance(value, Stored)

    class Store(Backend):
        name, is_available, arrays = "store", True, Arrays
        compile_kernel = allocate = synchronize = lambda self, *a: None

        def to_device(self, data):
            return Stored(data.copy())

        def to_host(self, data):
            return data.values.copy()

    register_backend("store", Store)
    try:
        x = np.arange(3, dtype=np.float32)
        there = to_backend(x, "store")
        assert get_backend("store").arrays.owns(there)
        result = op.add(x, there)
        assert type(result) is np.ndarray and result.tolist() == [0, 2, 4] == op.to_list(result)
        assert op.to_list(there) == [0, 1, 2]  # as it was, where it was
        with pytest.raises((TypeError, ValueError), match="store|NumPy array"):
            standard_kernels.add(x, there)
    finally:
        unregister_backend("store")
