"""Every listed function and every operator on every dtype that accepts it, through the front end and the interpreter,
against NumPy on whole arrays."""

import numpy as np
import pytest

from pydotcompute.ir.functions import FUNCTIONS

KINDS = {
    "bool": "b", "int8": "i", "int16": "i", "int32": "i", "int64": "i", "uint8": "i", "uint16": "i", "uint32": "i",
    "uint64": "i", "float32": "f", "float64": "f", "complex64": "c", "complex128": "c",
}  # fmt: skip
NUMPY = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "round": np.rint, "pow": np.power,
    "min": np.minimum, "max": np.maximum, "popcount": np.bitwise_count, "rsqrt": lambda x: 1 / np.sqrt(x),
    "fma": lambda x, y, z: x * y + z,
}  # fmt: skip
UNNAMED = ("erf", "erfc", "clz")  # NumPy has none: see test_arithmetic


def values(dtype, n=16):
    random = np.random.default_rng(4)
    if KINDS[dtype] == "b":
        return random.integers(0, 2, (3, n)).astype(bool)
    if KINDS[dtype] == "i":
        return random.integers(0, 5, (3, n)).astype(dtype)
    x = random.uniform(0.05, 0.95, (3, n))
    return (x + 1j * x[::-1] if KINDS[dtype] == "c" else x).astype(dtype)


@pytest.mark.parametrize("dtype", KINDS)
def test_functions(dtype, run):
    named = {name: f for name, f in FUNCTIONS.items() if KINDS[dtype] in f.accepts}
    n, (x, y, z) = 16, values(dtype)
    real = dtype.replace("complex64", "float32").replace("complex128", "float64")
    results, lines = [], ["for i in grid(n):"]
    for name, f in named.items():
        arguments = [f"{a}[i]" for a in ("x", "y", "z")[: len(f.arguments)]]
        if name == "where":
            arguments = ["x[i] == y[i]", "x[i]", "y[i]"]
        computed = "float64" if f.computed == "float" and KINDS[dtype] in "bi" else dtype
        if name == "pow" and dtype == "bool":
            computed = "int8"
        result = {"same": computed, "bool": "bool", "real": real}[f.gives]
        results.append(f"r_{name}: {result}[n]")
        lines.append(f"    r_{name}[i] = {name}({', '.join(arguments)})")
    signature = f"(x: {dtype}[n], y: {dtype}[n], z: {dtype}[n]) -> ({', '.join(results)})"
    got = run(signature, "\n".join(lines), {"n": n}, x=x, y=y, z=z)
    for (name, f), result in zip(named.items(), got):
        if name in UNNAMED:
            continue
        compute = NUMPY.get(name, getattr(np, name, None))
        if name == "where":
            wanted = np.where(x == y, x, y)
        elif KINDS[dtype] in "bi" and f.computed == "float" and f.gives != "bool":
            with np.errstate(all="ignore"):
                wanted = compute(*(a.astype("f8") for a in (x, y, z)[: len(f.arguments)]))
        else:
            wanted = compute(*(x, y, z)[: len(f.arguments)])
        eps = 4 * np.finfo(real).eps if KINDS[real] == "f" else 1e-15
        assert np.allclose(result, wanted, rtol=eps, atol=0, equal_nan=True), name


@pytest.mark.parametrize("dtype", KINDS)
def test_operators(dtype, run):
    x, y, _ = values(dtype)
    arithmetic = {"b": ["+", "*"], "c": ["+", "-", "*", "/"]}.get(KINDS[dtype], ["+", "-", "*", "/", "//", "%", "**"])
    bits = {"b": ["&", "|", "^"], "i": ["&", "|", "^", "<<", ">>"]}.get(KINDS[dtype], [])
    compared = ["==", "!="] if KINDS[dtype] == "c" else ["==", "!=", "<", "<=", ">", ">="]
    results, lines, wanted = [], ["for i in grid(n):"], []
    for k, op in enumerate([*arithmetic, *bits, *compared]):
        with np.errstate(all="ignore"):
            expected = eval(f"x {op} y", {"x": x, "y": y})
            if op == "/" and KINDS[dtype] == "i":  # NumPy divides the narrow ones in float16 and float32
                expected = x.astype("f8") / y.astype("f8")
        wanted.append((op, expected))
        results.append(f"r{k}: {expected.dtype}[n]")
        lines.append(f"    r{k}[i] = x[i] {op} y[i]")
    signature = f"(x: {dtype}[n], y: {dtype}[n]) -> ({', '.join(results)})"
    for result, (op, expected) in zip(run(signature, "\n".join(lines), {"n": 16}, x=x, y=y), wanted):
        inexact = expected.dtype.kind == "c" or (op == "**" and expected.dtype.kind == "f")
        eps = 4 * np.finfo(expected.dtype).eps if inexact else 0
        assert np.allclose(result, expected, rtol=eps, atol=0, equal_nan=True), op
