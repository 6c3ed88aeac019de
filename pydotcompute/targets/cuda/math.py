"""The listed functions of the kernel language for NVVM, out of libdevice."""

from __future__ import annotations

from llvmlite import ir
from numba import types

from ..llvm.dialect import Table
from ..llvm.values import F64, I64, PARTS, constant, parts
from .dialect import device

FUNCTIONS = Table()
operation = FUNCTIONS.operation

for _name in (
    "rsqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh erf erfc"
).split():
    for _dtype in ("float16", "float32", "float64"):
        operation(f"{_name}_{_dtype}", 1, "float")(lambda d, b, t, x, _name=_name: device(b, _name, t, x))
for _name in ("atan2", "hypot"):
    for _dtype in ("float16", "float32", "float64"):
        operation(f"{_name}_{_dtype}", 2, "float")(lambda d, b, t, x, y, _name=_name: device(b, _name, t, x, y))


def _power(d, b, t, x, y):
    return device(b, "pow", t, x, y)


def _fma(d, b, t, x, y, z):
    return device(b, "fma", t, x, y, z)


def _fma_half(d, b, t, x, y, z):
    """Exact in float64 but for the addition's rounding, which then goes to odd: converting rounds once in effect."""
    x, y, z = (b.fpext(d.from_half(b, v), F64) for v in (x, y, z))
    product = b.fmul(x, y)
    total = b.fadd(product, z)
    moved = b.fsub(total, product)
    error = b.fadd(b.fsub(product, b.fsub(total, moved)), b.fsub(z, moved))
    bits = b.bitcast(total, I64)
    even = b.icmp_signed("==", b.and_(bits, ir.Constant(I64, 1)), ir.Constant(I64, 0))
    zero = ir.Constant(F64, 0.0)
    inexact = b.and_(b.fcmp_ordered("!=", error, zero), b.fcmp_ordered("ord", total, total))
    finite = b.fcmp_ordered("<", device(b, "fabs", types.float64, total), ir.Constant(F64, float("inf")))
    away = b.icmp_signed("==", b.fcmp_ordered(">", error, zero), b.fcmp_ordered(">", total, zero))
    step = b.select(away, ir.Constant(I64, 1), ir.Constant(I64, -1))
    odd = b.select(b.and_(b.and_(inexact, even), finite), b.add(bits, step), bits)
    return d.to_half(b, b.bitcast(odd, F64))


operation("fma_float16", 3, "half")(_fma_half)
for _dtype in ("float32", "float64"):
    operation(f"fma_{_dtype}", 3, "float")(_fma)
for _dtype in ("float16", "float32", "float64"):
    operation(f"pow_{_dtype}", 2, "float")(_power)


def _floored(b, t, x, y):
    """NumPy's x // y and x % y: m = fmod(x, y), moved by y where its sign is not y's."""
    zero, one = constant(t, 0.0), constant(t, 1.0)
    rest = device(b, "fmod", t, x, y)
    quotient = b.fdiv(b.fsub(x, rest), y)
    other_sign = b.xor(b.fcmp_ordered("<", y, zero), b.fcmp_ordered("<", rest, zero))
    moved = b.and_(b.fcmp_unordered("!=", rest, zero), other_sign)
    quotient = b.select(moved, b.fsub(quotient, one), quotient)
    remainder = b.select(moved, b.fadd(rest, y), rest)
    remainder = b.select(b.fcmp_ordered("==", rest, zero), device(b, "copysign", t, zero, y), remainder)
    whole = device(b, "floor", t, quotient)
    whole = b.select(b.fcmp_ordered(">", b.fsub(quotient, whole), constant(t, 0.5)), b.fadd(whole, one), whole)
    nothing = device(b, "copysign", t, zero, b.fdiv(x, y))
    quotient = b.select(b.fcmp_unordered("!=", quotient, zero), whole, nothing)
    return b.select(b.fcmp_ordered("==", y, zero), b.fdiv(x, y), quotient), remainder


for _dtype in ("float16", "float32", "float64"):
    operation(f"floordiv_{_dtype}", 2, "float")(lambda d, b, t, x, y: _floored(b, t, x, y)[0])
    operation(f"mod_{_dtype}", 2, "float")(lambda d, b, t, x, y: _floored(b, t, x, y)[1])


def _modulus(d, b, t, x):
    return device(b, "hypot", PARTS[t], *parts(b, x))


operation("abs_complex64", 1, "complex", lambda t: PARTS[t])(_modulus)
operation("abs_complex128", 1, "complex", lambda t: PARTS[t])(_modulus)
