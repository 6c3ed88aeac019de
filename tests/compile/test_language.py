"""Statements, loops, arrays and helpers: compiled code against the interpreter."""

import numpy as np
import pytest
from compiled import agree, kernel, load  # noqa: F401


def draw(*shape, dtype="f4", seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.integers(-50, 50, shape).astype(dtype)
        if np.dtype(dtype).kind in "iu"
        else rng.normal(size=shape).astype(dtype)
    )


def test_control_flow():
    body = """
    for i in grid(n):
        t = 0
        for j in range(k[i]):
            if j == 3:
                continue
            if j > 7:
                break
            t += j * i
        u = t
        while u > 10:
            u = u // 2
        a, b = t, u
        a, b = b, a
        if a < b < 100:
            r = a
        elif a == b:
            r = -1
        else:
            r = b
        out[i] = r
    """
    agree(
        kernel(body, "(k: int64[n]) -> (out: int64[n])", types=""),
        {"n": 100},
        k=draw(100, dtype="i8"),
        out=np.zeros(100, "i8"),
    )


def test_ranges():
    body = """
    for i in grid(n):
        t = 0
        for j in range(a[i], b[i], s[i]):
            t = t * 3 + j
        for j in range(b[i], a[i], -2):
            t += j
        for j in range(5):
            t += j
            j = 7
            t += j
        out[i] = t
    """
    k = kernel(body, "(a: int64[n], b: int64[n], s: int64[n]) -> (out: int64[n])", types="")
    a, b, s = (draw(300, dtype="i8", seed=x) for x in range(3))
    agree(k, {"n": 300}, a=a, b=b, s=s % 5 - 2, out=np.zeros(300, "i8"))


def test_continue_in_parallel_loops():
    body = """
    for i in grid(n):
        out[i] = 0
        if x[i] < 0:
            continue
        out[i] = x[i]
    """
    agree(kernel(body, "(x: T[n]) -> (out: T[n])"), {"n": 77}, x=draw(77), out=np.zeros(77, "f4"))


def test_grids_of_two_and_three_counts():
    for shape in ((3, 5, 7), (1, 1, 1), (0, 4, 4), (4, 0, 4), (4, 4, 0), (40, 30, 17)):
        body = "for i, j, l in grid(a, b, c):\n    out[i, j, l] = x[i, j, l] * 2 + i + j * l"
        k = kernel(body, "(x: T[a, b, c]) -> (out: T[a, b, c])")
        for threads in (1, 3):
            agree(k, dict(zip("abc", shape)), threads, x=draw(*shape), out=np.zeros(shape, "f4"))


def test_blocks_of_two_counts_and_threads_of_two():
    body = """
    for bi, bj in blocks((m + 7) // 8, (n + 7) // 8):
        tile = shared((8, 9), T)
        for i, j in threads(8, 8):
            tile[i, j] = x[bi * 8 + i, bj * 8 + j] if bi * 8 + i < m and bj * 8 + j < n else 0
        for i, j in threads(8, 8):
            if bj * 8 + i < n and bi * 8 + j < m:
                out[bj * 8 + i, bi * 8 + j] = tile[j, i]
    """
    k = kernel(body, "(x: T[m, n]) -> (out: T[n, m])")
    for m, n in ((8, 8), (13, 30), (1, 1), (0, 5)):
        x = draw(m, n)
        got = agree(k, {"m": m, "n": n}, x=x, out=np.zeros((n, m), "f4"))
        assert (got["out"] == x.T).all()


def test_local_arrays_are_each_iterations_own():
    body = """
    for i in grid(n):
        w = local((4,), T)
        for j in range(4):
            w[j] = x[i] * j
        t = T(0)
        for j in range(4):
            t += w[3 - j] * w[j]
        out[i] = t
    """
    agree(
        kernel(body, "(x: T[n]) -> (out: T[n])", extra="fastmath: []"), {"n": 103}, x=draw(103), out=np.zeros(103, "f4")
    )


