"""Slices that count into copies of their own: what is counted is what one thread counts."""

import numpy as np
import pytest
from tests.targets.cpu.compiled import kernel, tree_of

from pydotcompute.targets.cpu.lowering import lower

COUNTS = """
for i in grid(n):
    k = x[i]
    for j in range(200):  # so that there are several slices; it ends with what it began with
        k ^= j
    atomic_add(counts, k, 1)
"""
SIGNATURE = "(x: int32[n], bins: int64) -> (counts: {}[bins] = 0)"
N = 200_000


@pytest.fixture(scope="module")
def numbers():
    return np.random.default_rng(0).integers(0, 1 << 30, N).astype("i4")


@pytest.mark.parametrize("dtype, bins", [("int64", 100), ("uint8", 7), ("int32", 4096), ("int32", 4097), ("int64", 1)])
def test_counts(numbers, dtype, bins):
    """Small types wrap around as they do on one thread; of 4097 there are no copies."""
    made = kernel(COUNTS, SIGNATURE.format(dtype), types="")
    x = (numbers % bins).astype("i4")
    wanted = np.bincount(x, minlength=bins)
    for threads in (1, 2, 5):
        counts = np.full(bins, 3, dtype)  # what is there already stays
        assert made({"n": N, "bins": bins}, threads, x=x, bins=bins, counts=counts) == 0
        assert np.array_equal(counts, (wanted + 3).astype(dtype)), (threads, bins)


def test_several_arrays_of_several_dimensions(numbers):
    body = """
    for i, j in grid(n, 2):
        k = x[i] >> j
        for l in range(200):
            k ^= l
        atomic_add(one, (k % 5, j), 1)
        atomic_add(other, k % 11, k & 3)
    """
    made = kernel(body, "(x: int32[n]) -> (one: int64[5, 2] = 0, other: int64[11] = 0)", types="")
    one, other = np.zeros((5, 2), "i8"), np.zeros(11, "i8")
    assert made({"n": N}, 3, x=numbers, one=one, other=other) == 0
    both = np.stack([numbers, numbers >> 1], 1)
    assert np.array_equal(one, np.stack([np.bincount(both[:, j] % 5, minlength=5) for j in (0, 1)], 1))
    assert np.array_equal(other, np.bincount(both.ravel() % 11, (both & 3).ravel(), 11).astype("i8"))


@pytest.mark.parametrize("arrays", [3, 80])
def test_many_arrays_do_not_fill_the_stack(numbers, arrays):
    """Of three, each may have a third of what one may; 80 have no copies."""
    every, bins = range(arrays), 4096 // 3
    outputs = ", ".join(f"h{k}: int64[bins] = 0" for k in every)
    updates = [f"    atomic_add(h{k}, x[i] % (bins - {k}), {k})" for k in every]
    made = kernel("\n".join(["for i in grid(n):", *updates]), f"(x: int32[n], bins: int64) -> ({outputs})", types="")
    for more in (0, 1):
        found = {f"h{k}": np.zeros(bins + more, "i8") for k in every}
        assert made({"n": N, "bins": bins + more}, 3, x=numbers, bins=bins + more, **found) == 0
        for k in every:
            wanted = k * np.bincount(numbers % (bins + more - k), minlength=bins + more)
            assert np.array_equal(found[f"h{k}"], wanted), k


def test_what_was_counted_before_an_index_outside_stays_counted(numbers):
    made = kernel(COUNTS, SIGNATURE.format("int64"), types="", bounds=True)
    x = (numbers % 9).astype("i4")
    x[-1] = 9
    counts = np.zeros(9, "i8")
    at = made.fault({"n": N, "bins": 9}, 3, x=x, bins=9, counts=counts)
    assert at is not None and at[-2:] == (9, 9) and counts.max() <= N // 8


COPIED = "compute_copied"
PLAIN = "(x: int32[n]) -> (out: int64[9] = 0)"


@pytest.mark.parametrize(
    "copied, signature, body",
    [
        (True, PLAIN, "for i in grid(n):\n    atomic_add(out, x[i] % 9, 1)"),
        (False, PLAIN, "for i in grid(n):\n    atomic_max(out, x[i] % 9, x[i])"),
        (False, PLAIN, "for i in grid(n):\n    atomic_add(out, x[i] % 8, 1)\n    atomic_max(out, 8, x[i])"),
        (False, PLAIN, "for i in grid(n):\n    k = atomic_add(out, x[i] % 9, 1)"),
        (False, "(x: int32[n]) -> (out: float64[9] = 0)", "for i in grid(n):\n    atomic_add(out, x[i] % 9, 1.0)"),
        (False, "(x: int32[n], out: inout strided int64[m]) -> ()", "for i in grid(n):\n    atomic_add(out, x[i] % m, 1)"),
    ],
)
def test_copies_are_where_the_order_of_updates_cannot_be_seen(copied, signature, body):
    assert (COPIED in lower(tree_of(body, signature, types="")).text) == copied
