"""Reductions: exact ones against the interpreter, sums within their bound, and the same bits however they are run."""

import math

import numpy as np
import pytest
from tests.targets.cpu.compiled import Kernel, agree, kernel, tree_of

from pydotcompute.targets.cpu.lowering import lower

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


def test_products():
    k = kernel("t = T(2)\nfor i in grid(n):\n    t *= x[i]\np[()] = t", "(x: T[n]) -> (p: T)")
    x = np.exp(np.random.default_rng(0).normal(size=9000) / 50).astype("f4")
    for n in (0, 1, 100, 9000):
        p = np.zeros((), "f4")
        k({"n": n}, 2, x=x, p=p)
        exact = 2 * np.prod(x[:n].astype("f8"))
        assert abs(float(p) - exact) <= (n + 1) * 2**-24 * exact


def test_bits_of_sums_do_not_depend_on_addresses():
    sums = ("s[()] = sum(x[c] for c in threads(n))", "d[()] = sum(x[c] * x[c] for c in threads(n))")
    text = "\n    ".join(("for b in blocks(1):", *sums))
    k = kernel(text, "(x: float32[n]) -> (s: float32, d: float32)", types="")
    for n in (1, 15, 16, 17, 63, 64, 65, 100, 511, 512, 513, 1537):
        values, results = numbers(n, "float32"), set()
        for offset in (0, 1, 3, 15):
            memory = np.full(n + 32, np.nan, "f4")
            x = memory[offset : offset + n]
            x[:] = values
            s, d = np.zeros((), "f4"), np.zeros((), "f4")
            assert k({"n": n}, 1, x=x, s=s, d=d) == 0
            results.add((s.tobytes(), d.tobytes()))
        assert len(results) == 1


def test_searches_of_several_blocks_of_which_some_iterations_have_no_candidate():
    text = "p[()] = argmax(x[i] for i in grid(n) if m[i])\nq[()] = argmin(x[i] for i in grid(n))"
    k = kernel(text, "(x: float32[n], m: bool[n]) -> (p: int64, q: int64)", types="")
    for n in (1, 1023, 1024, 1025, 5000):
        x = (numbers(n, "int64") % 50).astype("f4")
        for m in (numbers(n, "bool"), np.zeros(n, bool)):
            agree(k, {"n": n}, 2, x=x, m=m, p=np.zeros((), "i8"), q=np.zeros((), "i8"))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint64", "bool"])
@pytest.mark.parametrize("term", ["x[r, c]", "x[k[r], c]", "x[r, n - 1 - c]", "x[c, r]", "x[r, c] if c != 3"])
def test_searches_of_rows(term, dtype):
    """Of rows with ties, NaN and zeros of both signs, short and of several blocks; the guard behind x is no candidate."""
    value, *condition = term.split(" if ")
    if dtype == "float32" and not condition:
        value = f"{value} * 1"  # no element of memory
    clause = " if ".join(["", *condition])
    text = "for r in blocks(m):\n" + "\n".join(
        f"    {out}[r] = {op}({value} for c in threads(n){clause})" for out, op in (("p", "argmax"), ("q", "argmin"))
    )
    shape = "n, m" if term == "x[c, r]" else "m, n"
    k = kernel(text, f"(x: {dtype}[{shape}], k: int64[m]) -> (p: int64[m], q: int64[m])", types="")
    m = 5
    for n in (1, 3, 15, 16, 17, 33, 63, 64, 65, 80, 129, 1023, 1025, 2100):
        memory = np.zeros(m * n + 64, dtype)
        memory[m * n :] = True if dtype == "bool" else np.inf if dtype[0] == "f" else np.iinfo(dtype).max
        x = memory[: m * n]
        mixed = numbers(m * n, dtype)
        for values in (mixed, special(m * n, dtype), np.sort(mixed), np.zeros(m * n)):
            x[:] = values
            if dtype[0] == "f":
                x[::7] *= -1
            outputs = {name: np.zeros(m, "i8") for name in "pq"}
            agree(k, {"m": m, "n": n}, 1, x=x.reshape(n, m) if term == "x[c, r]" else x.reshape(m, n),
                  k=np.arange(m)[::-1].copy(), **outputs)  # fmt: skip


@pytest.mark.parametrize("count", ["m", "m - j"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_columns_have_the_bits_of_rows(dtype, count):
    """What lies apart is added up one by one, into the same lanes."""
    body = "for i, j in grid(n, 2):\n    out[i, j] = sum({} * w[k] for k in range({}))"
    columns, rows = (
        kernel(body.format(load, count), f"(x: T[{shape}], w: T[m]) -> (out: T[n, 2])", types=f"{{T: [{dtype}]}}")
        for load, shape in (("x[k, i]", "m, n"), ("x[i, k]", "n, m"))
    )
    assert ("rare()" in lower(columns.tree).text) is (count == "m - j")  # rows of one length are written in versions
    for m in (0, 1, 2, 15, 16, 17, 31, 33, 64, 65, 100, 255, 256, 257, 511, 512, 513, 1500):
        rng = np.random.default_rng(m)
        x = rng.normal(1, 1e3, (2, m)).astype(dtype)
        given = {"w": rng.normal(1, 0.1, m).astype(dtype)}
        one, other = np.zeros((2, 2), dtype), np.zeros((2, 2), dtype)
        assert rows({"n": 2, "m": m}, x=x, out=one, **given) == 0
        assert columns({"n": 2, "m": m}, x=np.ascontiguousarray(x.T), out=other, **given) == 0
        assert one.tobytes() == other.tobytes(), m
