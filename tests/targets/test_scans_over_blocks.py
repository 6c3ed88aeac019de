"""Scans over blocks, read by their threads too, in every target's code, against the interpreter and NumPy."""

import numpy as np
import pytest
from tests.targets.built import agree, draw, every_target, every_target_and, loop

pytestmark = pytest.mark.slow


@every_target_and("int64", "float32")
def test_it_is_read_before_and_after_its_update_and_by_threads(target, dtype):
    body = """
        s = T(3)
        for b in blocks(m):
            large = max(x[b, j] for j in threads(n))
            before[b] = s
            s += large
            for j in threads(n):
                y[b, j] = x[b, j] + s
            after[b] = s
        last[()] = s
    """
    signature = "(x: T[m, n]) -> (before: T[m], after: T[m], y: T[m, n], last: T)"
    built = loop(target, signature, body, f"types: {{T: [{dtype}]}}", "fastmath: []")
    for m, n in ((0, 3), (1, 1), (7, 40), (300, 5)):
        x = draw(m, n, dtype="i4").astype(dtype)
        before, after, y, last = agree(built, x, seed=m)
        large = x.max(1)
        assert (after == 3 + np.cumsum(large)).all() and (before == after - large).all()
        assert (y == x + after[:, None]).all() and last == 3 + large.sum()


@every_target
def test_rows_that_are_kept_in_their_order(target):
    """A count of some blocks gives each its own row; scans of the threads inside, and shared arrays beside them."""
    body = """
        k = 0
        for b in blocks(m):
            row = shared((40,), float32)
            s = float32(0)
            for j in threads(n):
                s += x[b, j]
                row[j] = s
            if row[n - 1] > 0:
                k += 1
                which[k - 1] = b
                for j in threads(n):
                    out[k - 1, j] = row[n - 1 - j]
        count[()] = k
    """
    signature = "(x: float32[m, n]) -> (out: float32[<= m: count, n], which: int64[<= m: count], count: int64)"
    built = loop(target, signature, body, "requires: [0 < n <= 40]")
    for m, n in ((0, 3), (5, 40), (200, 7)):
        x = draw(m, n, dtype="i4").astype("f4")
        out, which, count = agree(built, x, seed=m)
        sums = x.cumsum(1)
        kept = sums[:, -1] > 0
        assert count == kept.sum() and (which == np.flatnonzero(kept)).all() and (out == sums[kept][:, ::-1]).all()


@every_target
def test_one_that_goes_on_from_another_and_counts_from_a_start(target):
    """Each block needs the one before it; several counts, what is skipped, a reduction beside the scans."""
    body = """
        s = int64(1)
        low = int64(50)
        total = int64(0)
        for b, q in blocks((1, m), 2):
            part = shared((8,), int64)
            for j in threads(8):
                part[j] = x[b, j] + q + s
            if part[7] % 5 == 0:
                continue
            s += part[3] % 7 - 3
            low = min(low, s + part[0])
            for j in threads(8):
                out[b, q, j] = part[7 - j] * s - low
            total += s
        last[()] = s + low + total
    """
    signature = "(x: int64[m, 8]) -> (out: int64[m, 2, 8] = 0, last: int64)"
    built = loop(target, signature, body)
    for m in (0, 1, 6, 90):
        x = draw(m, 8, dtype="i8")
        out, last = agree(built, x, seed=m)
        s, low, total = 1, 50, 0
        for b in range(1, m):
            for q in range(2):
                part = x[b] + q + s
                if part[7] % 5:
                    s += part[3] % 7 - 3
                    low = min(low, s + part[0])
                    total += s
                    assert (out[b, q] == part[::-1] * s - low).all()
                else:
                    assert (out[b, q] == 0).all()
        assert last == s + low + total


@every_target
def test_what_threads_find_of_what_others_stored_makes_the_term(target):
    """A term of shared elements that other threads set, one from arrays that the loop stores to, and one of atomics."""
    body = """
        s = 0
        t = 0
        u = 0
        for b in blocks(m):
            turned = shared((16,), int32)
            counts = shared((4,), int32)
            for j in threads(16):
                turned[j] = x[b, 15 - j]
                if j < 4:
                    counts[j] = 0
            for j in threads(16):
                x[b, j] = turned[j] + 1
                atomic_add(counts, j % 4, turned[j])
            s += sum(turned[j] * j for j in threads(16))
            t += x[b, 2]
            u += counts[1]
            out[b, 0] = s
            out[b, 1] = t
            out[b, 2] = u
    """
    built = loop(target, "(x: inout int32[m, 16]) -> (out: int64[m, 3])", body)
    for m in (1, 5, 150):
        x = draw(m, 16, dtype="i4")
        out = agree(built, x, seed=m)
        turned = x[:, ::-1].astype("i8")
        terms = turned @ np.arange(16), turned[:, 2] + 1, turned[:, 1::4].sum(1)
        assert (out == np.cumsum(np.stack(terms, 1), axis=0)).all()
