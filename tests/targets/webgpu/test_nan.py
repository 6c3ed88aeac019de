"""NaN, infinities and denormals in WGSL, whose own comparisons may take NaN for impossible: what decides by them is as in
the interpreter, to the bit."""

import itertools

import numpy as np
import pytest
from tests.targets.built import agree, loop, marked

here = pytest.mark.parametrize("target", [marked("webgpu")])
SPECIAL = np.array([0.0, -0.0, 1, -1, np.nan, -np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-40, -1e-40], "f4")
COMPARISONS = ("a < b", "a <= b", "a > b", "a >= b", "a == b", "a != b", "a == a", "a != a", "a < 1.0", "isnan(a)")


@here
def test_comparisons(target):
    """Each, its contrary, and as what a loop goes on by, whose condition compilers turn round."""
    lines = ["for i in grid(n):", "    a = x[i]", "    b = y[i]"]
    for k, text in enumerate(COMPARISONS):
        lines += [f"    if {text}:", f"        out[i, {k}] += 1", f"    if not ({text}):", f"        out[i, {k}] += 2"]
        lines += ["    turns = 0", f"    while turns < 3 and not ({text}):", "        turns += 1", f"    out[i, {k}] += 4 * turns"]
    lines += ["    least[i] = min(a, b)", "    most[i] = max(a, b)", "    chosen[i] = a if a < b else b"]
    signature = "(x: float32[n], y: float32[n]) -> (out: int32[n, 10] = 0, least: float32[n], most: float32[n], chosen: float32[n])"
    pairs = np.array(list(itertools.product(SPECIAL, SPECIAL)), "f4")
    agree(loop(target, signature, "\n".join(lines)), *(np.ascontiguousarray(pairs[:, k]) for k in (0, 1)))


@here
def test_truth_of_complex_numbers(target):
    body = """
        for i in grid(n):
            same[i] = z[i] == w[i]
            if z[i]:
                nonzero[i] = 1
    """
    built = loop(target, "(z: complex64[n], w: complex64[n]) -> (same: bool[n], nonzero: int32[n] = 0)", body)
    few = np.array([0, -0.0, 1, np.nan, np.inf, 1e-40], "f4")
    quads = np.array(list(itertools.product(few, few, few, few)), "f4")
    agree(built, quads[:, :2].copy().view("c8")[:, 0], quads[:, 2:].copy().view("c8")[:, 0])


ROWS = np.concatenate([np.random.default_rng(0).choice(SPECIAL, (30, 70)), np.random.default_rng(1).normal(size=(10, 70))])


@here
@pytest.mark.parametrize("loops", [
    "for b in blocks(n):\n    {all}\n    for t in threads(1):\n        {store}",
    "for b in grid(n):\n    {all}\n    for t in range(1):\n        {store}",
], ids=["of a block", "of a thread"])  # fmt: skip
def test_extrema(target, loops):
    of = "threads" if "threads" in loops else "range"
    found = [f"v{k} = {name}(x[b, j] for j in {of}(m))" for k, name in enumerate(("min", "max", "argmin", "argmax"))]
    stores = [f"{array}[b, {k % 2}] = v{k}" for k, array in enumerate(("out", "out", "at", "at"))]
    body = loops.replace("{all}", "\n    ".join(found)).replace("{store}", "\n        ".join(stores))
    built = loop(target, "(x: float32[n, m]) -> (out: float32[n, 2], at: int32[n, 2])", body)
    agree(built, ROWS.astype("f4"))


@here
def test_median_and_searchsorted_of_rows_with_nan(target):
    body = """
        for i in grid(n):
            middle[i] = median(x[i], m)
            few[i] = median(x[i], 3)
            for j in range(m):
                y[i, j] = x[i, j]
            sort(y[i], m)
            for j in range(3):
                at[i, j] = searchsorted(y[i], m, x[i, j])
                behind[i, j] = searchsorted(y[i], m, x[i, j], 1)
    """
    outputs = "y: float32[n, m], middle: float32[n], few: float32[n], at: int32[n, 3], behind: int32[n, 3]"
    x = ROWS[20:, :40].astype("f4")
    y, middle, *_ = agree(loop(target, f"(x: float32[n, m]) -> ({outputs})", body), x)
    assert np.array_equal(y, np.sort(x, 1), equal_nan=True)
    assert np.isnan(middle[:10]).any() and not np.isnan(middle[10:]).any()


@here
def test_atomic_extrema(target):
    body = "for i in grid(n):\n    atomic_min(low, x[i])\n    atomic_max(high, x[i])"
    built = loop(target, "(x: float32[n]) -> (low: float32 = inf, high: float32 = -inf)", body)
    for x in ([1, np.nan, 2], [3, 1, 2], [-np.inf, np.inf], [-0.0, 0.0]):
        agree(built, np.array(x, "f4"))


@here
@pytest.mark.parametrize("dtype", ["bool", "uint16", "int64"])
def test_integers_are_sorted(target, dtype):
    body = """
        for i in grid(n):
            for j in range(m):
                y[i, j] = x[i, j]
            sort(y[i], m)
            at[i] = searchsorted(y[i], m, x[i, 0])
    """
    x = np.random.default_rng(3).integers(0, 2**63, (5, 60), "u8")
    x = (x >> np.uint64(62) > 0) if dtype == "bool" else x.astype(dtype)
    y, _ = agree(loop(target, f"(x: {dtype}[n, m]) -> (y: {dtype}[n, m], at: int32[n])", body), x)
    assert (y == np.sort(x, 1)).all()


@here
def test_the_root_of_a_constant_below_0(target):
    built = loop(target, "(n: int64) -> (out: float32[n])", "for i in grid(n):\n    out[i] = sqrt(float32(-1.0)) if i else sqrt(float32(4))")
    agree(built, 3)
