"""The operations that lowered Python is made of, for NVVM: the names of `targets/llvm/intrinsics.py`, with instructions that
its older LLVM has, libdevice's functions, and float16.

float16 lives in 16 bits and computes in float32, rounded back after every operation, which gives the correctly
rounded result for + - * / and sqrt, as NumPy does. NVVM is told not to fuse anything: a fused operation stands in
the source as `fmuladd`.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

I1, I16, I32, I64 = (ir.IntType(n) for n in (1, 16, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
DTYPES = {
    "bool": types.boolean, "int8": types.int8, "int16": types.int16, "int32": types.int32, "int64": types.int64,
    "uint8": types.uint8, "uint16": types.uint16, "uint32": types.uint32, "uint64": types.uint64,
    "float16": types.float16, "float32": types.float32, "float64": types.float64,
    "complex64": types.complex64, "complex128": types.complex128,
}  # fmt: skip
REAL_LLVM = {types.float32: F32, types.float64: F64}
PARTS = {types.complex64: types.float32, types.complex128: types.float64}

INTRINSICS: dict[str, Callable] = {}
EMIT: dict[str, Callable] = {}  # name of an operation → emit(builder, type, *values)


def kind(t) -> str:
    """ "bool", "int", "uint", "half", "float", "complex", or "" for anything else."""
    if isinstance(t, types.Boolean):
        return "bool"
    if isinstance(t, types.Integer):
        return "int" if t.signed else "uint"
    if t == types.float16:
        return "half"
    return "float" if t in REAL_LLVM else "complex" if t in PARTS else ""


def llvm_type(t) -> ir.Type:
    """The LLVM type of a value in a register."""
    which = kind(t)
    if which == "complex":
        return ir.LiteralStructType([REAL_LLVM[PARTS[t]]] * 2)
    return {"bool": I1, "half": I16}.get(which) or (REAL_LLVM[t] if which == "float" else ir.IntType(t.bitwidth))


def constant(t, number) -> ir.Constant:
    return ir.Constant(llvm_type(t), number)


def call(b, name: str, result: ir.Type, *arguments):
    """A call of an external function: an LLVM intrinsic that NVVM knows, or one of libdevice's."""
    function = b.module.globals.get(name)
    function = function or ir.Function(b.module, ir.FunctionType(result, [a.type for a in arguments]), name)
    return b.call(function, arguments)


def device(b, name: str, t, *arguments):
    """A call of libdevice's `__nv_NAMEf` or `__nv_NAME`, by the type."""
    return call(b, f"__nv_{name}{'f' if t == types.float32 else ''}", llvm_type(t), *arguments)


def parts(b, value):
    return b.extract_value(value, 0), b.extract_value(value, 1)


def join(b, real, imaginary):
    pair = ir.Constant(ir.LiteralStructType([real.type, imaginary.type]), ir.Undefined)
    return b.insert_value(b.insert_value(pair, real, 0), imaginary, 1)


def from_half(b, value):
    return call(b, "llvm.convert.from.fp16.f32", F32, value)


def to_half(b, value):
    return call(b, f"llvm.convert.to.fp16.f{32 if value.type == F32 else 64}", I16, value)


def operation(name: str, arity: int, kinds: str, result: Callable | None = None) -> Callable:
    """Decorator: make `emit(builder, type, *values)` the operation `name` on operands of one type whose kind is
    among `kinds`; "float" means float16 too, which is computed in float32. `result` gives the result's type."""
    allowed = set(kinds.split())
    halves = "float" in allowed and "half" not in allowed

    def decorate(emit: Callable) -> Callable:
        def lifted(b, t, *values):
            if kind(t) != "half" or not halves:
                return emit(b, t, *values)
            value = emit(b, types.float32, *(from_half(b, v) for v in values))
            return to_half(b, value) if value.type == F32 else value

        def typed(*operands):
            operands = tuple(types.unliteral(t) for t in operands)
            which = kind(operands[0])
            if which not in allowed and not (halves and which == "half") or any(t != operands[0] for t in operands):
                return None
            signature = (result(operands[0]) if result else operands[0])(*operands)
            return signature, lambda context, b, signature, values: lifted(b, operands[0], *values)

        enter(name, arity, typed)
        EMIT[name] = lifted
        return emit

    return decorate


def of_types(arity: int, typed: Callable) -> Callable:
    """The intrinsic of `typed(*operand types)`."""
    names = ", ".join(f"a{k}" for k in range(arity))
    return intrinsic(eval(f"lambda typing_context, {names}: typed({names})", {"typed": typed}))


