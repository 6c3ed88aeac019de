"""Conditions on the index: wherever a loop is split, the elements are those of the interpreter."""

import textwrap

import numpy as np
import pytest
from tests.targets.cpu.compiled import agree, kernel

CONDITIONS = [
    "0 < j < n - 1 and 0 < i < m - 1",
    "j + k < n and i >= 1",
    "j - k >= lo and j <= hi",
    "k + j > lo and hi > j and j + 2 <= n",
    "5 <= j and j < hi and lo < hi",
    "not (j < lo)",
    "j < lo or j > hi",
    "j * 2 < n",
    "n - j > k",
    "j == lo",
]
INTERESTING = [
    (3, 2, 9),
    (0, 0, 0),
    (-4, -3, 30),
    (100, 5, 2),
    (2**63 - 1, 2, 8),
    (-(2**63), -(2**63), 2**63 - 1),
    (2**62, 2**62 + 1, 7),
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_stores_under_conditions(condition):
    body = f"""
    for i, j in grid(m, n):
        col = j
        if {condition}:
            a[i, j] = x[i, j] * 2
        b[i, j] = x[i, col] if {condition.replace("j", "col")} else -1
        if {condition}:
            c[i, j] = x[i, j] + 1
        else:
            t = x[i, j] - 1
            c[i, j] = t
    """
    signature = "(x: T[m, n], k: int64, lo: int64, hi: int64) -> (a: T[m, n] = 0, b: T[m, n], c: T[m, n])"
    compiled = kernel(body, signature)
    for m, n in ((1, 1), (4, 3), (3, 21)):
        x = np.arange(m * n, dtype="f4").reshape(m, n)
        for k, lo, hi in INTERESTING:
            outputs = {o: np.zeros((m, n), "f4") for o in "abc"}
            agree(compiled, {"m": m, "n": n}, x=x, k=k, lo=lo, hi=hi, **outputs)


NOTHING_ELSE = [*CONDITIONS[:6], "j + k < n and hi > lo", "j - k >= lo and x[i, j] > 3"]


@pytest.mark.slow
@pytest.mark.parametrize("condition", NOTHING_ELSE)
def test_nothing_but_stores_under_conditions(condition):
    """Then the other iterations are left out; but for where an index may wrap, they are all gone through."""
    body = f"""
    for i, j in grid(m, n):
        col = j + k
        if {condition}:
            if col - k < hi:
                a[i, j] = x[i, j] * 2
    for i, j in grid(m, n):
        if {condition}:
            b[i, j] = x[i, j]
            if 1 <= j:
                c[i, j] = x[i, j - 1]
    """
    signature = "(x: T[m, n], k: int64, lo: int64, hi: int64) -> (a: T[m, n] = 0, b: T[m, n] = 0, c: T[m, n] = 0)"
    compiled = kernel(body, signature)
    for m, n in ((1, 1), (4, 3), (3, 21)):
        x = np.arange(m * n, dtype="f4").reshape(m, n)
        for k, lo, hi in INTERESTING:
            outputs = {o: np.zeros((m, n), "f4") for o in "abc"}
            agree(compiled, {"m": m, "n": n}, x=x, k=k, lo=lo, hi=hi, **outputs)


SETS = {
    "one": "lo = k[i] - 1\n        hi = k[i] + 1",
    "a pair": "lo, hi = around(k[i])",
    "a pair in a loop": "lo = k[i]\n        hi = lo\n        for q in range(1):\n            lo, hi = around(k[i])",
    "a reduction": "lo = min(k[i] - q for q in range(2))\n        hi = lo + 2",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_conditions_on_what_an_iteration_sets(name):
    """What a name was before the loop decides nothing of the iterations in which it is set anew."""
    template = f"""
    def around(v):
        if v > 100:
            return v, v
        return v - 1, v + 1

    def f(x, k, out):
        lo = 0
        hi = n
        for i in grid(n):
            {textwrap.indent(SETS[name], "    ").strip()}
            if lo <= i and i < hi:
                out[i] = x[i] * 2
            else:
                out[i] = -x[i]
    """
    compiled = kernel(signature="(x: float32[n], k: int64[n]) -> (out: float32[n])", types="", template=template)
    k = np.arange(40) + np.tile([-1, 0, 1, 2, -2], 8)
    agree(compiled, {"n": 40}, x=np.arange(40, dtype="f4") + 1, k=k, out=np.zeros(40, "f4"))


def test_loads_that_only_the_condition_allows():
    """Compiled with bounds as without: nothing outside is read, so the guard is exact at both ends."""
    body = """
    for b in blocks((n + 15) // 16):
        start = b * 16
        for c in threads(16):
            if start + c < n and start + c - 3 >= 0:
                out[start + c] = x[start + c] - x[start + c - 3]
            elif start + c < n:
                out[start + c] = x[start + c]
    """
    for bounds in (False, True):
        k = kernel(body, "(x: T[n]) -> (out: T[n])", bounds=bounds)
        for n in (1, 3, 16, 17, 50):
            x = np.random.default_rng(n).normal(size=n).astype("f4")
            out = np.zeros(n, "f4")
            status = k({"n": n}, x=x, out=out)
            assert status == 0 or status[0] == 0
            assert (out == np.where(np.arange(n) < 3, x, x - np.roll(x, 3))).all()


@pytest.mark.slow
def test_tiles_inside_and_at_an_edge():
    """A tile that lies inside has as many iterations as vectors have lanes; of others there are a part."""
    body = """
    for b in blocks((n + 31) // 32):
        for c in threads(32):
            if b * 32 + c < n and b * 32 + c >= lo:
                out[b * 32 + c] = x[b * 32 + c] * 2
    """
    compiled = kernel(body, "(x: T[n], lo: int64) -> (out: T[n] = 0)")
    for n in (1, 31, 32, 33, 100):
        for lo in (-1, 1, 32, 40):
            agree(compiled, {"n": n}, x=np.arange(n, dtype="f4") + 1, lo=lo, out=np.zeros(n, "f4"))


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_rows_from_a_cache_line_on(dtype):
    """Rows of about the length from which on what is stored begins with a whole line, wherever they lie."""
    body = """
    for i, j in grid(m, n):
        if 0 < j < n - 1:
            out[i, j] = x[i, j - 1] - x[i, j] + x[i, j + 1]
        else:
            out[i, j] = x[i, j]
    """
    compiled = kernel(body, "(x: T[m, n]) -> (out: T[m, n])", f"{{T: [{dtype}]}}")
    generator = np.random.default_rng(0)
    for n in (0, 1, 2, 3, 70, 513, 514, 515, 516, 530, 577, 579, 700):
        x = generator.integers(-20, 20, (3, n)).astype(dtype)
        wanted = x.copy()
        wanted[:, 1:-1] = x[:, :-2] - x[:, 1:-1] + x[:, 2:]
        for before in (0, 1, 7, 15, 63):
            memory = np.full(3 * n + 256, 77, dtype)
            start = -memory.ctypes.data % 64 // memory.itemsize + before
            out = memory[start : start + 3 * n].reshape(3, n)
            assert compiled({"m": 3, "n": n}, x=x, out=out) == 0
            np.testing.assert_array_equal(out, wanted)
            assert (memory[:start] == 77).all() and (memory[start + 3 * n :] == 77).all()
