"""The operations that lowered Python is made of, as LLVM IR: the arithmetic of the kernel language exactly, each one
typed by its operands alone, so that nothing is left to Numba's typing.

Every operation takes operands of one Numba type and refuses any other combination. What a reader of the IR does in
its own way it does in its dialect (targets/llvm/dialect.py).
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from .dialect import Dialect, Emit, Table, of_types
from .values import (
    I1,
    PARTS,
    WHOLE,
    call,
    compare,
    constant,
    join,
    kind,
    parts,
    select,
)  # fmt: skip

OPERATIONS = Table()
operation = OPERATIONS.operation


def _boolean(t):
    return types.boolean


# ------------------------------------------------------------------------------------------ + - * / // % << >>


def _arithmetic(integer: str, floating: str, of_bool: str = "") -> Emit:
    def emit(d, b, t, x, y):
        if kind(t) == "complex":
            (a, c), (e, f) = parts(b, x), parts(b, y)
            return join(b, getattr(b, floating)(a, e), getattr(b, floating)(c, f))
        return getattr(b, {"bool": of_bool, "float": floating}.get(kind(t), integer))(x, y)

    return emit


operation("add", 2, "bool int uint float complex")(_arithmetic("add", "fadd", "or_"))
operation("sub", 2, "int uint float complex")(_arithmetic("sub", "fsub"))


@operation("mul", 2, "bool int uint float complex")
def _mul(d, b, t, x, y):
    if kind(t) != "complex":
        return {"bool": b.and_, "float": b.fmul}.get(kind(t), b.mul)(x, y)
    (a, c), (e, f) = parts(b, x), parts(b, y)
    return join(b, b.fsub(b.fmul(a, e), b.fmul(c, f)), b.fadd(b.fmul(a, f), b.fmul(c, e)))


@operation("div", 2, "float complex")
def _div(d, b, t, x, y):
    """IEEE division; complex by Smith's method (R. L. Smith, CACM 5, 1962), with NumPy's choices."""
    if kind(t) == "float":
        return b.fdiv(x, y)
    part = PARTS[t]
    zero = constant(part, 0.0)
    (a, c), (e, f) = parts(b, x), parts(b, y)
    size_e, size_f = d.function(b, "fabs", part, e), d.function(b, "fabs", part, f)
    wide = b.fcmp_ordered(">=", size_e, size_f)
    nothing = b.and_(b.fcmp_ordered("==", size_e, zero), b.fcmp_ordered("==", size_f, zero))
    big, small = b.select(wide, e, f), b.select(wide, f, e)
    ratio = b.fdiv(small, big)
    scale = b.fdiv(constant(part, 1.0), b.fadd(big, b.fmul(small, ratio)))
    first = b.select(wide, b.fadd(a, b.fmul(c, ratio)), b.fadd(b.fmul(a, ratio), c))
    second = b.select(wide, b.fsub(c, b.fmul(a, ratio)), b.fsub(b.fmul(c, ratio), a))
    real, imaginary = b.fmul(first, scale), b.fmul(second, scale)
    return join(b, b.select(nothing, b.fdiv(a, size_e), real), b.select(nothing, b.fdiv(c, size_e), imaginary))


def _divide(d: Dialect, b, t, x, y):
    """Quotient and remainder towards minus infinity, without traps: x // 0 = x % 0 = 0, MIN // -1 = MIN."""
    zero, one = constant(t, 0), constant(t, 1)
    by_zero = b.icmp_signed("==", y, zero)
    if kind(t) == "uint":
        divisor = b.select(by_zero, one, y)
        quotient = b.udiv(x, divisor)
        remainder = d.remainder(b, t, x, divisor, quotient)
    else:
        by_minus_one = b.icmp_signed("==", y, constant(t, -1))
        divisor = b.select(b.or_(by_zero, by_minus_one), one, y)
        quotient = b.sdiv(x, divisor)
        remainder = d.remainder(b, t, x, divisor, quotient)
        differ = b.icmp_signed("<", b.xor(remainder, divisor), zero)
        below = b.and_(b.icmp_signed("!=", remainder, zero), differ)
        quotient = b.select(below, b.sub(quotient, one), quotient)
        remainder = b.select(below, b.add(remainder, divisor), remainder)
        quotient = b.select(by_minus_one, b.sub(zero, x), quotient)
    return b.select(by_zero, zero, quotient), remainder  # by 0 what 1 leaves, which is 0


