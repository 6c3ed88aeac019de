import numpy as np


def groups(rng, names):
    c = names["c"]
    return {"groups": next((g for g in (4, 3, 2) if c % g == 0), 1), "eps": 1e-5}


def bags(rng, names):
    nnz, bags, vocab = names["nnz"], names["bags"], names["vocab"]
    if vocab == 0 or bags == 0:
        return {"offset": np.zeros(bags + 1, np.int64), "index": np.zeros(nnz, np.int64)}
    inner = np.sort(rng.integers(0, nnz + 1, bags - 1))
    return {"offset": np.concatenate([[0], inner, [nnz]]), "index": rng.integers(0, vocab, nnz)}


def forest(rng, names):
    """Trees as heaps: the children of a node are 2 i + 1 and 2 i + 2."""
    f, t, k = names["f"], names["t"], names["k"]
    left = np.tile(2 * np.arange(k) + 1, (t, 1)).astype(np.int32)
    leaf = left + 1 >= k
    feature = np.where(leaf, -1, rng.integers(0, f, (t, k))).astype(np.int32)
    return {"feature": feature, "left": np.where(leaf, 0, left).astype(np.int32), "right": np.where(leaf, 0, left + 1).astype(np.int32)}


def missing(rng, names):
    x = rng.normal(size=(names["n"], names["d"]))
    x[rng.random(x.shape) < 0.2] = np.nan
    return {"x": x}


def graph(rng, names):
    """Rows of different lengths, columns in order in each."""
    n, nnz = names["n"], names["nnz"]
    if n == 0:
        return {"row": np.zeros(1, np.int64), "col": np.zeros(nnz, np.int32)}
    rows = np.sort(rng.integers(0, n, nnz))
    cols = rng.integers(0, n, nnz)
    cols = cols[np.lexsort((cols, rows))].astype(np.int32)
    given = {"row": np.searchsorted(rows, np.arange(n + 1)), "col": cols}
    return given
