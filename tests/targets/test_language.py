"""Statements, loops, arrays, helpers and layouts, for every target: its code against the interpreter."""

import numpy as np
import pytest
from tests.targets.built import agree, build, draw, every_target, every_target_and, loop, same

from pydotcompute.targets import registry


@every_target
def test_control_flow(target):
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
    agree(loop(target, "(k: int64[n]) -> (out: int64[n])", body), draw(1000, dtype="i8"))


@every_target
def test_ranges(target):
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
    built = loop(target, "(a: int64[n], b: int64[n], s: int64[n]) -> (out: int64[n])", body)
    steps = draw(300, dtype="i8", seed=2) % 4 - 2
    agree(built, draw(300, dtype="i8"), draw(300, dtype="i8", seed=1), np.where(steps < 0, steps, steps + 1))


@every_target
def test_continue_in_grids_of_one_and_two_counts(target):
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
    built = loop(target, "(x: float32[m, n]) -> (out: float32[m, n])", body)
    for shape in ((7, 300), (300, 7), (1, 1), (0, 3), (3, 0)):
        agree(built, draw(*shape))


@every_target
def test_grids_of_three_counts(target):
    built = loop(
        target,
        "(x: float32[a, b, c]) -> (out: float32[a, b, c])",
        "for i, j, l in grid(a, b, c):\n    out[i, j, l] = x[i, j, l] * 2 + i + j * l",
    )
    for shape in ((3, 5, 7), (1, 1, 1), (0, 4, 4), (4, 0, 4), (4, 4, 0), (40, 30, 17), (2, 3, 700)):
        for seed in (0, 2):
            agree(built, draw(*shape), seed=seed)


@every_target
def test_shared_memory_and_threads_of_two_counts(target):
    body = """
        for bi, bj in blocks((m + 7) // 8, (n + 7) // 8):
            tile = shared((8, 9), float32)
            for i, j in threads(8, 8):
                tile[i, j] = x[bi * 8 + i, bj * 8 + j] if bi * 8 + i < m and bj * 8 + j < n else 0
            for i, j in threads(8, 8):
                if bj * 8 + i < n and bi * 8 + j < m:
                    out[bj * 8 + i, bi * 8 + j] = tile[j, i]
    """
    built = loop(target, "(x: float32[m, n]) -> (out: float32[n, m])", body)
    for seed, (m, n) in enumerate(((8, 8), (13, 30), (1, 1), (0, 5))):
        x = draw(m, n)
        assert (agree(built, x, seed=seed) == x.T).all()


@every_target
@pytest.mark.parametrize("block", [32, 100, 256])
def test_private_arrays_and_values_of_the_block(target, block):
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
    built = loop(target, signature, body, f"launch: {{block: {block}}}", "fastmath: []")
    for n in (70, 33, 1):
        agree(built, draw(5, n))


@every_target
def test_private_arrays_beside_as_much_shared_memory_as_there_is(target):
    """They take none of it: neither is refused, and neither lies in scratch."""
    body = """
        for r in blocks(m):
            keep = private((64, 256), float32)
            most = shared((4000,), float32)
            for i, c in threads(64, 256):
                keep[i, c] = i
            for i in threads(4000):
                most[i] = x[r]
            for i, c in threads(64, 256):
                keep[i, c] += most[c]
            for i, c in threads(64, 256):
                out[r, i, c] = keep[i, c]
    """
    built = loop(target, "(x: float32[m]) -> (out: float32[m, 64, 256])", body, "launch: {block: 256}")
    assert not any(a.scratch for a in built.tree.arrays.values())
    x = draw(2)
    assert (built.call(x) == x[:, None, None] + np.arange(64, dtype="f4")[:, None]).all()


@every_target
def test_local_arrays_are_each_iterations_own(target):
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
    agree(loop(target, "(x: float32[n], k: int64) -> (out: float32[n])", body, "fastmath: []"), draw(503), 9)


@every_target
def test_helpers_take_arrays_and_return_tuples(target):
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
    built = build(target, text, template)
    agree(built, draw(300, 5), draw(5), draw(300))
    agree(built, draw(5, 300).T, draw(5), draw(300))


@every_target
def test_set_up(target):
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
    built = loop(target, "(w: float32[m], x: float32[n2], n: int64) -> (out: float32[n2])", body, "fastmath: []")
    for n in (1, 1000):
        agree(built, draw(9), draw(2 * n - 1), n)


@every_target
def test_a_declared_grid_of_any_size_does_everything(target):
    launch = 'launch: {block: 64, grid: "n // 1000"}'
    double = loop(target, "(x: float32[n]) -> (out: float32[n])", "for i in grid(n):\n    out[i] = 2 * x[i]", launch)
    total = loop(target, "(x: int64[n]) -> (total: int64)", "total[()] = sum(x[i] for i in grid(n))", launch)
    for n in (0, 100, 2500):
        agree(double, draw(n))
        agree(total, draw(n, dtype="i8"))


WIDE = (("webgpu", "int64"), ("webgpu", "uint64"))  # atomics that there are not


