"""sin, cos and tan of large float64 arguments, as scalar LLVM code that is rarely run.

x = M 2**e with an integer M. The 192 bits of 1 / 2 pi that follow its first e are all that matter to M 2**e / 2 pi
modulo 1, and their product with M, modulo 2**192, is the fraction of a turn (M. Payne & R. Hanek, "Radian reduction
for trigonometric functions", SIGNUM Newsletter 18, 1983), of which 128 bits are kept: 62 may cancel. The quarter turn
is its two leading bits; the rest, times 2 pi, is the angle, again in integers.
"""

from typing import Callable

from llvmlite import ir

from .bits import emit_polynomial, llvm_call
from .constants import pi
from .lanes import PREFIX, define_pure

_I8, _I64, _I128, _DOUBLE = ir.IntType(8), ir.IntType(64), ir.IntType(128), ir.DoubleType()
_AHEAD = 64  # zero bits ahead of the table, for e >= -64
_BYTES = (_AHEAD + 1024 + 256) // 8

# sin(r) = r + r z P(z), cos(r) = 1 - z/2 + z² P(z), z = r²
SIN = (
    -0.1666666666666663,
    0.008333333333322063,
    -0.00019841269829542612,
    2.7557313604528153e-06,
    -2.505074503806014e-08,
    1.5896067522420397e-10,
)
COS = (
    0.041666666666666595,
    -0.0013888888888872975,
    2.4801587288800072e-05,
    -2.755731416398698e-07,
    2.0875698709594936e-09,
    -1.1358423557348704e-11,
)


def _constant(value, type_=_I64):
    return ir.Constant(type_, value)


def _table(module: ir.Module) -> ir.GlobalVariable:
    """The bits of 1 / 2 pi, last byte first: a wide load then has the earlier bits in the higher places."""
    name = f"{PREFIX}inverse_of_2_pi"
    if name in module.globals:
        return module.globals[name]
    bits = 8 * _BYTES - _AHEAD
    value = int(2**bits / (2 * pi(bits + 64)))
    data = value.to_bytes(_BYTES, "little")
    table = ir.GlobalVariable(module, ir.ArrayType(_I8, _BYTES), name)
    table.linkage, table.global_constant = "linkonce_odr", True
    table.initializer = ir.Constant(table.value_type, bytearray(data))
    return table


def _words(b: ir.IRBuilder, exponent):
    """Three 64-bit words of the table, from `exponent` bits after the point on, first word first."""
    place = b.add(exponent, _constant(_AHEAD))
    byte, shift = b.lshr(place, _constant(3)), b.and_(place, _constant(7))
    loaded = []
    for index in range(4):
        at = b.sub(_constant(_BYTES - 8 * (index + 1)), byte)
        pointer = b.gep(_table(b.module), [_constant(0), at], inbounds=True)
        loaded.append(b.load(pointer, typ=_I64, align=1))
    fshl = b.module.globals.get("llvm.fshl.i64")
    fshl = fshl or ir.Function(b.module, ir.FunctionType(_I64, [_I64] * 3), "llvm.fshl.i64")
    return [b.call(fshl, [loaded[index], loaded[index + 1], shift]) for index in range(3)]


def _power_of_two(b: ir.IRBuilder, exponent):
    return b.bitcast(b.shl(b.add(exponent, _constant(1023)), _constant(52)), _DOUBLE)


