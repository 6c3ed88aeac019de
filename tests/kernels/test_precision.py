"""Sums over long axes, held to exact ones: at most 8 + log2(n) roundings of the sum of absolute terms."""

import math

import numpy as np
import pydotcompute
import pytest
from pydotcompute import operations

EPS = float(np.finfo(np.float32).eps)


@pytest.fixture(scope="module")
def numbers():
    return np.random.default_rng(0)


@pytest.mark.parametrize("shape, axis", [
    ((100_000, 1), 0), ((100_000, 2), 0), ((1_000_003, 3), 0), ((2, 50_001, 7), 1), ((20_000, 100), 0),
    ((3000, 513), 0), ((2049, 3, 5), 0), ((4, 1025), 0), ((100_000, 4), 1),
])  # fmt: skip
@pytest.mark.parametrize("signs", [False, True])
def test_sums_over_an_axis(numbers, standard_kernels, shape, axis, signs):
    x = numbers.random(shape, dtype="f4") - np.float32(0.5 * signs)
    exact, magnitude = x.sum(axis, dtype="f8"), np.abs(x).sum(axis, dtype="f8")
    allowed = (8 + math.log2(shape[axis])) * EPS / 2 * magnitude
    assert (np.abs(operations.sum(x, axis) - exact) <= allowed).all()
    mean = exact / shape[axis]
    assert (np.abs(operations.mean(x, axis) - mean) <= allowed / shape[axis] + EPS * np.abs(mean)).all()


def test_a_mean_of_more_ones_than_a_float_counts(standard_kernels):
    ones = np.ones((2**25, 1), np.float32)
    assert operations.mean(ones, 0) == 1 and operations.sum(ones, 0) == 2**25


@pytest.mark.parametrize("n, d", [(100_000, 1), (50_001, 3), (3000, 300)])
def test_weighted_sums_of_rows(numbers, built, n, d):
    """Of the kernel itself, which a vendor's function takes the place of where it is not pinned."""
    w, values = numbers.random(n, dtype="f4"), numbers.random((n, d), dtype="f4")
    exact = w.astype("f8") @ values.astype("f8")
    kernel = pydotcompute.load(built, target="cpu:x86-64-v2").weighted_sum_rows
    assert (np.abs(kernel(w, values) - exact) <= (9 + math.log2(n)) * EPS / 2 * exact).all()


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_special_terms_reach_the_sum(numbers, standard_kernels, special):
    x = numbers.random((5000, 3), dtype="f4")
    x[4321, 1] = special
    np.testing.assert_array_equal(operations.sum(x, 0)[1], np.float32(special))
    assert np.isfinite(operations.sum(x, 0)[[0, 2]]).all()


INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scores", [
    [NAN, 1, 2], [1, NAN, 2], [1, 2, NAN], [INF, 1, 2], [1, INF, 2], [INF, INF, 1], [-INF, 1, 2], [1, -INF, 2],
    [-INF, -INF, -INF], [-INF, INF, 1], [-INF, NAN, 1], [5, 5, 5],
])  # fmt: skip
def test_attention_is_the_softmax_of_its_scores_for_any_scores(standard_kernels, dtype, scores):
    keys, query = np.array(scores, dtype)[:, None], np.ones((3, 1), dtype)
    values = np.arange(1, 4, dtype=dtype)[:, None]
    for causal, seen in ((0, lambda i: 3), (1, lambda i: i + 1)):
        got = standard_kernels.attention(query, keys, values, 1.0, CAUSAL=causal)
        for i in range(3):
            weights = standard_kernels.softmax(keys[: seen(i), 0].copy())
            np.testing.assert_allclose(got[i, 0], weights @ values[: seen(i), 0], rtol=1e-6)
