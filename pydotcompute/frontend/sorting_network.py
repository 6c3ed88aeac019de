"""A sorting network, in the language's own words: which elements are compared does not depend on what they are, so a
processor has nothing to guess, and sorts several rows at once."""

from __future__ import annotations

from typing import Iterator


def pairs(n: int) -> Iterator[tuple[int, int]]:
    """What is compared and exchanged to sort n elements: Batcher's merge exchange (Knuth, 5.2.2, algorithm M)."""
    first = 1 << max((n - 1).bit_length() - 1, 0)
    p = first
    while p > 0:
        q, r, d = first, 0, p
        while d > 0:
            yield from ((i, i + d) for i in range(n - d) if i & p == r)
            d, q, r = q - p, q >> 1, p
        p >>= 1


def text(n: int, dtype: str) -> str:
    """Statements that sort the n elements of `a`, of which none is NaN."""
    lines = [f"s{k} = a[{k}]" for k in range(n)]
    for i, j in pairs(n):
        low, high = f"min(s{i}, s{j})", f"max(s{i}, s{j})"
        if dtype == "bool":
            low, high = f"s{i} & s{j}", f"s{i} | s{j}"
        if "float" in dtype:  # zeros of both signs stay both
            low, high = f"s{i} if s{i} < s{j} else s{j}", f"s{j} if s{i} < s{j} else s{i}"
        lines += [f"t = {low}", f"s{j} = {high}", f"s{i} = t"]
    return "\n".join([*lines, *(f"a[{k}] = s{k}" for k in range(n)), "pass"])
