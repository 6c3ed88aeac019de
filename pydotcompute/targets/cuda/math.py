"""The listed functions and the conversions of the kernel language for NVVM, out of libdevice."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from .intrinsics import (
    DTYPES, F64, I1, I32, PARTS, boolean, call, constant, device, enter, from_half, join, kind,
    llvm_type, operation, parts, to_half,
)  # fmt: skip

# ------------------------------------------------------------------------------------------ simple functions

for _name in ("floor", "ceil", "trunc", "rint", "sqrt"):
    operation(_name, 1, "float")(lambda b, t, x, _name=_name: device(b, _name, t, x))
operation("copysign", 2, "float")(lambda b, t, x, y: device(b, "copysign", t, x, y))
operation("isnan", 1, "float", boolean)(lambda b, t, x: b.fcmp_unordered("uno", x, x))


@operation("isinf", 1, "float", boolean)
def _isinf(b, t, x):
    return b.fcmp_ordered("==", device(b, "fabs", t, x), constant(t, float("inf")))


@operation("isfinite", 1, "float", boolean)
def _isfinite(b, t, x):
    return b.fcmp_ordered("<", device(b, "fabs", t, x), constant(t, float("inf")))


@operation("absolute", 1, "bool int uint float")
def _absolute(b, t, x):
    if kind(t) == "float":
        return device(b, "fabs", t, x)
    return b.select(b.icmp_signed("<", x, constant(t, 0)), b.sub(constant(t, 0), x), x) if kind(t) == "int" else x


@operation("sign", 1, "int uint float")
def _sign(b, t, x):
    """-1, 0 or 1; NaN for NaN."""
    zero, one = constant(t, 0), constant(t, 1)
    if kind(t) == "uint":
        return b.select(b.icmp_unsigned("!=", x, zero), one, zero)
    if kind(t) == "int":
        return b.select(b.icmp_signed(">", x, zero), one, b.select(b.icmp_signed("<", x, zero), constant(t, -1), zero))
    size = b.select(b.fcmp_ordered("!=", x, zero), device(b, "copysign", t, one, x), zero)
    return b.select(b.fcmp_unordered("uno", x, x), x, size)


@operation("popcount", 1, "bool int uint")
def _popcount(b, t, x):
    if kind(t) == "bool":
        return x
    value = llvm_type(t)
    return call(b, f"llvm.ctpop.i{value.width}", value, x)


@operation("clz", 1, "bool int uint")
def _clz(b, t, x):
    if kind(t) == "bool":
        return b.not_(x)
    value = llvm_type(t)
    return call(b, f"llvm.ctlz.i{value.width}", value, x, ir.Constant(I1, 0))


# ----------------------------------------------------------------------------------- elementary functions

for (
    _name
) in "rsqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh erf erfc".split():
    for _dtype in ("float16", "float32", "float64"):
        operation(f"{_name}_{_dtype}", 1, "float")(lambda b, t, x, _name=_name: device(b, _name, t, x))
for _name in ("atan2", "hypot"):
    for _dtype in ("float16", "float32", "float64"):
        operation(f"{_name}_{_dtype}", 2, "float")(lambda b, t, x, y, _name=_name: device(b, _name, t, x, y))


def _power(b, t, x, y):
    return device(b, "pow", t, x, y)


def _fma(b, t, x, y, z):
    return device(b, "fma", t, x, y, z)


def _fma_half(b, t, x, y, z):
    """Exact in float64 but for the addition's rounding, which then goes to odd: converting rounds once in effect."""
    x, y, z = (b.fpext(from_half(b, v), F64) for v in (x, y, z))
    product = b.fmul(x, y)
    total = b.fadd(product, z)
    moved = b.fsub(total, product)
    error = b.fadd(b.fsub(product, b.fsub(total, moved)), b.fsub(z, moved))
    wide = ir.IntType(64)
    bits = b.bitcast(total, wide)
    even = b.icmp_signed("==", b.and_(bits, ir.Constant(wide, 1)), ir.Constant(wide, 0))
    zero = ir.Constant(F64, 0.0)
    inexact = b.and_(b.fcmp_ordered("!=", error, zero), b.fcmp_ordered("ord", total, total))
    finite = b.fcmp_ordered("<", device(b, "fabs", types.float64, total), ir.Constant(F64, float("inf")))
    away = b.icmp_signed("==", b.fcmp_ordered(">", error, zero), b.fcmp_ordered(">", total, zero))
    step = b.select(away, ir.Constant(wide, 1), ir.Constant(wide, -1))
    odd = b.select(b.and_(b.and_(inexact, even), finite), b.add(bits, step), bits)
    return to_half(b, b.bitcast(odd, F64))


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
    operation(f"floordiv_{_dtype}", 2, "float")(lambda b, t, x, y: _floored(b, t, x, y)[0])
    operation(f"mod_{_dtype}", 2, "float")(lambda b, t, x, y: _floored(b, t, x, y)[1])


def _modulus(b, t, x):
    return device(b, "hypot", PARTS[t], *parts(b, x))


operation("abs_complex64", 1, "complex", lambda t: PARTS[t])(_modulus)
operation("abs_complex128", 1, "complex", lambda t: PARTS[t])(_modulus)


