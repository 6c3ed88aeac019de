"""Every operation and conversion at the extremes of its dtypes, for every target: its code against the interpreter, to
the bit."""

import itertools

import numpy as np
import pytest
from tests.targets.built import every_target, every_target_and, kept, loop, same

from pydotcompute.ir.functions import FUNCTIONS
from pydotcompute.ir.math import bound
from pydotcompute.targets import registry

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")


def extremes(dtype):
    if dtype == "bool":
        return np.array([False, True])
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        values = {info.min, info.min + 1, -7, -2, -1, 0, 1, 2, 3, 7, 8, 31, 32, 63, 64, info.max - 1, info.max}
        return np.array(sorted(v for v in values if info.min <= v <= info.max), dtype)
    info = np.finfo(dtype)
    values = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 7.25, 300.0, 1e9, 3e9, 1e19, 2e19, np.inf, info.max, info.tiny]
    with np.errstate(over="ignore"):
        signed = [s * float(v) for v in (*values, info.smallest_subnormal) for s in (1, -1)]
        return np.array([*signed, np.nan], dtype)


def agree(target, dtype, expressions, *more):
    """One kernel with an output an expression, over all pairs of extremes."""
    outputs = ", ".join(f"o{k}: {dtype}[n]" for k in range(len(expressions)))
    body = "for i in grid(n):\n    a = x[i]\n    b = y[i]\n"
    body += "\n".join(f"    o{k}[i] = {e}" for k, e in enumerate(expressions))
    built = loop(target, f"(x: {dtype}[n], y: {dtype}[n]) -> ({outputs})", body, *more)
    pairs = list(itertools.product(extremes(dtype), repeat=2))
    x, y = (kept(target, np.array([p[k] for p in pairs], dtype)) for k in (0, 1))
    got, wanted = built.call(x, y), built.python(x, y)
    for k, expression in enumerate(expressions):
        same(got[k], wanted[k], f"{dtype} {expression}", x, y)


@every_target_and(*INTEGERS)
def test_integers(target, dtype):
    operations = ["a + b", "a - b", "a * b", "a // b", "a % b", "a & b", "a | b", "a ^ b", "a << b", "a >> b", "-a", "~a"]
    operations += ["min(a, b)", "max(a, b)", "abs(a)", "sign(a)", "popcount(a)", "clz(a)", "a ** b", "round(a)"]
    operations += ["a if a < b else b", "where(a >= b, a, b)", "b if a == b and a != 3 or b > 7 else a"]
    operations += ["min(a if a > b else ~b, b)", "max(b, where(a > b, a & b, -a))", "popcount(a if a > b else b)"]
    agree(target, dtype, operations)


@every_target_and(*FLOATS)
def test_floats(target, dtype):
    operations = ["a + b", "a - b", "a * b", "a / b", "a // b", "a % b", "-a", "min(a, b)", "max(a, b)", "abs(a)"]
    operations += ["floor(a)", "ceil(a)", "trunc(a)", "round(a)", "sign(a)", "sqrt(a)", "copysign(a, b)", "fma(a, b, a)"]
    operations += ["where(isnan(a) or isinf(b), a, b)", "1.0 if isfinite(a) and not isnan(b) else a"]
    operations += ["1 if a < b else 2", "1 if a <= b else 2", "1 if a != b else 2", "1 if a == b else 2"]
    if registry.get(target).loses:  # one rounding is not sure there
        operations.remove("fma(a, b, a)")
    agree(target, dtype, operations, "fastmath: []")


@pytest.mark.slow
@every_target
def test_not_a_number_out_of_constants(target):
    """What is computed of constants alone, which a compiler may do, too."""
    values = ["v + 3.0", "v * 3.0", "w - w", "w * 0", "w / w", "min(3.0, v)", "max(v + 3.0, 1.0)", "min(w, float32(v))"]
    body = "v = float64(nan)\nw = float32(inf)\nfor i in grid(n):\n"
    body += "\n".join(f"    out[i, {k}] = isnan({value})" for k, value in enumerate(values))
    named = ["u != u", "not (u == u)", "int64(u) == 0", "not (u < 1.0)", "u != 1.0"]
    body += "\n    u = w - w"
    body += "".join(f"\n    out[i, {len(values) + k}] = {value}" for k, value in enumerate(named))
    built = loop(target, f"(n: int64) -> (out: bool[n, {len(values) + len(named)}])", body, "fastmath: []")
    assert built.call(2).all() and built.python(2).all()


def of_constants(dtype):
    """Every listed function of floats, of constants that are none, and of those with numbers."""
    given = {1: [("nan",), ("inf",), ("-inf",)], 2: [("nan", "3.5"), ("3.5", "nan"), ("inf", "nan")]}
    for name, function in FUNCTIONS.items():
        if "f" in function.accepts and function.gives != "real" and name != "conj":
            for values in given.get(len(function.arguments), ()):
                yield f"{name}({', '.join(f'{dtype}({v})' for v in values)})"


