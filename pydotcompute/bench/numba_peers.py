"""What one would write with Numba and `fastmath` for the kernels that are measured: one loop nest each, one thread.
Imported where Numba is, by the benchmark alone."""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np
from numba import njit

PEERS: dict[str, Callable[..., Any]] = {}


def _peer(function: Callable[..., Any]) -> Callable[..., Any]:
    PEERS[function.__name__] = njit(fastmath=True)(function)
    return function


@_peer
def axpy(a, x, y, out):
    for i in range(x.size):
        out[i] = a * x[i] + y[i]


@_peer
def relu(x, out):
    for i in range(x.size):
        out[i] = max(x[i], np.float32(0))


@_peer
def exp(x, out):
    for i in range(x.size):
        out[i] = math.exp(x[i])


@_peer
def log(x, out):
    for i in range(x.size):
        out[i] = math.log(x[i])


@_peer
def pow(x, y, out):
    for i in range(x.size):
        out[i] = x[i] ** y[i]


@_peer
def gelu(x, out):
    for i in range(x.size):
        v = x[i]
        out[i] = v * np.float32(0.5) * math.erfc(v * np.float32(-0.70710678))


@_peer
def sum(x, out):
    s = np.float32(0)
    for i in range(x.size):
        s += x[i]
    out[()] = s


@_peer
def max_(x, out):
    s = x[0]
    for i in range(x.size):
        s = max(s, x[i])
    out[()] = s


@_peer
def argmax(x, out):
    best = 0
    for i in range(x.size):
        if x[i] > x[best]:
            best = i
    out[()] = best


@_peer
def sum_last(x, out):
    for r in range(x.shape[0]):
        s = np.float32(0)
        for c in range(x.shape[1]):
            s += x[r, c]
        out[r] = s


@_peer
def max_last(x, out):
    for r in range(x.shape[0]):
        s = x[r, 0]
        for c in range(x.shape[1]):
            s = max(s, x[r, c])
        out[r] = s


@_peer
def argmax_last(x, out):
    for r in range(x.shape[0]):
        best = 0
        for c in range(x.shape[1]):
            if x[r, c] > x[r, best]:
                best = c
        out[r] = best


