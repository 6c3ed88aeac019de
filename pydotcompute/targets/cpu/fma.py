"""a * b + c with one rounding for processors without the instruction (below x86-64-v3), as LLVM IR.

float32: the product is exact in float64, and the sum is rounded there to odd, so that rounding it again is correct
(S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE
Transactions on Computers 57, 2008); no branches, so it vectorises. float64: the exact sum as an integer of 256 bits,
of which what is too far below to matter is one bit, rounded half to even.
"""

from __future__ import annotations

from llvmlite import ir

EMULATED = {"llvm.fma.f32": "emulated.fma.f32", "llvm.fma.f64": "emulated.fma.f64"}
_F32, _F64, _I1, _I64, _I256 = ir.FloatType(), ir.DoubleType(), ir.IntType(1), ir.IntType(64), ir.IntType(256)
_FAR = 120  # more bits than a product has, and two to spare


def emulated(text: str) -> str:
    """The module's text with calls of `llvm.fma` replaced by calls of what `fma_ir` defines."""
    for intrinsic, name in EMULATED.items():
        text = text.replace(f"@{intrinsic}(", f"@{name}(")
    return text


def fma_ir() -> str:
    """LLVM IR of both functions."""
    module = ir.Module("fma")
    _float32(module)
    _float64(module)
    return str(module)


def _begin(module: ir.Module, name: str, type_: ir.Type) -> tuple[ir.Function, ir.IRBuilder]:
    function = ir.Function(module, ir.FunctionType(type_, [type_] * 3), name)
    return function, ir.IRBuilder(function.append_basic_block())


def _intrinsic(module: ir.Module, name: str, result: ir.Type, *arguments: ir.Type) -> ir.Function:
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(result, arguments), name)


def _float32(module: ir.Module) -> None:
    function, b = _begin(module, EMULATED["llvm.fma.f32"], _F32)
    x, y, z = (b.fpext(a, _F64) for a in function.args)
    product = b.fmul(x, y)
    total = b.fadd(product, z)
    virtual = b.fsub(total, product)
    error = b.fadd(b.fsub(product, b.fsub(total, virtual)), b.fsub(z, virtual))
    zero = ir.Constant(_F64, 0.0)
    inexact = b.fcmp_ordered("!=", error, zero)  # never for an infinity or NaN: their error is NaN
    bits = b.bitcast(total, _I64)
    even = b.icmp_unsigned("==", b.and_(bits, ir.Constant(_I64, 1)), ir.Constant(_I64, 0))
    away = b.icmp_unsigned("==", b.fcmp_ordered(">", error, zero), b.fcmp_ordered(">", total, zero))
    moved = b.add(bits, b.select(away, ir.Constant(_I64, 1), ir.Constant(_I64, -1)))
    odd = b.select(b.and_(inexact, even), moved, bits)
    b.ret(b.fptrunc(b.bitcast(odd, _F64), _F32))


