"""Loops, arrays, helpers and layouts on CUDA: PTX against the interpreter."""

import numpy as np
import pytest
from cuda_support import build, loop, same


def draw(*shape, dtype="f4", seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.integers(-50, 50, shape).astype(dtype)
        if np.dtype(dtype).kind in "iu"
        else rng.normal(size=shape).astype(dtype)
    )


def agree(built, *args, seed=0, **kwargs):
    """The call by PTX and by the interpreter, on copies: equal to the bit."""
    copies = [
        [np.array(a) if isinstance(a, np.ndarray) and a.flags.c_contiguous else a for a in args] for _ in range(2)
    ]
    got, wanted = built.call(*copies[0], seed=seed, **kwargs), built.python(*copies[1], **kwargs)
    for k, (g, w) in enumerate(zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, wanted)))):
        same(np.asarray(g), np.asarray(w), f"output {k}")
    return got


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
    agree(loop("(k: int64[n]) -> (out: int64[n])", body), draw(1000, dtype="i8"))


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
    built = loop("(a: int64[n], b: int64[n], s: int64[n]) -> (out: int64[n])", body)
    agree(built, draw(300, dtype="i8"), draw(300, dtype="i8", seed=1), draw(300, dtype="i8", seed=2) % 5 - 2)


def test_continue_in_grids_of_one_and_two_counts():
    body = """
        for i, j in grid(m, n):
            out[i, j] = 0
            if x[i, j] < 0:
                continue
            for t in range(4):
                if t == 2:
                    continue
                out[i, j] += t
            out[i, j] += x[i, j]
    """
    built = loop("(x: float32[m, n]) -> (out: float32[m, n])", body)
    for shape in ((7, 300), (300, 7), (1, 1), (0, 3), (3, 0)):
        agree(built, draw(*shape))


@pytest.mark.parametrize(
    "shape", [(3, 5, 7), (1, 1, 1), (0, 4, 4), (4, 0, 4), (4, 4, 0), (40, 30, 17), (2, 3, 700)], ids=str
)
def test_grids_of_three_counts(shape):
    built = cached("three", lambda: loop(
        "(x: float32[a, b, c]) -> (out: float32[a, b, c])",
        "for i, j, l in grid(a, b, c):\n    out[i, j, l] = x[i, j, l] * 2 + i + j * l",
    ))  # fmt: skip
    agree(built, draw(*shape))


_made = {}


def cached(name, make):
    if name not in _made:
        _made[name] = make()
    return _made[name]


def test_shared_memory_and_threads_of_two_counts():
    body = """
        for bi, bj in blocks((m + 7) // 8, (n + 7) // 8):
            tile = shared((8, 9), float32)
            for i, j in threads(8, 8):
                tile[i, j] = x[bi * 8 + i, bj * 8 + j] if bi * 8 + i < m and bj * 8 + j < n else 0
            for i, j in threads(8, 8):
                if bj * 8 + i < n and bi * 8 + j < m:
                    out[bj * 8 + i, bi * 8 + j] = tile[j, i]
    """
    built = loop("(x: float32[m, n]) -> (out: float32[n, m])", body)
    for seed, (m, n) in enumerate(((8, 8), (13, 30), (1, 1), (0, 5))):
        x = draw(m, n)
        assert (agree(built, x, seed=seed) == x.T).all()


@pytest.mark.parametrize("block", [32, 100, 256])
def test_private_arrays_and_values_of_the_block(block):
    body = """
        for r in blocks(m):
            keep = private((70,), float32)
            wide = private((9, 8), float32)
            scale = x[r, 0] + 1
            for c in threads(n):
                keep[c] = x[r, c] * scale
            for i, j in threads(9, 5):
                wide[i, j] = i * 10 + j
            for t in range(3):
                for c in threads(n):
                    keep[c] = keep[c] * 2 + t
                for i, j in threads(9, 5):
                    wide[i, j] += t
            for c in threads(n):
                out[r, c] = keep[c]
            for i, j in threads(9, 5):
                two[r, i, j] = wide[i, j]
    """
    signature = "(x: float32[m, n]) -> (out: float32[m, n], two: float32[m, 9, 5])"
    built = loop(signature, body, f"launch: {{block: {block}}}", "fastmath: []")
    for n in (70, 33, 1):
        agree(built, draw(5, n))
    if block == 256:  # one element a thread: nothing is left in memory
        assert ".local" not in built.ptx


