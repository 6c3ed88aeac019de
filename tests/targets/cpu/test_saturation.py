"""Vectors of floats as integers: at the ends of every range, between them, and beyond."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pydotcompute.targets.cpu.compiler import kernel_ir, optimised
from pydotcompute.targets.cpu.lowering import lower
from tests.targets.built import loop, marked
from tests.targets.cpu.compiled import tree_of

FLOATS = ("float32", "float64")
INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
LEVELS = [marked(f"cpu:x86-64{level}") for level in ("", "-v2", "-v3", "-v4")]


def samples(dtype: str) -> np.ndarray:
    """Around every power of two and zero, by units in the last place and by halves; and what is no number."""
    powers = np.array([2.0**k for k in range(66)], dtype)
    near = [powers + step for step in (-1.5, -1, -0.5, 0, 0.5, 1)]
    near += [np.nextafter(powers, np.array(to, dtype)) for to in (-np.inf, np.inf)]
    found = np.concatenate(near).astype(dtype)
    special = np.array([0.0, 1e-45, 0.3, 0.99999994, np.inf, np.nan, np.finfo(dtype).max], dtype)
    found = np.concatenate([found, special])
    return np.concatenate([found, -found])


def wanted(x: np.ndarray, dtype: str) -> np.ndarray:
    limits = np.iinfo(dtype)
    number = [0 if np.isnan(v) else limits.max if v > 2.0**70 else limits.min if v < -(2.0**70) else int(v) for v in x]
    return np.array([min(max(n, limits.min), limits.max) for n in number], dtype)


@pytest.mark.parametrize("target", LEVELS)
@pytest.mark.parametrize("source", FLOATS)
def test_every_pair(target, source):
    outputs = ", ".join(f"o{t}: {t}[n]" for t in INTEGERS)
    body = "".join(f"for i in grid(n):\n    o{t}[i] = x[i]\n" for t in INTEGERS)
    built = loop(target, f"(x: {source}[n]) -> ({outputs})", body)
    x = samples(source)
    for dtype, got in zip(INTEGERS, built.call(x)):  # vectors, and a rest
        np.testing.assert_array_equal(got, wanted(x, dtype), dtype)
    for dtype, got in zip(INTEGERS, built.call(x[-3:])):
        np.testing.assert_array_equal(got, wanted(x[-3:], dtype), dtype)


@pytest.mark.parametrize("level, register", [("v3", "ymm"), ("v4", "zmm")])
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_none_is_done_element_by_element(level, register, source, dtype):
    if dtype.endswith("64") and level != "v4":  # which have no instruction for it
        return
    signature = f"(x: {source}[...]) -> (out: {dtype}[...])"
    text = _assembly(signature, "for i in grid(size):\n    out[i] = x[i]", level)
    assert re.search(rf"cvttp[sd]2u?[dq]q\w*\s.*%{register}", text), text
    assert len(re.findall(r"cvtts[sd]2", text)) <= 2  # of the rest


# LLVM makes vectors of it for what else it computes.
BESIDE = """
    for i in grid(n):
        whole[i] = x[i]
        beside[i] = x[i] * 3 / 7 + sqrt(x[i] * 2) + sqrt(x[i] + 1) + sqrt(x[i] * 5 + 2) - floor(x[i] + x[i] ** 2)
"""


@pytest.mark.parametrize("target", LEVELS)
@pytest.mark.parametrize("source", FLOATS)
def test_vectors_of_which_all_or_some_are_within_32_bits(target, source):
    x = samples(source)
    x = np.concatenate([x, np.repeat(x, 16), x[np.abs(x) < 2.0**33]])
    whole, _ = loop(target, _signature(source), BESIDE).call(x)
    np.testing.assert_array_equal(whole, wanted(x, "int64"))


@pytest.mark.parametrize("level", ["v2", "v3"])
@pytest.mark.parametrize("source", FLOATS)
def test_those_are_converted_together(level, source):
    assert re.search(r"cvttp[sd]2dq\s", _assembly(_signature(source), BESIDE, level))


def _signature(source: str) -> str:
    return f"(x: {source}[n]) -> (whole: int64[n], beside: {source}[n])"


def _assembly(signature: str, body: str, level: str) -> str:
    module, machine = optimised(kernel_ir(lower(tree_of(body, signature, ""), False), "f.py"), f"cpu:x86-64-{level}", "f")
    return machine.emit_assembly(module)
