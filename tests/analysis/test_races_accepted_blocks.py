"""Kernels as users write them whose blocks, and the threads of one, may run in any order."""

import pytest

ACCEPTED = {
    "half-split pairs in a block": (
        "(x: inout T[heads, dim], c: T[half])",
        """
        for r in blocks(heads):
            for i in threads(half):
                a = x[r, i]
                b = x[r, i + half]
                x[r, i] = a * c[i] - b * c[i]
                x[r, i + half] = a * c[i] + b * c[i]
        """,
    ),
    "a row by a block": (
        "(x: inout T[..., cols])",
        """
        for r in blocks(rows):
            m = max(x[r, c] for c in threads(cols))
            s = T(0)
            for c in threads(cols):
                e = exp(x[r, c] - m)
                x[r, c] = e
                s += e
            for c in threads(cols):
                x[r, c] /= s
        """,
    ),
    "a tile in shared memory": (
        "(x: T[n, m]) -> (out: T[m, n])",
        """
        for a, b in blocks((n + 15) // 16, (m + 15) // 16):
            tile = shared((16, 17), float32)
            for r, c in threads(16, 16):
                if a * 16 + r < n and b * 16 + c < m:
                    tile[r, c] = x[a * 16 + r, b * 16 + c]
            for r, c in threads(16, 16):
                if b * 16 + r < m and a * 16 + c < n:
                    out[b * 16 + r, a * 16 + c] = tile[c, r]
        """,
    ),
    "a tree reduction": (
        "(x: T[n]) -> (out: T[n])",
        """
        for b in blocks(n // 128):
            t = shared((128,), T)
            for c in threads(128):
                t[c] = x[b * 128 + c]
            s = 128
            while s > 1:
                s = s // 2
                for c in threads(s):
                    t[c] += t[c + s]
            out[b] = t[0]
        """,
    ),
    "butterflies": (
        "(x: inout T[n, 64])",
        """
        for b in blocks(n):
            t = shared((64,), T)
            for c in threads(64):
                t[c] = x[b, c]
            for s in range(6):
                h = 1 << s
                for c in threads(32):
                    k = c // h * 2 * h + c % h
                    a = t[k]
                    d = t[k + h]
                    t[k] = a + d
                    t[k + h] = a - d
            for c in threads(64):
                x[b, c] = t[c]
        """,
    ),
    "a bitonic sort": (
        "(x: inout T[n, 64])",
        """
        for b in blocks(n):
            t = shared((64,), T)
            for c in threads(64):
                t[c] = x[b, c]
            k = 2
            while k <= 64:
                j = k // 2
                while j > 0:
                    for c in threads(32):
                        low = c // j * 2 * j + c % j
                        high = low + j
                        if (t[low] > t[high]) == (low & k == 0):
                            t[low], t[high] = t[high], t[low]
                    j //= 2
                k *= 2
            for c in threads(64):
                x[b, c] = t[c]
        """,
    ),
    "an elimination in a block": (
        "(x: inout T[n, 16, 16])",
        """
        for q in blocks(n):
            for k in range(16):
                for i in threads(15 - k):
                    x[q, k + 1 + i, k] /= x[q, k, k]
                for i, j in threads(15 - k, 15 - k):
                    x[q, k + 1 + i, k + 1 + j] -= x[q, k + 1 + i, k] * x[q, k, k + 1 + j]
        """,
    ),
    "one block's store": (
        "(x: T[n]) -> (out: T[n])",
        "for b in blocks(1):\n    out[0] = max(x[c] for c in threads(n))",
    ),
    "a block's own histogram": (
        "(x: int32[n]) -> (out: int32[16] = 0)",
        """
        for b in blocks((n + 255) // 256):
            own = shared((16,), int32)
            for c in threads(16):
                own[c] = 0
            for c in threads(256):
                if b * 256 + c < n:
                    atomic_add(own, x[b * 256 + c] & 15, 1)
            for c in threads(16):
                atomic_add(out, c, own[c])
        """,
    ),
    "private arrays": (
        "(x: T[n, 64]) -> (out: T[n, 64])",
        """
        for b in blocks(n):
            mine = private((64,), T)
            for c in threads(64):
                mine[c] = x[b, c]
            for c in threads(64):
                j = c
                out[b, c] = mine[j] * 2
        """,
    ),
    "mixed radix in blocks and threads": (
        "(x: T[N, M, R]) -> (out: T[N * M * R])",
        """
        for i in blocks(N):
            for j, k in threads(M, R):
                out[(i * M + j) * R + k] = x[i, j, k]
        """,
    ),
    "tiles under a guard": (
        "(x: T[n]) -> (out: T[n])",
        """
        for b in blocks((n + 255) // 256):
            for c in threads(256):
                if b * 256 + c < n:
                    out[b * 256 + c] = x[b * 256 + c]
        """,
    ),
    "an outer sequential index held fixed": (
        "(x: T[n, m]) -> (out: T[n + m])",
        """
        for b in blocks(1):
            for i in range(n):
                for c in threads(m):
                    out[i + c] = x[i, c]
        """,
    ),
    "mixed radix of four dimensions, in blocks": (
        "(x: T[a, b, c, d]) -> (out: T[a * b * c * d])",
        """
        for p, q in blocks(a, b):
            for r, s in threads(c, d):
                out[((p * b + q) * c + r) * d + s] = x[p, q, r, s]
        """,
    ),
    "scattered in one loop of a block, read in the next": (
        "(x: int32[m, n]) -> (out: int32[m, 8])",
        """
        for b in blocks(m):
            seen = shared((8,), int32)
            for c in threads(8):
                seen[c] = 0
            for c in threads(n):
                scatter(seen, x[b, c] & 7, 1)
            for c in threads(8):
                out[b, c] = seen[c]
        """,
    ),
    "a triangle and its mirror": (
        "(x: T[n, n]) -> (out: T[n, n])",
        "for i in blocks(n):\n    for j in threads((i, n)):\n        out[i, j] = x[i, j]\n        out[j, i] = x[i, j]",
    ),
    "tiles by their first rows": (
        "(x: T[n]) -> (out: T[n])",
        "for t in blocks(n // 8):\n    for i in threads((t * 8, t * 8 + 8)):\n        out[i] = x[i]",
    ),
    "a private array in part": (
        "(x: T[n]) -> (out: T[n])",
        """
        for b in blocks(1):
            p = private((64,), float32)
            for i in threads((1, n, 2)):
                p[i] = x[i]
            for i in threads((1, n, 2)):
                out[i] = p[i]
        """,
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name, check):
    signature, body = ACCEPTED[name]
    check(signature, body, types="{T: [float32]}" if "T[" in signature else "")
