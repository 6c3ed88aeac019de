"""References and inputs of geometry, and of the benchmarks game."""

import heapq
from collections import Counter

import numpy as np


def points(rng, names):
    p = rng.normal(size=(names["n"], 2))
    return {"p": p[np.lexsort((p[:, 1], p[:, 0]))]}


def hull(p):
    def half(order):
        k = []
        for i in order:
            while len(k) > 1:
                a, b, c = p[k[-2]], p[k[-1]], p[i]
                if (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) > 0:
                    break
                k.pop()
            k.append(i)
        return k[:-1]

    n = len(p)
    found = half(range(n)) + half(range(n - 1, -1, -1))
    out = np.full(2 * n, -1)
    out[: len(found)] = found
    return out, len(found)


def scene(rng, names):
    r, n = names["r"], names["n"]
    o = rng.normal(size=(r, 3)) * 0.1
    d = rng.normal(size=(r, 3))
    centre = rng.normal(size=(n, 1, 3))
    centre *= 3 / np.linalg.norm(centre, axis=-1, keepdims=True)
    return {"o": o, "d": d / np.linalg.norm(d, axis=1, keepdims=True), "tri": centre + rng.normal(size=(n, 3, 3))}


def rays(o, d, tri):
    hit, dist = np.full(len(o), -1), np.zeros(len(o))
    for i in range(len(o)):
        best = np.inf
        for k, (a, b, c) in enumerate(tri):
            M = np.stack([-d[i], b - a, c - a], 1)
            if abs(np.linalg.det(M)) < 1e-7:
                continue
            t, u, v = np.linalg.solve(M, o[i] - a)
            if u >= 0 and v >= 0 and u + v <= 1 and 1e-4 < t < best:
                best, hit[i], dist[i] = t, k, t
    return hit, dist


def squares(f, level):
    h, w = f.shape
    g = f > level
    case = g[:-1, :-1] + 2 * g[:-1, 1:] + 4 * g[1:, 1:] + 8 * g[1:, :-1]
    n, total = 0, 0.0
    for i in range(h - 1):
        for j in range(w - 1):
            ring = [(i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j)]
            cuts = []
            for p, q in zip(ring, ring[1:] + ring[:1]):
                if g[p] != g[q]:
                    t = (level - f[p]) / (f[q] - f[p])
                    cuts.append(np.array(p) + t * (np.array(q) - p))
            n += len(cuts) // 2
            if len(cuts) == 2:
                total += np.hypot(*(cuts[0] - cuts[1]))
    return case, n, total


def nearest(p, line):
    a, d = line[:-1], np.diff(line, axis=0)
    t = np.clip(np.sum((p[:, None] - a) * d, -1) / np.sum(d * d, -1), 0, 1)
    r = np.linalg.norm(p[:, None] - a - t[..., None] * d, axis=-1)
    return r.min(1)


def corners(rng, names):
    n = names["n"]
    at = rng.uniform(0, 1, (n, 1, 2)) + rng.uniform(-0.25, 0.25, (n, 3, 2))
    z = rng.uniform(0, 1, (n, 3, 1))
    return {"v": np.concatenate([at * [names["w"], names["h"]], z], -1)}


def raster(v, h, w):
    depth, id = np.full((h, w), 1000.0), np.full((h, w), -1)
    py, px = np.mgrid[0:h, 0:w] + 0.5
    for k, ((x0, y0, z0), (x1, y1, z1), (x2, y2, z2)) in enumerate(v):
        area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
        a = ((x1 - px) * (y2 - py) - (x2 - px) * (y1 - py)) / area
        b = ((x2 - px) * (y0 - py) - (x0 - px) * (y2 - py)) / area
        z = a * z0 + b * z1 + (1 - a - b) * z2
        inside = (a >= 0) & (b >= 0) & (1 - a - b >= 0) & (z < depth)
        depth[inside], id[inside] = z[inside], k
    return depth, id


def spectral(n, steps):
    i, j = np.arange(n)[:, None], np.arange(n)
    A = 1 / ((i + j) * (i + j + 1) // 2 + i + 1)
    u = np.ones(n)
    for _ in range(int(steps)):
        v = A.T @ (A @ u)
        u = A.T @ (A @ v)
    return np.sqrt(u @ v / (v @ v))


def kmers(s, k, size):
    mask, code = (1 << (2 * int(k))) - 1, 0
    key, count = np.full(size, -1), np.zeros(size, int)
    for i, c in enumerate(s):
        code = ((code << 2) | int(c)) & mask
        if i >= k - 1:
            h = ((code * 2654435761) >> 7) % size
            while key[h] not in (-1, code):
                h = (h + 1) % size
            key[h] = code
            count[h] += 1
    return key, count


def clipped(tri, lo, hi):
    out = []
    for a in tri:
        a = list(a)
        for axis in (0, 1):
            for far in (lambda p: p[axis] - lo, lambda p: hi - p[axis]):
                b = []
                for p, q in zip(a, a[1:] + a[:1]):
                    fp, fq = far(p), far(q)
                    if fp >= 0:
                        b.append(p)
                    if (fp >= 0) != (fq >= 0):
                        b.append(p + fp / (fp - fq) * (q - p))
                a = b
        out.append(abs(sum(p[0] * q[1] - q[0] * p[1] for p, q in zip(a, a[1:] + a[:1]))) / 2)
    return np.array(out)


def vexx(phi, psi, w):
    rho = phi.conj()[None] * psi[:, None] * w
    return -np.sum(phi * rho, 1) / phi.shape[1]


def selfenergy(G, D, dH):
    S = np.zeros(G.shape, complex)
    for k in range(len(G)):
        for w in range(min(k + 1, len(D))):
            S[k] += G[k - w] @ dH * D[w]
    return S


def opened(x, weight, assign, cost, c, k):
    v = np.sum((x - x[c]) ** 2, -1) * weight
    better = v < cost
    lower = np.bincount(assign[~better], (cost - v)[~better], minlength=k)
    return lower, np.sum((v - cost)[better]), better


def huffman(data):
    """The least number of bits by a heap; lengths where codes of ties are as two queues make them."""
    count = Counter(data.astype(int).tolist())
    leaves = sorted(count, key=lambda s: (count[s], s))
    a = [(count[s], s) for s in leaves]
    b, parent, new = [], {}, 256
    while len(a) + len(b) > 1:
        pair = []
        for _ in range(2):
            pair.append(a.pop(0) if a and (not b or a[0][0] <= b[0][0]) else b.pop(0))
        for _, node in pair:
            parent[node] = new
        b.append((pair[0][0] + pair[1][0], new))
        new += 1
    length = np.zeros(256, int)
    for s in leaves:
        k = s
        while k in parent:
            k = parent[k]
            length[s] += 1
    heap = list(count.values())
    heapq.heapify(heap)
    bits = 0
    while len(heap) > 1:
        both = heapq.heappop(heap) + heapq.heappop(heap)
        bits += both
        heapq.heappush(heap, both)
    return length, bits
