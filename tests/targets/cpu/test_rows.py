"""Nests of two and more counts, which slices cut anywhere: whole rows, parts of rows, and rows of one element."""

import numpy as np
import pytest
from tests.targets.cpu.compiled import kernel

from pydotcompute.check import memory


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64"])
def test_rows_of_any_length(dtype):
    """More elements than a slice has; what lies behind the output stays."""
    k = kernel("for i, j in grid(m, n):\n    out[i, j] = x[i, j]", f"(x: {dtype}[m, n]) -> (out: {dtype}[m, n])", types="")
    for m, n in ((0, 3), (3, 0), (1, 1), (7, 1), (1_200_001, 1), (5, 2), (400_000, 3), (1201, 1000), (2, 600_001), (1, 9)):
        x = (np.arange(m * n) % 251).astype(dtype).reshape(m, n)
        for threads in (1, 2):
            out, buffer = memory.guarded((m, n), np.dtype(dtype))
            assert k({"m": m, "n": n}, threads, x=x, out=out) == 0
            np.testing.assert_array_equal(out, x)
            assert not memory.overrun(out, buffer)


@pytest.mark.slow
def test_three_counts_and_what_rows_have_of_their_own():
    body = "for j, i, c in grid(n, m, d):\n    out[j, i, c] = x[i, j, c] + j * 100 + i * 10 + c"
    k = kernel(body, "(x: T[m, n, d]) -> (out: T[n, m, d])")
    for m, n, d in ((3, 4, 1), (3, 1, 5), (1, 4, 7), (1, 1, 1), (3, 0, 2), (70, 80, 101), (700, 800, 1)):
        x = np.arange(m * n * d, dtype="f4").reshape(m, n, d) % 97
        j, i, c = np.ogrid[:n, :m, :d]
        out = np.zeros((n, m, d), "f4")
        assert k({"m": m, "n": n, "d": d}, 2, x=x, out=out) == 0
        np.testing.assert_array_equal(out, x.swapaxes(0, 1) + (j * 100 + i * 10 + c).astype("f4"))


@pytest.mark.slow
def test_counts_that_do_not_begin_at_0():
    body = "for i, j in grid((1, m), (n - 1, n)):\n    out[i, j - 1] = x[i, j] + i"
    k = kernel(body, "(x: T[m, n]) -> (out: T[m, n])")
    x = np.arange(12, dtype="f4").reshape(6, 2)
    out = np.zeros_like(x)
    assert k({"m": 6, "n": 2}, x=x, out=out) == 0
    assert (out[1:, 0] == x[1:, 1] + np.arange(1, 6)).all() and not out[0].any() and not out[:, 1].any()


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 5, 100])
def test_a_wrong_index_in_the_midst_of_rows(d):
    k = kernel("for i, c in grid(n, d):\n    out[i, c] = table[index[i], c]",
               "(table: T[v, d], index: int64[n]) -> (out: T[n, d])")  # fmt: skip
    table = np.arange(7 * d, dtype="f4").reshape(7, d)
    n = 1_000_000 // d
    index = np.arange(n) % 7
    out = np.zeros((n, d), "f4")
    assert k.fault({"v": 7, "d": d, "n": n}, 2, table=table, index=index, out=out) is None
    np.testing.assert_array_equal(out, table[index])
    for place in (0, n // 2, n - 1):
        wrong = index.copy()
        wrong[place] = 7
        assert k.fault({"v": 7, "d": d, "n": n}, 2, table=table, index=wrong, out=out)[2:] == ("table", 0, 7, 7)
