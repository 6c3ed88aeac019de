"""What of the language shows on threads alone: much work at once."""

import numpy as np
import pytest
from tests.targets.built import draw
from tests.targets.cpu.compiled import kernel


def test_set_up():
    body = """
    total = T(0)
    for j in range(m):
        if w[j] > 0:
            total += w[j]
    half = total / 2
    for i in grid(n * 2 - 1):
        out[i] = x[i] - total + half
    """
    k = kernel(body, "(w: T[m], x: T[n2], n: int64) -> (out: T[n2])", extra="fastmath: []")
    for n, threads in ((1, 1), (1000, 1), (700000, 3)):
        got = {"w": draw(9), "x": draw(2 * n - 1), "out": np.zeros(2 * n - 1, "f4")}
        assert k({"m": 9, "n2": 2 * n - 1, "n": n}, threads, n=n, **got) == 0
        total = np.float32(0)
        for v in got["w"][got["w"] > 0]:
            total += v
        assert (got["out"] == got["x"] - total + total / 2).all()


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64", "float32", "float64"])
def test_atomics(dtype):
    body = """
    for i in grid(n):
        other = i
        for j in range(400):  # without other work, one thread does it all
            other = other * 3 + j
        if other == -1:
            continue
        atomic_add(count, k[i], v[i])
        atomic_min(low, k[i], v[i])
        atomic_max(high, k[i], v[i])
    """
    arrays = ", ".join(f"{name}: inout {dtype}[b]" for name in ("count", "low", "high"))  # the first argument, too
    k = kernel(body, f"({arrays}, k: int64[n], v: {dtype}[n]) -> ()", types="")
    n, rng = 30000, np.random.default_rng(3)
    if dtype.startswith("float"):
        v = draw(n, dtype="i4").astype(dtype)  # whole numbers, so that sums are exact in any order
    else:
        v = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, n, dtype, endpoint=True)
    at = rng.integers(0, 9, n)
    wanted = {"count": np.zeros(9, dtype), "low": np.full(9, 100, dtype), "high": np.zeros(9, dtype)}
    with np.errstate(over="ignore"):
        np.add.at(wanted["count"], at, v)
    np.minimum.at(wanted["low"], at, v)
    np.maximum.at(wanted["high"], at, v)
    for threads in (1, 2, 3):
        got = {"count": np.zeros(9, dtype), "low": np.full(9, 100, dtype), "high": np.zeros(9, dtype)}
        k({"n": n, "b": 9}, threads, k=at, v=v, **got)
        for name in got:
            assert (got[name] == wanted[name]).all(), (name, threads)
