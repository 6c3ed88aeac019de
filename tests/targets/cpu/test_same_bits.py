"""One order of terms, whichever way a body is compiled: the bits of a sum do not depend on the level, on where its
arrays lie, on their strides or on the number of threads. The bodies have no products, which some levels fuse."""

from __future__ import annotations

import re
from itertools import cycle

import numpy as np
import pytest

from pydotcompute.backends.cpu.levels import unfit
from pydotcompute.check import memory
from tests.targets.built import loop

LEVELS = [level for level in ("cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4") if not unfit(level)]
N, M = 1201, 75
BODIES = {
    "in lanes": ("(x: T[m, n]) -> (out: T[n])", """
        for i in grid(n):
            s = T(0)
            for k in range(m):
                s += x[k, i]
            out[i] = s
    """),
    "apart": ("(x: T[n, m]) -> (out: T[n])", """
        for i in grid(n):
            s = T(0)
            for k in range(m):
                s += x[i, k]
            out[i] = s
    """),
    "in lanes, under conditions": ("(x: T[m, n], y: T[m]) -> (out: T[n])", """
        for i in grid(n):
            s = T(0)
            for k in range(m):
                if x[k, i] > y[k]:
                    s = y[k] - s
                s += x[k, i]
            out[i] = s
    """),
    "a nest": ("(x: T[m, n], y: T[4, m]) -> (out: T[n])", """
        for i in grid(n):
            best = T(inf)
            for c in range(4):
                s = T(0)
                for k in range(m):
                    s += abs(x[k, i] - y[c, k])
                best = min(best, s)
            out[i] = best
    """),
    "a gather": ("(x: T[m, n], at: int64[m]) -> (out: T[n])", """
        for i in grid(n):
            s = T(0)
            for k in range(m):
                s += x[at[k], i]
            out[i] = s
    """),
    "a counter": ("(x: T[m, n]) -> (out: T[n])", """
        for i in grid(n):
            s = T(0)
            k = 0
            while k < m:
                s += x[k, i]
                k += 1
            out[i] = s
    """),
    "across": ("(x: T[8, m], y: T[m, n]) -> (out: T[8, n])", """
        for i, j in grid(8, n):
            out[i, j] = sum(x[i, k] + y[k, j] for k in range(m))
    """),
    "across, in a nest": ("(x: T[10, m], y: T[3, m, n]) -> (out: T[8, n])", """
        for i, j in grid(8, n):
            out[i, j] = sum(x[i + p, k] + y[p, k, j] for p in range(3) for k in range(m))
    """),
    "few columns": ("(x: T[n, m, 3]) -> (out: T[n, 3])", """
        for i, c in grid(n, 3):
            out[i, c] = sum(x[i, k, c] for k in range(m))
    """),
    "few columns, one after the other": ("(x: T[n, m, 3]) -> (out: T[n, 3])", """
        for i, c in grid(n, 3):
            s = T(0)
            for k in range(m):
                s += x[i, k, c]
            out[i, c] = s
    """),
    "rows": ("(x: T[n, m]) -> (out: T[n], most: T[n], at: int64[n])", """
        for i in grid(n):
            out[i] = sum(x[i, k] for k in range(m))
            most[i] = max(x[i, k] for k in range(m))
            at[i] = argmax(x[i, k] for k in range(m))
    """),
    "rows of blocks": ("(x: T[n, m]) -> (out: T[n, m])", """
        for i in blocks(n):
            s = sum(x[i, k] for k in threads(m))
            for k in threads(m):
                out[i, k] = x[i, k] - s
    """),
    "pairs in rows": ("(x: T[n, m]) -> (out: T[n])", """
        for i in blocks(n):
            s = T(0)
            for k in threads(m):
                s += x[i, k]
                if x[i, k] > 0:
                    s += x[i, m - 1 - k]
            out[i] = s
    """),
    "everything": ("(x: T[m, n]) -> (out: T, more: T)", """
        s = T(0)
        for i, j in grid(m, n):
            s += x[i, j]
        out[()] = s
        more[()] = sum(x[0, j] for j in grid(n))
    """),
    "a running product": ("(x: T[m, n]) -> (out: T[m, n], last: T)", """
        s = T(3)
        for i, j in grid(m, n):
            s *= 1 + min(max(x[i, j], T(-1)), T(1)) / 1000
            out[i, j] = s
        last[()] = s
    """),
    "a product beside a count": ("(x: T[m, n]) -> (out: int64[m, n], product: T)", """
        count = 0
        p = T(3)
        for i, j in grid(m, n):
            if x[i, j] > 0:
                count += 1
            out[i, j] = count
            p *= 1 + min(max(x[i, j], T(-1)), T(1)) / 1000
        product[()] = p
    """),
}  # fmt: skip


def built(name: str, dtype: str, level: str, word: str):
    """word: before the type of each array that is given."""
    signature, body = BODIES[name]
    given, arrow, made = signature.replace(": T", f": {word}T").partition("->")
    text = given + arrow + made.replace(word, "") if word else signature
    return loop(level, re.sub(r"\bT\b", dtype, text), re.sub(r"\bT\b", dtype, body))


def drawn(kernel, m: int, n: int) -> list[np.ndarray]:
    rng, found = np.random.default_rng(m), []
    for p in kernel.specialisation.parameters:
        if p.role == "in":
            shape = tuple({"m": m, "n": n}.get(d, d) for d in p.dims)
            x = rng.integers(0, m, shape) if p.name == "at" else rng.normal(size=shape) * 10.0 ** rng.integers(-4, 5, shape)
            found.append(x.astype(p.dtype))
    return found


def bits(outputs) -> list[bytes]:
    return [np.ascontiguousarray(a).tobytes() for a in (outputs if isinstance(outputs, tuple) else (outputs,))]


def spread(x: np.ndarray, k: int) -> np.ndarray:
    """The same values with strides: gaps, the other way round, the axes in another order."""
    if k == 0:
        room = np.zeros((*x.shape[:-1], 3 * x.shape[-1]), x.dtype)[..., 1::3]
    elif k == 1:
        room = np.zeros(x.shape, x.dtype)[tuple([slice(None, None, -1)] * x.ndim)]
    else:
        room = np.zeros(x.shape[::-1], x.dtype).T
    room[...] = x
    return room


@pytest.mark.slow
@pytest.mark.parametrize("name, dtype", [*zip(BODIES, cycle(("float32", "float64")))])
def test_bits_are_those_of_any_other_way(name, dtype):
    wanted: dict[tuple[int, int], list[bytes]] = {}
    for level in LEVELS:
        for word in ("", "strided "):
            kernel = built(name, dtype, level, word)
            for m, n in ((M, N), (3, N), (1, 20), (600, 41)):
                given = drawn(kernel, m, n)
                size = np.dtype(dtype).itemsize
                ways = [[memory.shifted(x, past * x.itemsize) for x in given] for past in (0, 1, 64 // size - 3)]
                if word:
                    ways += [[spread(x, k) if x.dtype.kind == "f" else x for x in given] for k in range(3)]
                for number, way in enumerate(ways):
                    for threads in (1, 3):
                        found = bits(kernel.call(*way, seed=threads - 1))
                        assert found == wanted.setdefault((m, n), found), (level, word, m, n, number, threads)
