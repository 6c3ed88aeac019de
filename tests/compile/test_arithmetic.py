"""Compiled arithmetic against the interpreter, to the bit: every operation and dtype, at the extremes."""

import itertools

import numpy as np
import pytest
from compiled import agree, kernel

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]


def extremes(dtype):
    if dtype == "bool":
        return np.array([False, True])
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        values = {info.min, info.min + 1, -7, -2, -1, 0, 1, 2, 3, 7, 8, 31, 32, 63, 64, info.max - 1, info.max}
        return np.array(sorted(v for v in values if info.min <= v <= info.max), dtype)
    info = np.finfo(dtype)
    values = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.5,
        3.0,
        7.25,
        1e9,
        3e9,
        1e19,
        2e19,
        np.inf,
        info.max,
        info.tiny,
        info.smallest_subnormal,
    ]
    return np.array([s * float(v) for v in values for s in (1, -1)] + [np.nan], dtype)


def pairs(dtype):
    values = np.array(list(itertools.product(extremes(dtype), repeat=2)))
    return values[:, 0].astype(dtype), values[:, 1].astype(dtype)


def check(dtype, expressions, result=None, arguments=("x", "y"), extra=""):
    """One kernel with one output an expression, over all pairs of extremes."""
    outputs = ", ".join(f"o{k}: {result or dtype}[n]" for k in range(len(expressions)))
    body = "for i in grid(n):\n    a = x[i]\n    b = y[i]\n"
    body += "\n".join(f"    o{k}[i] = {e}" for k, e in enumerate(expressions))
    k = kernel(body, f"(x: {dtype}[n], y: {dtype}[n]) -> ({outputs})", types="", extra=extra)
    x, y = pairs(dtype)
    outputs = {f"o{k}": np.zeros(len(x), result or dtype) for k in range(len(expressions))}
    agree(k, {"n": len(x)}, x=x, y=y, **outputs)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype):
    operations = [
        "a + b",
        "a - b",
        "a * b",
        "a // b",
        "a % b",
        "a & b",
        "a | b",
        "a ^ b",
        "a << b",
        "a >> b",
        "-a",
        "~a",
    ]
    operations += ["min(a, b)", "max(a, b)", "abs(a)", "sign(a)", "popcount(a)", "clz(a)", "a ** b", "round(a)"]
    operations += ["a if a < b else b", "where(a >= b, a, b)", "b if a == b and a != 3 or b > 7 else a"]
    check(dtype, operations)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(dtype):
    operations = ["a + b", "a - b", "a * b", "a / b", "a // b", "a % b", "-a", "min(a, b)", "max(a, b)", "abs(a)"]
    operations += ["floor(a)", "ceil(a)", "trunc(a)", "round(a)", "sign(a)", "sqrt(a)", "copysign(a, b)"]
    operations += ["where(isnan(a) or isinf(b), a, b)", "1.0 if isfinite(a) and not isnan(b) else a"]
    operations += ["float32(1) if a < b else 2", "1 if a <= b else 2", "1 if a != b else 2", "1 if a == b else 2"]
    check(dtype, operations, extra="fastmath: []")


@pytest.mark.parametrize("dtype", ["bool"])
def test_bools(dtype):
    check(dtype, ["a & b", "a | b", "a ^ b", "not a", "~a", "a and b", "a or b", "a == b", "a < b", "min(a, b)"])


@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS, "bool"])
def test_conversions(source):
    targets = [*INTEGERS, *FLOATS, "bool"]
    outputs = ", ".join(f"o{t}: {t}[n]" for t in targets)
    body = "for i in grid(n):\n" + "\n".join(f"    o{t}[i] = x[i]" for t in targets)
    k = kernel(body, f"(x: {source}[n]) -> ({outputs})", types="")
    x = extremes(source)
    agree(k, {"n": len(x)}, x=x, **{f"o{t}": np.zeros(len(x), t) for t in targets})


@pytest.mark.parametrize("dtype, part", [("complex64", "float32"), ("complex128", "float64")])
def test_complex(dtype, part):
    values = np.array([0.0, -0.0, 1.0, -2.5, np.inf, np.nan, 1e30], part)
    numbers = np.array([complex(a, b) for a in values for b in values], dtype)
    x, y = (np.ascontiguousarray(v) for v in np.array(list(itertools.product(numbers[::2], numbers))).astype(dtype).T)
    body = "for i in grid(n):\n    a = x[i]\n    b = y[i]\n"
    operations = ["a + b", "a - b", "a * b", "a / b", "-a", "conj(a)", "b if a == b else a"]
    body += "\n".join(f"    o{k}[i] = {e}" for k, e in enumerate(operations))
    body += "\n    re[i] = real(a)\n    im[i] = imag(a)\n    flag[i] = a != b"
    outputs = "".join(f"o{k}: {dtype}[n], " for k in range(len(operations)))
    signature = f"(x: {dtype}[n], y: {dtype}[n]) -> ({outputs}re: {part}[n], im: {part}[n], flag: bool[n])"
    k = kernel(body, signature, types="", extra="fastmath: []")
    given = {f"o{k}": np.zeros(len(x), dtype) for k in range(len(operations))}
    given |= {"re": np.zeros(len(x), part), "im": np.zeros(len(x), part), "flag": np.zeros(len(x), bool)}
    agree(k, {"n": len(x)}, x=x, y=y, **given)


@pytest.mark.parametrize("dtype", FLOATS)
def test_remainder_of_random_floats(dtype):
    k = kernel(
        "for i in grid(n):\n    q[i] = x[i] // y[i]\n    r[i] = x[i] % y[i]",
        f"(x: {dtype}[n], y: {dtype}[n]) -> (q: {dtype}[n], r: {dtype}[n])",
        types="",
    )
    rng = np.random.default_rng(0)
    bits = np.uint32 if dtype == "float32" else np.uint64
    x, y = (rng.integers(0, np.iinfo(bits).max, 2000, bits, endpoint=True).view(dtype) for _ in range(2))
    near = rng.normal(size=2000).astype(dtype)
    x, y = np.concatenate([x, near]), np.concatenate([y, rng.normal(size=2000).astype(dtype)])
    agree(k, {"n": len(x)}, x=x, y=y, q=np.zeros_like(x), r=np.zeros_like(x))


def test_contraction_is_the_same_everywhere_in_an_array():
    """Vector body and remainder round alike, and only where fastmath allows it is there one rounding."""
    x, y = (np.random.default_rng(s).normal(size=67).astype("f4") for s in (0, 1))
    sums = ["p[i] = x[i] * y[i] + y[i]", "q[i] = y[i] - x[i] * y[i]", "s[i] = x[i] * y[i] - x[i] * x[i]"]
    body = "\n    ".join(["for i in grid(n):", *sums])
    signature = "(x: float32[n], y: float32[n]) -> (p: float32[n], q: float32[n], s: float32[n])"
    fused, apart = (kernel(body, signature, types="", extra=f"fastmath: [{flags}]") for flags in ("contract", ""))
    wide = x.astype("f8") * y
    once = {"p": (wide + y).astype("f4"), "q": (y - wide).astype("f4"), "s": (wide - np.float64(x * x)).astype("f4")}
    twice = {"p": x * y + y, "q": y - x * y, "s": x * y - x * x}
    for k, wanted in ((fused, once), (apart, twice)):
        for n in range(1, 68):
            got = {name: np.zeros(n, "f4") for name in "pqs"}
            k({"n": n}, x=x, y=y, **got)
            for name in "pqs":
                assert (got[name] == wanted[name][:n]).all()
