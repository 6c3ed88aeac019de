"""How inputs are drawn that cannot be just any numbers."""

import numpy as np


def spd(rng, names):
    n = names["n"]
    A = rng.normal(size=(n, n))
    return {"A": A @ A.T + n * np.eye(n)}


def toeplitz(rng, names):
    n = names["n"]
    r = rng.uniform(0, 0.3, n) / (1 + np.arange(n)) ** 2
    r[:1] = 1
    return {"r": r}


def systems(rng, names):
    s, n = names["batch"], names["n"]
    return {"A": rng.normal(size=(s, n, n)) + 0.5 * np.sqrt(n) * np.eye(n)}


def lower_csr(rng, names):
    """Rows below the diagonal, and the diagonal as the last of each; what is left over of nnz stands behind."""
    n, nnz = names["n"], names["nnz"]
    ptr, col, val = [0], [], []
    for i in range(n):
        k = min(i, max((nnz - len(col)) // (n - i) - 1, 0))
        col += sorted(rng.choice(i, k, replace=False)) + [i] if i else [i]
        val += list(rng.normal(size=k) / (k + 1)) + [rng.uniform(1, 2)]
        ptr.append(len(col))
    col = np.array((col + [0] * nnz)[:nnz], np.int64)
    val = np.array((val + [1.0] * nnz)[:nnz])
    return {"ptr": np.minimum(np.array(ptr), nnz), "col": col, "val": val}


def tubes(rng, names):
    s, n = names["tubes"], names["n"]
    rho, u, p = rng.uniform(1, 2, (s, n)), rng.uniform(-0.5, 0.5, (s, n)), rng.uniform(1, 2, (s, n))
    return {"U": np.stack([rho, rho * u, p / 0.4 + 0.5 * rho * u * u], 1), "dtdx": rng.uniform(0.1, 0.2)}


def symmetric(rng, names):
    n = names["n"]
    A = rng.normal(size=(n, n))
    return {"A": A + A.T + np.diag(3.0 * np.arange(n)), "sweeps": 4}


def eigen(rng, names):
    n = names["n"]
    A = rng.uniform(0, 1, (n, n))
    return {"A": (A + A.T) / max(n, 1), "v": rng.uniform(0.5, 1, n), "iterations": 10}


def spins(rng, names):
    n, m, t = names["n"], names["m"], names["sweeps"]
    return {"spin": rng.choice([-1, 1], (n, m)), "u": rng.uniform(0, 1, (t, n, m)), "beta": 0.44}


def dct(rng, names):
    k = np.arange(8)
    c = np.cos((2 * k + 1) * k[:, None] * np.pi / 16) / 2
    c[0] /= np.sqrt(2)
    return {"c": c, "q": 16.03 + k + k[:, None]}  # where eighths are no halves, which roundings would decide


def csc(rng, names):
    n, m, nnz = names["n"], names["m"], names["nnz"]
    cols = np.sort(rng.integers(0, n, nnz)) if n else np.zeros(0, int)
    return {"ptr": np.searchsorted(cols, np.arange(n + 1)), "row": rng.integers(0, m, nnz)}


def graph(rng, names):
    n, nnz = names["n"], names["nnz"]
    rows = np.sort(rng.integers(0, n, nnz))
    return {"ptr": np.searchsorted(rows, np.arange(n + 1)), "adj": rng.integers(0, n, nnz)}
