"""float16 and bfloat16 in kernels, on every target: loads widen, names are float32, stores round. Against the interpreter,
to the bit, and against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.targets.built import TARGETS, Built, build, loop, marked, same

DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
every_pair = pytest.mark.parametrize("target, dtype", [marked(t, d) for t in TARGETS for d in DTYPES])
EXACT = "fastmath: []"


def draw(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(DTYPES[dtype])


def agree(built: Built, *args, **kwargs):
    """The call by the target's code and by the interpreter: equal to the bit, seen in float64."""
    copies = [[np.array(a) if isinstance(a, np.ndarray) and a.flags.c_contiguous else a for a in args] for _ in "12"]
    got, wanted = built.call(*copies[0], **kwargs), built.python(*copies[1], **kwargs)
    pairs = [*zip(*(v if isinstance(v, tuple) else (v,) for v in (got, wanted)))]
    for k, (g, w) in enumerate([*pairs, *((g, w) for g, w in zip(*copies) if isinstance(g, np.ndarray))]):
        g, w = np.asarray(g), np.asarray(w)
        assert g.dtype == w.dtype
        if g.dtype.name in DTYPES:
            g, w = g.astype(np.float64), w.astype(np.float64)
        same(g, w, f"array {k}")
    return got


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32)


@every_pair
def test_what_is_computed_is_float32(target, dtype):
    """A product that float16 overflows with comes back, and a sum keeps what 16 bits cannot."""
    body = """
        for i in grid(n):
            big = x[i] * 300 * 300
            out[i] = big / 90000 + y[i]
            exact[i] = x[i] + 0.0001
            x[i] += 1
    """
    built = loop(target, f"(x: inout {dtype}[n], y: {dtype}[n]) -> (out: {dtype}[n], exact: float32[n])", body, EXACT)
    x, y = draw(dtype, 333), draw(dtype, 333, seed=1)
    out, exact = agree(built, x, y)
    f = np.float32
    assert (out == (wide(x) * f(300) * f(300) / f(90000) + wide(y)).astype(out.dtype)).all()
    assert (exact == wide(x) + f(0.0001)).all()


@every_pair
def test_a_conversion_rounds_and_a_literal_is_rounded_once(target, dtype):
    body = """
        for i in grid(n):
            out[i] = T(x[i])
            half = T(0.1)
            sum_[i] = half + T(i / 3)
            store[i] = 0.1
            kept[i] = T(i) * 3
    """
    built = loop(
        target, "(x: float64[n]) -> (out: float64[n], sum_: float32[n], store: T[n], kept: float32[n])", body,
        f"types: {{T: [{dtype}]}}", EXACT,
    )  # fmt: skip
    x = np.random.default_rng(0).normal(size=300) * 1e3
    out, sum_, store, _ = agree(built, x)
    own = DTYPES[dtype]
    assert (store == own(0.1)).all()
    if dtype == "float16":
        assert (out == x.astype(own)).all()
        assert (sum_ == wide(own(0.1)) + wide((np.arange(300) / 3).astype(own))).all()


@every_pair
def test_scalars_and_constants_are_rounded_to_their_type(target, dtype):
    body = "for i in grid(n):\n    out[i] = a + S\n    w = (T(0.1), T(0.2))\n    out[i] += w[i % 2]"
    built = loop(
        target, "(a: T, n: int64) -> (out: float32[n])", body, f"types: {{T: [{dtype}]}}", "params: {S: 0.25}", EXACT
    )
    own, f = DTYPES[dtype], np.float32
    out = agree(built, 0.1, 4)
    assert (out == f(own(0.1)) + f(0.25) + np.array([f(own(0.1)), f(own(0.2))] * 2)).all()
    for given in (own(0.1), np.float64(0.1), 3, np.int8(3)):
        agree(built, given, 4)
    for far in (1e39, -70000.0 if dtype == "float16" else -1e39):
        with pytest.raises(OverflowError, match=f"does not fit {dtype}"):
            built.call(far, 4)


@every_pair
def test_reductions_add_up_in_float32(target, dtype):
    body = """
        total[()] = sum(x[r, c] for r, c in grid(m, n))
        for r in blocks(m):
            low[r] = min(x[r, c] for c in threads(n))
            at[r] = argmax(x[r, c] for c in threads(n))
            s = T(0)
            for c in threads(n):
                s += x[r, c]
            means[r] = s / n
            there[r] = any(x[r, c] > 4 for c in threads(n))
            folded[r] = sum(x[r, c] * x[r, c] for c in range(n))
    """
    signature = "(x: T[m, n]) -> (total: float32, low: T[m], at: int64[m], means: T[m], there: bool[m], folded: T[m])"
    built = loop(target, signature, body, f"types: {{T: [{dtype}]}}", EXACT)
    x = np.ones((3, 4097), DTYPES[dtype])  # of ones alone a sum in 16 bits would stop at 2048 or 256
    x[1, 70], x[2, 5:7] = 7, -3
    total, low, at, means, there, folded = built.call(x)
    assert total == wide(x).sum(dtype=np.float64)
    assert [*wide(low)] == [1, 1, -3] and [*at] == [0, 70, 0] and [*there] == [False, True, False]
    assert (means == (wide(x).sum(1) / 4097).astype(x.dtype)).all()
    assert (folded == (wide(x) ** 2).sum(1).astype(x.dtype)).all()


