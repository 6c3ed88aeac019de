"""Powers of two as factors in one instruction: which products become it, and that no bit changes."""

from __future__ import annotations

import re

import llvmlite.binding as llvm
import numpy as np
import pytest

from pydotcompute.targets.cpu.compiler import kernel_ir, optimised
from pydotcompute.targets.cpu.lowering import lower
from pydotcompute.targets.cpu.power_scaling import with_scalings
from tests.targets.built import loop, marked
from tests.targets.cpu.compiled import tree_of

BODIES = {
    "exp": "exp(x[i])",
    "exp2": "exp2(x[i])",
    "erfc": "erfc(x[i] * {T}(0.1))",
    "pow": "pow({T}(3.1), x[i])",
    "logistic": "1 / (1 + exp(-x[i]))",
}
#: to denormals and zero, to infinity, and what is no number
RANGES = {"float32": (-170.0, 140.0), "float64": (-1100.0, 1050.0)}


def built(target, dtype, name):
    body = BODIES[name].format(T=dtype)
    return loop(target, f"(x: {dtype}[n]) -> (out: {dtype}[n])", f"for i in grid(n):\n    out[i] = {body}")


@pytest.mark.parametrize("dtype", RANGES)
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("target", [marked("cpu:x86-64-v4")])
def test_the_bits_are_those_of_two_factors(target, name, dtype):
    x = np.linspace(*RANGES[dtype], 20_011).astype(dtype)
    x[5::997] = np.nan
    x[6::997] = np.inf
    x[7::997] = -np.inf
    wanted, got = built("cpu:x86-64-v3", dtype, name).call(x), built(target, dtype, name).call(x)
    width, number = np.uint32 if dtype == "float32" else np.uint64, ~np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(got), ~number)
    np.testing.assert_array_equal(got.view(width)[number], wanted.view(width)[number])


FACTORS = """\
define void @f(ptr %out, <{n} x {t}> %p, <{n} x {t}> %q) {{
  %1 = bitcast <{n} x {t}> %q to <{n} x {i}>
  %2 = shl <{n} x {i}> %1, splat ({i} {less})
  %3 = and <{n} x {i}> %2, splat ({i} {mask})
  %4 = bitcast <{n} x {i}> %3 to <{n} x {t}>
  %5 = fmul contract <{n} x {t}> %4, %p
  %6 = shl <{n} x {i}> %1, splat ({i} {shift})
  %7 = sub <{n} x {i}> %6, %3
  %8 = bitcast <{n} x {i}> %7 to <{n} x {t}>
  %9 = fmul <{n} x {t}> %5, %8
  store <{n} x {t}> %9, ptr %out, align 4
  ret void
}}
"""
FLOAT = {"t": "float", "i": "i32", "less": 22, "shift": 23, "mask": -(1 << 23)}
DOUBLE = {"t": "double", "i": "i64", "less": 51, "shift": 52, "mask": -(1 << 52)}


@pytest.mark.parametrize("numbers, lanes", [(FLOAT, 4), (FLOAT, 8), (FLOAT, 16), (DOUBLE, 2), (DOUBLE, 4), (DOUBLE, 8)])
def test_vectors_of_all_widths(numbers, lanes):
    text = with_scalings(FACTORS.format(n=lanes, **numbers))
    assert f"@llvm.x86.avx512.mask.scalef.p{numbers['t'][0].replace('f', 's')}.{lanes * int(numbers['i'][1:])}(" in text
    assert "%9 = fmul" not in text
    llvm.parse_assembly(text).verify()


@pytest.mark.parametrize(
    "old, new",
    [
        ("%6 = shl <8 x i32> %1", "%6 = shl <8 x i32> %2"),  # the factors of different numbers
        ("splat (i32 22)", "splat (i32 21)"),
        ("%5 = fmul contract <8 x float> %4, %p", "%5 = fmul contract <8 x float> %q, %p"),
        ("%9 = fmul <8 x float> %5, %8", "%9 = fmul <8 x float> %4, %8"),
        ("%9 = fmul", "%9 = fadd"),
    ],
)
def test_other_products_stay(old, new):
    text = FACTORS.format(n=8, **FLOAT)
    assert old in text and with_scalings(text) != text
    text = text.replace(old, new)
    assert with_scalings(text) == text


def test_a_width_without_the_instruction_stays():
    text = FACTORS.format(n=32, **FLOAT)
    assert with_scalings(text) == text


@pytest.mark.parametrize("dtype", RANGES)
def test_loops_have_it(dtype):
    """What LLVM makes of the functions today is what is looked for."""
    tree = tree_of("for i in grid(size):\n    out[i] = exp(x[i])", types=f"{{T: [{dtype}]}}")
    module, machine = optimised(kernel_ir(lower(tree, False), "f.py"), "cpu:x86-64-v4", "f")
    text = machine.emit_assembly(module)
    assert re.search(r"vscalefp[sd]\s+%zmm", text)
    assert not re.search(r"vpsll[dq]\s.*%zmm", text)
