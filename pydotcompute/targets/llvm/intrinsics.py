"""The operations that lowered Python is made of: each one typed by its operands alone and emitted as LLVM instructions,
so that nothing is left to Numba's typing. They implement the arithmetic of the kernel language exactly.

Every operation takes operands of one Numba type (bool, int8 … uint64, float32, float64, complex64, complex128) and
refuses any other combination at typing. `INTRINSICS` maps the names that lowered source uses to them.
"""

from __future__ import annotations

from typing import Callable

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

NUMBA_TYPES = {
    "bool": types.boolean, "int8": types.int8, "int16": types.int16, "int32": types.int32, "int64": types.int64,
    "uint8": types.uint8, "uint16": types.uint16, "uint32": types.uint32, "uint64": types.uint64,
    "float32": types.float32, "float64": types.float64,
    "complex64": types.complex64, "complex128": types.complex128,
}  # fmt: skip
I1 = ir.IntType(1)
_FLOAT_TYPES = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}
SUFFIX = {types.float32: "f32", types.float64: "f64"}
PARTS = {types.complex64: types.float32, types.complex128: types.float64}

INTRINSICS: dict[str, Callable] = {}


def named(name: str) -> Callable:
    """Decorator: put the intrinsic into the table under this name."""

    def enter(function: Callable) -> Callable:
        INTRINSICS[name] = function
        return function

    return enter


def kind(type_) -> str:
    """ "bool", "int", "uint", "float", "complex", or "" for anything else."""
    if isinstance(type_, types.Boolean):
        return "bool"
    if isinstance(type_, types.Integer):
        return "int" if type_.signed else "uint"
    return "float" if type_ in _FLOAT_TYPES else "complex" if type_ in PARTS else ""


def llvm_type(type_) -> ir.Type:
    """The LLVM type of a value."""
    which = kind(type_)
    if which == "bool":
        return I1
    if which in ("int", "uint"):
        return ir.IntType(type_.bitwidth)
    if which == "float":
        return _FLOAT_TYPES[type_]
    return ir.LiteralStructType([_FLOAT_TYPES[PARTS[type_]]] * 2)


def llvm_call(b, name: str, type_, *arguments):
    """A call of `llvm.NAME` whose arguments and result are all of one Numba type."""
    value = llvm_type(type_)
    symbol = f"llvm.{name}.{SUFFIX.get(type_) or f'i{value.width}'}"
    function = b.module.globals.get(symbol)
    function = function or ir.Function(b.module, ir.FunctionType(value, [value] * len(arguments)), symbol)
    return b.call(function, arguments)


def parts(b, value):
    """Real and imaginary part of a complex value."""
    return b.extract_value(value, 0), b.extract_value(value, 1)


def join(b, real, imaginary):
    """A complex value from its parts."""
    pair = ir.Constant(ir.LiteralStructType([real.type, imaginary.type]), ir.Undefined)
    return b.insert_value(b.insert_value(pair, real, 0), imaginary, 1)


def operation(name: str, arity: int, kinds: str, result: Callable | None = None) -> Callable:
    """Decorator: make `emit(builder, type, *values)` the operation `name` on `arity` operands of one type whose kind
    is among `kinds`. `result` gives the result's type from the operands'; the same where it is None."""
    allowed = tuple(kinds.split())

    def decorate(emit: Callable) -> Callable:
        def typed(*operands):
            operands = tuple(types.unliteral(t) for t in operands)
            if kind(operands[0]) not in allowed or any(t != operands[0] for t in operands):
                return None
            signature = (result(operands[0]) if result else operands[0])(*operands)
            return signature, lambda context, b, signature, values: emit(b, operands[0], *values)

        if arity == 1:

            @intrinsic
            def define(typing_context, x):
                return typed(x)
        elif arity == 2:

            @intrinsic
            def define(typing_context, x, y):
                return typed(x, y)
        else:

            @intrinsic
            def define(typing_context, x, y, z):
                return typed(x, y, z)

        INTRINSICS[name] = define
        return define

    return decorate


