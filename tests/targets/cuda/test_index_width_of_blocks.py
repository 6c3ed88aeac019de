"""Blocks that go by tiles, whose indices take 32 bits where a launch sees that all fits, and 64 elsewhere."""

import re

import pytest
from tests.targets.built import agree, draw
from tests.targets.cuda.cuda_support import loop

from pydotcompute.backends.launch import launches
from pydotcompute.targets.cuda.near import FEW

TURN = """
    for r, bi, bj in blocks(rows, (m + 15) // 16, (n + 15) // 16):
        tile = shared((16, 17), float32)
        for i, j in threads(16, 16):
            if bi * 16 + i < m and bj * 16 + j < n:
                tile[i, j] = x[r, bi * 16 + i, bj * 16 + j]
        for j, i in threads(16, 16):
            if bi * 16 + i < m and bj * 16 + j < n:
                out[r, bj * 16 + j, bi * 16 + i] = tile[i, j]
"""
LONE = """
    for b in blocks((m + 7) // 8):
        for i, j in threads(8, 48):
            if b * 8 + i < m and j < n:
                out[b * 8 + i, j] = x[m - 1 - b * 8 - i, j] if j % 3 else 1
"""
# Numbers that do not fit, of few rows: of an index, in a condition, of one that wrapped before.
FAR = """
    for b in blocks((m + 7) // 8):
        for i, j in threads(8, 4):
            if b * 8 + i < m and j < n:
                out[b * 8 + i, j] = x[(b * 8 + i) * 16777216 % m, j]
"""
LESS = """
    for b in blocks((m + 7) // 8):
        for i, j in threads(8, 4):
            if b * 8 + i < m and j < n:
                out[b * 8 + i, j] = x[b * 8 + i, j] if (b * 8 + i) * 16777216 < 4294967296 else 1
"""
WRAPPED = """
    for b in blocks((m + 7) // 8):
        k = int64((uint64(min(m, 0)) - uint64(1)) // uint64(4294967296))
        for i, j in threads(8, 4):
            if b * 8 + i < m and j < n:
                out[b * 8 + i, j] = x[b * 8 + i, j] if k + j < 9 else 1
"""
SQUARE = "(x: float32[m, n]) -> (out: float32[m, n])"


@pytest.fixture(scope="module")
def turn():
    return loop("(x: float32[..., m, n]) -> (out: float32[..., n, m])", TURN)


def launched(built, **sizes):
    return [one.entry for one in launches(built.meta, sizes)]


def test_the_sizes_of_a_call_decide(turn):
    assert launched(turn, rows=1, m=1, n=FEW) == launched(turn, rows=2, m=2**15, n=2**15 - 1) == ["k_near"]
    assert launched(turn, rows=1, m=1, n=FEW + 1) == launched(turn, rows=1, m=2**16, n=2**15) == ["k"]
    assert launched(turn, rows=2**15, m=2**15, n=2) == ["k"]  # whose elements are too many by one


def test_it_multiplies_no_sizes_of_64_bits(turn):
    far, near = (re.findall(r"(?:mul|mad)\.lo\.s64 .*, %rd\d+;", text) for text in turn.ptx.split(".entry k_near"))
    assert len(far) >= 5 and not near


@pytest.mark.slow
@pytest.mark.parametrize("rows, m, n", [(1, 1, 1), (2, 16, 33), (1, 40, 17), (3, 5, 2), (0, 4, 4), (2, 0, 4)])
@pytest.mark.parametrize("seed", [0, 1], ids=["near", "far"])
def test_tiles_of_any_size(turn, rows, m, n, seed):
    agree(turn, draw(rows, m, n), seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [[1], [2, 1, 1], [1, 2, 2]], ids=str)
def test_blocks_that_do_several_tiles(turn, counts):
    given = [{**one, "grid": {"kind": "given", "counts": counts}} for one in turn.meta["launches"]]
    turn.meta["launches"], before = given, turn.meta["launches"]
    for seed in (0, 1):
        agree(turn, draw(2, 40, 50), seed=seed)
    turn.meta["launches"] = before


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1], ids=["near", "far"])
@pytest.mark.parametrize("body, m, n", [(LONE, 21, 40), (LONE, 3, 48), (FAR, 301, 3), (LESS, 301, 3), (WRAPPED, 9, 4)])
def test_one_count_and_numbers_that_do_not_fit(body, m, n, seed):
    built = loop(SQUARE, body)
    assert launched(built, m=m, n=n) == ["k_near"]
    agree(built, draw(m, n), seed=seed)


@pytest.mark.parametrize(
    "body",
    [
        "for b in blocks(m):\n    for c in threads(n):\n        out[b, c] = x[b, c]",
        "for b in blocks(m):\n    for i, c in threads(1, n):\n        for k in range(n):\n            out[b, c] += x[b, k]",
    ],
    ids=["a row", "a loop"],
)
def test_others_have_one_version(body):
    assert "k_near" not in loop(SQUARE, body).ptx
