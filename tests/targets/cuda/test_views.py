"""Views of arrays that are not contiguous: whichever version of a loop they take, the same bits."""

import numpy as np
import pytest
from tests.targets.built import agree, draw
from tests.targets.cuda.cuda_support import build, loop

pytestmark = pytest.mark.slow
N = 2500  # whole rounds, and a last one

CUBE = draw(8, 12, 40)
RANK_FIVE = draw(4, 6, 8, 10, 6)[::2, ::2, ::2, ::2, ::2]
VIEWS = {
    "contiguous": draw(N),
    "every second": draw(2 * N)[::2],
    "backwards": draw(N)[::-1],
    "one element": draw(1)[:1],
    "transposed": draw(50, 70).T,
    "a part of a plane": draw(60, 90)[5:55, ::-3],
    "of three levels": CUBE[::-1, 1::2, :30],
    "turned": CUBE.transpose(2, 0, 1),
    "of five levels": RANK_FIVE,
    "columns of five": RANK_FIVE.transpose(4, 2, 0, 3, 1),
    "with axes of one": draw(1, 50, 1, 52, 1)[:, :, :, 1:],
    "nothing": draw(0, 3)[:, ::2],
}


@pytest.fixture(scope="module")
def subtract():
    return build("""
        signature: "(x: broadcast float32[...], y: broadcast float32[...]) -> (out: float32[...])"
        body: |
          for i in grid(size):
              out[i] = x[i] - y[i]
    """)


@pytest.mark.parametrize("name", VIEWS)
def test_elementwise(subtract, name):
    x = VIEWS[name]
    others = [draw(*x.shape, seed=1), draw(1, seed=2), draw(*x.shape[-1:], seed=3)]
    others += [draw(*x.shape[:1], *[1] * (x.ndim - 1), seed=4)]
    for y in others:
        np.testing.assert_array_equal(subtract.call(x, y), x - y)
        np.testing.assert_array_equal(subtract.call(y, x), y - x)


ROWS = """
    for r in blocks(rows):
        m = max(x[r, c] for c in threads(n))
        s = float32(0)
        for c in threads(n):
            e = x[r, c] - m
            x[r, c] = e
            s += e
        for c in threads(n):
            x[r, c] = x[r, c] + s
"""


@pytest.fixture(scope="module")
def rows():
    return loop("(x: inout strided float32[..., n])", ROWS, "fastmath: []")


@pytest.mark.parametrize("n", [1, 33, 128, 300])
@pytest.mark.parametrize("lie", ["contiguous", "transposed", "of three levels", "of five levels"])
def test_rows_in_place(rows, n, lie):
    rng = np.random.default_rng(n)
    x = {
        "contiguous": lambda: np.zeros((5, n), "f4"),
        "transposed": lambda: np.zeros((n, 5), "f4").T,
        "of three levels": lambda: np.zeros((3, 4, 3, 2 * n), "f4")[::-1, ::2, ::2, ::2],
        "of five levels": lambda: np.zeros((2, 3, 2, 3, n, 2), "f4")[:, ::2, :, 1:, :, 1].transpose(3, 1, 0, 2, 4),
    }[lie]()
    x[...] = rng.integers(-9, 9, x.shape)  # sums of them are exact
    wanted = x - x.max(-1, keepdims=True)
    wanted += wanted.sum(-1, keepdims=True)
    rows.call(x)
    np.testing.assert_array_equal(x, wanted)


def test_rows_have_the_same_bits_however_they_lie(rows):
    x = draw(4, 300)
    apart = np.zeros((4, 600), "f4")[:, ::2]
    apart[...] = x
    rows.call(x)
    rows.call(apart)
    np.testing.assert_array_equal(x, apart)


def test_a_row_that_is_not_the_iterations_own():
    body = """
        for r in blocks(m):
            for c in threads(n):
                out[r, c] = x[r, c] + x[m - 1 - r, c]
    """
    x = draw(6, 2, 90)[::2, :, 3:48]
    agree(loop("(x: strided float32[..., n], m: int64) -> (out: float32[m, n])", body), x, 6)


def test_grids_of_rows():
    body = "for r, c in grid(rows, n):\n    out[r, c] = x[r, c] * w[c]"
    built = loop("(x: strided float32[..., n], w: strided float32[n]) -> (out: float32[..., n])", body)
    w = draw(80)[::2]
    for x in (draw(70, 40), draw(10, 14, 40)[:, ::2], draw(40, 9, 7).T, draw(3, 4, 5, 3, 40)[::2, ::2, ::2, ::2]):
        np.testing.assert_array_equal(built.call(x, w), x * w)


def test_a_reduction_over_blocks():
    body = """
        total = float32(0)
        for r in blocks(rows):
            total += sum(x[r, c] for c in threads(n))
        out[()] = total
    """
    built = loop("(x: strided float32[..., n]) -> (out: float32)", body)
    x = np.random.default_rng(0).integers(-9, 9, (5, 6, 7, 80)).astype("f4")[::2, ::-1, ::3, 1::2]
    assert built.call(x) == x.sum()
