"""Indices that are brought between two values are looked at once, by these; whatever they are, nothing else is touched."""

import numpy as np
import pytest
from tests.targets.cpu.compiled import kernel, tree_of

from pydotcompute.check import memory
from pydotcompute.targets.cpu.lowering import lower

SIGNATURE = "(x: float32[n], y: int64[m], z: int32[m], b: uint8[m], lo: {0}, hi: {0}) -> (out: float32[m])"
LARGEST = np.int64((1 << 63) - 1)
WIDE = {
    "min(max(y[i], lo), hi)": lambda y, z, b, lo, hi: np.minimum(np.maximum(y, lo), hi),
    "max(min(hi, y[i]), lo)": lambda y, z, b, lo, hi: np.maximum(np.minimum(y, hi), lo),
    "min(max(y[i], lo), hi) + 1": lambda y, z, b, lo, hi: np.minimum(np.maximum(y, lo), hi) + 1,
    "max(min(hi, y[i]), lo) - 2": lambda y, z, b, lo, hi: np.maximum(np.minimum(y, hi), lo) - 2,
    "min(max(y[i], 0), n - 1)": lambda y, z, b, lo, hi: np.minimum(np.maximum(y, 0), 6),
    "(lo if y[i] > 0 else hi)": lambda y, z, b, lo, hi: np.where(y > 0, lo, hi),
    "(lo if y[i] > 0 else (3 if z[i] > 0 else hi))": lambda y, z, b, lo, hi: np.where(y > 0, lo, np.where(z > 0, 3, hi)),
    "b[i]": lambda y, z, b, lo, hi: b.astype("i8"),
    "(y[i] & 7)": lambda y, z, b, lo, hi: y & 7,
    "4 + (z[i] & 3)": lambda y, z, b, lo, hi: np.int64(4) + (z & 3),
    "min(max(y[i], lo), hi) - 9223372036854775807": lambda y, z, b, lo, hi: np.minimum(np.maximum(y, lo), hi) - LARGEST,
    "min(max(y[i], lo), max(y[i], hi))": lambda y, z, b, lo, hi: np.minimum(np.maximum(y, lo), np.maximum(y, hi)),
}
# of what is added before the end nobody knows where it went
NESTED = {
    "max(min(y[i], hi) + 1, 0)": lambda y, z, b, lo, hi: np.maximum(np.minimum(y, hi) + 1, 0),
    "max(min((y[i] & 9223372036854775807) + 1, hi), lo)": lambda y, z, b, lo, hi: np.maximum(
        np.minimum((y & LARGEST) + 1, hi), lo
    ),
    "min(max(y[i], lo), hi) + 9223372036854775807 + 10": lambda y, z, b, lo, hi: (
        np.minimum(np.maximum(y, lo), hi) + LARGEST + 10
    ),
    "(max(y[i] + 3, lo) if y[i] > 2 else max(hi, 0))": lambda y, z, b, lo, hi: np.where(
        y > 2, np.maximum(y + 3, lo), np.maximum(hi, 0)
    ),
}
NARROW = {
    "min(max(z[i], lo), hi)": lambda y, z, b, lo, hi: np.minimum(np.maximum(z, lo), hi),
    "min(max(z[i], lo), hi) + 1": lambda y, z, b, lo, hi: np.minimum(np.maximum(z, lo), hi) + np.int32(1),
    "min(max(z[i], lo), hi) - 2": lambda y, z, b, lo, hi: np.minimum(np.maximum(z, lo), hi) - np.int32(2),
    "int64(min(max(z[i], lo), hi)) - 2": lambda y, z, b, lo, hi: np.int64(1) * np.minimum(np.maximum(z, lo), hi) - 2,
    "min(max(z[i], 0), n - 1)": lambda y, z, b, lo, hi: np.minimum(np.maximum(z, 0), 6),
    "max(min(z[i], hi) + 1, int32(0))": lambda y, z, b, lo, hi: np.maximum(np.minimum(z, hi) + np.int32(1), 0),
}
CASES = [("int64", *case) for case in [*WIDE.items(), *NESTED.items()]] + [("int32", *case) for case in NARROW.items()]


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["grid(m)", "range(m)"])
@pytest.mark.parametrize("dtype, index, wanted", CASES, ids=[f"{dtype} {index}" for dtype, index, _ in CASES])
def test_an_index_brought_between_two_values(dtype, index, wanted, loop):
    k = kernel(f"for i in {loop}:\n    j = {index}\n    out[i] = x[j]", SIGNATURE.format(dtype), types="")
    limits = np.iinfo(dtype)
    ends = [0, 1, 3, 5, 6, 7, 8, -1, limits.min, limits.min + 1, limits.max, limits.max - 1]
    rng = np.random.default_rng(0)
    x, buffer = memory.guarded((7,), np.dtype("f4"))
    x[...] = rng.random(7)
    small, extremes = rng.integers(-3, 9, 50), rng.choice([limits.min, limits.max, -1, 0, 6, 7], 50)
    faults = 0
    for lo in ends:
        for hi in ends:
            for y in (np.clip(small, 0, 6), small, extremes):
                z, b = y.astype("i4"), np.clip(small, 0, 6 + lo % 2).astype("u1")
                with np.errstate(over="ignore"):
                    at = wanted(y, z, b, *np.array([lo, hi], dtype))
                inside = (at >= 0) & (at < 7)
                out = np.zeros(50, "f4")
                told = k.fault({"n": 7, "m": 50}, x=x, y=y, z=z, b=b, lo=lo, hi=hi, out=out)
                assert (told is None) == inside.all(), (lo, hi, y)
                if told:
                    faults += 1
                    assert told[2:5] == ("x", 0, 7) and told[5] in at[~inside]
                else:
                    assert (out == x[at]).all()
    assert faults or "n - 1" in index
    assert not memory.overrun(x, buffer)


@pytest.mark.parametrize("dtype, index", [("int64", index) for index in WIDE if "max(y[i], hi)" not in index])
def test_it_is_looked_at_once(dtype, index):
    text = lower(tree_of(f"for i in grid(m):\n    j = {index}\n    out[i] = x[j]", SIGNATURE.format(dtype), types="")).text
    assert "within(" in text


def test_of_what_wraps_nothing_is_known():
    """A difference of narrow integers may wrap to one inside."""
    for index in ("min(max(z[i], lo), hi) - 2", "min(max(z[i], lo), hi) * 2"):
        body = f"for i in grid(m):\n    j = {index}\n    out[i] = x[j]"
        assert "within(" not in lower(tree_of(body, SIGNATURE.format("int32"), types="")).text
