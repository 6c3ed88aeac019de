"""Arrays that a loop counts in, to whose copies in shared memory a block adds: which launches do so, and that nothing is
lost."""

import re

import numpy as np
import pytest
from tests.targets.built import agree, draw
from tests.targets.cuda.cuda_support import loop

from pydotcompute.backends.launch import launches
from pydotcompute.targets.cuda.block_counters import FEWEST, MOST, MOST_SUM, OF_ELEMENT

BODY = "for i in grid(n):\n    atomic_add(counts, k[i], 1)"
BLOCKS = pytest.mark.parametrize("seed", [0, 1], ids=["blocks", "arrays"])


def counting(dtype="int64", body=BODY, *more):
    return loop(f"(k: int64[n], counts: inout {dtype}[m])", body, *more)


@pytest.fixture(scope="module")
def histogram():
    return counting()


def launched(built, **sizes):
    return [one.entry for one in launches(built.meta, sizes)]


def blocks(built, n, m):
    (one,) = launches(built.meta, {"n": n, "m": m})
    return one.grid[0]


def counted(built):
    """The PTX of the version with copies."""
    return built.ptx.partition(".entry k_counted")[2]


def has(built):
    return bool(counted(built))


def places(n, m, seed=0):
    return np.random.default_rng(seed).integers(0, m, n)


# ---------------------------------------------------------------------------------------------------- the code


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32", "int64", "uint64"])
def test_the_loop_adds_32_bits_in_shared_memory(dtype):
    parts = counted(counting(dtype, BODY, "unchecked: true")).split("bar.sync")
    cleared, loop, flush = (re.findall(r"\b(?:atom|red)\.\S+", part) for part in parts)
    # of as many iterations at once as there are loads under way, and of the last ones, one by one
    assert loop == ["atom.shared.add.u32"] * 3
    assert not cleared and len(flush) == 1 and ".shared" not in flush[0]


def test_the_loads_of_several_iterations_come_before_the_first_update():
    built = loop("(x: float32[n], counts: inout int32[m])", "for i in grid(n):\n    atomic_add(counts, int64(x[i]), 1)")
    rounds = [re.findall(r"ld\.global|\.shared\.add", part) for part in re.split(r"bar\.sync|bra", counted(built))]
    assert any(part[:4] == ["ld.global"] * 4 for part in rounds)


# ------------------------------------------------------------------------------------------------ which version


def test_the_sizes_of_a_call_decide(histogram):
    assert launched(histogram, n=10**6, m=256) == ["k_counted"]
    assert launched(histogram, n=10**8, m=MOST) == ["k_counted"]
    assert launched(histogram, n=10**8, m=MOST + 1) == ["k"]
    assert launched(histogram, n=10**18, m=2**60) == ["k"]
    assert launched(histogram, n=FEWEST * 256 + 1, m=256) == ["k_counted"]
    assert launched(histogram, n=FEWEST * 256, m=256) == ["k"]
    assert launched(histogram, n=MOST_SUM, m=8) == ["k_counted"]
    assert launched(histogram, n=MOST_SUM + 1, m=8) == ["k"]
    assert launched(histogram, n=0, m=0) == launched(histogram, n=0, m=5) == []


