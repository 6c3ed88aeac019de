"""Kernels that would mean something else in another order, and the exact messages that refuse them."""

import pytest

from pydotcompute.analysis import races
from pydotcompute.errors import DeclarationError

REFUSED = {
    "a stencil in place": (
        "(x: inout T[n])",
        "for i in grid(n - 1):\n    x[i] = x[i + 1]",
        "`x` is read here, and another iteration of `grid` may write the same element on this line",
        "x[i] = x[i + 1]",
    ),
    "a stencil in place, two lines": (
        "(x: inout T[n])",
        "for i in grid(n - 1):\n    a = x[i + 1]\n    x[i] = a",
        "`x` is read here, and another iteration of `grid` may write the same element on line 3",
        "a = x[i + 1]",
    ),
    "a recurrence that starts later": (
        "(x: inout T[n])",
        "for i in grid((1, n)):\n    x[i] = x[i - 1]",
        "`x` is read here, and another iteration of `grid` may write the same element on this line",
        "x[i] = x[i - 1]",
    ),
    "a recurrence of every other element": (
        "(x: inout T[n])",
        "for i in grid((n - 1, 1, -2)):\n    x[i] = x[i - 2]",
        "`x` is read here, and another iteration of `grid` may write the same element on this line",
        "x[i] = x[i - 2]",
    ),
    "steps and a divisor that do not fit": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid((0, n, 2)):\n    out[i // 3] = x[i]",
        "iterations of `grid` may store different values to the same element of `out`",
        "out[i // 3] = x[i]",
    ),
    "ranges of blocks that overlap": (
        "(x: T[n]) -> (out: T[n])",
        "for t in blocks(n):\n    for i in threads((t, t + 2)):\n        out[i] = x[i] + t",
        "iterations of `blocks` may store different values to the same element of `out`",
        "out[i] = x[i] + t",
    ),
    "a private array by the number of the iteration": (
        "(x: T[n]) -> (out: T[n])",
        """
        for b in blocks(1):
            p = private((64,), float32)
            for i in threads((1, n)):
                p[i - 1] = x[i]
        """,
        "`p` is private, and used at other indices than [i] here",
        "p[i - 1] = x[i]",
    ),
    "pairs that overlap": (
        "(x: inout T[n], k: int64)",
        "for i in grid(n - k):\n    x[i] = x[i + k]",
        "`x` is read here, and another iteration of `grid` may write the same element on this line",
        "x[i] = x[i + k]",
    ),
    "an update at a data-dependent index": (
        "(x: inout T[n], k: int64[n])",
        "for i in grid(n):\n    x[k[i]] += 1",
        "`x` is read here, and another iteration of `grid` may write the same element on this line",
        "x[k[i]] += 1",
    ),
    "a transposition in place": (
        "(x: inout T[n, n])",
        "for i, j in grid(n, n):\n    x[i, j] = x[j, i]",
        "`x` is read here, and another iteration of `grid` may write the same element on this line",
        "x[i, j] = x[j, i]",
    ),
    "one row, all blocks": (
        "(x: inout T[n, m])",
        "for b in blocks(n):\n    for c in threads(m):\n        x[0, c] = x[0, c] + 1",
        "`x` is read here, and another iteration of `blocks` may write the same element on this line",
        "x[0, c] = x[0, c] + 1",
    ),
    "shared memory without a barrier": (
        "(x: T[n, 64]) -> (out: T[n, 64])",
        """
        for b in blocks(n):
            t = shared((64,), T)
            for c in threads(64):
                t[c] = x[b, c]
                if c > 0:
                    out[b, c] = t[c - 1]
        """,
        "`t` is read here, and another iteration of `threads` may write the same element on line 4",
        "out[b, c] = t[c - 1]",
    ),
    "a block's result read by another": (
        "(x: T[n], total: inout T[n]) -> (out: T[n])",
        """
        for b in blocks(n):
            total[b] = x[b]
            out[b] = total[n - 1 - b]
        """,
        "`total` is read here, and another iteration of `blocks` may write the same element on line 2",
        "out[b] = total[n - 1 - b]",
    ),
    "a guard that is not enough": (
        "(x: inout T[n])",
        "for i in grid(n):\n    if i < n // 2 + 1:\n        x[i] = x[i + n // 2]",
        "`x` is read here, and another iteration of `grid` may write the same element on this line",
        "x[i] = x[i + n // 2]",
    ),
    "a chunk too long": (
        "(x: inout T[n])",
        "for i in grid(n // 4):\n    for j in range(i * 4, i * 4 + 5):\n        x[j] = x[j] + 1",
        "`x` is read here, and another iteration of `grid` may write the same element on this line",
        "x[j] = x[j] + 1",
    ),
    "butterflies too wide": (
        "(x: inout T[n, 64])",
        """
        for b in blocks(n):
            for s in range(5):
                h = 1 << s
                for c in threads(32):
                    k = c // h * h + c % h
                    x[b, k] = x[b, k + h]
        """,
        "`x` is read here, and another iteration of `threads` may write the same element on this line",
        "x[b, k] = x[b, k + h]",
    ),
    "a range from data": (
        "(start: int64[k], x: inout T[n])",
        "for i in grid(k - 1):\n    for j in range(start[i], start[i + 1]):\n        x[j] = x[j] * 2",
        "`x` is read here, and another iteration of `grid` may write the same element on this line",
        "x[j] = x[j] * 2",
    ),
    "a guard on a name that changed": (
        "(x: inout T[n])",
        """
        for i in grid(n // 2):
            j = i
            if j < n // 2:
                j = j + 1
                x[i] = x[j]
        """,
        "`x` is read here, and another iteration of `grid` may write the same element on this line",
        "x[i] = x[j]",
    ),
    "different values to one element": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    out[0] = x[i]",
        "iterations of `grid` may store different values to the same element of `out`",
        "out[0] = x[i]",
    ),
    "an output scalar from all": (
        "(x: T[n]) -> (out: T)",
        "for i in grid(n):\n    out[()] = x[i]",
        "iterations of `grid` may store different values to the same element of `out`",
        "out[()] = x[i]",
    ),
    "a row from all blocks": (
        "(x: T[n, m]) -> (out: T[m])",
        "for b in blocks(n):\n    for c in threads(m):\n        out[c] = x[b, c]",
        "iterations of `blocks` may store different values to the same element of `out`",
        "out[c] = x[b, c]",
    ),
    "diagonals": (
        "(x: T[n, m]) -> (out: T[n + m])",
        "for i, j in grid(n, m):\n    out[i + j] = x[i, j]",
        "iterations of `grid` may store different values to the same element of `out`",
        "out[i + j] = x[i, j]",
    ),
    "pairs to one element": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    out[i // 2] = x[i]",
        "iterations of `grid` may store different values to the same element of `out`",
        "out[i // 2] = x[i]",
    ),
    "neighbours store to each other": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n - 1):\n    out[i] = x[i]\n    out[i + 1] = x[i]",
        "iterations of `grid` may store different values to the same element of `out`, here and on line 2",
        "out[i + 1] = x[i]",
    ),
    "atomics and reads": (
        "(x: T[n], k: int64[n]) -> (out: T[n] = 0)",
        "for i in grid(n):\n    atomic_add(out, k[i], x[i])\n    b = out[i]",
        "`out` is read here, and updated by `atomic_add` on line 2 in the same `grid` loop",
        "b = out[i]",
    ),
    "atomics and stores": (
        "(x: T[n], k: int64[n]) -> (out: T[n] = 0)",
        "for i in grid(n):\n    out[i] = 0\n    atomic_max(out, k[i], x[i])",
        "`out` is written here, and updated by `atomic_max` on line 3 in the same `grid` loop",
        "out[i] = 0",
    ),
    "two kinds of atomics": (
        "(x: T[n], k: int64[n]) -> (out: T[n] = 0)",
        "for i in grid(n):\n    atomic_add(out, k[i], x[i])\n    atomic_max(out, k[i], x[i])",
        "`out` is updated by `atomic_max` here and by `atomic_add` on line 2, in any order",
        "atomic_max(out, k[i], x[i])",
    ),
    "an index that comes round in int32": (
        "(x: inout int64[n])",
        "for i in grid(n):\n    j = int32(i) * int32(1073741824)\n    if j == 0:\n        x[int64(j)] += 1",
        "`x` is read here, and another iteration of `grid` may write the same element on this line",
        "x[int64(j)] += 1",
    ),
    "an index that comes round in int64": (
        "(n: int64, x: inout int64[m])",
        "for i in grid(n):\n    j = i * 2**62\n    if j == 0:\n        x[j] += 1",
        "`x` is read here, and another iteration of `grid` may write the same element on this line",
        "x[j] += 1",
    ),
    "an index that comes round to where it was": (
        "(x: inout int64[n])",
        "for i in grid(n):\n    x[i * 2**62 * 4] += 1",
        "`x` is read here, and another iteration of `grid` may write the same element on this line",
        "x[i * 2**62 * 4] += 1",
    ),
    "a conversion that wraps": (
        "(x: inout int64[n])",
        "for i in grid(n):\n    if i % 2 == 0:\n        x[int64(uint8(i))] += 1",
        "`x` is read here, and another iteration of `grid` may write the same element on this line",
        "x[int64(uint8(i))] += 1",
    ),
    "a ring turned by an int64 that wraps": (
        "(k: int64, x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    out[(i + k) % n] = x[i]",
        "iterations of `grid` may store different values to the same element of `out`",
        "out[(i + k) % n] = x[i]",
    ),
    "rests": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    out[i % 7] = x[i]",
        "iterations of `grid` may store different values to the same element of `out`",
        "out[i % 7] = x[i]",
    ),
    "a mask": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    out[i & 3] = x[i]",
        "iterations of `grid` may store different values to the same element of `out`",
        "out[i & 3] = x[i]",
    ),
    "the least of the index and a number": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    out[min(i, 3)] = x[i]",
        "iterations of `grid` may store different values to the same element of `out`",
        "out[min(i, 3)] = x[i]",
    ),
    "rests of squares": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    out[(i * i) % n] = x[i]",
        "iterations of `grid` may store different values to the same element of `out`",
        "out[(i * i) % n] = x[i]",
    ),
    "the neighbour under a condition": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    out[i] = x[i]\n    if i + 1 < n:\n        out[i + 1] = 0",
        "iterations of `grid` may store different values to the same element of `out`, here and on line 2",
        "out[i + 1] = 0",
    ),
    "one element under a condition of data": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    if x[i] > 0:\n        out[0] = x[i]",
        "iterations of `grid` may store different values to the same element of `out`",
        "out[0] = x[i]",
    ),
    "an index from data": (
        "(x: T[n], k: int64[n]) -> (out: T[n])",
        "for i in grid(n):\n    out[k[i]] = x[i]",
        "iterations of `grid` may store different values to the same element of `out`",
        "out[k[i]] = x[i]",
    ),
    "a sequential index that picks the iteration": (
        "(n: int64) -> (out: int64[n])",
        "for i in grid(n):\n    for q in range(n):\n        if q == i:\n            out[0] = q",
        "iterations of `grid` may store different values to the same element of `out`",
        "out[0] = q",
    ),
    "quotients by a dimension that may be 0": (
        "(x: T[n, s]) -> (out: T[n])",
        "for i in grid(n):\n    out[(3 + i * s) // s] = 1 / i",
        "iterations of `grid` may store different values to the same element of `out`",
        "out[(3 + i * s) // s] = 1 / i",
    ),
    "three atomics, the last of another kind": (
        "(n: int64, x: T[m], out: inout T[m])",
        """
        for i in grid(n):
            atomic_add(out, 2 * i, x[i])
            atomic_add(out, 2 * i + 1, x[i])
            atomic_min(out, 2 * (n - 1 - i) + 1, x[i])
        """,
        "`out` is updated by `atomic_min` here and by `atomic_add` on line 3, in any order",
        "atomic_min(out, 2 * (n - 1 - i) + 1, x[i])",
    ),
    "scatter and reads": (
        "(x: T[n], k: int64[n]) -> (out: T[n] = 0)",
        "for i in grid(n):\n    scatter(out, k[i], x[i])\n    b = out[i]",
        "`out` is read here, and updated by `scatter` on line 2 in the same `grid` loop",
        "b = out[i]",
    ),
    "scatter and stores": (
        "(x: T[n], k: int64[n]) -> (out: T[n] = 0)",
        "for i in grid(n):\n    out[i] = 0\n    scatter(out, k[i], x[i])",
        "`out` is written here, and updated by `scatter` on line 3 in the same `grid` loop",
        "out[i] = 0",
    ),
    "scatter and atomics": (
        "(x: T[n], k: int64[n]) -> (out: T[n] = 0)",
        "for i in grid(n):\n    scatter(out, k[i], x[i])\n    atomic_add(out, 0, x[i])",
        "`out` is updated by `scatter` here, and updated by `atomic_add` on line 3 in the same `grid` loop",
        "scatter(out, k[i], x[i])",
    ),
    "a private array at another index": (
        "(x: T[n, 64]) -> (out: T[n, 64])",
        """
        for b in blocks(n):
            mine = private((64,), T)
            for c in threads(64):
                mine[c] = x[b, c]
            for c in threads(63):
                out[b, c] = mine[c + 1]
        """,
        "`mine` is private, and used at other indices than [c] here",
        "out[b, c] = mine[c + 1]",
    ),
    "a private array outside threads": (
        "(x: T[n, 64]) -> (out: T[n, 64])",
        """
        for b in blocks(n):
            mine = private((64,), T)
            mine[0] = 1
        """,
        "`mine` is private, and used outside `threads` here",
        "mine[0] = 1",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, refusal):
    signature, body, message, line = REFUSED[name]
    assert refusal(signature, body, types="{T: [float32]}" if "T" in signature else "") == (message, line)


