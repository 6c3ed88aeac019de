"""Rows that a thread, a part of a warp or a warp does by itself: chosen by their length, right for any number of them,
in any grid."""

import numpy as np
import pytest
from tests.targets.built import agree, draw
from tests.targets.cuda.cuda_support import loop

from pydotcompute.backends.launch import launches

pytestmark = pytest.mark.slow

SIGNATURE = "(x: float32[m, n]) -> (out: float32[m, n])"
SOFTMAX = """
    for r in blocks(m):
        top = max(x[r, c] for c in threads(n))
        s = float32(0)
        for c in threads(n):
            s += x[r, c] - top
        for c in threads(n):
            out[r, c] = s * x[r, c]
"""
TURNED = """
    for r in blocks(m):
        for c in threads(n):
            out[r, c] = x[r, c]
        for c in threads(n):
            y[r, c] = out[r, n - 1 - c]
"""
SHARED = """
    for r in blocks(m):
        t = shared((8,), float32)
        for c in threads(8):
            t[c] = c
        for c in threads(n):
            out[r, c] = x[r, c] + t[c % 8]
"""
ROW = "for r in blocks(m):\n    out[r] = sum(x[r, c] for c in threads({}))"


def whole(*shape, seed=0):
    """Numbers whose sums are exact."""
    return np.random.default_rng(seed).integers(-9, 9, shape).astype("f4")


def launched(built, m, n):
    return [(one.entry, one.grid, one.block) for one in launches(built.meta, {"m": m, "n": n})]


@pytest.fixture(scope="module")
def softmax():
    return loop(SIGNATURE, SOFTMAX)


@pytest.fixture(scope="module")
def sums():
    return loop("(x: float32[m, n]) -> (out: float32[m])", ROW.format("n"))


def test_the_length_of_a_row_decides(sums):
    assert launched(sums, 300, 8) == [("k_to_8", (2, 1, 1), (1, 256, 1))]
    assert launched(sums, 300, 9) == launched(sums, 300, 16) == [("k_to_16", (5, 1, 1), (4, 64, 1))]
    assert launched(sums, 300, 17) == launched(sums, 300, 64) == [("k_to_64", (10, 1, 1), (8, 32, 1))]
    assert launched(sums, 20, 65) == launched(sums, 20, 1024) == [("k_to_1024", (3, 1, 1), (32, 8, 1))]
    assert launched(sums, 20, 1025) == launched(sums, 20, 2048) == [("k_to_2048", (20, 1, 1), (128, 1, 1))]
    assert launched(sums, 20, 2049) == [("k", (20, 1, 1), (256, 1, 1))]
    assert launched(sums, 0, 5) == []


LENGTHS = [
    (1, 0),
    (1, 1),
    (300, 3),
    (131, 4),
    (129, 7),
    (5, 9),
    (67, 13),
    (9, 16),
    (35, 31),
    (3, 33),
    (33, 64),
    (2, 127),
    (8, 128),
    (2, 129),
    (2, 1000),
    (2, 1100),
]


def test_what_was_built_before_there_were_teams_is_launched_by_warps():
    earlier = {"entry": "k_of_warps", "block": 256, "grid": {"kind": "blocks", "counts": ["m"], "warps": True}}
    (launch,) = launches({"launches": [earlier]}, {"m": 20})
    assert (launch.grid, launch.block) == ((3, 1, 1), (32, 8, 1))


@pytest.mark.parametrize("m, n", LENGTHS)
def test_rows_of_any_length(softmax, sums, m, n):
    for seed in (0, 1):  # as a call has it, and by blocks alone
        for built in (softmax, sums):
            agree(built, whole(m, n, seed=n), seed=seed)