@every_pair
def test_arrays_of_the_kernels_own(target, dtype):
    body = """
        for i in grid(n):
            q[i] = x[i] / 3
            own = local((4,), T)
            for k in range(4):
                own[k] = x[i] * k / 7
            few = local((m,), T)
            for k in range(m):
                few[k] = own[3 - k % 4]
            out[i] = own[3] + few[m - 1]
        for b in blocks((n + 31) // 32):
            tile = shared((32,), T)
            mine = private((32,), T)
            for t in threads(32):
                mine[t] = b / 3
                tile[t] = q[min(b * 32 + t, n - 1)] + mine[t]
            for t in threads(32):
                if b * 32 + t < n:
                    out[b * 32 + t] += tile[31 - t] + mine[t]
    """
    built = loop(target, "(x: T[n], m: int64) -> (out: T[n]) temp (q: T[n])", body, f"types: {{T: [{dtype}]}}", EXACT)
    agree(built, draw(dtype, 100), 5)


@every_pair
def test_views_and_fills(target, dtype):
    body = """
        for r in grid(rows):
            for c in range(n):
                out[r, c] += x[r, c] * w[c]
                y[r, c] = x[r, c] - w[c]
    """
    signature = "(x: strided T[..., n], w: strided T[n], y: inout strided T[..., n]) -> (out: T[..., n] = -0.1)"
    built = loop(target, signature, body, f"types: {{T: [{dtype}]}}", EXACT)
    for view in (lambda a: a, lambda a: a[::2, 1:, ::3], lambda a: a.transpose(1, 0, 2)[..., ::-1]):
        x, base, again = draw(dtype, 3, 4, 21), *(draw(dtype, 3, 4, 21, seed=1) for _ in "12")
        w = draw(dtype, 63)[::3][: view(x).shape[-1]]
        got, wanted = built.call(view(x), w, view(base)), built.python(view(x), w, view(again))
        assert (wide(got) == wide(wanted)).all() and (wide(base) == wide(again)).all()


@every_pair
def test_broadcasting(target, dtype):
    built = loop(target, "(a: broadcast T[...], b: broadcast T[...]) -> (out: T[...])",
                 "for i in grid(size):\n    out[i] = a[i] - b[i]", f"types: {{T: [{dtype}]}}")  # fmt: skip
    x = draw(dtype, 4, 5, 6)
    for a, b in ((x, x[0]), (x[:, :1], x[0, 0]), (x[::2, ::-1], x[:2, :1, :1])):
        assert (built.call(a, b) == (wide(a) - wide(b)).astype(x.dtype)).all()


@every_pair
def test_rows_are_sorted_and_searched(target, dtype):
    body = """
        for r in grid(m):
            own = local((n,), T)
            for c in range(n):
                own[c] = x[r, c]
            sort(own, n)
            for c in range(n):
                out[r, c] = own[c]
            middle[r] = median(x[r], n)
            at[r] = searchsorted(own, n, x[r, 0])
    """
    built = loop(target, "(x: T[m, n]) -> (out: T[m, n], middle: float32[m], at: int64[m])", body,
                 f"types: {{T: [{dtype}]}}")  # fmt: skip
    x = draw(dtype, 3, 30)
    x[1, 4], x[2, 5] = np.inf, np.nan
    out, middle, at = agree(built, x)
    assert np.array_equal(wide(out), np.sort(wide(x), 1), equal_nan=True)
    assert np.array_equal(middle, np.median(wide(x), 1), equal_nan=True)
    assert at[0] == np.searchsorted(np.sort(wide(x[0])), wide(x[0, 0]))


@every_pair
def test_scattered_stores_and_helpers(target, dtype):
    template = """
        def smoothed(a, i):
            return (a[max(i - 1, 0)] + a[i]) / 2


        def put(a, i, v):
            a[i] = v


        def k(x, at, out, bins):
            for i in grid(n):
                put(out, i, smoothed(x, i))
                scatter(bins, at[i] % 4, T(at[i] % 4))
    """
    text = f'signature: "(x: T[n], at: int64[n]) -> (out: T[n], bins: T[4])"\ntypes: {{T: [{dtype}]}}\ntemplate: k.py.j2'
    built = build(target, text, template)
    _, bins = agree(built, draw(dtype, 50), np.arange(50))
    assert [*wide(bins)] == [0, 1, 2, 3]