def _reduced(b: ir.IRBuilder, bits):
    """(q, high, low) of a positive finite x: x = (4 n + q) pi/2 + high + low, |high| <= pi/4."""
    fraction = b.or_(b.and_(bits, _constant((1 << 52) - 1)), _constant(1 << 52))
    first, second, third = _words(b, b.sub(b.lshr(bits, _constant(52)), _constant(1075)))
    wide = b.zext(fraction, _I128)
    turns = b.lshr(b.mul(wide, b.zext(third, _I128)), _constant(64, _I128))
    turns = b.add(turns, b.mul(wide, b.zext(second, _I128)))
    turns = b.add(turns, b.shl(b.mul(wide, b.zext(first, _I128)), _constant(64, _I128)))
    quarter = b.lshr(b.add(b.lshr(turns, _constant(125, _I128)), _constant(1, _I128)), _constant(1, _I128))
    rest = b.sub(turns, b.shl(quarter, _constant(126, _I128)))
    negative = b.icmp_signed("<", rest, _constant(0, _I128))
    rest = b.select(negative, b.neg(rest), rest)
    # normalised, so that the product below has full precision; 62 bits cancel at most, so the upper word is not 0
    upper = b.trunc(b.lshr(rest, _constant(64, _I128)), _I64)
    zeros = b.ctlz(upper, ir.Constant(ir.IntType(1), 0))
    rest = b.shl(rest, b.zext(zeros, _I128))
    upper = b.lshr(rest, _constant(64, _I128))
    lower = b.and_(rest, _constant((1 << 64) - 1, _I128))
    eighth = _constant(int(pi(80) / 4 * 2**64), _I128)  # 2 pi / 8 of 2**64
    angle = b.add(b.mul(upper, eighth), b.lshr(b.mul(lower, eighth), _constant(64, _I128)))
    high = b.trunc(b.lshr(angle, _constant(75, _I128)), _I64)
    low = b.and_(b.trunc(b.lshr(angle, _constant(22, _I128)), _I64), _constant((1 << 53) - 1))
    scale = b.sub(_constant(75 + 3 - 128), zeros)
    parts = [
        b.fmul(b.sitofp(high, _DOUBLE), _power_of_two(b, scale)),
        b.fmul(b.sitofp(low, _DOUBLE), _power_of_two(b, b.sub(scale, _constant(53)))),
    ]
    return b.trunc(quarter, _I64), *(b.select(negative, b.fneg(part), part) for part in parts)


def _sine_and_cosine(b: ir.IRBuilder, high, low):
    def real(value):
        return ir.Constant(_DOUBLE, value)

    def fmuladd(*arguments):
        return llvm_call(b, "fmuladd", _DOUBLE, arguments)

    z = b.fmul(high, high)
    sine_tail = fmuladd(b.fmul(high, z), emit_polynomial(b, z, [real(c) for c in SIN]), low)
    half = b.fmul(z, real(0.5))
    whole = b.fsub(real(1.0), half)
    lost = b.fsub(b.fsub(real(1.0), whole), half)
    cosine_tail = fmuladd(b.fmul(z, z), emit_polynomial(b, z, [real(c) for c in COS]), b.fneg(b.fmul(high, low)))
    return b.fadd(high, sine_tail), b.fadd(whole, b.fadd(lost, cosine_tail))


def large(function: str) -> Callable:
    """emit(builder, x) of "sin", "cos" or "tan" for |x| >= 2**-11, for `lanes.rare_case`; infinities give NaN."""

    def emit(builder: ir.IRBuilder, x):
        name = f"{PREFIX}large_{function}"
        callee = builder.module.globals.get(name) or _define(builder.module, name, function)
        if x.type == _DOUBLE:
            return builder.call(callee, [x])
        return builder.fptrunc(builder.call(callee, [builder.fpext(x, _DOUBLE)]), x.type)

    return emit


def _define(module: ir.Module, name: str, function: str) -> ir.Function:
    defined = define_pure(module, name, _DOUBLE, [_DOUBLE])
    (x,) = defined.args
    b = ir.IRBuilder(defined.append_basic_block())
    bits = b.bitcast(x, _I64)
    size = b.and_(bits, _constant((1 << 63) - 1))
    with b.if_then(b.icmp_unsigned(">=", size, _constant(0x7FF << 52)), likely=False):
        b.ret(b.fsub(x, x))
    quarter, high, low = _reduced(b, size)
    sine, cosine = _sine_and_cosine(b, high, low)
    sign = b.and_(bits, _constant(1 << 63))
    if function == "cos":
        quarter, sign = b.add(quarter, _constant(1)), _constant(0)
    odd = b.trunc(quarter, ir.IntType(1))
    if function == "tan":
        result = b.fdiv(b.select(odd, b.fneg(cosine), sine), b.select(odd, sine, cosine))
    else:
        result = b.select(odd, cosine, sine)
        sign = b.xor(sign, b.shl(b.lshr(quarter, _constant(1)), _constant(63)))
    b.ret(b.bitcast(b.xor(b.bitcast(result, _I64), sign), _DOUBLE))
    return defined
