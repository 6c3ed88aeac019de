"""Reductions: exact ones against the interpreter, sums within their bound, and the same bits however they are run."""

import math

import numpy as np
import pytest
from compiled import Kernel, agree, kernel, tree_of

SIZES = (0, 1, 5, 17, 128, 129, 1000, 1025, 5000, 12289)


def numbers(n, dtype, seed=0):
    rng = np.random.default_rng([seed, n])
    if dtype == "bool":
        return rng.random(n) < 0.5
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, n, dtype, endpoint=True)
    return (rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)).astype(dtype)


FORMS = {
    "grid": ("{body}\n{after}", "i", "grid(n)", ""),
    "threads": ("for b in blocks(1):\n{body}\n{after}", "c", "threads(n)", "    "),
}


def accumulating(form, updates, starts, outputs):
    """A kernel that runs `updates` over x[index] in one loop; the loop's form is "grid" or "threads"."""
    outer, index, loop, indent = FORMS[form]
    lines = [*starts, f"for {index} in {loop}:", *(f"    {u.format(x=f'x[{index}]', i=index)}" for u in updates)]
    after = [f"{o} = {v}" for o, v in outputs]
    text = "\n".join(indent + line for line in [*lines, *after])
    return text if form == "grid" else "for b in blocks(1):\n" + text


@pytest.mark.parametrize(
    "form, dtype",
    [
        *(("grid", dtype) for dtype in ("int64", "bool", "float32")),
        *(("threads", dtype) for dtype in ("int8", "uint32", "bool", "float64")),
    ],
)
def test_exact_reductions(form, dtype):
    ordered = dtype != "bool"
    names = ["low", "high", "first", "last"] if ordered else ["any_", "all_"]
    outer, index, loop, indent = FORMS[form]
    if ordered:
        values = ["min", "max", "argmin", "argmax"]
    else:
        values = ["any", "all"]
    lines = [f"{o}[()] = {v}(x[{index}] for {index} in {loop})" for o, v in zip(names, values)]
    if form == "grid":  # one reduction over a grid a kernel, so one kernel each
        kernels = [([o], [line]) for o, line in zip(names, lines)]
    else:
        kernels = [(names, ["for b in blocks(1):", *("    " + line for line in lines)])]
    for outputs, text in kernels:
        types = {o: "int64" if o in ("first", "last") else "bool" if not ordered else dtype for o in outputs}
        signature = f"(x: {dtype}[n]) -> ({', '.join(f'{o}: {t}' for o, t in types.items())})"
        k = kernel("\n".join(text), signature, types="")
        for n in SIZES:
            for x in (numbers(n, dtype), special(n, dtype)):
                agree(k, {"n": n}, 3, x=x, **{o: np.zeros((), t) for o, t in types.items()})