operation("floordiv_integer", 2, "int uint")(lambda d, b, t, x, y: _divide(d, b, t, x, y)[0])
operation("mod_integer", 2, "int uint")(lambda d, b, t, x, y: _divide(d, b, t, x, y)[1])


@operation("power_integer", 2, "int uint")
def _power_integer(d, b, t, x, y):
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


def _in_width(b, t, count):
    """Whether a shift count is 0 … width - 1, and a count that is safe to shift by."""
    fits = b.icmp_unsigned("<", count, constant(t, t.bitwidth))
    return fits, b.select(fits, count, constant(t, 0))


@operation("shl", 2, "int uint")
def _shl(d, b, t, x, y):
    fits, count = _in_width(b, t, y)
    return b.select(fits, b.shl(x, count), constant(t, 0))


@operation("shr", 2, "int uint")
def _shr(d, b, t, x, y):
    fits, count = _in_width(b, t, y)
    if kind(t) == "uint":
        return b.select(fits, b.lshr(x, count), constant(t, 0))
    return b.ashr(x, b.select(fits, count, constant(t, t.bitwidth - 1)))


operation("band", 2, "bool int uint")(lambda d, b, t, x, y: b.and_(x, y))
operation("bor", 2, "bool int uint")(lambda d, b, t, x, y: b.or_(x, y))
operation("bxor", 2, "bool int uint")(lambda d, b, t, x, y: b.xor(x, y))
operation("invert", 1, "bool int uint")(lambda d, b, t, x: b.not_(x))


@operation("neg", 1, "int uint float complex")
def _neg(d, b, t, x):
    if kind(t) == "complex":
        return join(b, *(d.negated(b, part) for part in parts(b, x)))
    return d.negated(b, x) if kind(t) == "float" else b.sub(constant(t, 0), x)


operation("fmuladd", 3, "float")(lambda d, b, t, x, y, z: d.contracted(b, t, x, y, z))


# ---------------------------------------------------------------------------------------------------- loop counts

operation("times", 2, "int")(lambda d, b, t, x, y: d.count(b, x, y))


@operation("turns", 3, "int")
def _turns(d, b, t, start, stop, step):
    """How often range(start, stop, step) goes round, for int64; never for a step of 0. A distance may have 64 bits;
    counts above the largest int64 are that: no loop gets there."""
    zero, one, most = constant(t, 0), constant(t, 1), constant(t, (1 << t.bitwidth - 1) - 1)
    up, down = b.icmp_signed(">", step, zero), b.icmp_signed("<", step, zero)
    size = b.select(up, step, b.select(down, b.sub(zero, step), one))
    way = b.select(up, b.sub(stop, start), b.sub(start, stop))
    runs = b.or_(b.and_(up, b.icmp_signed("<", start, stop)), b.and_(down, b.icmp_signed(">", start, stop)))
    count = b.add(b.udiv(b.sub(way, one), size), one)
    count = b.select(b.icmp_unsigned(">", count, most), most, count)
    return b.select(runs, count, zero)


# --------------------------------------------------------------------------------------- comparison and choice


def _comparison(op: str) -> Emit:
    def emit(d, b, t, x, y):
        if kind(t) == "float":
            return (b.fcmp_unordered if op == "!=" else b.fcmp_ordered)(op, x, y)
        if kind(t) == "complex":
            (a, c), (e, f) = parts(b, x), parts(b, y)
            equal = b.and_(b.fcmp_ordered("==", a, e), b.fcmp_ordered("==", c, f))
            return equal if op == "==" else b.not_(equal)
        return compare(b, t, op, x, y)

    return emit


for _name, _op in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
    operation(_name, 2, "bool int uint float", _boolean)(_comparison(_op))
for _name, _op in (("eq", "=="), ("ne", "!=")):
    operation(_name, 2, "bool int uint float complex", _boolean)(_comparison(_op))


def _extremum(op: str) -> Emit:
    def emit(d, b, t, x, y):
        if kind(t) == "bool":
            return (b.and_ if op == "min" else b.or_)(x, y)
        return d.extremum(b, op, t, x, y)

    return emit


operation("minimum", 2, "bool int uint float")(_extremum("min"))
operation("maximum", 2, "bool int uint float")(_extremum("max"))