@operation("power_integer", 2, "int uint")
def _power_integer(b, t, x, y):
    """Wraps. A negative exponent gives what is left of 1 / x ** n: 0, but for the bases 1 and -1."""
    zero, one = constant(t, 0), constant(t, 1)
    before = b.block
    loop, done = b.append_basic_block("power"), b.append_basic_block("powered")
    b.branch(loop)
    b.position_at_end(loop)
    result, base, rest = (b.phi(x.type) for _ in range(3))
    for phi, first in ((result, one), (base, x), (rest, y)):
        phi.add_incoming(first, before)
    odd = b.icmp_signed("!=", b.and_(rest, one), zero)
    next_result = b.select(odd, b.mul(result, base), result)
    next_base, next_rest = b.mul(base, base), b.lshr(rest, one)
    for phi, value in ((result, next_result), (base, next_base), (rest, next_rest)):
        phi.add_incoming(value, loop)
    b.cbranch(b.icmp_signed("!=", next_rest, zero), loop, done)
    b.position_at_end(done)
    if kind(t) == "uint":
        return next_result
    minus_one = constant(t, -1)
    odd = b.icmp_signed("!=", b.and_(y, one), zero)
    of_minus_one = b.select(odd, minus_one, one)
    inverse = b.select(
        b.icmp_signed("==", x, one), one, b.select(b.icmp_signed("==", x, minus_one), of_minus_one, zero)
    )
    return b.select(b.icmp_signed("<", y, zero), inverse, next_result)


MOST = ir.Constant(ir.IntType(64), 2**63 - 1)


@operation("turns", 3, "int")
def _turns(b, t, start, stop, step):
    """How often range(start, stop, step) goes round, for int64; never for a step of 0. A distance may have 64 bits;
    counts above the largest int64 are that: no loop gets there."""
    zero, one = ir.Constant(start.type, 0), ir.Constant(start.type, 1)
    up, down = b.icmp_signed(">", step, zero), b.icmp_signed("<", step, zero)
    size = b.select(up, step, b.select(down, b.sub(zero, step), one))
    way = b.select(up, b.sub(stop, start), b.sub(start, stop))
    runs = b.or_(
        b.and_(up, b.icmp_signed("<", start, stop)), b.and_(down, b.icmp_signed(">", start, stop))
    )
    count = b.add(b.udiv(b.sub(way, one), size), one)
    count = b.select(b.icmp_unsigned(">", count, MOST), MOST, count)
    return b.select(runs, count, zero)


@operation("times", 2, "int")
def _times(b, t, x, y):
    """The product of two counts, neither negative; from 2**62 on it may be the largest number instead, as it is where
    it does not fit: no loop gets there."""
    spare = b.add(*(call(b, "llvm.ctlz.i64", ir.IntType(64), v, ir.Constant(I1, 0)) for v in (x, y)))
    return b.select(b.icmp_unsigned("<", spare, ir.Constant(ir.IntType(64), 65)), MOST, b.mul(x, y))


# --------------------------------------------------------------------------------------------- conversions


def convert(b, source, target, x):
    """x, of Numba type `source`, as `target`: float → int truncates, saturates, NaN gives 0; → bool is != 0."""
    have, want = kind(source), kind(target)
    if source == target:
        return x
    if have == "half":
        return convert(b, types.float32, target, from_half(b, x))
    if have == "complex":
        real, imaginary = parts(b, x)
        part = PARTS[source]
        if want == "complex":
            return join(b, *(convert(b, part, PARTS[target], v) for v in (real, imaginary)))
        if want == "bool":
            return b.or_(convert(b, part, target, real), convert(b, part, target, imaginary))
        return convert(b, part, target, real)
    if want == "complex":
        part = PARTS[target]
        return join(b, convert(b, source, part, x), constant(part, 0.0))
    if want == "half":
        # Through a type in which every integer that float16 reaches is exact; the others are infinite either way.
        return to_half(b, x if have == "float" else convert(b, source, types.float64, x))
    value = llvm_type(target)
    if want == "bool":
        zero = ir.Constant(x.type, 0)
        return b.fcmp_unordered("!=", x, zero) if have == "float" else b.icmp_signed("!=", x, zero)
    if want == "float":
        if have == "float":
            return (b.fpext if target.bitwidth > source.bitwidth else b.fptrunc)(x, value)
        return (b.sitofp if have == "int" else b.uitofp)(x, value)
    if have == "float":
        return _to_integer(b, source, target, x)
    if have == "bool" or target.bitwidth > source.bitwidth:
        return (b.sext if have == "int" else b.zext)(x, value)
    return b.trunc(x, value) if target.bitwidth < source.bitwidth else x


def _to_integer(b, source, target, x):
    """PTX's own conversion truncates and saturates to 32 or 64 bits; narrower ranges and NaN are seen to here."""
    signed, width = kind(target) == "int", target.bitwidth
    letter, wide = ("f" if source == types.float32 else "d"), max(32, width)
    name = f"llvm.nvvm.{letter}2{'' if signed else 'u'}{'i' if wide == 32 else 'll'}.rz"
    value = call(b, name, ir.IntType(wide), x)
    if width < 32:
        low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
        less = b.icmp_signed if signed else b.icmp_unsigned
        for limit, op in ((low, "<"), (high, ">")):
            bound = ir.Constant(I32, limit)
            value = b.select(less(op, value, bound), bound, value)
        value = b.trunc(value, ir.IntType(width))
    return b.select(b.fcmp_unordered("uno", x, x), ir.Constant(value.type, 0), value)


def _conversion(target) -> Callable:
    def typed(x):
        source = types.unliteral(x)
        if not kind(source):
            return None
        return target(source), lambda context, b, signature, values: convert(b, source, target, values[0])

    return typed


for _dtype, _type in DTYPES.items():
    enter(f"to_{_dtype}", 1, _conversion(_type))
