"""Barriers: PTX without one goes wrong in the interpreter, in one place or another; with them all it does not."""

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.targets.cuda.cuda_support import Built, loop

from tests.ptx import PtxError

# A block in which an index is checked has barriers more, at which its threads tell each other of a fault.
PLAIN = "unchecked: true"
REVERSE = """
    for r in blocks(m):
        row = shared((300,), float32)
        for c in threads(n):
            row[c] = x[r, c]
        for c in threads(n):
            out[r, c] = row[n - 1 - c] + x[r, c]
"""


def without(built: Built, number: int) -> Built:
    """The kernel with one of its barriers taken out."""
    places = [m.span() for m in re.finditer(r"bar\.sync[^;]*;", built.ptx)]
    start, end = places[number]
    return replace(built, data=(built.ptx[:start] + built.ptx[end:]).encode())


def count(built: Built) -> int:
    return len(re.findall(r"bar\.sync", built.ptx))


def goes_wrong(built: Built, wanted: np.ndarray, *args) -> bool:
    for seed in range(6):
        try:
            if not np.array_equal(built.call(*args, seed=seed), wanted):
                return True
        except PtxError:
            return True
    return False


def test_each_barrier_is_needed():
    x = np.random.default_rng(0).normal(size=(4, 300)).astype("f4")
    built = loop("(x: float32[m, n]) -> (out: float32[m, n])", REVERSE, PLAIN)
    built.meta["launches"][0]["grid"] = {"kind": "given", "counts": [2]}  # a block makes several rows
    wanted = x[:, ::-1] + x
    for seed in range(4):
        assert np.array_equal(built.call(x, seed=seed), wanted)
    assert count(built) == 2  # between the loops; and before the next row is put in
    for number in range(count(built)):
        assert goes_wrong(without(built, number), wanted, x), number


def test_the_barrier_of_a_reduction_is_needed():
    body = (
        "for r in blocks(m):\n    s = sum(x[r, c] for c in threads(n))\n    for c in threads(n):\n        out[r, c] = s"
    )
    built = loop("(x: float32[m, n]) -> (out: float32[m, n])", body, "launch: {block: 256}")
    x = np.ones((3, 300), "f4")
    assert (built.call(x) == 300).all() and count(built) == 1
    assert goes_wrong(without(built, 0), np.full_like(x, 300), x)


def test_none_where_each_thread_keeps_to_its_own():
    body = """
        for r in blocks(m):
            row = shared((300,), float32)
            for c in threads(n):
                row[c] = x[r, c]
            for c in threads(n):
                row[c] = row[c] * 2
            for c in threads(n):
                out[r, c] = row[c]
    """
    built = loop("(x: float32[m, n]) -> (out: float32[m, n])", body)
    x = np.random.default_rng(0).normal(size=(3, 300)).astype("f4")
    assert count(built) == 0 and np.array_equal(built.call(x), x * 2)


def test_under_uniform_conditions_and_in_sequential_loops():
    body = """
        for r in blocks(m):
            row = shared((64,), float32)
            for c in threads(64):
                row[c] = x[r, c]
            t = 1
            while t < steps[r]:
                if t % 2 == 1:
                    for c in threads(64):
                        out[r, c] = row[(c + t) % 64]
                    for c in threads(64):
                        row[c] = out[r, (c + 1) % 64]
                else:
                    for c in threads(64):
                        row[c] = row[c] + 1
                t += 1
            for c in threads(64):
                out[r, c] = row[63 - c]
    """
    built = loop("(x: float32[m, 64], steps: int64[m]) -> (out: float32[m, 64])", body)
    x, steps = np.random.default_rng(0).normal(size=(5, 64)).astype("f4"), np.array([1, 2, 3, 4, 7])
    built.meta["launches"][0]["grid"] = {"kind": "given", "counts": [2]}
    wanted = built.python(x, steps)
    for seed in range(4):
        assert np.array_equal(built.call(x, steps, seed=seed), wanted)
    # NVVM copies some of them, so not every copy is reached here: but most are needed at these steps.
    assert sum(goes_wrong(without(built, k), wanted, x, steps) for k in range(count(built))) >= 4


def test_a_divergent_barrier_is_found():
    built = loop("(x: float32[m, n]) -> (out: float32[m, n])", REVERSE, PLAIN)
    diverging = re.sub(
        r"bar\.sync\s+0;", "setp.lt.u32 %p99, %tid.x, 7;\n\t@%p99 ret;\n\tbar.sync 0;", built.ptx, count=1
    )
    diverging = diverging.replace(".reg .pred", ".reg .pred %p99;\n\t.reg .pred", 1)
    broken = replace(built, data=diverging.encode())
    with pytest.raises(PtxError, match="divergent barrier"):
        broken.call(np.zeros((2, 300), "f4"))


# The first thread stores to what the others read as the count of the same loop.
COUNTED = {
    "in a block": """
    for r in blocks(m):
        v = shared((300,), int64)
        v[0] = n
        for c in threads(v[0]):
            v[c] = c + 1
        for c in threads(n):
            out[r, c] = v[n - 1 - c]
""",
    "in a sequential loop of a block": """
    for r in blocks(m):
        v = shared((300,), int64)
        for c in threads(n):
            v[c] = n
        for j in range(3):
            for c in threads(v[0]):
                v[c] = v[c] - c - 1
        for c in threads(n):
            out[r, c] = v[n - 1 - c]
""",
    "under a condition": """
    for r in blocks(m):
        v = shared((300,), int64)
        for c in threads(n):
            v[c] = n
        if m > 1:
            for c in threads(v[0] - 1):
                v[c] = c
        for c in threads(n):
            out[r, c] = v[n - 1 - c]
""",
}


@pytest.mark.parametrize("place", COUNTED)
def test_the_barrier_between_counts_and_iterations_is_needed(place):
    built = loop("(x: float32[m, n]) -> (out: int64[m, n])", COUNTED[place], PLAIN)
    built.meta["launches"][0]["grid"] = {"kind": "given", "counts": [1]}
    x = np.zeros((3, 300), "f4")
    wanted = built.python(x)
    for seed in range(6):
        assert np.array_equal(built.call(x, seed=seed), wanted)
    needed = [goes_wrong(without(built, number), wanted, x) for number in range(count(built))]
    assert all(needed) and needed


@pytest.mark.parametrize("signature, row, length", [
    ("(x: float32[m, 32])", "row = shared((32,), float32)", 32),
    ("(x: float32[m, n], row: inout float32[m, n])", "pass", 1024),
])  # fmt: skip
def test_shuffles_are_no_barrier(signature, row, length):
    """What the threads of a warp exchange in a reduction says nothing of what they have stored before."""
    n, index = ("32", "") if length == 32 else ("n", "r, ")
    body = f"""
        for r in blocks(m):
            {row}
            s = float32(0)
            for c in threads({n}):
                row[{index}c] = x[r, c]
                s += x[r, c]
            for c in threads({n}):
                out[r, c] = row[{index}{n} - 1 - c] + s
    """
    built = loop(f"{signature} -> (out: float32[m, {n}])", body, PLAIN)
    entry = "k" if length == 32 else f"k_to_{length}"
    text = built.ptx[re.search(rf"\.entry {entry}\(", built.ptx).end() :].partition(".entry")[0]
    assert re.search(r"shfl.*bar\.(warp\.)?sync.*ld\.", text, re.S)
