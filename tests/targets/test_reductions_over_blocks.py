"""Reductions over blocks, as values and as accumulators, for every target: exact ones to the bit, sums within the bound."""

import numpy as np
import pytest
from tests.targets.built import agree, draw, every_target, loop


@pytest.mark.slow
@every_target
def test_values(target):
    """Of what a block reduces over its threads, with and without conditions, in conditions and in expressions."""
    body = """
        top[()] = max(sum(abs(x[r, c]) for c in threads(m)) for r in blocks(n))
        place[()] = argmin(x[r, 0] + argmax(x[r, c] for c in threads(m)) for r in blocks(n) if x[r, 0] != 7)
        if any(max(x[r, c] for c in threads(m)) > 40 for r in blocks(n)):
            more[()] = 1 + sum(r * q for r, q in blocks(n, (1, 6, 2)))
        while sum(1 for r in blocks(n) if x[r, 0] > 0 and sum(1 for c in threads(m) if x[r, c] < -30) > 0) > more[()]:
            more[()] += 1
    """
    signature = "(x: int32[n, m]) -> (top: int64, place: int64, more: int64 = 0)"
    built = loop(target, signature, body)
    for n, m in ((0, 3), (1, 1), (5, 40), (300, 9)):
        x = draw(n, m, dtype="i4", seed=n)
        top, place, more = agree(built, x, seed=n)
        assert top == (np.abs(x).sum(1).max() if n else np.iinfo("i8").min)
        kept = [k for k in range(n) if x[k, 0] != 7]
        best = min(kept, key=lambda k: int(x[k, 0]) + int(x[k].argmax())) if kept else -1
        assert place == best
        few = int(((x[:, 0] > 0) & (x < -30).any(1)).sum()) if n else 0
        assert more == max(few, 1 + 9 * n * (n - 1) // 2 if n and x.max() > 40 else 0)


@pytest.mark.slow
@every_target
def test_accumulators(target):
    """Beside stores, several in one loop, under conditions and after `continue`; what they start from counts once."""
    body = """
        lowest = 9
        k = 1
        s = T(0.5)
        found = False
        for r, q in blocks(n, 3):
            large = max(x[r, c] for c in threads(m))
            out[r, q] = large
            if large < q:
                continue
            k += 1
            s += large
            s += q
            lowest = min(lowest, int64(large))
            if large > 49:
                found |= True
        count[()] = k
        total[()] = s
        least[()] = lowest
        any_[()] = found
    """
    signature = "(x: T[n, m]) -> (out: T[n, 3], count: int64, total: T, least: int64, any_: bool)"
    built = loop(target, signature, body, "types: {T: [float32]}", "fastmath: []")
    for n, m in ((0, 2), (3, 5), (130, 33)):
        x = draw(n, m, dtype="i4").astype("f4")
        out, count, total, least, found = agree(built, x, seed=n)
        kept = [(large, q) for large in x.max(1, initial=-99) for q in range(3) if large >= q] if n else []
        assert count == 1 + len(kept) and total == 0.5 + sum(map(sum, kept))
        assert least == min([9, *(large for large, _ in kept)]) and found == (max([0, *x.ravel()]) > 49)


@pytest.mark.slow
@every_target
def test_many_blocks(target):
    """More than there are chunks of them; sums of floats within their bound, the same bits again."""
    body = """
        s = T(0)
        for r in blocks(n):
            s += x[r]
        total[()] = s
        place[()] = argmax(x[r] for r in blocks(n))
    """
    built = loop(target, "(x: T[n]) -> (total: T, place: int64)", body, "types: {T: [float32]}", "fastmath: []")
    n = 5000 if target.startswith("cuda") else 70_001
    x = draw(n) + np.float32(1)
    total, place = built.call(x)
    assert place == x.argmax()
    bound = (8 + np.log2(n)) * np.finfo("f4").eps / 2 * np.abs(x).sum(dtype="f8")
    assert abs(float(total) - x.sum(dtype="f8")) <= bound
    assert built.call(x, seed=3) == (total, place)