def test_private_arrays_stay_in_registers():
    body = """
        for r in blocks(m):
            keep = private((32, 32), float32)
            for i, j in threads(32, 32):
                keep[i, j] = 0
            for t in range(k):
                for i, j in threads(32, 32):
                    keep[i, j] += x[r, t]
            for i, j in threads(32, 32):
                out[r, i, j] = keep[i, j]
    """
    built = loop("(x: float32[m, k]) -> (out: float32[m, 32, 32])", body)
    agree(built, draw(2, 5))
    assert ".local" not in built.ptx and built.meta["resources"]["k"]["stack"] == 0


def test_local_arrays_are_each_iterations_own():
    body = """
        for i in grid(n):
            w = local((4,), float32)
            for j in range(k):
                w[j % 4] = x[i] * j
            t = float32(0)
            for j in range(4):
                t += w[3 - j] * w[j]
            out[i] = t
    """
    agree(loop("(x: float32[n], k: int64) -> (out: float32[n])", body, "fastmath: []"), draw(503), 9)


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

        def k(x, w, v, out, far):
            for i in grid(m):
                left, right = neighbours(v, i, m)
                out[i] = dot(x, w, i, n) + left
                far[i] = right + clamp(v[i], 0, 1)
    """
    text = """
        signature: "(x: strided T[m, n], w: T[n], v: T[m]) -> (out: T[m], far: T[m])"
        types: {T: [float32]}
        fastmath: []
        template: k.py.j2
    """
    built = build(text, template)
    agree(built, draw(300, 5), draw(5), draw(300))
    agree(built, draw(5, 300).T, draw(5), draw(300))


def test_set_up():
    body = """
        total = float32(0)
        for j in range(m):
            if w[j] > 0:
                total += w[j]
        half = total / 2
        count = n * 2 - 1
        for i in grid(count):
            out[i] = x[i] - total + half
    """
    built = loop("(w: float32[m], x: float32[n2], n: int64) -> (out: float32[n2])", body, "fastmath: []")
    for n in (1, 1000):
        agree(built, draw(9), draw(2 * n - 1), n)


def test_a_count_that_only_the_kernel_knows():
    built = loop("(k: int64[m], x: float32[n]) -> (out: float32[n] = 7)", "for i in grid(k[0]):\n    out[i] = x[i]")
    assert built.meta["launches"][0]["grid"]["counts"] == [None]
    for k in (0, 5, 1000):
        agree(built, np.array([k]), draw(1000))


def test_a_declared_grid_of_any_size_does_everything():
    launch = 'launch: {block: 64, grid: "n // 1000"}'
    double = loop("(x: float32[n]) -> (out: float32[n])", "for i in grid(n):\n    out[i] = 2 * x[i]", launch)
    total = loop("(x: int64[n]) -> (total: int64)", "total[()] = sum(x[i] for i in grid(n))", launch)
    for n in (0, 100, 2500):
        agree(double, draw(n))
        agree(total, draw(n, dtype="i8"))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint64", "float16", "float32", "float64"])
def test_atomics(dtype):
    body = """
        for i in grid(n):
            atomic_add(count, k[i], v[i])
            atomic_min(low, k[i], v[i])
            atomic_max(high, k[i], v[i])
    """
    signature = (
        f"(k: int64[n], v: {dtype}[n], b: int64) -> (count: {dtype}[b] = 0, low: {dtype}[b] = 1, high: {dtype}[b] = 0)"
    )
    built = loop(signature, body)
    v = np.abs(draw(700, dtype="i4")).astype(dtype)  # whole numbers: float sums are exact in any order
    if dtype == "float16":
        v = v % 8
    at = np.random.default_rng(3).integers(0, 8, 700)
    for seed, bins in enumerate((8, 7)):
        agree(built, at % bins, v, bins, seed=seed)


def test_atomics_of_shared_memory():
    body = """
        for r in blocks(m):
            bins = shared((16,), int32)
            for c in threads(16):
                bins[c] = 0
            for c in threads(n):
                atomic_add(bins, x[r, c], 1)
                atomic_add(total, 0, z[r, c])
            for c in threads(16):
                out[r, c] = bins[c]
    """
    signature = "(x: int64[m, n], z: strided int16[m, n]) -> (out: int32[m, 16], total: int16[1] = 0)"
    built = loop(signature, body)
    rng = np.random.default_rng(0)
    agree(built, rng.integers(0, 16, (3, 500)), rng.integers(-9, 9, (500, 3)).astype("i2").T)


def test_layouts():
    body = """
        for i in grid(size):
            out[i] = a[i] - b[i] * c[i]
    """
    built = loop(
        "(a: broadcast T[...], b: broadcast T[...], c: broadcast T[...]) -> (out: T[...])",
        body,
        "types: {T: [float32]}",
        "fastmath: []",
    )
    x = draw(4, 5, 6, 7)
    agree(built, x, x[0, 0], np.array(2, "f4"))
    agree(built, x[::2, ::-1, 1:, ::3], x[0, :, 1:, ::3], x[:2, :1, :5, :3])
    agree(built, x.transpose(3, 1, 0, 2), x[0, :, :1, :1], np.ones((7, 1, 1, 1), "f4"))
    assert built.call(x[:0], x[:0], x[:1]).shape == (0, 5, 6, 7)


def test_strided_rows_and_outputs():
    body = """
        for r in blocks(rows):
            for c in threads(n):
                x[r, c] = x[r, c] * w[c] + 1
    """
    built = loop("(x: inout strided T[..., n], w: strided T[n]) -> ()", body, "types: {T: [float64]}", "fastmath: []")
    base, again = draw(3, 4, 20, dtype="f8"), draw(3, 4, 20, dtype="f8")
    for view in (lambda a: a, lambda a: a[::2, 1:, ::3], lambda a: a.transpose(1, 0, 2)[..., ::-1]):
        w = draw(60, dtype="f8")[::3][: view(base).shape[-1]]
        built.call(view(base), w)
        built.python(view(again), w)
        same(base, again, "x")


def test_scalars_of_every_dtype():
    dtypes = (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
    )
    inputs = ", ".join(f"a{k}: {d}" for k, d in enumerate(dtypes))
    outputs = ", ".join(f"o{k}: {d}[n]" for k, d in enumerate(dtypes))
    body = "for i in grid(n):\n" + "\n".join(f"    o{k}[i] = a{k}" for k in range(len(dtypes)))
    built = loop(f"({inputs}, n: int64) -> ({outputs})", body)
    values = [np.array(1.5 - 2j if d[0] == "c" else 3.25 if d[0] == "f" else 1, d)[()] for d in dtypes]
    agree(built, *values, 5)


def test_a_dimension_given_as_a_narrow_integer():
    built = loop("(n: int16, v: float32) -> (out: float32[n])", "for i in grid(n):\n    out[i] = v + n")
    agree(built, 700, 2.5)


def test_in_place():
    built = loop(
        "(x: T[n], y: T[n]) -> (out: T[n])", "for i in grid(n):\n    out[i] = x[i] * 2 + y[i]", "types: {T: [float32]}"
    )
    x, y = draw(1000), draw(1000, seed=1)
    wanted = built.call(x, y)
    assert (built.call(x, y, x) == wanted).all() and (x == wanted).all()


def test_names_that_generated_code_uses_itself():
    body = """
        for load in grid(n):
            add = x[load]
            barrier = add * 2
            cuda = barrier + 1
            out[load] = cuda
    """
    agree(loop("(x: float32[n]) -> (out: float32[n])", body), draw(9))


def test_statements_of_a_block_happen_once():
    body = """
        for r in blocks(m):
            v = x[r]
            x[r] = v + 1
            atomic_add(hits, 0, 1)
            w = x[r]
            if w > 0:
                x[r] = w * 2
            else:
                x[r] = w - 1
            for t in range(3):
                x[r] += t
            for c in threads(n):
                out[r, c] = x[r] + c
    """
    signature = "(x: inout float32[m], n: int64) -> (out: float32[m, n], hits: int32[1] = 0)"
    built = loop(signature, body, "launch: {block: 64}")
    for seed in range(3):
        agree(built, draw(5), 100, seed=seed)
