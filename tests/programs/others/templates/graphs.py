"""References and inputs of graphs and sparse matrices."""

import numpy as np


def edges(rng, names):
    m, n = names["m"], names["n"]
    v = np.concatenate([np.arange(n)[1:], rng.integers(0, n, max(m - n + 1, 0))])[:m]
    u = np.concatenate([np.maximum(np.arange(n)[1:] - rng.integers(1, 4, n - 1), 0), rng.integers(0, n, max(m - n + 1, 0))])[:m]
    at = rng.permutation(m)
    return {"u": u[at], "v": v[at], "w": rng.uniform(1, 10, m), "source": 0}


def bellman(u, v, w, n, source):
    dist = np.full(n, np.inf)
    dist[source] = 0
    k, changed = 0, True
    while changed and k < n:
        changed = False
        for a, b, c in zip(u, v, w):
            if dist[a] + c < dist[b]:
                dist[b], changed = dist[a] + c, True
        k += 1
    return dist, k


def graph(rng, names):
    n, nnz = names["n"], names["nnz"]
    rows = np.sort(rng.integers(0, max(n, 1), nnz))
    return {"ptr": np.searchsorted(rows, np.arange(n + 1)), "adj": rng.integers(0, max(n, 1), nnz)}


def labelled(rng, names):
    return {**graph(rng, names), "label": rng.integers(0, 12, names["n"]), "k": 12}


def propagated(ptr, adj, label, k):
    out = label.copy()
    for v in range(len(label)):
        count = np.bincount(label[adj[ptr[v] : ptr[v + 1]]], minlength=k)
        if count.max() > count[label[v]]:
            out[v] = np.argmax(count)
    return out


def weights(rng, names):
    w = rng.uniform(1, 2, (names["n"], names["n"]))
    return {"w": w + w.T}


def prim(w):
    n = len(w)
    parent, key, done, s = np.full(n, -1), np.full(n, np.inf), np.zeros(n, bool), 0.0
    key[0] = 0
    for _ in range(n):
        u = int(np.argmin(np.where(done, np.inf, key)))
        done[u] = True
        s += key[u]
        better = ~done & (w[u] < key)
        key[better], parent[better] = w[u][better], u
    return parent, s


def blocks(rng, names):
    nb, nnzb = names["nb"], names["nnzb"]
    rows = np.sort(rng.integers(0, nb, nnzb))
    return {"ptr": np.searchsorted(rows, np.arange(nb + 1)), "col": rng.integers(0, names["mb"], nnzb)}


def bsr(ptr, col, val, x):
    parts = np.einsum("kab,kb->ka", val, x.reshape(-1, 4)[col])
    y = np.zeros((len(ptr) - 1, 4))
    np.add.at(y, np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)), parts)
    return y.ravel()


def dia(offset, data, x):
    n = len(x)
    A = np.zeros((n, n))
    for o, row in zip(offset, data):
        for j in range(max(0, o), min(n, n + o)):
            A[j - o, j] += row[j]
    return A @ x


def _rows(ptr):
    return np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))


def spmm(ptr, adj, val, B):
    out = np.zeros(B.shape)
    np.add.at(out, _rows(ptr), val[:, None] * B[adj])
    return out


def sampled(ptr, adj, A, B):
    return np.sum(A[_rows(ptr)] * B[adj], -1)


def transposed(ptr, adj, val, m):
    at = np.argsort(adj, kind="stable")
    return np.searchsorted(adj[at], np.arange(m + 1)), _rows(ptr)[at], val[at]