def test_one_kernel_of_all_floats():
    """Of which some are converted into others."""
    every = ("float16", "bfloat16", "float32", "float64")
    inputs = ", ".join(f"x{k}: {d}[n]" for k, d in enumerate(every))
    outputs = ", ".join(f"o{k}: {d}[n]" for k, d in enumerate(every))
    lines = [f"    o{k}[i] = x{(k + 1) % 4}[i] * x{(k + 2) % 4}[i]" for k in range(4)]
    built = loop("cpu:x86-64-v3", f"({inputs}) -> ({outputs})", "\n".join(["for i in grid(n):", *lines]))
    rng = np.random.default_rng(0)
    agree(built, *(rng.normal(size=100).astype(DTYPES.get(d, d)) for d in every))


@every_pair
def test_atomics(target, dtype):
    """Of elements that do not meet: the value before is float32, the new one is rounded once."""
    body = """
        for i in grid(n):
            a[i] = atomic_add(sums, i, y[i])
            b[i] = atomic_min(least, n - 1 - i, y[i])
            atomic_max(most, (i, 0), y[i] * 0.3)
    """
    arrays = ", ".join(f"{name}: inout {dtype}[n{', 1' * (name == 'most')}]" for name in ("sums", "least", "most"))
    built = loop(target, f"({arrays}, y: float32[n]) -> (a: float32[n], b: float32[n])", body, EXACT)
    x, y = draw(dtype, 301), np.random.default_rng(1).normal(size=301).astype("f4")
    if dtype == "float16":
        x[7], y[7] = 65504, 17  # becomes infinite
    x[9], y[11] = np.nan, np.nan
    before, _ = agree(built, x.copy(), x.copy(), x.copy()[:, None], y)
    sums, least, most = x.copy(), x.copy(), x.copy()[:, None]
    built.call(sums, least, most, y)
    with np.errstate(over="ignore"):
        assert (before == wide(x))[[0, 1, 8]].all()
        assert np.array_equal(wide(sums), wide((wide(x) + y).astype(x.dtype)), equal_nan=True)
        assert np.array_equal(wide(least), wide(np.minimum(wide(x), y[::-1]).astype(x.dtype)), equal_nan=True)
        scaled = np.maximum(wide(x), y * np.float32(0.3)).astype(x.dtype)
        assert np.array_equal(wide(most)[:, 0], wide(scaled), equal_nan=True)


@every_pair
@pytest.mark.parametrize("place", ["grid", "shared"])
def test_atomics_that_meet(target, dtype, place):
    """Small whole numbers, of which 16 bits keep every sum: neighbours in a word do not disturb one another."""
    body = """
        for i in grid(n):
            atomic_add(out, i % 5, 1)
            atomic_min(low, i % 3, x[i])
    """
    if place == "shared":
        body = f"""
        for r in blocks(1):
            here = shared((5,), {dtype})
            least = shared((3,), {dtype})
            for j in threads(5):
                here[j] = 0
                if j < 3:
                    least[j] = 100
            for i in threads(n):
                atomic_add(here, i % 5, 1)
                atomic_min(least, i % 3, x[i])
            for j in threads(5):
                out[j] = here[j]
                if j < 3:
                    low[j] = least[j]
        """
    built = loop(target, f"(x: {dtype}[n]) -> (out: {dtype}[5] = 0, low: {dtype}[3] = 100)", body)
    x = draw(dtype, 640)
    for seed in range(3):
        out, low = built.call(x, seed=seed)
        assert (wide(out) == 128).all() and (wide(low) == [wide(x)[k::3].min() for k in range(3)]).all()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("arch, swap", [("60", "atom.cas.b32"), ("90", "atom.cas.b16")])
def test_atomics_of_other_architectures(arch, swap, dtype):
    """Before capability 7.0 by the 32 bits around an element; what they give is what each has found."""
    body = "for i in grid(n):\n    before[i] = atomic_add(out, i % 5, 1)"
    built = loop(f"cuda:compute_{arch}", f"(n: int64) -> (out: {dtype}[5] = 0, before: float32[n])", body)
    assert swap in built.ptx or swap.replace(".cas", ".global.cas") in built.ptx
    out, before = built.call(200, seed=2)
    assert (wide(out) == 40).all() and all(sorted(before[k::5]) == [*range(40)] for k in range(5))
