"""Threads that do several iterations at once: the same bits, and loads that do not wait for each other."""

import itertools
import re

import numpy as np
import pytest
from tests.targets.built import agree, draw
from tests.targets.cuda.cuda_support import build, loop

from pydotcompute.artifact.launch import MOST_BLOCKS
from pydotcompute.backends.launch import launches

SIZES = (0, 1, 255, 256, 257, 768, 769, 1023, 1024, 1025, 3000)


def kernel(signature, *statements):
    return loop(signature, "for i in grid(n):\n" + "\n".join(f"    {s}" for s in statements), "fastmath: []")


def at_once(built):
    """How many iterations a thread of the grid does together."""
    return next(c[2] for c in built.meta["launches"][0]["grid"]["counts"] if c[0] == "//")


@pytest.mark.parametrize("n", SIZES)
def test_elementwise(n):
    built = kernel("(a: float32, x: float32[n], y: float32[n]) -> (out: float32[n])", "out[i] = a * x[i] + y[i]")
    assert at_once(built) == 4
    agree(built, np.float32(1.5), draw(n), draw(n, seed=1))


@pytest.mark.parametrize("dtype, wanted", [("int8", 8), ("int16", 8), ("float32", 4), ("float64", 2)])
def test_as_many_as_keep_16_bytes_under_way(dtype, wanted):
    built = kernel(f"(x: {dtype}[n]) -> (out: {dtype}[n])", "out[i] = x[i] + x[i]")
    assert at_once(built) == wanted
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


def accesses(built):
    """Loads and stores of global memory in each straight piece of the PTX."""
    return [re.findall(r"ld\.global|st\.global", part) for part in re.split(r"\n\$L", built.ptx)]


def test_all_loads_come_before_the_first_store():
    built = kernel("(x: float32[n], y: float32[n]) -> (out: float32[n])", "out[i] = x[i] + y[i]")
    assert ["ld.global"] * 8 + ["st.global"] * 4 in accesses(built)


GATHER = "for i, c in grid(n, d):\n    out[i, c] = table[index[i], c]"


@pytest.fixture(scope="module")
def gather():
    return loop("(table: float32[v, d], index: int64[n]) -> (out: float32[n, d])", GATHER)


def test_loads_that_wait_for_other_loads_wait_together(gather):
    """Four indices, of which it is asked once whether all are inside, then four elements."""
    pieces = [piece for piece in accesses(gather) if len(piece) > 1]
    assert ["ld.global"] * 4 in pieces and pieces.count(["ld.global"] * 4) == 2
    index = np.random.default_rng(0).integers(0, 50, 37)
    agree(gather, draw(50, 70), index)


@pytest.mark.parametrize("most", [1, 2, 5])
def test_threads_do_what_there_are_no_blocks_for(gather, most):
    (launch,) = launches(gather.meta, {"v": 50, "d": 1000, "n": 10**6})
    assert np.prod(launch.grid) <= MOST_BLOCKS < 4 * 10**6 / 4
    before = gather.meta["launches"]
    gather.meta["launches"] = [{**one, "grid": {**one["grid"], "most": most}} for one in before]
    agree(gather, draw(50, 300), np.random.default_rng(0).integers(0, 50, 37))
    gather.meta["launches"] = before


def test_what_does_little_beside_moving_elements_has_a_block_for_each():
    built = kernel("(a: float32, x: float32[n], y: float32[n]) -> (out: float32[n])", "out[i] = a * x[i] + y[i]")
    (launch,) = launches(built.meta, {"n": 10**8})
    assert launch.grid[0] > MOST_BLOCKS


ROWS = """
    for r in blocks(m):
        s = float32(0)
        for c in threads(n):
            s += x[r, c]
        for c in threads(n):
            x[r, c] = x[r, c] - s
            out[r, c] = x[r, c] * w[c]
"""


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 127, 128, 129, 200, 300])
def test_rows(n):
    signature = "(x: inout float32[m, n], w: float32[n]) -> (out: float32[m, n])"
    built = loop(signature, ROWS, "fastmath: []", "launch: {block: 32}")
    x = np.random.default_rng(n).integers(-9, 9, (3, n)).astype("f4")  # sums of them are exact
    agree(built, x, draw(n), seed=n)


