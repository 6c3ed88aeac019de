"""How inputs are drawn that cannot be just any numbers."""

import numpy as np


def positive_definite(rng, names):
    A = rng.normal(size=(names["n"], names["n"]))
    return {"A": A @ A.T + names["n"] * np.eye(names["n"])}


def lower(rng, names):
    n = names["n"]
    return {"L": np.tril(rng.normal(size=(n, n))) / max(n, 1) + np.eye(n)}


def sparse(rng, names):
    """Rows of different lengths, columns in order."""
    n, nnz = names["n"], names["nnz"]
    rows = np.sort(rng.integers(0, n, nnz))
    return {"row": np.searchsorted(rows, np.arange(n + 1)), "col": rng.integers(0, n, nnz), "val": rng.normal(size=nnz)}
