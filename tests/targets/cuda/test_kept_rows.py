"""Rows that stay in registers from loop to loop: what is read and stored only once, what may not be kept, and that rows
of every length come out right."""

import re

import numpy as np
import pytest
from tests.targets.built import agree, draw
from tests.targets.cuda.cuda_support import loop

from pydotcompute.backends.launch import launches
from pydotcompute.targets.cuda.kept_rows import found, slots

pytestmark = pytest.mark.slow

ONE, TWO = "(x: float32[m, n]) -> (out: float32[m, n])", "(x: float32[m, n], y: float32[m, n]) -> (out: float32[m, n])"
INOUT = "(x: inout float32[m, n])"
SOFTMAX = """
    for r in blocks(m):
        top = max(x[r, c] for c in threads(n))
        s = T(0)
        for c in threads(n):
            e = abs(x[r, c] - top)
            out[r, c] = e
            s += e
        for c in threads(n):
            out[r, c] *= s
"""
CENTRED = """
    for r in blocks(m):
        s = sum(x[r, c] for c in threads(n))
        for c in threads(n):
            out[r, c] = x[r, c] * n - s
"""
IN_PLACE = """
    for r in blocks(m):
        s = sum(x[r, c] for c in threads(n))
        for c in threads(n):
            x[r, c] = x[r, c] * 2 - s
        top = max(x[r, c] for c in threads(n))
        for c in threads(n):
            x[r, c] = x[r, c] + top
"""
READ_AFTER = """
    for r in blocks(m):
        for c in threads(n):
            out[r, c] = x[r, c] + 1
        s = sum(out[r, c] for c in threads(n))
        for c in threads(n):
            y[r, c] = out[r, c] * s
"""
READ_AGAIN = """
    for r in blocks(m):
        s = sum(x[r, c] for c in threads(n))
        t = float32(0)
        for c in threads(n):
            x[r, c] = x[r, c] * 2 - s
            t += x[r, c]
        for c in threads(n):
            out[r, c] = t
"""
REVERSED = """
    for r in blocks(m):
        for c in threads(n):
            out[r, n - 1 - c] = x[r, c]
        for c in threads(n):
            y[r, c] = out[r, c] + x[r, c]
"""
SOMETIMES = """
    for r in blocks(m):
        for c in threads(n):
            if x[r, c] > 0:
                out[r, c] = x[r, c]
        for c in threads(n):
            y[r, c] = out[r, c] + 1
"""
SKIPPED = """
    for r in blocks(m):
        s = sum(x[r, c] for c in threads(n))
        for c in threads(n):
            if x[r, c] > 2:
                continue
            out[r, c] = x[r, c] + s
        for c in threads(n):
            y[r, c] = out[r, c] + x[r, c]
"""
ELSEWHERE = """
    for r in blocks(m):
        for c in threads(n):
            out[r, c] = x[r, c] + 1
        first = out[r, 0]
        for c in threads(n):
            out[r, c] = out[r, c] * first
"""
GUARDED = """
    for r in blocks(m):
        s = sum(x[r, c] for c in threads(n) if y[r, c] > 0)
        for c in threads(n):
            out[r, c] = x[r, c] * s + y[r, c]
"""
LENGTHS = [
    0, 1, 4, 5, 7, 8, 9, 16, 17, 63, 64, 65, 100, 256, 257, 300, 512, 513, 1024, 1025, 2048, 2049, 4096, 4097, 8192, 8193, 16384, 16385,
]  # fmt: skip


def whole(*shape, seed=0):
    """Numbers whose sums are exact."""
    return np.random.default_rng(seed).integers(-9, 9, shape).astype("f4")


def accesses(built, length):
    """Of memory, in the version for rows of at most so many elements: (loads, stores)."""
    entry = built.ptx.partition(f".entry k_to_{length}(")[2].partition(".entry")[0]
    return len(re.findall(r"ld\.global", entry)), len(re.findall(r"st\.global", entry))


@pytest.fixture(scope="module")
def softmax():
    return loop(ONE, SOFTMAX.replace("T", "float32"))


def test_an_element_is_read_and_stored_once(softmax):
    for length, room in ((4, 4), (8, 4), (16, 4), (64, 8), (256, 8), (512, 16), (4096, 16)):
        # once where all threads have one, once where not all do; the first is 0 otherwise
        assert accesses(softmax, length) == (2 * room, 2 * room)