def together(built):
    """The most loads of global memory in the PTX with no arithmetic on float32 between them."""
    steps = re.findall(r"ld\.global|(?:add|sub|mul|max|fma)[.\w]*f32", built.ptx)
    return max(len(list(group)) for what, group in itertools.groupby(steps) if what == "ld.global")


def test_loads_of_a_row_wait_together():
    body = "for r in blocks(m):\n    out[r] = max(x[r, c] for c in threads(n))"
    assert together(loop("(x: float32[m, n]) -> (out: float32[m])", body)) == 4


def test_a_reduction_over_a_grid_has_more_under_way():
    body = "s = float32(0)\nfor i in grid(n):\n    s += x[i]\nout[()] = s"
    assert together(loop("(x: float32[n]) -> (out: float32)", body)) == 8


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 2047, 2048, 2049, 5000])
def test_reductions_over_a_grid(n):
    body = "best = argmax(x[i] for i in grid(n))\nout[()] = best"
    agree(loop("(x: float32[n]) -> (out: int64)", body), np.round(draw(n, seed=n)), seed=n)


def test_reductions_over_a_grid_of_two_counts():
    body = "s = float32(0)\nfor i, j in grid(m, n):\n    s += x[i, j] * y[j]\nout[()] = s"
    built = loop("(x: float32[m, n], y: float32[n]) -> (out: float32)", body)
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-9, 9, shape).astype("f4") for shape in ((37, 61), (61,)))
    assert agree(built, x, y) == (x * y).sum()


def test_rows_with_private_elements_that_are_wider_than_the_loop():
    body = """
        for b in blocks(m):
            held = private((4, 40), float32)
            for i, j in threads(4, 40):
                held[i, j] = x[b, i, j]
            s = float32(0)
            for i, j in threads(4, n):
                s += x[b, i, j]
            for i, j in threads(4, n):
                out[b, i, j] = held[i, j] * s
    """
    signature = "(x: float32[m, 4, 40], n: int64) -> (out: float32[m, 4, n])"
    x = np.random.default_rng(0).integers(-9, 9, (2, 4, 40)).astype("f4")
    agree(loop(signature, body, "launch: {block: 32}"), x, 33)


@pytest.mark.parametrize("m, n", [(0, 5), (1, 1), (3, 40), (4, 300), (9, 33), (33, 2)])
def test_rows_of_a_grid(m, n):
    signature = "(x: inout float32[m, n], y: float32[n]) -> (out: float32[m, n])"
    body = "for i, j in grid(m, n):\n    x[i, j] = x[i, j] + y[j]\n    out[i, j] = x[i, j] - 1"
    built = loop(signature, body, "fastmath: []")
    assert at_once(built) == 4
    agree(built, draw(m, n), draw(n, seed=1))


