"""What atomics give, for every target: the value before, distinct ones of a count, and stores at them."""

import numpy as np
import pytest
from tests.targets.built import agree, draw, every_target, loop


@pytest.mark.slow
@every_target
def test_compaction(target):
    """In any order, what the condition keeps; by bins too, and by a count of each block."""
    body = """
        for i in grid(n):
            if x[i] > 0:
                out[atomic_add(count, 1)] = x[i]
            b = (i * i) % 8
            cell[b, atomic_add(bins, b, 1)] = i
        for r in blocks(n // 8):
            t = shared((1,), int32)
            for one in threads(1):
                t[0] = 0
            for c in threads(8):
                if x[8 * r + c] < 0:
                    part[r, atomic_add(t, 0, 1)] = 8 * r + c
    """
    signature = (
        "(x: float32[n]) -> (out: float32[n] = 0, bins: int32[8] = 0, cell: int64[8, n] = -1, count: int64 = 0, "
        "part: int32[n // 8, 8] = -1)"
    )
    built = loop(target, signature, body)
    for n in (0, 1, 50, 400):
        x = draw(n)
        out, bins, cell, count, part = built.call(x, seed=n)
        wanted = built.python(x)
        assert count == (x > 0).sum() and np.array_equal(np.sort(out[:count]), np.sort(x[x > 0])) and not out[count:].any()
        assert np.array_equal(bins, np.bincount(np.arange(n) ** 2 % 8, minlength=8))
        for got, other in ((cell, wanted[2]), (part, wanted[4])):
            assert np.array_equal(np.sort(got, 1), np.sort(other, 1))


@pytest.mark.slow
@every_target
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "float32", "uint8"])
def test_values(target, dtype):
    """Each value before is there once: the largest so far, and the sums on the way."""
    body = """
        for i in grid(n):
            seen[i] = atomic_add(total, 0, x[i])
            most[i] = atomic_max(high, x[i]) if i % 3 else x[i]
    """
    signature = "(x: T[n]) -> (seen: T[n], most: T[n], total: T[1] = 0, high: T = 0)"
    built = loop(target, signature, body, f"types: {{T: [{dtype}]}}")
    x = np.full(60, 3, dtype)
    seen, most, total, high = built.call(x, seed=1)
    assert np.array_equal(np.sort(seen), np.arange(60) * 3) and total == 180 and high == 3
    assert sorted(most[np.arange(60) % 3 > 0])[:2] == [0, 3] and set(most) <= {0, 3}


@pytest.mark.slow
@every_target
def test_outputs_as_long_as_a_count_says(target):
    """Trimmed when returned, allocated or given, several by one count; what does not fit is an error."""
    body = """
        for i in grid(n):
            if x[i] >= least:
                k = atomic_add(count, 1)
                out[k] = x[i]
                place[k, 1] = i
                place[k, 0] = -i
        if least < -900:
            count[()] = n + 1
    """
    signature = (
        "(x: float32[n], least: float32) -> (out: float32[<= n: count], place: int64[<= n: count, 2], count: int64 = 0)"
    )
    built = loop(target, signature, body)
    for n in (0, 1, 60, 300):
        x = draw(n)
        out, where, count = built.call(x, 0.5, seed=n)
        kept = np.flatnonzero(x >= 0.5)
        order = np.argsort(where[:, 1])
        assert out.shape == (count,) == (len(kept),) and where.shape == (count, 2)
        assert np.array_equal(where[order], np.stack([-kept, kept], 1)) and np.array_equal(out[order], x[kept])
        given = np.full(n, 7, "f4"), np.zeros((n, 2), "i8"), np.zeros((), "i8")
        out, where, total = built.call(x, 0.5, *given)
        assert out.base is given[0] and out.shape == (count,) and total is given[2] and (given[0][count:] == 7).all()
    with pytest.raises(IndexError, match=r"'out' has room for 3 elements \(float32\[<= n: count\]\), and count is 4"):
        built.call(draw(3), -1000)
    with pytest.raises(ValueError, match="output 'out' must have shape"):
        built.call(draw(3), 0, np.zeros(2, "f4"), *given[1:])


@pytest.mark.slow
@every_target
def test_the_bounds_of_a_range_from_the_left(target):
    """Each takes the next number, the start first and the step last."""
    body = """
        for one in grid(1):
            turns = 0
            for k in range(atomic_add(q, 0, 1), 10 * atomic_add(q, 0, 1), 1 + atomic_add(q, 0, 1)):
                turns += 1
                at[turns] = k
            for k in range(atomic_add(q, 0, 1), 4 * atomic_add(q, 0, 1)):
                turns += 1
                at[turns] = k
            at[0] = turns
    """
    built = loop(target, "(q: inout int64[1]) -> (at: int64[60] = 0)", body)
    for q in (1, 2, 5):
        at = agree(built, np.array([q]))
        wanted = [*range(q, 10 * (q + 1), q + 3), *range(q + 3, 4 * (q + 4))]
        assert at[0] == len(wanted) and at[1 : 1 + at[0]].tolist() == wanted


@every_target
def test_an_array_that_only_some_phases_update(target):
    body = """
        k[0] = k[1] + 5
        for i in grid(n):
            atomic_add(k, i % 3, 1)
        for i in grid(n):
            out[i] = k[i] * 2
    """
    agree(loop(target, "(k: inout int32[n]) -> (out: int32[n])", body), draw(300, dtype="i4"))