def _boolean(type_):
    return types.boolean


def _part(type_):
    return PARTS.get(type_, type_)


def constant(type_, number) -> ir.Constant:
    return ir.Constant(llvm_type(type_), number)


# ------------------------------------------------------------------------------------------ + - * / // % << >>


def _arithmetic(integer: str, floating: str, boolean: str | None) -> Callable:
    def emit(b, t, x, y):
        which = kind(t)
        if which == "complex":
            (a, c), (d, e) = parts(b, x), parts(b, y)
            return join(b, getattr(b, floating)(a, d), getattr(b, floating)(c, e))
        name = {"bool": boolean, "float": floating}.get(which, integer)
        return getattr(b, name)(x, y)

    return emit


add = operation("add", 2, "bool int uint float complex")(_arithmetic("add", "fadd", "or_"))
sub = operation("sub", 2, "int uint float complex")(_arithmetic("sub", "fsub", None))


@operation("mul", 2, "bool int uint float complex")
def mul(b, t, x, y):
    if kind(t) != "complex":
        return {"bool": b.and_, "float": b.fmul}.get(kind(t), b.mul)(x, y)
    (a, c), (d, e) = parts(b, x), parts(b, y)
    return join(b, b.fsub(b.fmul(a, d), b.fmul(c, e)), b.fadd(b.fmul(a, e), b.fmul(c, d)))


@operation("times", 2, "int")
def times(b, t, x, y):
    """The product of two counts, neither negative; one that does not fit is the largest number."""
    pair = b.smul_with_overflow(x, y)
    return b.select(b.extract_value(pair, 1), constant(t, 2**63 - 1), b.extract_value(pair, 0))


@operation("div", 2, "float complex")
def div(b, t, x, y):
    """IEEE division; complex by Smith's method (R. L. Smith, CACM 5, 1962), with NumPy's choices."""
    if kind(t) == "float":
        return b.fdiv(x, y)
    part = PARTS[t]
    (a, c), (d, e) = parts(b, x), parts(b, y)
    size_d, size_e = llvm_call(b, "fabs", part, d), llvm_call(b, "fabs", part, e)
    wide = b.fcmp_ordered(">=", size_d, size_e)
    zero = b.and_(b.fcmp_ordered("==", size_d, constant(part, 0.0)), b.fcmp_ordered("==", size_e, constant(part, 0.0)))
    big, small = b.select(wide, d, e), b.select(wide, e, d)
    ratio = b.fdiv(small, big)
    scale = b.fdiv(constant(part, 1.0), b.fadd(big, b.fmul(small, ratio)))
    first = b.select(wide, b.fadd(a, b.fmul(c, ratio)), b.fadd(b.fmul(a, ratio), c))
    second = b.select(wide, b.fsub(c, b.fmul(a, ratio)), b.fsub(b.fmul(c, ratio), a))
    real, imaginary = b.fmul(first, scale), b.fmul(second, scale)
    return join(b, b.select(zero, b.fdiv(a, size_d), real), b.select(zero, b.fdiv(c, size_d), imaginary))


def _divide(b, t, x, y):
    """Quotient and remainder towards minus infinity, without traps: x // 0 = x % 0 = 0, MIN // -1 = MIN."""
    zero, one = constant(t, 0), constant(t, 1)
    by_zero = b.icmp_signed("==", y, zero)
    if kind(t) == "uint":
        divisor = b.select(by_zero, one, y)
        quotient, remainder = b.udiv(x, divisor), b.urem(x, divisor)
    else:
        by_minus_one = b.icmp_signed("==", y, constant(t, -1))
        divisor = b.select(b.or_(by_zero, by_minus_one), one, y)
        quotient, remainder = b.sdiv(x, divisor), b.srem(x, divisor)
        differ = b.icmp_signed("<", b.xor(remainder, divisor), zero)
        below = b.and_(b.icmp_signed("!=", remainder, zero), differ)
        quotient = b.select(below, b.sub(quotient, one), quotient)
        remainder = b.select(below, b.add(remainder, divisor), remainder)
        quotient = b.select(by_minus_one, b.sub(zero, x), quotient)
    return b.select(by_zero, zero, quotient), b.select(by_zero, zero, remainder)


