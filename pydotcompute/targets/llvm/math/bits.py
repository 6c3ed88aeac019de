"""The few operations on floats and their bits that the functions of this package are written with.

Every one is a single LLVM instruction or intrinsic that a vector unit has at every x86-64 level, on a scalar type
that stays what it is: Numba alone would widen `int32 + int32` to int64 and halve the lanes. `select` evaluates both
sides, so that a loop around it stays free of branches.
"""

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LONG = 8  # coefficients from which on two chains are faster than one
FLOATS = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}
_BITS_OF = {types.float32: types.int32, types.float64: types.int64}
_FLOAT_OF = {bits: float_ for float_, bits in _BITS_OF.items()}

#: the decorator of every function here: inlined always (a loop with a call in it is not vectorised), divisions as
#: IEEE has them, no fast-math flag whatever the caller's are.
scalar = numba.njit(forceinline=True, error_model="numpy", no_cpython_wrapper=True)


def llvm_call(builder, name, type_, arguments):
    """A call of the LLVM intrinsic `name`, whose arguments and result are all of the LLVM type `type_`."""
    suffix = {"float": "f32", "double": "f64"}.get(str(type_)) or f"i{type_.width}"
    module, name = builder.module, f"llvm.{name}.{suffix}"
    function = module.globals.get(name) or ir.Function(module, ir.FunctionType(type_, [type_] * len(arguments)), name)
    return builder.call(function, arguments)


def _one(name):
    @intrinsic
    def define(typing_context, x):
        if x not in FLOATS:
            return None
        return x(x), lambda context, builder, signature, arguments: llvm_call(builder, name, FLOATS[x], arguments)

    return define


fabs = _one("fabs")
sqrt = _one("sqrt")
rint = _one("rint")  # half to even


@intrinsic
def copysign(typing_context, x, sign):
    return x(x, x), lambda context, builder, signature, arguments: llvm_call(builder, "copysign", FLOATS[x], arguments)


@intrinsic
def fmuladd(typing_context, a, b, c):
    """a * b + c, rounded once where the target has the instruction and twice where it has not: a target's choice,
    made alike for scalars and vectors."""
    type_ = FLOATS[a]
    return a(a, a, a), lambda context, builder, signature, arguments: llvm_call(builder, "fmuladd", type_, arguments)


def _of_coefficients(emit_value):
    @intrinsic
    def define(typing_context, x, coefficients):
        def emit(context, builder, signature, arguments):
            values = [builder.extract_value(arguments[1], index) for index in range(len(coefficients))]
            if x == types.float32:
                values = [builder.fptrunc(value, FLOATS[x]) for value in values]
            return emit_value(builder, arguments[0], values)

        return x(x, coefficients), emit

    return define


def emit_horner(builder, x, coefficients):
    """coefficients[0] + coefficients[1] * x + … of LLVM values, from the last on."""
    *others, total = coefficients
    for coefficient in reversed(others):
        total = llvm_call(builder, "fmuladd", x.type, [total, x, coefficient])
    return total


def emit_polynomial(builder, x, coefficients):
    """The same, a long chain of dependent steps made two of half the length, in x²: faster, and as accurate as long
    as the two do not cancel."""
    if len(coefficients) < LONG:
        return emit_horner(builder, x, coefficients)
    square = builder.fmul(x, x)
    even, odd = (emit_polynomial(builder, square, coefficients[start::2]) for start in (0, 1))
    return llvm_call(builder, "fmuladd", x.type, [odd, x, even])


# f(x, coefficients), these a constant tuple of Python floats that are values of the type of x
horner, polynomial = map(_of_coefficients, (emit_horner, emit_polynomial))


@intrinsic
def select(typing_context, condition, then, otherwise):
    """`then` where the condition holds, else `otherwise`; both are evaluated."""
    if then != otherwise or condition != types.boolean:
        return None
    return then(condition, then, then), lambda context, builder, signature, arguments: builder.select(*arguments)


def _condition(operation):
    @intrinsic
    def define(typing_context, a, b):
        signature = types.boolean(types.boolean, types.boolean)
        return signature, lambda context, builder, signature, arguments: getattr(builder, operation)(*arguments)

    return define


both, either, differ = _condition("and_"), _condition("or_"), _condition("xor")


@intrinsic
def as_bits(typing_context, x):
    """The bits of a float as a signed integer of its width."""
    if x not in _BITS_OF:
        return None
    result = _BITS_OF[x]
    width = ir.IntType(result.bitwidth)
    return result(x), lambda context, builder, signature, arguments: builder.bitcast(arguments[0], width)


@intrinsic
def as_float(typing_context, x):
    """The float of the same width that has these bits."""
    if x not in _FLOAT_OF:
        return None
    result = _FLOAT_OF[x]
    return result(x), lambda context, builder, signature, arguments: builder.bitcast(arguments[0], FLOATS[result])


def _integer(operation):
    @intrinsic
    def define(typing_context, a, b):
        if a != b or a not in _FLOAT_OF:
            return None
        return a(a, a), lambda context, builder, signature, arguments: getattr(builder, operation)(*arguments)

    return define


# on two integers of one width, wrapping
iadd, isub, iand, ior, ixor = map(_integer, ("add", "sub", "and_", "or_", "xor"))
shift_left, shift_right, shift_right_signed = map(_integer, ("shl", "lshr", "ashr"))


def _convert(source, result, operation):
    llvm_type = FLOATS.get(result) or ir.IntType(result.bitwidth)

    @intrinsic
    def define(typing_context, x):
        if x != source:
            return None
        return result(x), lambda context, builder, signature, arguments: getattr(builder, operation)(
            arguments[0], llvm_type
        )

    return define


widen = _convert(types.float32, types.float64, "fpext")
narrow = _convert(types.float64, types.float32, "fptrunc")
low_half = _convert(types.int64, types.int32, "trunc")