@every_target_and("int8", "int16", "int32", "uint64", "float32", "float64", but=WIDE)
def test_atomics(target, dtype):
    body = """
        for i in grid(n):
            atomic_add(count, k[i], v[i])
            atomic_min(low, k[i], v[i])
            atomic_max(high, k[i], v[i])
    """
    signature = (
        f"(k: int64[n], v: {dtype}[n], b: int64) -> (count: {dtype}[b] = 0, low: {dtype}[b] = 1, high: {dtype}[b] = 0)"
    )
    built = loop(target, signature, body)
    v = np.abs(draw(700, dtype="i4")).astype(dtype)  # whole numbers: float sums are exact in any order
    at = np.random.default_rng(3).integers(0, 8, 700)
    for seed, bins in enumerate((8, 7)):
        agree(built, at % bins, v, bins, seed=seed)


@pytest.mark.slow
@every_target_and("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", but=WIDE)
def test_atomics_over_all_of_a_type(target, dtype):
    """Numbers of either sign and beyond half of the width."""
    body = """
        for i in grid(n):
            atomic_add(count, k[i], 1)
            atomic_min(low, k[i], v[i])
            atomic_max(high, k[i], v[i])
    """
    signature = "(count: inout T[b], low: inout T[b], high: inout T[b], k: int64[n], v: T[n]) -> ()"
    built = loop(target, signature, body, f"types: {{T: [{dtype}]}}")
    n, rng = 300, np.random.default_rng(7)
    if dtype.startswith("float"):
        v = (rng.normal(size=n) * 1e6).astype(dtype)
        least, most = -np.inf, np.inf
    else:
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        v = rng.integers(least, most, n, dtype, endpoint=True)
    for seed in range(2):
        given = [np.zeros(9, dtype), np.full(9, most, dtype), np.full(9, least, dtype)]
        wanted = [array.copy() for array in given]
        at = rng.integers(0, 9, n)
        built.call(*given, at, v, seed=seed)
        for ufunc, array, values in zip((np.add, np.minimum, np.maximum), wanted, (v.dtype.type(1), v, v)):
            ufunc.at(array, at, values)
        for got, array in zip(given, wanted):
            assert np.array_equal(got, array)


@every_target
def test_atomics_of_shared_memory(target):
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
    built = loop(target, signature, body)
    rng = np.random.default_rng(0)
    agree(built, rng.integers(0, 16, (3, 500)), rng.integers(-9, 9, (500, 3)).astype("i2").T)


@every_target
def test_layouts(target):
    body = """
        for i in grid(size):
            out[i] = a[i] - b[i] * c[i]
    """
    built = loop(
        target,
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


@every_target_and("float32", "float64")
def test_strided_rows_and_outputs(target, dtype):
    body = """
        for r in blocks(rows):
            for c in threads(n):
                x[r, c] = x[r, c] * w[c] + 1
    """
    built = loop(target, "(x: inout strided T[..., n], w: strided T[n]) -> ()", body, f"types: {{T: [{dtype}]}}", "fastmath: []")
    base, again = draw(3, 4, 20, dtype=dtype), draw(3, 4, 20, dtype=dtype)
    for view in (lambda a: a, lambda a: a[::2, 1:, ::3], lambda a: a.transpose(1, 0, 2)[..., ::-1]):
        w = draw(60, dtype=dtype)[::3][: view(base).shape[-1]]
        built.call(view(base), w)
        built.python(view(again), w)
        same(base, again, "x")


@every_target
def test_scalars_of_every_dtype(target):
    every = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
    dtypes = [dtype for dtype in every.split() if dtype in registry.get(target).dtypes]
    inputs = ", ".join(f"a{k}: {d}" for k, d in enumerate(dtypes))
    outputs = ", ".join(f"o{k}: {d}[n]" for k, d in enumerate(dtypes))
    body = "for i in grid(n):\n" + "\n".join(f"    o{k}[i] = a{k}" for k in range(len(dtypes)))
    built = loop(target, f"({inputs}, n: int64) -> ({outputs})", body)
    values = [np.array(1.5 - 2j if d[0] == "c" else 3.25 if d[0] == "f" else 1, d)[()] for d in dtypes]
    agree(built, *values, 5)


@every_target
def test_a_dimension_given_as_a_narrow_integer(target):
    built = loop(target, "(n: int16, v: float32) -> (out: float32[n])", "for i in grid(n):\n    out[i] = v + n")
    agree(built, 700, 2.5)


@every_target
def test_in_place(target):
    built = loop(
        target,
        "(x: T[n], y: T[n]) -> (out: T[n])", "for i in grid(n):\n    out[i] = x[i] * 2 + y[i]", "types: {T: [float32]}"
    )
    x, y = draw(1000), draw(1000, seed=1)
    wanted = built.call(x, y)
    assert (built.call(x, y, x) == wanted).all() and (x == wanted).all()


@every_target
def test_names_that_generated_code_uses_itself(target):
    body = """
        for load in grid(n):
            add = x[load]
            barrier = add * 2
            cuda = barrier + 1
            out[load] = cuda
    """
    agree(loop(target, "(x: float32[n]) -> (out: float32[n])", body), draw(9))


@every_target
def test_statements_of_a_block_happen_once(target):
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
    built = loop(target, signature, body, "launch: {block: 64}")
    for seed in range(3):
        agree(built, draw(5), 100, seed=seed)