@operation("floordiv_integer", 2, "int uint")
def floordiv_integer(b, t, x, y):
    return _divide(b, t, x, y)[0]


@operation("mod_integer", 2, "int uint")
def mod_integer(b, t, x, y):
    return _divide(b, t, x, y)[1]


def _in_width(b, t, count):
    """Whether a shift count is 0 … width - 1, and a count that is safe to shift by."""
    fits = b.icmp_unsigned("<", count, constant(t, t.bitwidth))
    return fits, b.select(fits, count, constant(t, 0))


@operation("shl", 2, "int uint")
def shl(b, t, x, y):
    fits, count = _in_width(b, t, y)
    return b.select(fits, b.shl(x, count), constant(t, 0))


@operation("shr", 2, "int uint")
def shr(b, t, x, y):
    fits, count = _in_width(b, t, y)
    if kind(t) == "uint":
        return b.select(fits, b.lshr(x, count), constant(t, 0))
    return b.ashr(x, b.select(fits, count, constant(t, t.bitwidth - 1)))


operation("band", 2, "bool int uint")(lambda b, t, x, y: b.and_(x, y))
operation("bor", 2, "bool int uint")(lambda b, t, x, y: b.or_(x, y))
operation("bxor", 2, "bool int uint")(lambda b, t, x, y: b.xor(x, y))
operation("invert", 1, "bool int uint")(lambda b, t, x: b.not_(x))


@operation("neg", 1, "int uint float complex")
def neg(b, t, x):
    if kind(t) == "complex":
        return join(b, *(b.fneg(part) for part in parts(b, x)))
    return b.fneg(x) if kind(t) == "float" else b.sub(constant(t, 0), x)


@operation("fmuladd", 3, "float")
def fmuladd(b, t, x, y, z):
    """x * y + z, rounded once where the target has the instruction and twice where it has not: a target's choice,
    made alike for scalars and vectors."""
    return llvm_call(b, "fmuladd", t, x, y, z)


for _name, _function in (("add_saturating", "sadd.sat"), ("sub_saturating", "ssub.sat")):
    operation(_name, 2, "int")(lambda b, t, x, y, _function=_function: llvm_call(b, _function, t, x, y))
operation("fma", 3, "float")(lambda b, t, x, y, z: llvm_call(b, "fma", t, x, y, z))


# --------------------------------------------------------------------------------------- comparison and choice


def _comparison(op: str) -> Callable:
    def emit(b, t, x, y):
        which = kind(t)
        if which == "float":
            return (b.fcmp_unordered if op == "!=" else b.fcmp_ordered)(op, x, y)
        if which == "complex":
            (a, c), (d, e) = parts(b, x), parts(b, y)
            equal = b.and_(b.fcmp_ordered("==", a, d), b.fcmp_ordered("==", c, e))
            return equal if op == "==" else b.not_(equal)
        return (b.icmp_signed if which == "int" else b.icmp_unsigned)(op, x, y)

    return emit


for _name, _op in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
    operation(_name, 2, "bool int uint float", _boolean)(_comparison(_op))
for _name, _op in (("eq", "=="), ("ne", "!=")):
    operation(_name, 2, "bool int uint float complex", _boolean)(_comparison(_op))


