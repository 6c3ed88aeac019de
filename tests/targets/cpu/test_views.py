"""Strided and broadcast arrays: every element is the one that NumPy sees."""

import numpy as np
import pytest
from tests.targets.cpu.compiled import agree, kernel


def base(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("f4")


def layouts():
    """Arrays of shape (5, 12) that lie differently in memory."""
    yield base(5, 12)
    yield base(12, 5).T
    yield base(5, 12)[::-1]
    yield base(5, 12)[:, ::-1]
    yield base(10, 36)[::2, ::3]
    yield np.broadcast_to(base(12), (5, 12))
    yield np.broadcast_to(base(5, 1), (5, 12))
    yield np.broadcast_to(np.float32(3), (5, 12))
    yield np.frombuffer(b"\0" + base(5, 12).tobytes(), "f4", offset=1).reshape(5, 12)


@pytest.mark.parametrize("bounds", [False, True])
def test_elementwise_over_all_pairs_of_layouts(bounds):
    k = kernel(
        "for i in grid(size):\n    out[i] = x[i] * 2 + y[i]",
        "(x: broadcast T[...], y: broadcast T[...]) -> (out: T[...])",
        bounds=bounds,
    )
    for x in layouts():
        for y in layouts():
            for shape in ((5, 12), (5, 2, 6), (60,), ()):
                if shape in ((60,), (5, 2, 6)) and not (x.flags.c_contiguous and y.flags.c_contiguous):
                    continue
                a, b = (v.reshape(shape) if shape else v[2, 3] for v in (x, y))
                a, b = np.asarray(a), np.asarray(b)
                out = np.zeros(a.shape, "f4")
                k({"size": a.size}, 2, x=a, y=b, out=out)
                assert (out == np.float32(2) * a + b).all()


def test_dims_of_all_ranks():
    k = kernel(
        "for i in grid(size):\n    out[i] = x[i] - y[size - 1 - i]",
        "(x: broadcast T[...], y: broadcast T[...]) -> (out: T[...])",
    )
    x = base(4, 6, 8)[::2, 1::2, ::-3]
    y = np.broadcast_to(base(3, 1), (2, 3, 3))
    out = np.zeros((2, 3, 3), "f4")
    k({"size": 18}, 1, x=x, y=y, out=out)
    assert (out == x - y.reshape(-1)[::-1].reshape(2, 3, 3)).all()
    empty = np.zeros((3, 0, 2), "f4")
    assert k({"size": 0}, 1, x=empty, y=empty, out=empty) == 0


def test_rows_of_views():
    body = """
    for r in blocks(rows):
        total[r] = sum(x[r, c] for c in threads(n))
        for c in threads(n):
            x[r, c] = x[r, c] * 2
    """
    k = kernel(body, "(x: inout strided T[..., n]) -> (total: T[...])")
    for x in (
        base(2, 3, 40),
        base(40, 2, 3).transpose(1, 2, 0),
        base(4, 3, 80)[::2, :, ::2],
        base(2, 3, 40)[..., ::-1],
        base(2, 6, 1)[:, ::2],
    ):
        before, total = x.copy(), np.zeros((2, 3), "f4")
        k({"rows": 6, "n": x.shape[2], "size": 6}, 1, x=x, total=total)
        assert (x == before * 2).all()
        assert np.allclose(total, before.sum(-1), atol=1e-4)


def test_strided_matrices_and_helpers():
    template = """
    def both(a, b, i, j):
        return a[i, j] + b[j]

    def f(x, y, out):
        for i, j in grid(m, n):
            out[i, j] = both(x, y, i, j)
    """
    k = kernel(template=template, signature="(x: strided T[m, n], y: strided T[n]) -> (out: T[m, n])")
    for x in layouts():
        for y in (base(12), base(36)[::3], base(12)[::-1]):
            out = np.zeros((5, 12), "f4")
            k({"m": 5, "n": 12}, 2, x=x, y=y, out=out)
            assert (out == x + y).all()


def test_reductions_over_views_do_not_depend_on_threads():
    k = kernel("s[()] = sum(x[i] for i in grid(size))", "(x: strided T[...]) -> (s: T)")
    for x in (base(300, 200).T, base(60000), base(20000, 3)[:, ::-1], base(600, 200)[::2]):
        sums = set()
        for threads in (1, 3):
            s = np.zeros((), "f4")
            k({"size": x.size}, threads, x=x, s=s)
            sums.add(s.tobytes())
        assert len(sums) == 1
        assert abs(float(s) - x.sum(dtype="f8")) < 1e-6 * np.abs(x).sum(dtype="f8")


def test_argmin_of_a_view():
    k = kernel("p[()] = argmin(x[i] for i in grid(size))", "(x: strided T[...]) -> (p: int64)")
    for x in layouts():
        agree(k, {"size": 60}, 1, None, x=x, p=np.zeros((), "i8"))


REDUCED = {
    "sum": "sum(w[k] * x[i] for k in range(m))",
    "least": "min(w[k] - x[i] for k in range(m))",
    "place": "argmax(w[k] for k in range(m) if w[k] < x[i])",
    "place of products": "argmin(w[k] * x[i] for k in range(m))",
    "count": "sum(1 for k in range(m) if w[k] > x[i])",
    "any": "any(w[k] > x[i] + 1 for k in range(m))",
    "two": "sum(w[k] * x[i] for k in range(m)) + max(w[k] * y[i] for k in range(m))",
}


@pytest.mark.parametrize("name", REDUCED)
def test_reductions_in_every_version_of_a_loop(name):
    """What a loop inside is written by does not outlast it: versions for other strides follow."""
    k = kernel(
        f"for i in grid(size):\n    out[i] = {REDUCED[name]}",
        "(x: broadcast T[...], y: broadcast T[...], w: T[m]) -> (out: float64[...])",
    )
    for m in (5, 70):
        w = base(m, seed=1)
        for x in layouts():
            for y in (base(5, 12, seed=2), np.broadcast_to(base(5, 1, seed=3), (5, 12))):
                agree(k, {"size": 60, "m": m}, 1, 1e-5, x=x, y=y, w=w, out=np.zeros((5, 12)))
