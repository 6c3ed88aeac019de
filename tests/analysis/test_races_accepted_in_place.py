"""Kernels as users write them that change arrays in place, and whose iterations over `grid` may run in any order."""

import pytest

ACCEPTED = {
    "elementwise in place": ("(x: inout T[...])", "for i in grid(size):\n    x[i] = x[i] * 2"),
    "atomics of two kinds that meet outside of the array alone": (
        "(x: inout int32[m], c: int64)",
        "for i in grid(m):\n    atomic_add(x, c, 1)\n    atomic_min(x, -2 - c, 5)",
    ),
    "augmented": ("(x: inout T[...], y: T[...])", "for i in grid(size):\n    x[i] += y[i]"),
    "half-split pairs": (
        "(x: inout T[h, dim])",
        """
        half = dim // 2
        for r, i in grid(h, half):
            a = x[r, i]
            b = x[r, i + half]
            x[r, i] = a - b
            x[r, i + half] = a + b
        """,
    ),
    "half-split pairs by a guard": (
        "(x: inout T[dim])",
        """
        for i in grid(dim):
            if i < dim // 2:
                x[i] = x[i + dim // 2]
        """,
    ),
    "interleaved pairs": (
        "(x: inout T[m])",
        """
        for i in grid(m // 2):
            a = x[2 * i]
            x[2 * i] = x[2 * i + 1]
            x[2 * i + 1] = a
        """,
    ),
    "flat indices of a matrix": (
        "(x: inout T[m], n: int64, cols: T[c])",
        """
        for i in grid(n):
            for j in range(c):
                x[i * c + j] = x[i * c + j] + cols[j]
        """,
    ),
    "flat indices of four dimensions": (
        "(x: T[n, m, k, h], y: inout T[s])",
        "for a, b, c, d in grid(n, m, k, h):\n    y[((a * m + b) * k + c) * h + d] = x[a, b, c, d]",
    ),
    "flat indices of three dimensions": (
        "(x: inout T[n, m, k], y: inout T[s])",
        """
        for a, b, c in grid(n, m, k):
            y[(a * m + b) * k + c] += x[a, b, c]
        """,
    ),
    "row and column of a flat index": (
        "(x: inout T[rows_, cols])",
        """
        for i in grid(rows_ * cols):
            x[i // cols, i % cols] *= 2
        """,
    ),
    "chunks of four": (
        "(x: inout T[n])",
        """
        for i in grid((n + 3) // 4):
            for j in range(i * 4, min(i * 4 + 4, n)):
                x[j] = x[j] + 1
        """,
    ),
    "a prefix in a chunk": (
        "(x: inout T[n])",
        """
        for i in grid(n // 8):
            for j in range(1, 8):
                x[i * 8 + j] += x[i * 8 + j - 1]
        """,
    ),
    "red and black": (
        "(x: inout T[n])",
        """
        for i in grid((n - 1) // 2):
            x[2 * i + 1] = x[2 * i + 1] + 0.5 * x[2 * i + 1]
        """,
    ),
    "reversal, each pair once": (
        "(x: inout T[n])",
        """
        for i in grid(n // 2):
            a = x[i]
            x[i] = x[n - 1 - i]
            x[n - 1 - i] = a
        """,
    ),
    "continue as a guard": (
        "(x: inout T[n], k: int64)",
        """
        for i in grid(n):
            if i >= k:
                continue
            if k + i >= n:
                continue
            x[i] = x[i + k]
        """,
    ),
    "an iteration's own column": (
        "(x: inout T[n, m])",
        """
        for j in grid(m):
            i = 1
            while i < n:
                x[i, j] += x[i - 1, j]
                i += 1
        """,
    ),
    "steps of a strided loop": (
        "(x: inout T[n])",
        """
        for i in grid(4):
            for j in range(i, n, 4):
                x[j] = x[j] + 1
        """,
    ),
    "mixed radix of counts that no array bounds": (
        "(N: int64, x: T[M], y: T[R], out: inout T[s])",
        "for i, j, k in grid(N, M, R):\n    out[(i * M + j) * R + k] = x[j] + y[k]",
    ),
    "mixed radix of scalars": (
        "(N: int64, M: int64, R: int64, out: inout T[s])",
        "for i, j, k in grid(N, M, R):\n    out[(i * M + j) * R + k] = i + j",
    ),
    "even and odd elements": (
        "(x: T[n], out: inout T[m])",
        "for i in grid(n):\n    out[2 * i] = x[i]\n    out[2 * i + 1] = 0",
    ),
    "an offset that nothing bounds": (
        "(k: int64, x: T[n], out: inout T[m])",
        "for i in grid(n):\n    out[i + k] = x[i]",
    ),
    "an offset that nothing bounds, under a guard": (
        "(k: int64, x: T[n], out: inout T[m])",
        "for i in grid(n):\n    if i + k >= 0 and i + k < m:\n        out[i + k] = x[i]",
    ),
    "a stride that nothing bounds": (
        "(k: int64, x: T[n], out: inout T[m])",
        "for i in grid(n):\n    if k > 0:\n        out[i * k] = x[i]",
    ),
    "arithmetic under a condition that keeps it in its type": (
        "(k: int64, x: T[n], out: inout T[m])",
        """
        for i in grid(n):
            if 0 < k <= 1000:
                if x[i] > 0:
                    out[i * k] = x[i]
        """,
    ),
    "every other element, from its neighbours": (
        "(x: inout T[n], c: int64)",
        "for i in grid((c, n - 1, 2)):\n    x[i] = x[i - 1] + x[i + 1]",
    ),
    "the same, downwards": (
        "(x: inout T[n])",
        "for i in grid((n - 2, 0, -2)):\n    x[i] = x[i - 1] + x[i + 1]",
    ),
    "a column of the triangle below the diagonal": (
        "(x: inout T[n, n], k: int64)",
        "for i in grid((k + 1, n)):\n    x[i, k] = x[i, k] / x[k, k]",
    ),
    "rows below the pivot's": (
        "(x: inout T[n, n], k: int64)",
        "for i, j in grid((k + 1, n), (k + 1, n)):\n    x[i, j] -= x[i, k] * x[k, j]",
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name, check):
    signature, body = ACCEPTED[name]
    check(signature, body, types="{T: [float32]}" if "T[" in signature else "")