def test_a_thread_has_registers_for_one_row(softmax):
    """What is stored takes the place of what was loaded, and nothing stays from one row to the next."""
    for length, room in ((512, 16), (1024, 32), (8192, 32)):
        used = softmax.meta["resources"][f"k_to_{length}"]
        assert used["registers"] <= room + 32 and not used["spill_stores"]
    bounds = dict(re.findall(r"\.entry (\w+)\([^{]*?\.maxntid (\d+)", softmax.ptx))
    assert bounds == {one["entry"]: str(one["block"]) for one in softmax.meta["launches"]}  # not the largest for all


@pytest.mark.parametrize("n", LENGTHS)
def test_rows_of_every_length(softmax, n):
    (launch,) = launches(softmax.meta, {"m": 3, "n": n})
    least = min([length for length in (4, 8, 16, 64, 256, 512, 1024, 2048, 4096, 8192, 16384) if n <= length], default=None)
    assert launch.entry == ("k" if least is None else f"k_to_{least}")
    agree(softmax, whole(3, n, seed=n))


@pytest.mark.parametrize("m", [1, 5, 33, 300])
def test_any_number_of_rows(softmax, m):
    for n in (5, 12, 64):
        agree(softmax, whole(m, n, seed=m))


@pytest.mark.parametrize(
    "signature, body, places",
    [
        (ONE, CENTRED, {"x"}),
        (INOUT, IN_PLACE, {"x"}),
        ("(x: float32[m, n]) -> (out: float32[m, n], y: float32[m, n])", READ_AFTER, {"out"}),
        ("(x: inout float32[m, n]) -> (out: float32[m, n])", READ_AGAIN, {"x"}),
        (TWO, GUARDED, {"y"}),  # x is not read for every element
    ],
    ids=["read twice", "in place", "read after the last store", "read in its loop again", "under a condition"],
)
def test_what_is_kept(signature, body, places):
    built = loop(signature, body)
    assert {array for array, _ in found(built.tree)} == places
    for n in (6, 40, 130, 700, 5000):
        agree(
            built, *(whole(2, n, seed=k) for k in range(signature.count("x:") + signature.count("y: float32[m, n])")))
        )


@pytest.mark.parametrize(
    "signature, body",
    [
        ("(x: float32[m, n]) -> (out: float32[m, n], y: float32[m, n])", REVERSED),
        ("(x: float32[m, n]) -> (out: float32[m, n], y: float32[m, n])", SOMETIMES),
        ("(x: float32[m, n], out: inout float32[m, n]) -> (y: float32[m, n])", SKIPPED),
        (ONE, ELSEWHERE),
    ],
    ids=["stored by another thread", "not always stored", "skipped", "read for all threads"],
)
def test_what_is_stored_and_not_kept(signature, body):
    built = loop(signature, body)
    assert not [array for array, _ in found(built.tree) if array == "out"]
    arrays = [np.abs(whole(3, 70)) + 1, whole(3, 70, seed=1)]
    for seed in range(3):
        agree(built, *arrays[: 1 + ("inout" in signature)], seed=seed)


def test_one_array_for_two_arguments(softmax):
    """What may be the view that is written is read before it is."""
    assert ("out", "x") in softmax.tree.aliases
    for n in (6, 40, 130, 700, 5000, 9000):
        x = whole(3, n)
        wanted = softmax.python(np.array(x))
        together = np.array(x)
        softmax.call(together, out=together)
        np.testing.assert_array_equal(together, wanted)


def test_no_more_than_registers_hold():
    """Of larger elements, of several arrays and of such as are no rows of their own, fewer."""
    for signature, body, room in (
        (ONE, CENTRED, 32), (ONE.replace("32", "64"), CENTRED, 16), (ONE.replace("x: ", "x: strided "), CENTRED, 16),
        (TWO, "for r in blocks(m):\n    s = sum(x[r, c] * y[r, c] for c in threads(n))\n    for c in threads(n):\n"
              "        out[r, c] = x[r, c] * s + y[r, c]", 16),
    ):  # fmt: skip
        built = loop(signature, body)
        assert slots(built.tree, found(built.tree)) == room
        most = max(int(n) for n in re.findall(r"\.entry k_to_(\d+)", built.ptx))
        assert most == room * 512
        inputs = signature.partition("->")[0].count("[")
        arrays = [draw(2, most, dtype="f8" if "64" in signature else "f4", seed=k) for k in range(inputs)]
        np.testing.assert_allclose(built.call(*arrays), built.python(*arrays), rtol=1e-3, atol=1e-2)