def test_private_arrays_and_values_of_the_block():
    body = """
    for r in blocks(m):
        keep = private((64,), T)
        scale = x[r, 0] + 1
        for c in threads(64):
            keep[c] = x[r, c] * scale
        for t in range(3):
            for c in threads(64):
                keep[c] = keep[c] * 2 + t
        for c in threads(64):
            out[r, c] = keep[c]
    """
    agree(
        kernel(body, "(x: T[m, n]) -> (out: T[m, n])", extra="fastmath: []"),
        {"m": 5, "n": 64},
        x=draw(5, 64),
        out=np.zeros((5, 64), "f4"),
    )


def test_helpers_take_arrays_and_return_tuples():
    template = """
    def clamp(v, low, high):
        if v < low:
            return low
        if v > high:
            return high
        return v

    def neighbours(a, i, n):
        return a[clamp(i - 1, 0, n - 1)], a[clamp(i + 1, 0, n - 1)]

    def dot(a, b, i, n):
        t = 0.0
        for j in range(n):
            t += a[i, j] * b[j]
        return t

    def f(x, w, v, out, far):
        for i in grid(m):
            left, right = neighbours(v, i, m)
            out[i] = dot(x, w, i, n) + left
            far[i] = right + clamp(v[i], 0, 1)
    """
    k = kernel(
        template=template, signature="(x: T[m, n], w: T[n], v: T[m]) -> (out: T[m], far: T[m])", extra="fastmath: []"
    )
    agree(k, {"m": 20, "n": 5}, x=draw(20, 5), w=draw(5), v=draw(20), out=np.zeros(20, "f4"), far=np.zeros(20, "f4"))


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


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32", "float64"])
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
    k = kernel(
        body,
        f"(k: int64[n], v: {dtype}[n]) -> (count: {dtype}[b] = 0, low: {dtype}[b] = 0, high: {dtype}[b] = 0)".replace(
            "v: ", "bins: int64[b], v: "
        ),
        types="",
    )
    n = 30000
    v = np.abs(draw(n, dtype="i4")).astype(dtype)  # whole numbers, so that float sums are exact in any order
    at = np.random.default_rng(3).integers(0, 9, n)
    wanted = {"count": np.zeros(9, dtype), "low": np.full(9, 100, dtype), "high": np.zeros(9, dtype)}
    with np.errstate(over="ignore"):
        np.add.at(wanted["count"], at, v)
    np.minimum.at(wanted["low"], at, v)
    np.maximum.at(wanted["high"], at, v)
    for threads in (1, 2, 3):
        got = {"count": np.zeros(9, dtype), "low": np.full(9, 100, dtype), "high": np.zeros(9, dtype)}
        k({"n": n, "b": 9}, threads, k=at, v=v, bins=np.zeros(9, "i8"), **got)
        for name in got:
            assert (got[name] == wanted[name]).all(), (name, threads)


def test_names_that_generated_code_uses_itself():
    body = """
    for load in grid(n):
        add = x[load]
        state = add * 2
        start = state + 1
        out[load] = start
    """
    agree(kernel(body, "(x: T[n]) -> (out: T[n])"), {"n": 9}, x=draw(9), out=np.zeros(9, "f4"))


def test_scalars_of_every_dtype():
    dtypes = [
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ]
    inputs, outputs = (", ".join(f"{x}{k}: {d}{n}" for k, d in enumerate(dtypes)) for x, n in (("a", ""), ("o", "[n]")))
    signature = f"({inputs}, n: int64) -> ({outputs})"
    k = kernel(
        "for i in grid(n):\n" + "\n".join(f"    o{k}[i] = a{k}" for k in range(len(dtypes))), signature, types=""
    )
    values = {
        f"a{k}": np.array(1.5 - 2j if d[0] == "c" else 3.25 if d[0] == "f" else 1, d)[()] for k, d in enumerate(dtypes)
    }
    agree(k, {"n": 5}, n=5, **values, **{f"o{k}": np.zeros(5, d) for k, d in enumerate(dtypes)})


def test_in_place():
    body = "for i in grid(n):\n    out[i] = x[i] * 2 + y[i]"
    k = kernel(body, "(x: T[n], y: T[n]) -> (out: T[n])")
    assert k.tree.aliases
    x, y = draw(1000), draw(1000, seed=1)
    wanted, same = np.zeros(1000, "f4"), x.copy()
    k({"n": 1000}, x=x, y=y, out=wanted)
    k({"n": 1000}, x=same, y=y, out=same)
    assert (same == wanted).all()