def _float64(module: ir.Module) -> None:
    function, b = _begin(module, EMULATED["llvm.fma.f64"], _F64)
    x, y, z = function.args

    def i64(value):
        return ir.Constant(_I64, value)

    def wide(value):
        return b.zext(value, _I256)

    def parts(value):
        """Sign, significand and exponent of its last bit; and whether it is a number but zero."""
        bits = b.bitcast(value, _I64)
        fraction = b.and_(bits, i64((1 << 52) - 1))
        exponent = b.and_(b.lshr(bits, i64(52)), i64(0x7FF))
        normal = b.icmp_unsigned("!=", exponent, i64(0))
        significand = b.select(normal, b.or_(fraction, i64(1 << 52)), fraction)
        usual = b.and_(b.icmp_unsigned("!=", significand, i64(0)), b.icmp_unsigned("!=", exponent, i64(0x7FF)))
        last = b.sub(b.select(normal, exponent, i64(1)), i64(1075))
        return b.icmp_signed("<", bits, i64(0)), significand, last, usual

    (sx, mx, ex, ux), (sy, my, ey, uy), (sz, mz, ez, uz) = map(parts, (x, y, z))
    exact, plain = function.append_basic_block("exact"), function.append_basic_block("plain")
    b.cbranch(b.and_(ux, b.and_(uy, uz)), exact, plain)
    b.position_at_end(plain)
    z_alone, rest = function.append_basic_block("z_alone"), function.append_basic_block("rest")
    b.cbranch(b.and_(ux, uy), z_alone, rest)
    b.position_at_end(rest)  # x * y is exact, or not finite
    b.ret(b.fadd(b.fmul(x, y), z))
    b.position_at_end(z_alone)  # z is 0, which must not change the sign of what underflows, infinite or NaN
    b.ret(b.select(b.fcmp_ordered("==", z, ir.Constant(_F64, 0.0)), b.fmul(x, y), z))

    b.position_at_end(exact)
    product, addend = b.mul(wide(mx), wide(my)), wide(mz)
    ep = b.add(ex, ey)
    distance = b.sub(ez, ep)
    above, below = b.icmp_signed(">", distance, i64(_FAR)), b.icmp_signed("<", distance, i64(-_FAR))
    up = b.select(above, i64(_FAR), b.select(b.icmp_signed(">", distance, i64(0)), distance, i64(0)))
    down = b.select(below, i64(_FAR), b.select(b.icmp_signed("<", distance, i64(0)), b.neg(distance), i64(0)))
    one = ir.Constant(_I256, 1)
    addend = b.select(below, one, b.shl(addend, wide(up)))
    product = b.select(above, one, b.shl(product, wide(down)))
    exponent = b.select(above, b.sub(ez, i64(_FAR)), b.sub(ep, down))
    negative = b.xor(sx, sy)
    product = b.select(negative, b.neg(product), product)
    addend = b.select(sz, b.neg(addend), addend)
    total = b.add(product, addend)
    minus = b.icmp_signed("<", total, ir.Constant(_I256, 0))
    size = b.select(minus, b.neg(total), total)
    leading = _intrinsic(module, "llvm.ctlz.i256", _I256, _I256, _I1)
    length = b.sub(i64(256), b.trunc(b.call(leading, [size, ir.Constant(_I1, 0)]), _I64))
    top = b.sub(b.add(exponent, length), i64(1))  # the exponent of the first bit
    denormal = b.icmp_signed("<", top, i64(-1022))
    kept = b.select(denormal, b.add(top, i64(53 + 1022)), i64(53))
    dropped = b.sub(length, kept)
    most = b.icmp_signed(">", dropped, i64(255))
    right = b.select(most, i64(255), b.select(b.icmp_signed(">", dropped, i64(0)), dropped, i64(0)))
    left = b.select(b.icmp_signed("<", dropped, i64(0)), b.neg(dropped), i64(0))
    quotient = b.lshr(size, wide(right))
    remainder = b.sub(size, b.shl(quotient, wide(right)))
    half = b.lshr(b.shl(one, wide(right)), one)  # 0 where nothing is dropped: then the remainder is 0 too
    tie = b.and_(b.icmp_unsigned("==", remainder, half), b.icmp_unsigned("!=", half, ir.Constant(_I256, 0)))
    is_odd = b.icmp_unsigned("==", b.and_(quotient, one), one)
    rounds_up = b.or_(b.icmp_unsigned(">", remainder, half), b.and_(tie, is_odd))
    kept_bits = b.trunc(b.shl(b.add(quotient, b.zext(rounds_up, _I256)), wide(left)), _I64)
    biased = b.select(denormal, i64(0), b.add(top, i64(1022)))  # the first bit, or a carry, adds one
    bits = b.add(b.shl(biased, i64(52)), kept_bits)
    bits = b.select(b.icmp_signed(">", top, i64(1023)), i64(0x7FF << 52), bits)
    bits = b.or_(bits, b.select(minus, i64(-(1 << 63)), i64(0)))
    cancelled = b.icmp_unsigned("==", size, ir.Constant(_I256, 0))
    b.ret(b.select(cancelled, ir.Constant(_F64, 0.0), b.bitcast(bits, _F64)))