@named("select")
@intrinsic
def select(typing_context, condition, then, otherwise):
    """`then` where the condition holds, else `otherwise`; both are evaluated."""
    condition, then, otherwise = map(types.unliteral, (condition, then, otherwise))
    if then != otherwise or condition != types.boolean or not kind(then):
        return None

    def emit(context, b, signature, values):
        if kind(then) != "complex":
            return b.select(*values)
        (a, c), (d, e) = parts(b, values[1]), parts(b, values[2])
        return join(b, b.select(values[0], a, d), b.select(values[0], c, e))

    return then(condition, then, then), emit


# ----------------------------------------------------------------------------------------- listed functions


def _extremum(op: str, floating: str) -> Callable:
    def emit(b, t, x, y):
        if kind(t) == "bool":
            return (b.and_ if op == "min" else b.or_)(x, y)
        if kind(t) == "float":
            return llvm_call(b, floating, t, x, y)  # NaN propagates, and -0 is less than +0
        return llvm_call(b, ("s" if kind(t) == "int" else "u") + op, t, x, y)

    return emit


operation("minimum", 2, "bool int uint float")(_extremum("min", "minimum"))
operation("maximum", 2, "bool int uint float")(_extremum("max", "maximum"))


@operation("absolute", 1, "bool int uint float")
def absolute(b, t, x):
    if kind(t) == "float":
        return llvm_call(b, "fabs", t, x)
    return b.select(b.icmp_signed("<", x, constant(t, 0)), b.sub(constant(t, 0), x), x) if kind(t) == "int" else x


@operation("sign", 1, "int uint float")
def sign(b, t, x):
    """-1, 0 or 1; NaN for NaN."""
    zero, one = constant(t, 0), constant(t, 1)
    if kind(t) == "uint":
        return b.select(b.icmp_unsigned("!=", x, zero), one, zero)
    if kind(t) == "int":
        return b.select(b.icmp_signed(">", x, zero), one, b.select(b.icmp_signed("<", x, zero), constant(t, -1), zero))
    size = b.select(b.fcmp_ordered("!=", x, zero), llvm_call(b, "copysign", t, one, x), zero)
    return b.select(b.fcmp_unordered("uno", x, x), x, size)


for _name, _function in (("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"), ("rint", "rint"), ("sqrt", "sqrt")):
    operation(_name, 1, "float")(lambda b, t, x, _function=_function: llvm_call(b, _function, t, x))
operation("copysign", 2, "float")(lambda b, t, x, y: llvm_call(b, "copysign", t, x, y))
operation("isnan", 1, "float", _boolean)(lambda b, t, x: b.fcmp_unordered("uno", x, x))


@operation("isinf", 1, "float", _boolean)
def isinf(b, t, x):
    return b.fcmp_ordered("==", llvm_call(b, "fabs", t, x), constant(t, float("inf")))


@operation("isfinite", 1, "float", _boolean)
def isfinite(b, t, x):
    return b.fcmp_ordered("<", llvm_call(b, "fabs", t, x), constant(t, float("inf")))


@operation("popcount", 1, "bool int uint")
def popcount(b, t, x):
    return x if kind(t) == "bool" else llvm_call(b, "ctpop", t, x)


@operation("clz", 1, "bool int uint")
def clz(b, t, x):
    if kind(t) == "bool":
        return b.not_(x)
    value = llvm_type(t)
    function = ir.Function  # declared by hand: its second operand is one bit wide
    symbol = f"llvm.ctlz.i{value.width}"
    declared = b.module.globals.get(symbol) or function(b.module, ir.FunctionType(value, [value, I1]), symbol)
    return b.call(declared, [x, ir.Constant(I1, 0)])


operation("complex_of", 2, "float", lambda t: types.complex64 if t == types.float32 else types.complex128)(
    lambda b, t, real, imaginary: join(b, real, imaginary)
)
operation("real", 1, "complex", _part)(lambda b, t, x: b.extract_value(x, 0))
operation("imag", 1, "complex", _part)(lambda b, t, x: b.extract_value(x, 1))


@operation("conj", 1, "complex")
def conj(b, t, x):
    real, imaginary = parts(b, x)
    return join(b, real, b.fneg(imaginary))
