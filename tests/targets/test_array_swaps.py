"""Swapped arrays, `v0, v1 = v1, v0`, for every target: its code against the interpreter, and both against NumPy."""

import numpy as np
import pytest
from tests.targets.built import agree, draw, every_target, loop

WAVE = """
    for i in grid(n):
        v0[i] = x[i]
        v1[i] = x[i]
    for t in range(steps):
        for i in grid((1, n - 1)):
            v1[i] = 0.5 * v0[i] + 0.25 * (v0[i - 1] + v0[i + 1])
        v0, v1 = v1, v0
    for i in grid(n):
        out[i] = v0[i]
"""


def smoothed(x, steps):
    x = x.copy()
    for _ in range(steps):
        x[1:-1] = 0.5 * x[1:-1] + 0.25 * (x[:-2] + x[2:])
    return x


@pytest.mark.slow
@every_target
def test_a_stencil_in_time(target):
    """After an even and an odd number of steps."""
    signature = "(x: float64[n], steps: int64) -> (out: float64[n]) temp (v0: float64[n], v1: float64[n])"
    built = loop(target, signature, WAVE, "fastmath: []")
    x = draw(50, dtype="f8")
    for steps in range(5):
        assert (agree(built, x, steps, seed=steps) == smoothed(x, steps)).all()
    assert "read" not in str(built.meta)  # the host of a device follows without waiting


@pytest.mark.slow
@every_target
def test_three_arrays_and_control_that_reads_them(target):
    """A rotation, a condition that reads what was swapped, `continue`, and a swap under `if`."""
    body = """
        for i in grid(n):
            a[i] = x[i]
            b[i] = 10 * x[i]
            c[i] = 100 * x[i]
        a, b, c = b, c, a
        turn = 0
        while a[0] < limit:
            turn += 1
            if turn % 4 == 3:
                a[0] += 1
                continue
            for i in grid(n):
                a[i] += b[i] + 2 * c[i]
            if turn % 2 == 0:
                a, b, c = c, a, b
        for i in grid(n):
            out[i] = a[i] + 1000 * b[i] - c[i]
    """
    signature = "(x: int64[n], limit: int64) -> (out: int64[n]) temp (a: int64[n], b: int64[n], c: int64[n])"
    built = loop(target, signature, body)
    for limit in (0, 1000, 100_000, 1_000_000):
        x = np.arange(1, 8)
        a, b, c = 10 * x, 100 * x, x.copy()
        turn = 0
        while a[0] < limit:
            turn += 1
            if turn % 4 == 3:
                a[0] += 1
                continue
            a += b + 2 * c
            if turn % 2 == 0:
                a, b, c = c, a, b
        assert (agree(built, x, limit) == a + 1000 * b - c).all()


@pytest.mark.slow
@every_target
def test_shared_arrays_of_a_block(target):
    """Steps in a block, with a barrier between them."""
    body = """
        for b in blocks(m):
            v0 = shared((32,), float64)
            v1 = shared((32,), float64)
            for i in threads(32):
                v0[i] = x[b, i]
                v1[i] = x[b, i]
            for t in range(steps):
                for i in threads((1, 31)):
                    v1[i] = 0.5 * v0[i] + 0.25 * (v0[i - 1] + v0[i + 1])
                v0, v1 = v1, v0
            for i in threads(32):
                out[b, i] = v0[i]
    """
    signature = "(x: float64[m, 32], steps: int64) -> (out: float64[m, 32])"
    built = loop(target, signature, body, "fastmath: []")
    x = draw(3, 32, dtype="f8")
    for steps in range(4):
        got = agree(built, x, steps, seed=steps)
        assert (got == np.array([smoothed(row, steps) for row in x])).all()


@pytest.mark.slow
@every_target
def test_local_arrays_of_an_iteration(target):
    """The edit distance of words by two rows."""
    body = """
        for i in grid(n):
            above = local((9,), int64)
            row = local((9,), int64)
            for k in range(9):
                above[k] = k
            for j in range(8):
                row[0] = j + 1
                for k in range(8):
                    change = above[k] + (a[i, k] != b[i, j])
                    row[k + 1] = min(change, above[k + 1] + 1, row[k] + 1)
                above, row = row, above
            out[i] = above[8]
    """
    built = loop(target, "(a: int32[n, 8], b: int32[n, 8]) -> (out: int64[n])", body)
    a, b = (np.random.default_rng(seed).integers(0, 3, (20, 8)).astype("i4") for seed in (1, 2))

    def distance(p, q):
        above = list(range(9))
        for j in range(8):
            row = [j + 1]
            for k in range(8):
                row.append(min(above[k] + (p[k] != q[j]), above[k + 1] + 1, row[k] + 1))
            above = row
        return above[8]

    assert agree(built, a, b).tolist() == list(map(distance, a, b))


@pytest.mark.slow
@every_target
def test_a_kernel_without_parallel_loop(target):
    body = """
        p[0] = 1
        q[0] = 0
        for i in range(k):
            q[0] = p[0] + q[0]
            p, q = q, p
        out[()] = q[0]
    """
    built = loop(target, "(k: int64) -> (out: int64) temp (p: int64[1], q: int64[1])", body)
    assert [int(agree(built, k)) for k in range(8)] == [0, 1, 1, 2, 3, 5, 8, 13]