# ----------------------------------------------------------------------------------------------- listed functions


def _function(name: str) -> Emit:
    return lambda d, b, t, *values: d.function(b, name, t, *values)


for _name in ("floor", "ceil", "trunc", "rint", "sqrt"):
    operation(_name, 1, "float")(_function(_name))
operation("copysign", 2, "float")(_function("copysign"))
operation("isnan", 1, "float", _boolean)(lambda d, b, t, x: d.is_nan(b, t, x))


def infinite(d: Dialect, b, t, op: str, x):
    """How the size of a float compares with infinity."""
    return b.fcmp_ordered(op, d.function(b, "fabs", t, x), constant(t, float("inf")))


operation("isinf", 1, "float", _boolean)(lambda d, b, t, x: infinite(d, b, t, "==", x))
operation("isfinite", 1, "float", _boolean)(lambda d, b, t, x: infinite(d, b, t, "<", x))


@operation("absolute", 1, "bool int uint float")
def _absolute(d, b, t, x):
    if kind(t) == "float":
        return d.function(b, "fabs", t, x)
    return b.select(b.icmp_signed("<", x, constant(t, 0)), b.sub(constant(t, 0), x), x) if kind(t) == "int" else x


@operation("sign", 1, "int uint float")
def _sign(d, b, t, x):
    """-1, 0 or 1; NaN for NaN."""
    zero, one = constant(t, 0), constant(t, 1)
    if kind(t) == "uint":
        return b.select(b.icmp_unsigned("!=", x, zero), one, zero)
    if kind(t) == "int":
        return b.select(b.icmp_signed(">", x, zero), one, b.select(b.icmp_signed("<", x, zero), constant(t, -1), zero))
    size = b.select(b.fcmp_ordered("!=", x, zero), d.function(b, "copysign", t, one, x), zero)
    return b.select(b.fcmp_unordered("uno", x, x), x, size)


@operation("popcount", 1, "bool int uint")
def _popcount(d, b, t, x):
    return x if kind(t) == "bool" else call(b, f"llvm.ctpop.i{t.bitwidth}", x.type, x)


@operation("clz", 1, "bool int uint")
def _clz(d, b, t, x):
    return b.not_(x) if kind(t) == "bool" else leading_zeros(b, x)


def leading_zeros(b, x):
    """How many bits of an integer above the highest 1; its width for 0."""
    return call(b, f"llvm.ctlz.i{x.type.width}", x.type, x, ir.Constant(I1, 0))


# ------------------------------------------------------------------------------------------------ complex numbers

operation("real", 1, "complex", lambda t: PARTS[t])(lambda d, b, t, x: b.extract_value(x, 0))
operation("imag", 1, "complex", lambda t: PARTS[t])(lambda d, b, t, x: b.extract_value(x, 1))


@operation("conj", 1, "complex")
def _conj(d, b, t, x):
    real, imaginary = parts(b, x)
    return join(b, real, d.negated(b, imaginary))


# ------------------------------------------------------------------------------- operands of more than one type


def _select(d: Dialect) -> Callable:
    def typed(condition, then, otherwise):
        """`then` where the condition holds, else `otherwise`; both are evaluated."""
        condition, then, otherwise = map(types.unliteral, (condition, then, otherwise))
        if then != otherwise or condition != types.boolean or not d.has(then):
            return None
        return then(condition, then, then), lambda context, b, signature, values: select(b, then, *values)

    return typed


def _complex_of(real, imaginary):
    """A complex number from its parts."""
    real, imaginary = types.unliteral(real), types.unliteral(imaginary)
    whole = WHOLE.get(real)
    if whole is None or imaginary != real:
        return None
    return whole(real, real), lambda context, b, signature, values: join(b, *values)


def _at(outer, extent, inner):
    """outer * extent + inner, for an index in range: nothing wraps."""
    return types.int64(types.int64, types.int64, types.int64), lambda context, b, signature, values: b.add(
        b.mul(values[0], values[1], flags=("nsw",)), values[2], flags=("nsw",)
    )


def mixed(d: Dialect) -> dict[str, Callable]:
    """Intrinsics on operands of more than one type, by name."""
    return {"select": of_types(3, _select(d)), "complex_of": of_types(2, _complex_of), "at": of_types(3, _at)}