HELPERS = """
def at(r, c, cols):
    return r * cols + c

def clamped(i, n):
    if i < n:
        return i
    return n - 1
"""


def test_helpers_are_looked_into(check, refusal):
    body = "for i, j in grid(n, m):\n    x[at(i, j, m)] += y[i, j]"
    check("(x: inout T[size_], y: T[n, m])", body, helpers=HELPERS)
    body = "for i in grid(n):\n    x[clamped(i, n)] += 1"
    message, line = refusal("(x: inout T[n])", body, helpers=HELPERS)
    assert message == "`x` is read here, and another iteration of `grid` may write the same element on this line"
    assert line == "x[clamped(i, n)] += 1"


def test_the_way_out_is_written_out(tree):
    ways = {
        "(x: T[n], k: int64[n]) -> (out: T[n])": ("out[k[i]] = x[i]", "scatter(out, k, v)", ", or declare disjoint: [out] if the data keep them apart"),
        "(x: T[n]) -> (out: T)": ("out[()] = x[i]", "scatter(out, v)", ""),
    }
    for signature, (store, way, word) in ways.items():
        with pytest.raises(DeclarationError) as caught:
            races.check(tree(signature, f"for i in grid(n):\n    {store}"))
        assert caught.value.hint.startswith(f"write `{way}` if any one of the values may stay{word}; else use a reduction")
        races.check(tree(signature, f"for i in grid(n):\n    {way.replace('k', 'k[i]').replace('v', 'x[i]')}"))