@_peer
def sum_axis(x, inner, chunks, divisor, out):
    for c in range(inner):
        out[0, 0, c] = 0
    for k in range(x.shape[1] // inner):
        for c in range(inner):
            out[0, 0, c] += x[0, k * inner + c]


@_peer
def softmax(x, out):
    for r in range(x.shape[0]):
        m = x[r, 0]
        for c in range(x.shape[1]):
            m = max(m, x[r, c])
        s = np.float32(0)
        for c in range(x.shape[1]):
            out[r, c] = math.exp(x[r, c] - m)
            s += out[r, c]
        for c in range(x.shape[1]):
            out[r, c] /= s


@_peer
def rmsnorm(x, w, eps, out):
    for r in range(x.shape[0]):
        s = np.float32(0)
        for c in range(x.shape[1]):
            s += x[r, c] * x[r, c]
        scale = np.float32(1) / math.sqrt(s / np.float32(x.shape[1]) + np.float32(eps))
        for c in range(x.shape[1]):
            out[r, c] = x[r, c] * scale * w[c]


@_peer
def layernorm(x, w, b, eps, out):
    for r in range(x.shape[0]):
        s = np.float32(0)
        for c in range(x.shape[1]):
            s += x[r, c]
        m = s / np.float32(x.shape[1])
        s = np.float32(0)
        for c in range(x.shape[1]):
            s += (x[r, c] - m) ** 2
        scale = np.float32(1) / math.sqrt(s / np.float32(x.shape[1]) + np.float32(eps))
        for c in range(x.shape[1]):
            out[r, c] = (x[r, c] - m) * scale * w[c] + b[c]


@_peer
def matmul(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            out[i, j] = 0
        for p in range(a.shape[1]):
            for j in range(b.shape[1]):
                out[i, j] += a[i, p] * b[p, j]


@_peer
def matmul_batched(a, b, out):
    for r in range(a.shape[0]):
        for i in range(a.shape[1]):
            for j in range(b.shape[2]):
                out[r, i, j] = 0
            for p in range(a.shape[2]):
                for j in range(b.shape[2]):
                    out[r, i, j] += a[r, i, p] * b[r, p, j]


@_peer
def matmul_vec(w, x, out):
    for r in range(w.shape[0]):
        s = np.float32(0)
        for c in range(w.shape[1]):
            s += w[r, c] * x[c]
        out[r] = s


@_peer
def weighted_sum_rows(w, values, out):
    for c in range(values.shape[1]):
        out[c] = 0
    for r in range(values.shape[0]):
        for c in range(values.shape[1]):
            out[c] += w[r] * values[r, c]


@_peer
def attention(q, k, v, scale, out):
    score = np.empty(k.shape[1], q.dtype)
    for r in range(q.shape[0]):
        for i in range(q.shape[1]):
            m = np.float32(-np.inf)
            for j in range(k.shape[1]):
                s = np.float32(0)
                for c in range(q.shape[2]):
                    s += q[r, i, c] * k[r, j, c]
                score[j] = s * np.float32(scale)
                m = max(m, score[j])
            total = np.float32(0)
            for j in range(k.shape[1]):
                score[j] = math.exp(score[j] - m)
                total += score[j]
            for c in range(q.shape[2]):
                out[r, i, c] = 0
            for j in range(k.shape[1]):
                share = score[j] / total
                for c in range(q.shape[2]):
                    out[r, i, c] += share * v[r, j, c]


@_peer
def transpose(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j, i] = x[i, j]


@_peer
def swap_axes(x, out):
    for j in range(x.shape[1]):
        for i in range(x.shape[0]):
            for c in range(x.shape[2]):
                out[j, i, c] = x[i, j, c]


@_peer
def gather(table, index, out):
    for i in range(index.size):
        for c in range(table.shape[1]):
            out[i, c] = table[index[i], c]


@_peer
def laplacian(x, out):
    m, n = x.shape
    out[:] = 0
    for i in range(1, m - 1):
        for j in range(1, n - 1):
            out[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j]


@_peer
def add(x, y, out):
    for i in range(x.size):
        out[i] = x[i] + y[i]


@_peer
def div(x, y, out):
    for i in range(x.size):
        out[i] = x[i] / y[i]


@_peer
def fill(n, value, out):
    for i in range(n):
        out[i] = value


@_peer
def sqrt(x, out):
    for i in range(x.size):
        out[i] = math.sqrt(x[i])


@_peer
def sin(x, out):
    for i in range(x.size):
        out[i] = math.sin(x[i])


@_peer
def tanh(x, out):
    for i in range(x.size):
        out[i] = math.tanh(x[i])


@_peer
def silu(x, out):
    for i in range(x.size):
        out[i] = x[i] / (np.float32(1) + math.exp(-x[i]))


@_peer
def mean(x, out):
    s = np.float32(0)
    for i in range(x.size):
        s += x[i]
    out[()] = s / np.float32(x.size)


@_peer
def apply_rope(x, cosine, sine):
    half = cosine.size
    for h in range(x.shape[0]):
        for i in range(half):
            a, b = x[h, i], x[h, i + half]
            x[h, i] = a * cosine[i] - b * sine[i]
            x[h, i + half] = a * sine[i] + b * cosine[i]


@_peer
def histogram(x, low, high, n, counts):
    counts[:] = 0
    for i in range(x.size):
        if low <= x[i] <= high:
            counts[min(int((np.float64(x[i]) - low) / (high - low) * n), n - 1)] += 1


@_peer
def hillshade(z, dx, dy, azimuth, altitude, out):
    m, n = z.shape
    light, height = math.radians(azimuth), math.radians(altitude)
    up, east_light = np.float32(math.sin(height)), np.float32(math.sin(light) * math.cos(height))
    north_light = np.float32(math.cos(light) * math.cos(height))
    wide, high = np.float32(1 / (8 * dx)), np.float32(1 / (8 * dy))
    two, one, zero = np.float32(2), np.float32(1), np.float32(0)
    for i in range(m):
        above, below = max(i - 1, 0), min(i + 1, m - 1)
        for j in range(n):
            left, right = max(j - 1, 0), min(j + 1, n - 1)
            eastward = z[above, right] + two * z[i, right] + z[below, right]
            eastward = (eastward - z[above, left] - two * z[i, left] - z[below, left]) * wide
            northward = z[above, left] + two * z[above, j] + z[above, right]
            northward = (northward - z[below, left] - two * z[below, j] - z[below, right]) * high
            towards = up - east_light * eastward - north_light * northward
            out[i, j] = max(towards / math.sqrt(one + eastward * eastward + northward * northward), zero)