@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("m, n", [(600, 5), (150, 40), (19, 100)])
def test_a_team_does_several_rows(sums, softmax, blocks, m, n):
    for built in (sums, softmax):
        x = whole(m, n)
        wanted = built.python(x)
        before = built.meta["launches"]
        built.meta["launches"] = [
            {**one, "grid": {**one["grid"], "kind": "given", "counts": [blocks]}}
            for one in before
            if "team" in one["grid"]
        ]
        for seed in (0, 2, 4):
            np.testing.assert_array_equal(built.call(x, seed=seed), wanted)
        built.meta["launches"] = before


def test_parts_of_a_warp_go_the_same_way():
    """Where rows decide what is done with them, they are done by a warp each."""
    body = ROW.format("n").replace("out[r] =", "if x[r, 0] > 0:\n        out[r] =")
    built = loop("(x: float32[m, n], out: inout float32[m])", body)
    assert all(one["grid"].get("team") in (None, 1, 32) for one in built.meta["launches"])
    for n in (5, 20, 70):
        agree(built, whole(37, n), draw(37))


def test_warps_wait_for_their_own_threads_alone():
    built = loop("(x: float32[m, n]) -> (out: float32[m, n], y: float32[m, n])", TURNED)
    x = whole(11, 70)
    for seed in range(4):
        assert np.array_equal(built.call(x, seed=seed)[1], x[:, ::-1])
    rows = built.ptx.partition(".entry k_to_64")[2].partition(".entry k_to_2048")[0]
    assert "bar.warp.sync" in rows and "bar.sync" not in rows.replace("bar.warp.sync", "")
    assert "bar.sync" in built.ptx


@pytest.mark.parametrize("expression, dtype", [("argmax", "int64"), ("min", "float32"), ("sum", "float32")])
def test_reductions_of_rows_along_three_axes(expression, dtype):
    body = f"for i, j in blocks(a, b):\n    out[i, j] = {expression}(x[i, j, c] for c in threads(n))"
    built = loop(f"(x: float32[a, b, n]) -> (out: {dtype}[a, b])", body)
    assert built.meta["launches"][1]["grid"]["kind"] == "tiles"
    for b, n in ((1, 5), (9, 33), (17, 300)):
        agree(built, whole(2, b, n, seed=b))


def test_complex_rows():
    body = "for r in blocks(m):\n    out[r] = sum(x[r, c] * x[r, c] for c in threads(n))"
    built = loop("(x: complex64[m, n]) -> (out: complex64[m])", body)
    x = (whole(10, 150) + 1j * whole(10, 150, seed=1)).astype("c8")
    agree(built, x)


@pytest.mark.parametrize(
    "signature, body, more",
    [
        (SIGNATURE, SHARED, ()),
        (SIGNATURE, SOFTMAX, ("launch: {block: 64}",)),
        (SIGNATURE, SOFTMAX.replace("blocks(m)", "blocks(1)"), ()),
        ("(x: float32[m, 64]) -> (out: float32[m])", ROW.format(64), ()),
        ("(x: float32[m, n], k: int64[m]) -> (out: float32[m])", ROW.format("min(k[r], n)"), ()),
    ],
    ids=["shared memory", "a declared block", "one row", "rows of one length", "a length from an array"],
)  # fmt: skip
def test_what_only_blocks_do(signature, body, more):
    assert len(loop(signature, body, *more).meta["launches"]) == 1


@pytest.mark.parametrize("n", [100, 1000, 5000])
def test_the_error_of_sums(n):
    """Few roundings a term, though a thread adds several terms before it carries its error."""
    body = "for r in blocks(m):\n    out[r] = sum(x[r, c] * y[c] for c in threads(n))"
    built = loop("(x: float32[m, n], y: float32[n]) -> (out: float32[m])", body)
    x, y = draw(4, n), draw(n, seed=1)
    terms = x.astype("f8") * y.astype("f8")
    bound = (8 + np.log2(n)) * np.finfo("f4").eps / 2 * np.abs(terms).sum(1)
    for seed in (0, 1):
        assert (np.abs(built.call(x, y, seed=seed) - terms.sum(1)) <= bound).all()
