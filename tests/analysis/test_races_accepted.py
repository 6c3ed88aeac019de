"""Kernels as users write them whose iterations may run in any order."""

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
    "the same value from all": ("(x: T[n]) -> (out: T[n])", "for i in grid(n):\n    out[0] = 1"),
    "a value that does not vary": (
        "(a: T, x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    b = a * 2\n    out[0] = b + x[0]",
    ),
    "one iteration's store": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    if i == n - 1:\n        out[0] = x[i]",
    ),
    "one block's store": (
        "(x: T[n]) -> (out: T[n])",
        "for b in blocks(1):\n    out[0] = max(x[c] for c in threads(n))",
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
    "a loop of one iteration": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(1):\n    out[0] = x[i]",
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
    "mixed radix of counts that no array bounds": (
        "(N: int64, x: T[M], y: T[R], out: inout T[s])",
        "for i, j, k in grid(N, M, R):\n    out[(i * M + j) * R + k] = x[j] + y[k]",
    ),
    "mixed radix of scalars": (
        "(N: int64, M: int64, R: int64, out: inout T[s])",
        "for i, j, k in grid(N, M, R):\n    out[(i * M + j) * R + k] = i + j",
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
    "mixed radix in blocks and threads": (
        "(x: T[N, M, R]) -> (out: T[N * M * R])",
        """
        for i in blocks(N):
            for j, k in threads(M, R):
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
    "tiles under a guard": (
        "(x: T[n]) -> (out: T[n])",
        """
        for b in blocks((n + 255) // 256):
            for c in threads(256):
                if b * 256 + c < n:
                    out[b * 256 + c] = x[b * 256 + c]
        """,
    ),
    "backwards": (
        "(x: T[n]) -> (out: T[n])",
        "for i in grid(n):\n    out[n - 1 - i] = x[i]",
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
    "row and column of a flat index, stored": (
        "(x: T[n, m]) -> (out: T[n, m])",
        "for i in grid(n * m):\n    out[i // m, i % m] = x[i // m, i % m]",
    ),
    "even and odd elements": (
        "(x: T[n], out: inout T[m])",
        "for i in grid(n):\n    out[2 * i] = x[i]\n    out[2 * i + 1] = 0",
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
    "mixed radix of four dimensions, in blocks": (
        "(x: T[a, b, c, d]) -> (out: T[a * b * c * d])",
        """
        for p, q in blocks(a, b):
            for r, s in threads(c, d):
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
    "arithmetic under a condition that keeps it in its type": (
        "(k: int64, x: T[n], out: inout T[m])",
        """
        for i in grid(n):
            if 0 < k <= 1000:
                if x[i] > 0:
                    out[i * k] = x[i]
        """,
    ),
    "a narrow type that its values fit": (
        "(x: T[100]) -> (out: T[100])",
        "for i in grid(100):\n    j = int8(i)\n    out[int64(j + int8(27))] = x[i]",
    ),
    "every other element, from its neighbours": (
        "(x: inout T[n], c: int64)",
        "for i in grid((c, n - 1, 2)):\n    x[i] = x[i - 1] + x[i + 1]",
    ),
    "the same, downwards": (
        "(x: inout T[n])",
        "for i in grid((n - 2, 0, -2)):\n    x[i] = x[i - 1] + x[i + 1]",
    ),
    "a triangle and its mirror": (
        "(x: T[n, n]) -> (out: T[n, n])",
        "for i in blocks(n):\n    for j in threads((i, n)):\n        out[i, j] = x[i, j]\n        out[j, i] = x[i, j]",
    ),
    "a column of the triangle below the diagonal": (
        "(x: inout T[n, n], k: int64)",
        "for i in grid((k + 1, n)):\n    x[i, k] = x[i, k] / x[k, k]",
    ),
    "rows below the pivot's": (
        "(x: inout T[n, n], k: int64)",
        "for i, j in grid((k + 1, n), (k + 1, n)):\n    x[i, j] -= x[i, k] * x[k, j]",
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
