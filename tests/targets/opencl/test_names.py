"""Names of the user's that mean something in OpenCL C, and texts of numbers."""

import numpy as np
import pytest
from tests.targets.built import same
from tests.targets.opencl.opencl_support import build, loop

from pydotcompute.targets.opencl import words
from pydotcompute.targets.opencl.dialect import constant, is_reserved

ODD = (
    "half where kernel local_ double float4 size_t restrict as_int get_local_id NAN M_PI barrier clamp select "
    "barrier_ image2d_t static void main read_only CLK_LOCAL_MEM_FENCE"
).split()


@pytest.mark.parametrize("name", [n for n in ODD if n not in ("where",)])
def test_arguments_and_locals_may_have_any_name(name):
    body = f"""
        for i in grid(n):
            {name}_2 = {name}[i] * 2
            out[i] = {name}_2 + 1
    """
    built = loop(f"({name}: float32[n]) -> (out: float32[n])", body, "fastmath: []")
    x = np.arange(7, dtype="f4")
    same(built.call(x), 2 * x + 1, name)


def test_dimensions_helpers_shared_arrays_and_the_printers_own_names():
    template = """
    def clamp(v, low):
        return v if v > low else low

    def k(x, out):
        for global_ in blocks(half):
            constant = shared((32,), T)
            for _thread in threads(short):
                constant[_thread] = clamp(x[global_, _thread], 0)
            for double in threads(short):
                _run = constant[short - 1 - double]
                out[global_, double] = _run
    """
    text = """
    signature: "(x: T[half, short]) -> (out: T[half, short])"
    types: {T: [float32]}
    requires: ["short <= 32"]
    template: k.py.j2
    """
    x = np.random.default_rng(0).normal(size=(5, 32)).astype("f4")
    same(build(text, template).call(x), np.maximum(x, 0)[:, ::-1], "out")


def test_words_of_the_language_are_reserved():
    assert all(is_reserved(w) for w in (*words.WORDS, *words.FUNCTIONS, "int4", "convert_int_sat", "vload4", "FLT_MAX"))
    assert not any(is_reserved(w) for w in ("x", "out", "rows", "total", "integer", "floats", "asset", "i4"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_literals_are_read_as_what_they_say(dtype):
    rng = np.random.default_rng(3)
    bits = "uint32" if dtype == "float32" else "uint64"
    raw = rng.integers(0, np.iinfo(bits).max, 60, dtype=bits).view(dtype)
    limits = np.finfo(dtype)
    edges = [0.0, -0.0, limits.max, limits.tiny, limits.smallest_subnormal, 1e10, 0.1, 16777217]
    values = np.concatenate([raw[np.isfinite(raw)], np.array(edges, dtype), -np.array(edges[2:], dtype)])
    lines = "\n".join(f"    out[{k}] = {float(v)!r}" for k, v in enumerate(values))
    built = loop(f"(n: int64) -> (out: {dtype}[{len(values)}])", f"for i in grid(n):\n{lines}")
    same(built.call(1), values, dtype)


def test_literals_of_integers():
    assert constant(-(2**63), "int64") == "((-9223372036854775807L) - 1)"
    assert constant(2**64 - 1, "uint64") == "18446744073709551615UL"
    body = """
        for i in grid(n):
            a[i] = -9223372036854775808
            b[i] = -2147483648
            c[i] = 18446744073709551615
            d[i] = -128
    """
    built = loop("(n: int64) -> (a: int64[n], b: int32[n], c: uint64[n], d: int8[n])", body)
    a, b, c, d = built.call(2)
    assert (a == -(2**63)).all() and (b == -(2**31)).all() and (c == 2**64 - 1).all() and (d == -128).all()
