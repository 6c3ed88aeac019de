"""The arithmetic of the language as PTX computes it, against the interpreter, to the bit, at the extremes."""

import itertools

import numpy as np
import pytest
from cuda_support import loop, same

INTEGERS = ("int8", "int32", "int64", "uint16", "uint64")
EVERY = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
)


def extremes(dtype):
    if dtype == "bool":
        return np.array([False, True])
    if np.dtype(dtype).kind in "iu":
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
        300.0,
        1e9,
        3e9,
        1e19,
        2e19,
        np.inf,
        info.max,
        info.tiny,
        info.smallest_subnormal,
    ]
    with np.errstate(over="ignore"):
        return np.array([s * float(v) for v in values for s in (1, -1)] + [np.nan], dtype)


def agree(dtype, expressions, *more, result=None):
    """One kernel with an output an expression, over all pairs of extremes."""
    outputs = ", ".join(f"o{k}: {result or dtype}[n]" for k in range(len(expressions)))
    body = "for i in grid(n):\n    a = x[i]\n    b = y[i]\n"
    body += "\n".join(f"    o{k}[i] = {e}" for k, e in enumerate(expressions))
    built = loop(f"(x: {dtype}[n], y: {dtype}[n]) -> ({outputs})", body, *more)
    pairs = list(itertools.product(extremes(dtype), repeat=2))
    x, y = (np.array([p[k] for p in pairs], dtype) for k in (0, 1))
    got, wanted = built.call(x, y), built.python(x, y)
    for k, expression in enumerate(expressions):
        same(got[k], wanted[k], f"{dtype} {expression}", x, y)


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
    agree(dtype, operations)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats(dtype):
    operations = ["a + b", "a - b", "a * b", "a / b", "a // b", "a % b", "-a", "min(a, b)", "max(a, b)", "abs(a)"]
    operations += [
        "floor(a)",
        "ceil(a)",
        "trunc(a)",
        "round(a)",
        "sign(a)",
        "sqrt(a)",
        "copysign(a, b)",
        "fma(a, b, a)",
    ]
    operations += ["where(isnan(a) or isinf(b), a, b)", "1.0 if isfinite(a) and not isnan(b) else a"]
    operations += ["1 if a < b else 2", "1 if a <= b else 2", "1 if a != b else 2", "1 if a == b else 2"]
    agree(dtype, operations, "fastmath: []")


def test_a_product_and_a_sum_are_one_operation_only_where_that_is_allowed():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 4000)).astype("f4")
    signature, body = (
        "(x: float32[n], y: float32[n]) -> (out: float32[n])",
        "for i in grid(n):\n    out[i] = x[i] * y[i] + 1",
    )
    fused, apart = loop(signature, body), loop(signature, body, "fastmath: []")
    exact = x.astype("f8") * y + 1
    assert "fma.rn.f32" in fused.ptx and "fma" not in apart.ptx
    assert (fused.call(x, y) == exact.astype("f4")).all()
    assert (apart.call(x, y) == x * y + np.float32(1)).all() and (apart.call(x, y) != fused.call(x, y)).any()


def test_bools():
    agree("bool", ["a & b", "a | b", "a ^ b", "not a", "~a", "a and b", "a or b", "a == b", "a < b", "min(a, b)"])


@pytest.mark.parametrize("source", ("bool", "int8", "int64", "uint16", "uint64", "float16", "float32", "float64"))
def test_conversions(source):
    outputs = ", ".join(f"o{t}: {t}[n]" for t in EVERY)
    body = "for i in grid(n):\n" + "\n".join(f"    o{t}[i] = x[i]" for t in EVERY)
    built = loop(f"(x: {source}[n]) -> ({outputs})", body)
    x = extremes(source)
    for target, got, wanted in zip(EVERY, built.call(x), built.python(x)):
        same(got, wanted, f"{source} to {target}", x, x)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex(dtype):
    part = {"complex64": "float32", "complex128": "float64"}[dtype]
    values = np.array([0.0, -0.0, 1.0, -2.5, np.inf, np.nan, 1e30], part)
    numbers = np.array([complex(a, b) for a in values for b in values], dtype)
    x, y = (np.array(v, dtype) for v in zip(*itertools.product(numbers[::2], numbers)))
    body = """
        for i in grid(n):
            a = x[i]
            b = y[i]
            o0[i] = a + b
            o1[i] = a - b
            o2[i] = a * b
            o3[i] = a / b
            o4[i] = conj(a)
            o5[i] = real(a) + imag(b)
            o6[i] = a == b
            o7[i] = -a if a != b else b
    """
    kinds = [dtype] * 5 + [part, "bool", dtype]
    outputs = ", ".join(f"o{k}: {t}[n]" for k, t in enumerate(kinds))
    built = loop(f"(x: {dtype}[n], y: {dtype}[n]) -> ({outputs})", body, "fastmath: []")
    for k, (got, wanted) in enumerate(zip(built.call(x, y), built.python(x, y))):
        same(got, wanted, f"o{k}", x, y)


FUNCTIONS = {
    "exp": (-80, 80), "exp2": (-120, 120), "expm1": (-5, 5), "log": (0, 1e4), "log2": (0, 1e4), "log10": (0, 1e4),
    "log1p": (-0.9, 50), "sin": (-1e5, 1e5), "cos": (-1e5, 1e5), "tan": (-1.5, 1.5), "asin": (-1, 1), "acos": (-1, 1),
    "atan": (-50, 50), "sinh": (-20, 20), "cosh": (-20, 20), "tanh": (-5, 5), "erf": (-4, 4), "erfc": (-4, 4),
    "rsqrt": (0, 1e4), "cbrt": (-1e4, 1e4), "sqrt": (0, 1e4),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_elementary_functions(dtype):
    """Every listed function is near its value, at ordinary arguments and at special ones."""
    outputs = ", ".join(f"o{name}: {dtype}[n]" for name in [*FUNCTIONS, "hypot", "atan2", "pow"])
    inputs = ", ".join(f"x{name}: {dtype}[n]" for name in FUNCTIONS)
    lines = [f"    o{name}[i] = {name}(x{name}[i])" for name in FUNCTIONS]
    lines += [
        f"    o{name}[i] = {name}({a}, xatan[i])"
        for name, a in (("hypot", "xtanh[i]"), ("atan2", "xtanh[i]"), ("pow", "xrsqrt[i]"))
    ]
    built = loop(f"({inputs}) -> ({outputs})", "for i in grid(n):\n" + "\n".join(lines))
    rng = np.random.default_rng(1)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], dtype)
    half = 0.1 if dtype == "float16" else 1
    arguments = [
        np.r_[rng.uniform(max(low, -6e4) * half, min(high, 6e4) * half, 60).astype(dtype), special]
        for low, high in FUNCTIONS.values()
    ]
    got, wanted = built.call(*arguments), built.python(*arguments)
    eps = float(np.finfo(dtype).eps)
    for name, g, w in zip([*FUNCTIONS, "hypot", "atan2", "pow"], got, wanted):
        kinds = np.isnan(g) == np.isnan(w)
        assert kinds.all() and (np.isinf(g) == np.isinf(w)).all(), name
        finite = np.isfinite(w)
        error = np.abs(g[finite].astype("f8") - w[finite].astype("f8")) / np.maximum(
            np.abs(w[finite].astype("f8")), np.finfo(dtype).tiny
        )
        assert error.max() <= 8 * eps, (name, error.max() / eps)
        zero = w == 0
        assert (np.signbit(g[zero]) == np.signbit(w[zero])).all(), name