def test_what_an_iteration_adds_decides():
    body = "for i in grid(n):\n    atomic_add(counts, k[i], 3)\n    if k[i] > 1:\n        atomic_add(counts, 0, -4)"
    built = counting("int64", body)
    assert launched(built, n=MOST_SUM // 7, m=8) == ["k_counted"]
    assert launched(built, n=MOST_SUM // 7 + 1, m=8) == ["k"]
    assert launched(counting("int32"), n=2**40, m=8) == ["k_counted"]  # it goes round as the array does


@pytest.mark.parametrize("n, m, least, most", [
    (10**8, 256, 1000, 2000), (10**6, 256, 200, 1000), (10**7, MOST, 200, 1000), (10**4, 256, 1, 4), (2**31 - 1, 1, 1000, 2000),
])  # fmt: skip
def test_blocks_have_more_to_count_than_to_add(histogram, n, m, least, most):
    found = blocks(histogram, n, m)
    assert least <= found <= most and n // found >= OF_ELEMENT * m


def test_of_wide_blocks_there_are_fewer():
    assert blocks(counting("int64", BODY, "launch: {block: 1024}"), 10**8, 256) == 256


def test_the_copies_of_all_arrays_are_to_fit():
    body = "for i in grid(n):\n    atomic_add(rows, r[i], 1)\n    atomic_add(both, (r[i], c[i]), 1)"
    built = loop("(r: int64[n], c: int64[n], rows: inout int64[m], both: inout int32[m, 3])", body)
    assert launched(built, n=10**7, m=MOST // 4) == ["k_counted"]
    assert launched(built, n=10**7, m=MOST // 4 + 1) == ["k"]


@pytest.mark.parametrize("dtype, statement", [
    ("int64", "atomic_add(counts, k[i], k[i])"),
    ("uint64", "atomic_add(counts, k[i], uint64(k[i]))"),
    ("int64", "atomic_add(counts, k[i], 2147483648)"),
    ("int64", "for j in range(9):\n        atomic_add(counts, k[i], 1)"),
    ("int64", "j = 9\n    while j > k[i]:\n        atomic_add(counts, k[i], 1)\n        j -= 1"),
    ("int32", "atomic_min(counts, k[i], 1)"),
    ("float32", "atomic_add(counts, k[i], 1)"),
    ("int32", "other[i] = atomic_add(counts, k[i], 1)"),
])  # fmt: skip
def test_others_have_one_version(dtype, statement):
    built = loop(f"(k: int64[n], counts: inout {dtype}[m]) -> (other: {dtype}[n])",
                 f"for i in grid(n):\n    {statement}\n    if k[i] < -9:\n        other[i] = 1")  # fmt: skip
    assert not has(built)


def test_one_version_where_the_declaration_has_a_grid_or_the_loop_two_counts():
    assert not has(counting("int64", BODY, "launch: {block: 64, grid: 4}"))
    body = "for i, j in grid(m, n):\n    atomic_add(counts, k[i, j], 1)"
    assert not has(loop("(k: int64[m, n], counts: inout int64[b])", body))


# --------------------------------------------------------------------------------------------------- the counts


@BLOCKS
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_of_each_dtype(dtype, seed):
    built = counting(dtype)
    assert launched(built, n=9000, m=7) == ["k_counted"] and blocks(built, 9000, 7) > 3
    agree(built, places(9000, 7), np.arange(7).astype(dtype), seed=seed)


@BLOCKS
@pytest.mark.parametrize("n", [0, 1, 32, 33, 34, 255, 513, 1025, 2049])
def test_of_any_size(histogram, n, seed):
    assert launched(histogram, n=n, m=1) == ["k_counted" if n > FEWEST else "k"][: n > 0]
    agree(histogram, places(n, 1), np.array([5]), seed=seed)


@pytest.mark.parametrize("m", [255, 256, 257, 700])
def test_of_more_elements_than_threads(histogram, m):
    n = FEWEST * m + 1
    assert launched(histogram, n=n, m=m) == ["k_counted"]
    agree(histogram, places(n, m), np.zeros(m, "i8"))


@pytest.mark.slow
def test_of_as_many_elements_as_fit(histogram):
    n = FEWEST * MOST + 1
    for m, entry in ((MOST, "k_counted"), (MOST + 1, "k")):
        assert launched(histogram, n=n + FEWEST * (m - MOST), m=m) == [entry]
        k = places(n, m)
        k[:2] = 0, m - 1
        agree(histogram, k, np.zeros(m, "i8"))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32"])
def test_values_that_go_round(dtype):
    signature = f"(k: int64[n], v: {dtype}[n], counts: inout {dtype}[m])"
    built = loop(signature, "for i in grid(n):\n    atomic_add(counts, k[i], v[i])")
    v = np.random.default_rng(1).integers(0, 2**32, 5000).astype(dtype)
    assert launched(built, n=5000, m=9) == ["k_counted"]
    agree(built, places(5000, 9), v, np.full(9, np.iinfo(dtype).max, dtype))


@BLOCKS
def test_values_below_0(seed):
    body = "for i in grid(n):\n    if k[i] % 2 == 1:\n        atomic_add(counts, k[i], -70000)\n    atomic_add(counts, 0, 3)"
    built = counting("int64", body)
    assert launched(built, n=5000, m=9) == ["k_counted"]
    agree(built, places(5000, 9), np.full(9, 2**40), seed=seed)


def test_updates_in_a_loop_of_an_array_of_32_bits():
    built = counting("int32", "for i in grid(n):\n    for j in range(k[i]):\n        atomic_add(counts, j, 1)")
    assert launched(built, n=400, m=9) == ["k_counted"]
    agree(built, places(400, 9), np.zeros(9, "i4"))


@BLOCKS
def test_several_arrays_and_a_number(seed):
    body = """
        for i in grid(n):
            out[i] = x[i] + 1
            if x[i] > 0:
                atomic_add(above, 1)
                atomic_add(both, (r[i], i % 3), 1)
            atomic_add(rows, r[i], uint32(i))
    """
    signature = "(x: float32[n], r: int64[n]) -> (out: float32[n], above: int64 = 0, rows: uint32[5] = 0, both: int64[5, 3] = 0)"
    built = loop(signature, body)
    assert launched(built, n=6000) == ["k_counted"]
    agree(built, draw(6000), places(6000, 5), seed=seed)


@BLOCKS
def test_views(seed):
    text = "(x: strided float32[...], n: int64) -> (counts: int64[n] = 0)"
    built = loop(text, "for i in grid(size):\n    atomic_add(counts, min(max(int64(x[i] + 4), 0), n - 1), 1)")
    assert launched(built, size=3000, n=8) == ["k_counted"]
    x = draw(50, 60)
    for view in (x, x[:, ::2], x[::-1, 1:], x.T, np.broadcast_to(x[0], (9, 60)), draw(9, 10, 20)[:, ::3].swapaxes(0, 2)):
        agree(built, view, 8, seed=seed)


def test_the_histogram_of_the_repository():
    body = """
        bins = n / (float64(high) - low)
        for i in grid(size):
            v = x[i]
            if low <= v <= high:
                atomic_add(counts, min(max(int64((float64(v) - low) * bins), 0), n - 1), 1)
    """
    built = loop("(x: float32[...], low: float32, high: float32, n: int64) -> (counts: int64[n] = 0)", body, 'requires: ["n > 0"]')
    assert launched(built, size=20000, n=10) == ["k_counted"]
    x = draw(20000)
    found = built.call(x, np.float32(-2), np.float32(2), 10)
    wanted, _ = np.histogram(x.astype("f8"), 10, (-2, 2))
    assert found.tolist() == wanted.tolist()


# ---------------------------------------------------------------------------------------------- indices outside


@BLOCKS
@pytest.mark.parametrize("wrong", [-1, 7, 10**12, MOST])
def test_an_index_outside_is_told_and_skipped(histogram, wrong, seed):
    k, counts = places(9000, 7), np.zeros(7, "i8")
    k[4321] = wrong
    with pytest.raises(IndexError) as told:
        histogram.call(k, counts, seed=seed)
    assert told.value.args[:4] == ("counts", 0, 7, wrong)
    assert (counts <= np.bincount(np.delete(k, 4321), minlength=7)).all()


def test_an_array_without_elements(histogram):
    assert launched(histogram, n=40, m=0) == ["k_counted"]
    with pytest.raises(IndexError):
        histogram.call(np.zeros(40, "i8"), np.zeros(0, "i8"))


def test_unchecked():
    built = counting("int64", BODY, "unchecked: true")
    assert "sites" not in built.meta and launched(built, n=9000, m=7) == ["k_counted"]
    agree(built, places(9000, 7), np.zeros(7, "i8"))
