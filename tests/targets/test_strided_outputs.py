"""Outputs of any strides: allocated they are contiguous, given they are whatever view there is."""

import numpy as np
import pytest

from tests.targets.built import agree, draw, loop, marked

pytestmark = pytest.mark.slow
ordinary = pytest.mark.parametrize("target", [*map(marked, ("cpu:x86-64-v3", "cuda:compute_80", "opencl:1.2"))])


@ordinary
def test_rows_columns_and_backwards(target):
    body = """
        for i, j in grid(m, n):
            if j > 0:
                out[j, i] = x[i, j]
        for i in grid(m - 1):
            s[i] = sum(int64(x[i, j]) for j in range(n))
    """
    signature = "(x: float32[m, n]) -> (out: strided float32[n, m] = 3, s: strided int64[m] = 7)"
    built = loop(target, signature, body, 'requires: ["m > 0"]')
    x = draw(3, 4) * 9
    wanted, sums = np.vstack([np.full((1, 3), 3), x.T[1:]]), [*x.astype("i8").sum(1)[:2], 7]
    out, s = agree(built, x)
    assert (out == wanted).all() and (s == sums).all() and out.flags.c_contiguous
    for run in built.call, built.python:
        whole, counts = np.full((8, 12), 9, "f4"), np.zeros(9, "i8")
        view = whole[::2, ::-4]
        out, s = run(x, view, counts[::-3])
        assert out is view and (view == wanted).all() and (counts[::-3] == sums).all()
        assert (whole[1::2] == 9).all() and (whole[:, [0, 1, 2, 4]] == 9).all() and np.count_nonzero(counts) <= 3
        turned = np.zeros((3, 4), "f4")
        run(x, turned.T)
        assert (wanted == turned.T).all()


@ordinary
def test_leading_dimensions(target):
    body = "for r, c in grid(rows, n):\n    out[r, c] = x[r, c] * 2"
    built = loop(target, "(x: float64[..., n]) -> (out: strided float64[..., n])", body)
    x = draw(2, 3, 4, dtype="f8")
    assert (agree(built, x) == 2 * x).all()
    for run in built.call, built.python:
        whole = np.zeros((2, 6, 4))
        run(x, whole[:, ::2, ::-1])
        assert (whole[:, ::2, ::-1] == 2 * x).all() and (whole[:, 1::2] == 0).all()


@pytest.mark.parametrize("target", [marked("cpu:x86-64-v3")])
def test_what_meets_itself_is_refused(target):
    built = loop(target, "(x: float64[n]) -> (out: strided float64[n])", "for i in grid(n):\n    out[i] = x[i]")
    one = np.lib.stride_tricks.as_strided(np.zeros(1), (5,), (0,))
    with pytest.raises(ValueError, match="elements of it share memory"):
        built.call(np.ones(5), one)
