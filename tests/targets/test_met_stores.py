"""Stores of one value by several iterations to one element, and atomics into strided arrays, for every target."""

import ml_dtypes  # noqa: F401 - which makes bfloat16 known
import numpy as np
import pytest

from tests.targets.built import agree, every_target, loop

SMALL = ["bool", "int8", "uint8", "int16", "uint16", "float16", "bfloat16", "int32", "float32"]


@every_target
@pytest.mark.parametrize("dtype", SMALL)
def test_one_value_from_all(target, dtype):
    """Elements around it, which are of the same word, are stored to at the same time."""
    built = loop(
        target,
        f"(x: int32[n], v: {dtype}) -> (out: {dtype}[4] = 0)",
        """
        for i in grid(n):
            if x[i] > 0:
                out[1] = v
            out[2] = v
        """,
    )
    for n in (1, 2, 3, 4, 64, 1000):
        for value in (1, 0):
            out = agree(built, np.ones(n, np.int32), bool(value) if dtype == "bool" else value)
            np.testing.assert_array_equal(np.asarray(out, np.float32), [0, value, value, 0])


@every_target
def test_one_value_within_blocks_and_from_phase_to_phase(target):
    built = loop(
        target,
        "(x: int32[m, n]) -> (count: int32) temp (seen: bool[m] = False)",
        """
        for b in blocks(m):
            for i in threads(n):
                if x[b, i] > 0:
                    seen[b] = True
        s = 0
        for b in grid(m):
            if seen[b]:
                s += 1
        count[()] = s
        """,
    )
    x = np.random.default_rng(0).integers(-5, 2, (40, 6)).astype(np.int32)
    assert agree(built, x) == (x > 0).any(1).sum()


@every_target
@pytest.mark.parametrize("dtype", ["int32", "int8", "float16", "float32"])
@pytest.mark.parametrize("op", ["add", "max"])
def test_atomics_into_strided_arrays(target, op, dtype):
    built = loop(
        target,
        f"(k: int32[n]) -> (h: strided {dtype}[8] = 0)",
        f"for i in grid(n):\n    atomic_{op}(h, k[i] & 7, {dtype}(k[i] & 3))",
    )
    k = np.random.default_rng(1).integers(0, 100, 60).astype(np.int32)
    wanted = np.zeros(8)
    {"add": np.add, "max": np.maximum}[op].at(wanted, k & 7, k & 3)
    np.testing.assert_array_equal(agree(built, k), wanted)


@every_target
def test_atomics_that_give_the_value_before_into_strided_arrays(target):
    built = loop(
        target,
        "(k: int32[n]) -> (h: strided int32[4] = 0, most: int32[n])",
        "for i in grid(n):\n    before = atomic_max(h, 1, k[i])\n    most[i] = max(before, k[i]) - before + before",
    )
    k = np.arange(60, dtype=np.int32)[::-1].copy()
    h, most = built.call(k)
    np.testing.assert_array_equal(h, [0, 59, 0, 0])
    assert (most >= k).all() and most.max() == 59
