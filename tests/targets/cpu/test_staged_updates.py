"""Updates at places that are computed from floats, a block of iterations at a time: what the interpreter updates."""

import numpy as np
import pytest
from tests.targets.cpu.compiled import agree, kernel, tree_of

from pydotcompute.targets.cpu.lowering import lower

LENGTHS = (0, 1, 16, 17, 127, 128, 129, 1000)
ODD = (np.nan, np.inf, -np.inf, 3e9, -3e9, 1e19, -1e19, 2.0**31, -(2.0**31), 2.0**24 + 1, -0.5, -0.0, 0.9999999)

CLAMPED = """
for i in grid(n):
    v = x[i]
    if v <= high:
        atomic_add(counts, min(max(int64(v * 3), 0), bins - 1), 1)
"""
GUARDED = """
for i in grid(n):
    if x[i] >= 0 and x[i] < high:
        k = int64(x[i])
        if k < bins:
            atomic_add(counts, k, 2)
"""
SEVERAL = """
for i in grid(n):
    k = max(min(int64(x[i]), bins - 1), 0)
    atomic_max(counts, k, i)
    atomic_min(least, k % 3, 5 - i)
"""
PER_ROW = """
for i, j in grid(n // 50, 50):
    v = x[50 * i + j]
    if v == v:
        atomic_add(counts, min(int64(abs(v)), bins - 1), i + j)
"""
SUMS = """
for i in range(n):
    w = x[i] * x[i] + high
    k = min(max(int64(x[i] * 2), 0), bins - 1)
    totals[k] += w * high
    totals[bins - 1 - k] -= x[i]
    counts[k] += 1
"""


def seen(n, dtype, odd, scale=6.0):
    """Numbers, most of them small; with odd ones between them, or at the end of a block."""
    rng = np.random.default_rng(n)
    x = rng.normal(2, scale, n)
    if odd and n:
        where = np.array([*rng.integers(0, n, max(n // 60, 1)), n - 1])
        x[where] = rng.choice(ODD, len(where))
    return x.astype(dtype)


def both(body, signature, types, arguments, staged=True, **settings):
    assert ("_places" in lower(tree_of(body, signature, types=types, **settings)).text) is staged
    made = kernel(body, signature, types=types, **settings)
    for n in LENGTHS:
        for odd in (False, True):
            given = arguments(n, odd)
            agree(made, {"n": n, "bins": given["bins"]}, **given)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("body", [CLAMPED, GUARDED, SEVERAL, PER_ROW])
def test_counts(body, dtype):
    """Numbers outside every range, infinite ones and NaN count as they do one by one."""
    least = ", least: int64[3] = 9" if body is SEVERAL else ""
    signature = f"(x: T[n], high: T, bins: int64) -> (counts: int64[bins] = 0{least})"

    def arguments(n, odd):
        extra = {"least": np.full(3, 9)} if least else {}
        return {"x": seen(n, dtype, odd), "high": 7.5, "bins": 9, "counts": np.arange(9), **extra}

    both(body, signature, f"{{T: [{dtype}]}}", arguments)


@pytest.mark.parametrize("fastmath", ["[]", "[contract]"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_in_their_order(dtype, fastmath):
    """They have the bits of one update after the other."""

    def arguments(n, odd):
        totals = np.zeros(9, dtype)
        return {"x": seen(n, dtype, odd), "high": 0.3, "bins": 9, "totals": totals, "counts": np.zeros(9, "i4")}

    # sums that are in one operation have other bits in the interpreter
    signature = "(x: T[n], high: T, bins: int64) -> (totals: T[bins] = 0, counts: int32[bins] = 0)"
    if fastmath == "[]":
        both(SUMS, signature, f"{{T: [{dtype}]}}", arguments, extra="fastmath: []")
    else:
        one, other = (
            kernel(SUMS, signature, types=f"{{T: [{dtype}]}}", extra=f"fastmath: {fastmath}", bounds=bounds)
            for bounds in (False, True)
        )
        for n in LENGTHS:
            made = [arguments(n, False) for _ in range(2)]
            one({"n": n, "bins": 9}, **made[0]), other({"n": n, "bins": 9}, **made[1])
            assert made[0]["totals"].tobytes() == made[1]["totals"].tobytes()


@pytest.mark.parametrize("limit", [-3, 0, 5, (1 << 24) - 1, 1 << 24, (1 << 24) + 1, (1 << 31) - 1, 1 << 31, 1 << 40])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_limits_of_every_size(dtype, limit):
    """A limit that is no float, or has more than 32 bits, is kept all the same."""
    body = """
    for i in grid(n):
        atomic_add(counts, min(limit, max(0, int64(x[i]))) & (bins - 1), 1)
    """
    signature = "(x: T[n], limit: int64, bins: int64) -> (counts: int64[bins] = 0)"

    def arguments(n, odd):
        x = seen(n, dtype, odd, 1e7)
        x[::7] += limit
        return {"x": x, "limit": limit, "bins": 16, "counts": np.zeros(16, "i8")}

    both(body, signature, f"{{T: [{dtype}]}}", arguments)


def test_an_index_outside_is_told():
    body, signature = "for i in grid(n):\n    atomic_add(counts, int64(x[i]), 1)", "(x: T[n], m: int64) -> (counts: int64[m] = 0)"
    assert "_places" in lower(tree_of(body, signature)).text
    made = kernel(body, signature)
    x = np.arange(300, dtype="f4")
    counts = np.zeros(300, "i8")
    assert made.fault({"n": 300, "m": 300}, x=x, m=300, counts=counts) is None and (counts == 1).all()
    for value, at in ((300, 200), (-1, 0), (3e9, 299)):
        x = np.arange(300, dtype="f4")
        x[at] = value
        assert made.fault({"n": 300, "m": 300}, x=x, m=300, counts=counts)[2:] == ("counts", 0, 300, value)


def test_a_loop_that_leaves_something_is_as_it_is_written():
    """What is read after it, and what one iteration hands to the next."""
    signature = "(x: T[n], bins: int64) -> (counts: int64[bins] = 0, last: int64)"
    bodies = """
k = 0
for i in range(n):
    k = min(max(int64(x[i]), 0), bins - 1)
    counts[k] += 1
last[()] = k
""", """
k = 0
for i in range(n):
    k = min(max(int64(x[i]) + k, 0), bins - 1)
    counts[k] += 1
last[()] = 0
""", """
for i in range(n):
    counts[min(max(int64(x[i]) + counts[0], 0), bins - 1)] += 1
last[()] = 0
"""  # fmt: skip
    for body in bodies:
        both(
            body, signature, "{T: [float32]}",
            lambda n, odd: {"x": seen(n, "f4", odd), "bins": 9, "counts": np.zeros(9, "i8"), "last": np.zeros((), "i8")},
            staged=False,
        )  # fmt: skip


def test_elements_that_a_condition_guards_are_not_read_ahead():
    body = """
    for i in grid(n):
        if y[i] < m:
            atomic_add(counts, int64(x[y[i]]) & 3, 1)
    """
    signature = "(x: T[m], y: uint8[n]) -> (counts: int64[4] = 0)"
    assert "_places" not in lower(tree_of(body, signature)).text
