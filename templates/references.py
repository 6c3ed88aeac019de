"""What the kernels are held to: the same formulas in NumPy, in float64, written for clarity."""

import math

import numpy as np


def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def gelu(x):
    erfc = np.vectorize(math.erfc, otypes=[float])  # 1 + erf(x) has no digits left where x is negative
    with np.errstate(invalid="ignore"):
        return np.where(x == -np.inf, 0.0, x * 0.5 * erfc(-x / math.sqrt(2)))


def silu(x):
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(x == -np.inf, 0.0, x / (1 + np.exp(-x)))


def mean(x):
    return np.sum(x) / x.size if x.size else np.nan


def mean_last(x):
    with np.errstate(invalid="ignore"):
        return np.sum(x, axis=-1) / np.float64(x.shape[-1])


def sum_axis(x, inner, chunks, divisor):
    m, leading = x.shape[-1], x.shape[:-1]
    if inner == 0 or chunks == 0:
        return np.zeros((*leading, chunks, inner))
    rows = -(-m // inner)
    each = -(-rows // chunks)
    whole = np.zeros((*leading, chunks * each * inner))
    whole[..., :m] = x
    # NumPy adds along such an axis one by one, with a larger error than a kernel may have.
    return whole.reshape(*leading, chunks, each, inner).sum(axis=-2, dtype=np.longdouble) / divisor


def softmax(x):
    if x.shape[-1] == 0:
        return x.copy()
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)


def laplacian(x):
    out = np.zeros_like(x)
    out[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]
    return out


def histogram(x, low, high, n):
    inside = x[(x >= low) & (x <= high)]
    bins = np.minimum(((inside - low) / (high - low) * n).astype(np.int64), n - 1)
    return np.bincount(bins, minlength=int(n))


def hillshade(z, dx, dy, azimuth, altitude):
    if z.size == 0:
        return z.copy()
    window = np.pad(z, 1, mode="edge")
    north, middle, south = window[:-2], window[1:-1], window[2:]
    west, centre, east = np.s_[:, :-2], np.s_[:, 1:-1], np.s_[:, 2:]
    rise_east = (
        north[east] + 2 * middle[east] + south[east] - north[west] - 2 * middle[west] - south[west]
    ) / (8 * dx)
    rise_north = (
        north[west] + 2 * north[centre] + north[east] - south[west] - 2 * south[centre] - south[east]
    ) / (8 * dy)
    # the angle between the light and the surface normal, as a product of unit vectors
    light, height = np.radians(azimuth), np.radians(altitude)
    towards = np.sin(light) * np.cos(height), np.cos(light) * np.cos(height), np.sin(height)
    # Beside an infinite elevation the surface is upright, and faces along the infinite rises.
    upright = np.isinf(rise_east) | np.isinf(rise_north)
    rises = rise_east, rise_north
    rise_east, rise_north = (np.where(upright & ~np.isnan(r), np.isinf(r) * np.sign(r), r) for r in rises)
    level = np.where(upright, 0, 1)
    length = np.sqrt(level + rise_east**2 + rise_north**2)
    return np.maximum((towards[2] * level - towards[0] * rise_east - towards[1] * rise_north) / length, 0)


def gelu_tanh(x):
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(x == -np.inf, 0.0, x / (1 + np.exp(-2 * inner)))  # (1 + tanh(u)) / 2, whole for negative u


def minimum(x):
    return np.min(x, initial=np.inf)


def maximum(x):
    return np.max(x, initial=-np.inf)


def argmax(x):
    return np.argmax(x) if x.size else -1


def minimum_last(x):
    return np.min(x, axis=-1, initial=np.inf)


def maximum_last(x):
    return np.max(x, axis=-1, initial=-np.inf)


def argmax_last(x):
    return np.argmax(x, axis=-1) if x.shape[-1] else np.full(x.shape[:-1], -1)


def layernorm(x, w, b, eps):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + eps) * w + b


def rope(x, cosine, sine):
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=-1)


def rope_sequence(x, cosine, sine):
    return rope(x, cosine[:, None, :], sine[:, None, :])


def attention(q, k, v, scale, CAUSAL):
    n, keys = q.shape[-2], k.shape[-2]
    scores = scale * (q @ np.swapaxes(k, -1, -2))
    if CAUSAL:
        scores = np.where(np.arange(keys) <= np.arange(n)[:, None] + keys - n, scores, -np.inf)
    highest = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isinf(highest), 0, highest))
    with np.errstate(invalid="ignore"):
        if CAUSAL:  # values that a position does not see count for nothing, NaN among them
            seen = np.maximum(np.arange(n) + keys - n + 1, 0)
            rows = [weights[..., i : i + 1, :k] @ v[..., :k, :] for i, k in enumerate(seen)]
            total = np.concatenate([np.zeros((*v.shape[:-2], 0, v.shape[-1])), *rows], axis=-2)
        else:
            total = weights @ v
        return total / weights.sum(axis=-1, keepdims=True)