def enter(name: str, arity: int, typed: Callable) -> None:
    """Put the intrinsic of `typed(*operand types)` into the table."""
    INTRINSICS[name] = of_types(arity, typed)


def boolean(t):
    return types.boolean


# ------------------------------------------------------------------------------------------ + - * / // % << >>


def _arithmetic(integer: str, floating: str, of_bool: str) -> Callable:
    def emit(b, t, x, y):
        if kind(t) == "complex":
            (a, c), (d, e) = parts(b, x), parts(b, y)
            return join(b, getattr(b, floating)(a, d), getattr(b, floating)(c, e))
        return getattr(b, {"bool": of_bool, "float": floating}.get(kind(t), integer))(x, y)

    return emit


operation("add", 2, "bool int uint float complex")(_arithmetic("add", "fadd", "or_"))
operation("sub", 2, "bool int uint float complex")(_arithmetic("sub", "fsub", "xor"))


@operation("mul", 2, "bool int uint float complex")
def _mul(b, t, x, y):
    if kind(t) != "complex":
        return {"bool": b.and_, "float": b.fmul}.get(kind(t), b.mul)(x, y)
    (a, c), (d, e) = parts(b, x), parts(b, y)
    return join(b, b.fsub(b.fmul(a, d), b.fmul(c, e)), b.fadd(b.fmul(a, e), b.fmul(c, d)))


@operation("div", 2, "float complex")
def _div(b, t, x, y):
    """IEEE division; complex by Smith's method (R. L. Smith, CACM 5, 1962), with NumPy's choices."""
    if kind(t) == "float":
        return b.fdiv(x, y)
    part = PARTS[t]
    zero = constant(part, 0.0)
    (a, c), (d, e) = parts(b, x), parts(b, y)
    size_d, size_e = device(b, "fabs", part, d), device(b, "fabs", part, e)
    wide = b.fcmp_ordered(">=", size_d, size_e)
    nothing = b.and_(b.fcmp_ordered("==", size_d, zero), b.fcmp_ordered("==", size_e, zero))
    big, small = b.select(wide, d, e), b.select(wide, e, d)
    ratio = b.fdiv(small, big)
    scale = b.fdiv(constant(part, 1.0), b.fadd(big, b.fmul(small, ratio)))
    first = b.select(wide, b.fadd(a, b.fmul(c, ratio)), b.fadd(b.fmul(a, ratio), c))
    second = b.select(wide, b.fsub(c, b.fmul(a, ratio)), b.fsub(b.fmul(c, ratio), a))
    real, imaginary = b.fmul(first, scale), b.fmul(second, scale)
    return join(b, b.select(nothing, b.fdiv(a, size_d), real), b.select(nothing, b.fdiv(c, size_d), imaginary))


def _divide(b, t, x, y):
    """Quotient and remainder towards minus infinity: x // 0 = x % 0 = 0, MIN // -1 = MIN, MIN % -1 = 0."""
    zero, one = constant(t, 0), constant(t, 1)
    by_zero = b.icmp_signed("==", y, zero)
    if kind(t) == "uint":
        divisor = b.select(by_zero, one, y)
        quotient = b.udiv(x, divisor)
        remainder = b.sub(x, b.mul(quotient, divisor))
    else:
        by_minus_one = b.icmp_signed("==", y, constant(t, -1))
        divisor = b.select(b.or_(by_zero, by_minus_one), one, y)
        quotient = b.sdiv(x, divisor)
        remainder = b.sub(x, b.mul(quotient, divisor))
        differ = b.icmp_signed("<", b.xor(remainder, divisor), zero)
        below = b.and_(b.icmp_signed("!=", remainder, zero), differ)
        quotient = b.select(below, b.sub(quotient, one), quotient)
        remainder = b.select(below, b.add(remainder, divisor), remainder)
        quotient = b.select(by_minus_one, b.sub(zero, x), quotient)
    return b.select(by_zero, zero, quotient), b.select(by_zero, zero, remainder)


operation("floordiv_integer", 2, "int uint")(lambda b, t, x, y: _divide(b, t, x, y)[0])
operation("mod_integer", 2, "int uint")(lambda b, t, x, y: _divide(b, t, x, y)[1])


def _in_width(b, t, count):
    """Whether a shift count is 0 … width - 1, and a count that is safe to shift by."""
    fits = b.icmp_unsigned("<", count, constant(t, t.bitwidth))
    return fits, b.select(fits, count, constant(t, 0))


@operation("shl", 2, "int uint")
def _shl(b, t, x, y):
    fits, count = _in_width(b, t, y)
    return b.select(fits, b.shl(x, count), constant(t, 0))