def special(n, dtype):
    """Ties everywhere, NaN in places, infinities."""
    x = (numbers(n, "int64") % 3).astype(dtype)
    if np.issubdtype(dtype, np.floating) and n:
        x[n // 2 :: 7] = np.nan
        x[: n // 3] = -np.inf if n % 2 else np.inf
        x[n // 4] = -0.0
    return x


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
def test_sums_of_integers_wrap(dtype):
    signature = f"(x: {dtype}[n], s0: {dtype}) -> (s: {dtype}, p: {dtype}, a: {dtype}, o: {dtype}, z: {dtype})"
    starts = [f"{v} = s0" for v in ("t", "u", "v", "w", "h")]
    updates = ["t += {x}", "u *= {x}", "v &= {x}", "w |= {x}", "h ^= {x}"]
    outputs = [("s[()]", "t"), ("p[()]", "u"), ("a[()]", "v"), ("o[()]", "w"), ("z[()]", "h")]
    for form in FORMS:
        k = kernel(accumulating(form, updates, starts, outputs), signature, types="")
        for n in SIZES:
            agree(k, {"n": n}, 2, x=numbers(n, dtype), s0=3, **{o: np.zeros((), dtype) for o in "spaoz"})


def bound(dtype, n):
    return (8 + math.log2(max(n, 1))) * np.finfo(dtype).eps / 2


@pytest.mark.parametrize("form, dtype", [("grid", "float32"), ("threads", "float32"), ("grid", "float64")])
def test_sums_keep_their_bound_and_their_bits(form, dtype):
    signature = f"(x: {dtype}[n], s0: {dtype}) -> (s: {dtype}, d: {dtype}, m: {dtype})"
    text = accumulating(form, ["t += {x}", "d2 -= {x} * {x}", "h = max(h, {x})"], ["t = s0", "d2 = s0", "h = s0"],
                        [("s[()]", "t"), ("d[()]", "d2"), ("m[()]", "h")])  # fmt: skip
    kernels = [
        Kernel(tree_of(text, signature, types="", extra="fastmath: []"), f"cpu:x86-64-{v}") for v in ("v2", "v3")
    ]
    for n in (*SIZES, 100003, 1 << 20):
        x, s0 = numbers(n, dtype), np.dtype(dtype).type(0.75)
        results = []
        for k in kernels:
            for threads in (1, 2, 3):
                got = {o: np.zeros((), dtype) for o in "sdm"}
                assert k({"n": n}, threads, x=x, s0=s0, **got) == 0
                results.append(tuple(v[()].tobytes() for v in got.values()))
        assert len(set(results)) == 1
        exact = math.fsum([float(s0), *map(float, x)])
        assert abs(float(got["s"]) - exact) <= bound(dtype, n + 1) * (
            abs(float(s0)) + math.fsum(map(abs, map(float, x)))
        )
        squares = [float(v) for v in x * x]
        exact = float(s0) - math.fsum(squares)
        assert abs(float(got["d"]) - exact) <= bound(dtype, n + 1) * (float(s0) + math.fsum(squares))
        assert got["m"] == max(s0, x.max(initial=-np.inf))


def test_the_bound_holds_where_errors_add_up():
    """Terms that all round the same way; and few lanes, many rows, and rows of all lengths."""
    x = np.full(3_000_001, np.float32(1 + 2**-23))
    k = kernel("s[()] = sum(x[i] for i in grid(n))", "(x: float32[n]) -> (s: float32)", types="")
    for n in (9, 13, 100, 129, 1023, 4097, 65537, 1_050_000, 3_000_001):
        s = np.zeros((), "f4")
        k({"n": n}, 2, x=x, s=s)
        assert abs(float(s) - n * float(x[0])) <= bound("f4", n) * n * float(x[0])
    k = kernel("s[()] = sum(x[i, j] for i, j in grid(m, n))", "(x: float32[m, n]) -> (s: float32)", types="")
    for m, n in ((30000, 1), (10000, 3), (1000, 16), (1000, 17), (300, 129), (3, 70000), (50, 1025), (0, 5), (5, 0)):
        values = x[: m * n]
        results = set()
        for threads in (1, 3):
            s = np.zeros((), "f4")
            k({"m": m, "n": n}, threads, x=values, s=s)
            results.add(float(s))
        assert len(results) == 1
        assert abs(results.pop() - m * n * float(x[0])) <= bound("f4", m * n) * m * n * float(x[0])


def test_several_terms_an_iteration_keep_the_bound():
    body = """
    t = T(0)
    for i in grid(n):
        t += x[i]
        t += x[i]
        if x[i] > 1:
            t += x[i]
        else:
            t += 1
            t += 1
    s[()] = t
    """
    k = kernel(body, "(x: T[n]) -> (s: T)")
    s = np.zeros((), "f4")
    for n in (13, 1000, 1024, 300_000):
        x = np.full(n, np.float32(1 + 2**-23))
        k({"n": n}, x=x, s=s)
        exact = 3 * n * float(x[0])
        assert abs(float(s) - exact) <= bound("f4", 3 * n) * exact
    k({"n": 40}, x=np.full(40, np.float32(1e38)), s=s)
    assert s == np.inf


def test_reductions_of_rows_beside_stores():
    body = """
    for r in blocks(m):
        s = T(1)
        low = x[r, 0]
        for i, j in threads(a, b):
            v = x[r, i * int64(b) + j]
            if v < 0:
                continue
            y[r, i * int64(b) + j] = v * 2
            s += 1
            low = min(low, v)
        where_[r] = argmax(x[r, c] for c in threads(n) if x[r, c] < 1)
        count[r] = s
        least[r] = low
        above = all(x[r, c] > -3 for c in threads(n))
        flag[r] = above and x[r, 0] < 1
    """
    signature = (
        "(x: T[m, n], a: int32, b: int32) -> (y: T[m, n], where_: int64[m], count: T[m], least: T[m], flag: bool[m])"
    )
    k = kernel(body, signature)
    rng = np.random.default_rng(0)
    for a, b in ((4, 8), (1, 300), (40, 1), (13, 29)):
        x = rng.normal(size=(7, a * b)).astype("f4")
        x[3] = 5
        outputs = {"y": np.zeros_like(x), "where_": np.zeros(7, "i8"), "count": np.zeros(7, "f4")}
        agree(k, {"m": 7, "n": a * b}, x=x, a=a, b=b, least=np.zeros(7, "f4"), flag=np.zeros(7, bool), **outputs)


def test_statements_after_a_reduction():
    body = """
    s = sum(x[i] for i in grid(n))
    mean = s / n if n > 0 else 0.0
    for j in range(3):
        mean += 1
    total[()] = s
    average[()] = mean
    """
    k = kernel(body, "(x: T[n]) -> (total: T, average: T)", types="{T: [float64]}")
    for n in (0, 3, 100000):
        x = np.arange(n, dtype="f8")
        agree(k, {"n": n}, 3, x=x, total=np.zeros(()), average=np.zeros(()))


@pytest.mark.parametrize("dtype, part", [("complex64", "float32"), ("complex128", "float64")])
def test_complex_sums(dtype, part):
    k = kernel("s[()] = sum(x[i] for i in grid(n))", f"(x: {dtype}[n]) -> (s: {dtype})", types="")
    for n in (0, 3, 1000, 30000):
        x = (numbers(n, part) + 1j * numbers(n, part, 1)).astype(dtype)
        s = np.zeros((), dtype)
        k({"n": n}, 2, x=x, s=s)
        size = np.abs(x.real).sum() + np.abs(x.imag).sum()
        assert abs(complex(s) - complex(x.astype("c16").sum())) <= 2 * bound(part, n) * size


def test_products():
    k = kernel("t = T(2)\nfor i in grid(n):\n    t *= x[i]\np[()] = t", "(x: T[n]) -> (p: T)")
    x = np.exp(np.random.default_rng(0).normal(size=9000) / 50).astype("f4")
    for n in (0, 1, 100, 9000):
        p = np.zeros((), "f4")
        k({"n": n}, 2, x=x, p=p)
        exact = 2 * np.prod(x[:n].astype("f8"))
        assert abs(float(p) - exact) <= (n + 1) * 2**-24 * exact


def test_argmax_over_a_grid_of_rows():
    k = kernel("p[()] = argmax(x[i, j] for i, j in grid(m, n))", "(x: T[m, n]) -> (p: int64)")
    rng = np.random.default_rng(0)
    for m, n in ((1, 1), (100, 7), (7, 2000), (0, 3)):
        x = rng.integers(0, 50, (m, n)).astype("f4")
        agree(k, {"m": m, "n": n}, 3, x=x, p=np.zeros((), "i8"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"])
def test_sums_and_products_of_integers_are_numpys(form, dtype):
    """Small integers do not wrap: a sum has NumPy's result type, and a name that starts from a plain number."""
    wide = "uint64" if dtype[0] == "u" else "int64"
    outputs = [("total", wide), ("added", wide), ("multiplied", wide), ("own", dtype)]
    outer, index, loop, indent = FORMS[form]
    for name, lines in {
        "total": [f"total[()] = sum(x[{index}] for {index} in {loop})"],
        "added": ["s = 0", f"for {index} in {loop}:", f"    s += x[{index}]", "added[()] = s"],
        "multiplied": ["s = 1", f"for {index} in {loop}:", f"    s *= x[{index}]", "multiplied[()] = s"],
        "own": [f"s = {dtype}(0)", f"for {index} in {loop}:", f"    s += x[{index}]", "own[()] = s"],
    }.items():
        text = "\n".join(indent + line for line in lines)
        text = text if form == "grid" else "for b in blocks(1):\n" + text
        out = dict(outputs)[name]
        k = kernel(text, f"(x: {dtype}[n]) -> ({name}: {out})", types="")
        for x in (np.full(1000, 200 if dtype[0] == "u" else 100 if dtype != "bool" else True).astype(dtype),
                  numbers(5000, dtype), numbers(0, dtype)):  # fmt: skip
            got = agree(k, {"n": len(x)}, 3, x=x, **{name: np.zeros((), out)})[name]
            with np.errstate(all="ignore"):
                wanted = np.prod(x) if name == "multiplied" else np.sum(x)
                assert got == (np.sum(x, dtype=dtype) if name == "own" else wanted), (name, len(x))
                assert name == "own" or wanted.dtype == wide