@pytest.mark.slow
@every_target_and("float32", "float64")
def test_functions_of_constants(target, dtype):
    """What is undefined on the way there, a compiler that knows the value makes anything of: here it knows them all."""
    if "special" in registry.get(target).loses:
        return  # it may take numbers for granted, and says so
    expressions = list(of_constants(dtype))
    body = "for i in grid(n):\n" + "\n".join(f"    out[i, {k}] = {e}" for k, e in enumerate(expressions))
    built = loop(target, f"(n: int64) -> (out: {dtype}[n, {len(expressions)}])", body, "fastmath: []")
    got, wanted = built.call(2), built.python(2)
    wrong = ~np.isclose(got, wanted, rtol=1e-5 if dtype == "float32" else 1e-13, atol=0, equal_nan=True)[0]
    assert not wrong.any(), [(e, g, w) for e, g, w, bad in zip(expressions, got[0], wanted[0], wrong, strict=True) if bad]


@every_target_and("float32", "float64")
@pytest.mark.parametrize("function", ["sin", "cos", "tan"])
def test_a_large_constant_alone(target, dtype, function):
    """Of which a call of its own takes care, here the only one: a compiler may do without its parameters."""
    built = loop(target, f"(n: int64) -> (out: {dtype}[n])", f"for i in grid(n):\n    out[i] = {function}({dtype}(1e10))")
    got, wanted = built.call(9), getattr(np, function)(1e10)
    assert np.abs(got - wanted).max() <= bound(function, dtype) * np.spacing(np.array(abs(wanted), dtype))


@every_target
def test_bools(target):
    operations = ["a & b", "a | b", "a ^ b", "not a", "~a", "a and b", "a or b", "a == b", "a < b", "min(a, b)"]
    operations += ["max(b, a if b else not a)", "min(where(a, b, ~b), a)"]
    agree(target, "bool", operations)


@every_target_and("bool", *INTEGERS, *FLOATS)
def test_conversions(target, dtype):
    others = ["bool", *(d for d in (*INTEGERS, *FLOATS) if d in registry.get(target).dtypes)]
    outputs = ", ".join(f"o{t}: {t}[n]" for t in others)
    body = "for i in grid(n):\n" + "\n".join(f"    o{t}[i] = x[i]" for t in others)
    built = loop(target, f"(x: {dtype}[n]) -> ({outputs})", body)
    x = extremes(dtype)
    for other, got, wanted in zip(others, built.call(x), built.python(x)):
        same(got, wanted, f"{dtype} to {other}", x, x)


@every_target_and("complex64", "complex128")
def test_complex(target, dtype):
    part = {"complex64": "float32", "complex128": "float64"}[dtype]
    values = np.array([0.0, -0.0, 1.0, -2.5, np.inf, np.nan, 1e30], part)
    numbers = np.array([complex(a, b) for a in values for b in values], dtype)
    x, y = (np.array(v, dtype) for v in zip(*itertools.product(numbers[::2], numbers)))
    operations = ["a + b", "a - b", "a * b", "a / b", "-a", "conj(a)", "b if a == b else a", "-a if a != b else b"]
    kinds = [dtype] * len(operations) + [part, part, part, "bool", "bool"]
    operations += ["real(a)", "imag(a)", "real(a) + imag(b)", "a != b", "a == b"]
    body = "for i in grid(n):\n    a = x[i]\n    b = y[i]\n"
    body += "\n".join(f"    o{k}[i] = {e}" for k, e in enumerate(operations))
    outputs = ", ".join(f"o{k}: {t}[n]" for k, t in enumerate(kinds))
    built = loop(target, f"(x: {dtype}[n], y: {dtype}[n]) -> ({outputs})", body, "fastmath: []")
    for operation, got, wanted in zip(operations, built.call(x, y), built.python(x, y)):
        same(got, wanted, operation, x, y)


@every_target_and("float32", "float64")
def test_remainders_of_any_floats(target, dtype):
    """Bits at random, and numbers near each other."""
    text = "for i in grid(n):\n    q[i] = x[i] // y[i]\n    r[i] = x[i] % y[i]"
    built = loop(target, f"(x: {dtype}[n], y: {dtype}[n]) -> (q: {dtype}[n], r: {dtype}[n])", text)
    rng = np.random.default_rng(0)
    bits = np.uint32 if dtype == "float32" else np.uint64
    far = [rng.integers(0, np.iinfo(bits).max, 1000, bits, endpoint=True).view(dtype) for _ in range(2)]
    x, y = (kept(target, np.concatenate([v, rng.normal(size=1000).astype(dtype)])) for v in far)
    for what, got, wanted in zip(("quotient", "remainder"), built.call(x, y), built.python(x, y)):
        same(got, wanted, what, x, y)