@operation("shr", 2, "int uint")
def _shr(b, t, x, y):
    fits, count = _in_width(b, t, y)
    if kind(t) == "uint":
        return b.select(fits, b.lshr(x, count), constant(t, 0))
    return b.ashr(x, b.select(fits, count, constant(t, t.bitwidth - 1)))


operation("band", 2, "bool int uint")(lambda b, t, x, y: b.and_(x, y))
operation("bor", 2, "bool int uint")(lambda b, t, x, y: b.or_(x, y))
operation("bxor", 2, "bool int uint")(lambda b, t, x, y: b.xor(x, y))
operation("invert", 1, "bool int uint")(lambda b, t, x: b.not_(x))


def negated(b, value):
    return b.fsub(ir.Constant(value.type, -0.0), value)  # this LLVM has no fneg


@operation("neg", 1, "int uint half float complex")
def _neg(b, t, x):
    if kind(t) == "complex":
        return join(b, *(negated(b, part) for part in parts(b, x)))
    if kind(t) == "half":
        return b.xor(x, ir.Constant(I16, 1 << 15))
    return negated(b, x) if kind(t) == "float" else b.sub(constant(t, 0), x)


@operation("fmuladd", 3, "half float")
def _fmuladd(b, t, x, y, z):
    """x * y + z rounded once; in float16 twice, for float32 cannot hold what one rounding needs."""
    if kind(t) == "half":
        x, y, z = (from_half(b, v) for v in (x, y, z))
        product = from_half(b, to_half(b, b.fmul(x, y)))
        return to_half(b, b.fadd(product, z))
    return device(b, "fma", t, x, y, z)


# --------------------------------------------------------------------------------------- comparison and choice


def _comparison(op: str) -> Callable:
    def emit(b, t, x, y):
        if kind(t) == "float":
            return (b.fcmp_unordered if op == "!=" else b.fcmp_ordered)(op, x, y)
        if kind(t) == "complex":
            (a, c), (d, e) = parts(b, x), parts(b, y)
            equal = b.and_(b.fcmp_ordered("==", a, d), b.fcmp_ordered("==", c, e))
            return equal if op == "==" else b.not_(equal)
        return (b.icmp_signed if kind(t) == "int" else b.icmp_unsigned)(op, x, y)

    return emit


for _name, _op in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
    operation(_name, 2, "bool int uint float", boolean)(_comparison(_op))
for _name, _op in (("eq", "=="), ("ne", "!=")):
    operation(_name, 2, "bool int uint float complex", boolean)(_comparison(_op))


def select(b, t, condition, x, y):
    if kind(t) != "complex":
        return b.select(condition, x, y)
    (a, c), (d, e) = parts(b, x), parts(b, y)
    return join(b, b.select(condition, a, d), b.select(condition, c, e))


def _select(condition, then, otherwise):
    """`then` where the condition holds, else `otherwise`; both are evaluated."""
    condition, then, otherwise = map(types.unliteral, (condition, then, otherwise))
    if then != otherwise or condition != types.boolean or not kind(then):
        return None

    return then(condition, then, then), lambda context, b, signature, values: select(b, then, *values)


enter("select", 3, _select)


def _extremum(op: str) -> Callable:
    def emit(b, t, x, y):
        if kind(t) == "bool":
            return (b.and_ if op == "min" else b.or_)(x, y)
        if kind(t) == "float":  # NaN propagates, and -0 is less than +0
            return b.select(b.fcmp_unordered("uno", x, y), b.fadd(x, y), device(b, f"f{op}", t, x, y))
        compare = b.icmp_signed if kind(t) == "int" else b.icmp_unsigned
        return b.select(compare("<" if op == "min" else ">", x, y), x, y)

    return emit


operation("minimum", 2, "bool int uint float")(_extremum("min"))
operation("maximum", 2, "bool int uint float")(_extremum("max"))

# ----------------------------------------------------------------------------------------------- complex numbers


def _complex_of(real, imaginary):
    real, imaginary = types.unliteral(real), types.unliteral(imaginary)
    whole = {part: t for t, part in PARTS.items()}.get(real)
    if whole is None or imaginary != real:
        return None
    return whole(real, real), lambda context, b, signature, values: join(b, *values)


enter("complex_of", 2, _complex_of)
operation("real", 1, "complex", lambda t: PARTS[t])(lambda b, t, x: b.extract_value(x, 0))
operation("imag", 1, "complex", lambda t: PARTS[t])(lambda b, t, x: b.extract_value(x, 1))


@operation("conj", 1, "complex")
def _conj(b, t, x):
    real, imaginary = parts(b, x)
    return join(b, real, negated(b, imaginary))
