"""Kernels as users write them whose iterations over `grid` may run in any order."""

import pytest

ACCEPTED = {
    "the same value from all": ("(x: T[n]) -> (out: T[n])", "for i in grid(n):\n    out[0] = 1"),
    "a value that does not vary": (
        "(a: T, x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    b = a * 2\n    out[0] = b + x[0]",
    ),
    "one iteration's store": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    if i == n - 1:\n        out[0] = x[i]",
    ),
    "boundaries apart": (
        "(x: T[n]) -> (out: T[n])",
        """
        for i in grid(n):
            if i == 0:
                out[0] = x[0]
            elif i == n - 1:
                out[n - 1] = x[i]
            else:
                out[i] = x[i - 1] + x[i + 1]
        """,
    ),
    "atomics at data-dependent indices": (
        "(x: T[n], k: int64[n]) -> (out: T[n] = 0)",
        "for i in grid(n):\n    atomic_add(out, k[i], x[i])",
    ),
    "two kinds of atomics on two elements": (
        "(x: T[n]) -> (out: T[2] = 0)",
        "for i in grid(n):\n    atomic_min(out, 0, x[i])\n    atomic_max(out, 1, x[i])",
    ),
    "local arrays": (
        "(x: T[n]) -> (out: T[n])",
        """
        for i in grid(n):
            h = local((3,), T)
            for k in range(3):
                h[k] = x[i] + k
            out[i] = h[0] + h[1] + h[2]
        """,
    ),
    "a loop of one iteration": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(1):\n    out[0] = x[i]",
    ),
    "steps of the call, either way": (
        "(x: T[n], s: int64, t: int64) -> (out: T[2 * n, n])",
        "for i, j in grid((0, n, s), (n - 1, -1, t)):\n    out[2 * i + 1, n - 1 - j] = x[i]",
    ),
    "steps of the call, in mixed radix": (
        "(x: T[n], s: int64) -> (out: T[3 * n])",
        "for i in grid((0, n, s)):\n    for k in range(3):\n        out[3 * i + k] = x[i]",
    ),
    "every other row of a matrix that is seen flat": (
        "(x: T[m, n]) -> (out: T[m * n])",
        "for i, j in grid((0, m, 2), (n - 1, -1, -3)):\n    out[i * n + j] = x[i, j]",
    ),
    "rows of such a matrix, by a step of the call": (
        "(x: T[m, n], s: int64) -> (out: T[m * n])",
        "for i in grid((m - 1, -1, s)):\n    for j in range(n):\n        out[i * n + j] = x[i, j]",
    ),
    "rows of such a matrix, by a step that goes up": (
        "(x: T[m, n]) -> (out: T[m * n])",
        "for i, j in grid((0, m, m % 3 + 1), n):\n    out[i * n + j] = x[i, j]",
    ),
    "parts as long as the step, which is a dimension": (
        "(x: T[n], y: T[s]) -> (out: T[n])",
        """
        for i in grid((0, n, s)):
            for k in range(i, min(n, i + s)):
                out[k] = x[k] * y[k - i]
        """,
    ),
    "parts of at least two elements, which a condition before the loop says": (
        "(x: T[n], s: int64) -> (out: T[n])",
        """
        if s > 1:
            for i in grid((0, n - 1, s)):
                out[i] = x[i]
                out[i + 1] = x[i]
        """,
    ),
    "a triangle and its mirror, by inner ranges": (
        "(x: T[n, n]) -> (out: T[n, n])",
        """
        for i in grid(n):
            for j in range(i, n):
                out[i, j] = x[i, j]
                out[j, i] = x[i, j]
        """,
    ),
    "a triangle and its mirror, by a condition": (
        "(x: T[n, n]) -> (out: T[n, n])",
        """
        for i, j in grid(n, n):
            if j >= i:
                out[i, j] = x[i, j]
                out[j, i] = x[i, j]
        """,
    ),
    "a triangle and its mirror, flat": (
        "(x: T[n, n]) -> (out: T[n * n])",
        """
        for i in grid(n):
            for j in range(i, n):
                out[i * n + j] = x[i, j]
                out[j * n + i] = x[i, j]
        """,
    ),
    "a lower triangle and its mirror": (
        "(x: T[n, n]) -> (out: T[n, n])",
        """
        for i in grid(n):
            for j in range(i + 1):
                out[i, j] = x[i, j]
                out[j, i] = x[i, j]
        """,
    ),
    "mixed radix of dimensions": (
        "(x: T[N, M, R]) -> (out: T[N * M * R])",
        "for i, j, k in grid(N, M, R):\n    out[(i * M + j) * R + k] = x[i, j, k]",
    ),
    "mixed radix of numbers": (
        "(x: T[n]) -> (out: T[n * 32])",
        "for i, j, k in grid(n, 4, 8):\n    out[(i * 4 + j) * 8 + k] = x[i]",
    ),
    "mixed radix under a condition of data": (
        "(x: T[N, M, R]) -> (out: T[N * M * R])",
        """
        for i, j, k in grid(N, M, R):
            if x[i, j, k] > 0:
                out[(i * M + j) * R + k] = x[i, j, k]
        """,
    ),
    "a ring of as many places as iterations": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    out[(i + 3) % n] = x[i]",
    ),
    "a ring turned by an int32": (
        "(k: int32, x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    out[(i + int64(k)) % n] = x[i]",
    ),
    "a ring turned by the rest of an int64": (
        "(k: int64, x: T[n]) -> (out: T[n])",
        "s = k % n\nfor i in grid(n):\n    out[(i + s) % n] = x[i]",
    ),
    "a ring of more places than iterations": (
        "(x: T[n]) -> (out: T[8])",
        "for i in grid(5):\n    out[(i + 5) & 7] = x[i]",
    ),
    "a ring and a count of at most as many": (
        "(x: T[n]) -> (out: T[8])",
        "for i in grid(min(n, 8)):\n    out[(i + n) % 8] = x[i]",
    ),
    "quotients of steps of the divisor": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    out[(3 + i * 4) // 4] = x[i]",
    ),
    "quotients of steps of a dimension": (
        "(x: T[n, s]) -> (out: T[n])",
        "for i in grid(n):\n    if s > 0:\n        out[(3 + i * s) // s] = x[i, 0]",
    ),
    "steps of a strided loop, as many as a dimension": (
        "(x: T[n], y: T[s]) -> (out: T[n])",
        "for i in grid(s):\n    for j in range(i, n, s):\n        out[j] = x[j]",
    ),
    "backwards": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    out[n - 1 - i] = x[i]",
    ),
    "row and column of a flat index, stored": (
        "(x: T[n, m]) -> (out: T[n, m])",
        "for i in grid(n * m):\n    out[i // m, i % m] = x[i // m, i % m]",
    ),
    "the first and the last element apart": (
        "(x: T[n]) -> (out: T[n])",
        """
        for i in grid(n):
            if i > 0 and i < n - 1:
                out[i] = x[i]
            elif i == 0:
                out[i] = 1
            else:
                out[n - 1] = 2
        """,
    ),
    "two halves, stored": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n // 2):\n    out[i] = x[i]\n    out[i + n // 2] = x[i]",
    ),
    "two halves, from both ends": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n // 2):\n    out[i] = x[i]\n    out[n - 1 - i] = x[i]",
    ),
    "a block of elements for each": (
        "(x: T[n, m]) -> (out: T[2 * n, 2 * m])",
        """
        for i, j in grid(n, m):
            for a in range(2):
                for b in range(2):
                    out[2 * i + a, 2 * j + b] = x[i, j]
        """,
    ),
    "groups of eight under a guard": (
        "(x: T[n], w: int64[n]) -> (out: T[n])",
        """
        for i in grid((n + 7) // 8):
            for j in range(8):
                if i * 8 + j < n:
                    out[i * 8 + j] = x[i * 8 + j]
        """,
    ),
    "mixed radix of four dimensions": (
        "(x: T[a, b, c, d]) -> (out: T[a * b * c * d])",
        """
        for p, q in grid(a, b):
            for r in range(c):
                for s in range(d):
                    out[((p * b + q) * c + r) * d + s] = x[p, q, r, s]
        """,
    ),
    "both sides of a diagonal": (
        "(x: T[n, n]) -> (out: T[n, n])",
        """
        for i in grid(n):
            out[i, i] = 1
            for j in range(i):
                out[i, j] = x[i, j]
                out[j, i] = x[i, j]
        """,
    ),
    "planes of a dimension": (
        "(x: T[n, 3]) -> (out: T[3 * n])",
        """
        for i in grid(n):
            for c in range(3):
                out[c * n + i] = x[i, c]
        """,
    ),
    "quotient and rest of a number": (
        "(x: T[n]) -> (out: T[8, n])",
        """
        for i in grid(8 * n):
            out[i % 8, i // 8] = x[i // 8]
        """,
    ),
    "a scalar that is a dimension": (
        "(n: int64) -> (out: int64[n])",
        """
        for i in grid(n):
            out[(i + 3) % n] = i
        """,
    ),
    "pairs by an inner range": (
        "(x: T[n]) -> (out: T[n])",
        """
        for i in grid((n + 1) // 2):
            for k in range(2 * i, min(2 * i + 2, n)):
                out[k] = x[k]
        """,
    ),
    "scatter at data-dependent indices": (
        "(x: T[n], k: int64[n]) -> (out: T[n], last: T = 0)",
        """
        for i in grid(n):
            scatter(out, k[i], x[i])
            scatter(out, 0, 1)
            scatter(last, x[i])
        """,
    ),
    "three kinds of atomics on elements apart": (
        "(x: T[n]) -> (out: T[3 * n] = 0)",
        """
        for i in grid(n):
            atomic_add(out, i, x[i])
            atomic_min(out, i + n, x[i])
            atomic_max(out, i + 2 * n, x[i])
        """,
    ),
    "a narrow type that its values fit": (
        "(x: T[100]) -> (out: T[100])",
        "for i in grid(100):\n    j = int8(i)\n    out[int64(j + int8(27))] = x[i]",
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name, check):
    signature, body = ACCEPTED[name]
    check(signature, body, types="{T: [float32]}" if "T[" in signature else "")