def test_divisions_under_conditions_of_a_grid():
    """They may be done where nobody wants them, of numbers that are loaded only where they are wanted."""
    signature = "(x: int64[m, n], y: int64[m, n]) -> (out: int64[m, n], rest: int64[m, n])"
    body = """
        for i, j in grid(m, n):
            out[i, j] = x[i, j] // y[i, j] if j > 2 else -1
            rest[i, j] = x[i, j] % y[i, j] if x[i, j] > 3 else 5
    """
    built = loop(signature, body)
    for m, n in ((3, 7), (40, 33), (5, 300)):
        agree(built, draw(m, n, dtype="i8"), draw(m, n, dtype="i8", seed=1) // 20)


@pytest.mark.parametrize("k, m, n", [(2, 0, 3), (3, 5, 4), (2, 9, 70), (1, 1, 1)])
def test_planes_of_a_grid(k, m, n):
    body = "for i, j, c in grid(k, m, n):\n    out[j, i, c] = x[i, j, c]"
    agree(loop("(x: float64[k, m, n]) -> (out: float64[m, k, n])", body), draw(k, m, n, dtype="f8"))


@pytest.mark.parametrize("m, n", [(1, 1), (2, 9), (7, 40), (12, 300)])
def test_loads_that_a_condition_guards(m, n):
    body = """
        for i, j in grid(m, n):
            if 0 < i < m - 1 and j > 0:
                above = i - 1
                out[i, j] = x[above, j] + x[i + 1, j - 1]
            else:
                out[i, j] = x[i, j]
    """
    built = loop("(x: float32[m, n]) -> (out: float32[m, n])", body, "fastmath: []")
    assert at_once(built) == 4
    agree(built, draw(m, n))


def test_a_guarded_load_is_done_again_where_the_guard_does_not_hold():
    body = """
        for i in grid(n):
            if x[i] > 0:
                out[i] = y[i]
            else:
                out[i] = 1
            out[i] = out[i] + (z[i] if x[i] > 1 else y[i])
    """
    built = loop("(x: float32[n], y: float32[n], z: float32[n]) -> (out: float32[n])", body, "fastmath: []")
    assert at_once(built) == 4
    agree(built, draw(1500), draw(1500, seed=1), draw(1500, seed=2))


def test_conditions_that_are_not_known_early():
    body = """
        for i in grid(n):
            t = x[i]
            t += y[i]
            if t > 1:
                y[i] = z[i]
                if w[i] > 0:
                    y[i] = y[i] + w[i]
            out[i] = y[i] * t
    """
    built = loop("(x: float32[n], y: inout float32[n], z: float32[n], w: float32[n]) -> (out: float32[n])", body)
    agree(built, *(draw(1100, seed=k) for k in range(4)))


def test_nested_conditions_and_stores_in_them():
    body = """
        for i in grid(n):
            k = m[i]
            if k >= 0:
                t = x[k]
                if k > 3 and t > 0:
                    y[i] = t + y[i]
                else:
                    y[i] = x[k + 1]
            y[i] = y[i] * 2
    """
    built = loop("(m: int64[n], x: float32[p], y: inout float32[n]) -> (out: float32)", body + "        out[()] = 0\n")
    m = np.random.default_rng(0).integers(-5, 19, 1400)
    agree(built, m, draw(20), draw(1400, seed=1))


def test_loads_of_one_side():
    body = """
        for i in grid(n):
            left = x[i - 1] if i > 0 else float32(0)
            ok = i + 1 < n and x[i + 1] > 0
            if ok or y[i] > 0:
                out[i] = left + (y[i] if ok else x[i])
            else:
                out[i] = left
    """
    built = loop("(x: float32[n], y: float32[n]) -> (out: float32[n])", body, "fastmath: []")
    assert at_once(built) > 1
    for n in (0, 1, 2, 700, 1500):
        agree(built, draw(n), draw(n, seed=1))


def test_loads_of_a_tile_wait_together():
    body = """
        for b in blocks(m):
            tile = shared((16, 33), float32)
            for i, j in threads(16, 32):
                if j < n:
                    tile[i, j] = x[b, i, j]
            for j, i in threads(32, 16):
                if j < n:
                    out[b, j, i] = tile[i, j]
    """
    built = loop("(x: float32[m, 16, n]) -> (out: float32[m, n, 16])", body, "launch: {block: 128}")
    agree(built, draw(2, 16, 30))
    first_store = built.ptx.index("st.shared")
    assert built.ptx[:first_store].count("ld.global") == 4


def test_a_guard_is_rounded_early_as_in_its_place():
    """With the product in place of its name a sum would be rounded once, and the guard be another one."""
    body = """
        for i in grid(n):
            t = x[i] * y[i]
            d = t + z[i]
            if d <= 0:
                out[i] = w[0 if d == 0 else 1]
            else:
                out[i] = 7
    """
    signature = "(x: float32[n], y: float32[n], z: float32[n], w: float32[2]) -> (out: float32[n])"
    built, n = loop(signature, body), 1500
    x, z, w = np.full(n, 1 + 2**-12, "f4"), np.full(n, -(1 + 2**-11), "f4"), np.array([3, 4], "f4")
    assert (agree(built, x, x, z, w) == 3).all()


def test_loads_that_differ_in_the_sign_of_zero():
    body = """
        for i in grid(n):
            below = x[1 if copysign(y[i], -0.0) < 0 else 0]
            above = x[1 if copysign(y[i], 0.0) < 0 else 0]
            out[i] = below - 10 * above
    """
    built = loop("(x: float32[2], y: float32[n]) -> (out: float32[n])", body)
    assert (agree(built, np.array([1, 2], "f4"), np.ones(1500, "f4")) == -8).all()
