"""What an entry point asks of an object's type: whether it is an array, and which number it is.

The functions that are written here are the same in every entry point, and called by its other functions.
"""

from __future__ import annotations

from llvmlite import ir

from ...artifact.dtypes import STORED
from ...artifact.signature import DTYPE_BYTES
from .entry_code import BFLOAT16, F32, F64, I1, I32, I64, PTR, Code, Value, i64

# What a digit of the table of specialisations is found by: the number of an array's dtype, the code of a scalar.
CODES, PYTHON, NUMPY = 64, 32, 36  # how many there are; the first of Python's bool, int, float, complex; NumPy's first
UNDECIDED = 63  # where neither an array nor a scalar decides
SCALAR_TYPES = 25  # types that `scalar_types` has, by the number of their dtype
PYTHON_TYPES = ("PyBool_Type", "PyLong_Type", "PyFloat_Type", "PyComplex_Type")
# A number converts to what has its rank or a higher one: NumPy's "same_kind". Python's int counts as an unsigned one,
# since its value alone decides; a bool is only made of bools.
RANKS = {"bool": 0, "uint": 1, "int": 2, "float": 3, "complex": 4}


def require_array(code: Code, item: Value) -> None:
    """An `ndarray`, or of a subclass that is known to add nothing to its memory."""
    type_ = code.at(item, 8, PTR)
    other = code.b.icmp_unsigned("!=", type_, code.variable("ndarray_type"))
    code.branch(other, lambda: code.require(code.call("is_subclass", I1, type_)))


def type_number(code: Code, array: Value) -> Value:
    """The number of an array's dtype, among those that have a code."""
    found = code.at(code.at(array, 56, PTR), 28, I32)
    number = code.b.select(code.equal(found, code.type_number("bfloat16")), i64(BFLOAT16), code.b.zext(found, I64))
    code.require(code.b.icmp_unsigned("<", number, i64(PYTHON)))
    return number


def read_number(code: Code, item: Value, kind: str) -> tuple[Value, Value, Value]:
    """A scalar that may become one of this kind: its int64, if it is no float or complex; its real and imaginary part.
    """
    parts = code.stack(I64, 3)
    rank = code.call("read_number", I64, item, parts)
    code.require(code.b.icmp_unsigned("<=", rank, i64(RANKS[kind])))
    return code.element(parts, 0, I64), code.element(parts, 1, F64), code.element(parts, 2, F64)


def write_functions(code: Code) -> None:
    """`is_subclass`, `number_code` and `read_number`."""
    _write_is_subclass(code)
    _write_number_code(code)
    _write_read_number(code)


def _write_is_subclass(code: Code) -> None:
    """Whether a type is in `array_types`: a count, then their addresses."""
    code.begin("is_subclass", [PTR], I1)
    types, found = code.variable("array_types"), code.stack(I1)
    code.put(ir.Constant(I1, 0), found)

    def compare(i: Value) -> None:
        same = code.equal(code.element(types, code.b.add(i, i64(1)), PTR), code.function.args[0])
        code.put(code.b.or_(code.get(found, I1), same), found)

    code.loop(code.element(types, 0, I64), compare)
    code.b.ret(code.get(found, I1))
    code.end(lambda: ir.Constant(I1, 0))


def _write_number_code(code: Code) -> None:
    """The code of a scalar of exactly one of the known types, or -1."""
    code.begin("number_code", [PTR], I64)
    b, type_ = code.b, code.at(code.function.args[0], 8, PTR)
    for k, name in enumerate(PYTHON_TYPES):
        known, other = code.block("known"), code.block("other")
        b.cbranch(code.equal(type_, code.python(name)), known, other)
        b.position_at_end(known)
        b.ret(i64(PYTHON + k))
        b.position_at_end(other)
    types, found = code.variable("scalar_types"), code.stack(I64)
    code.put(i64(-1), found)

    def compare(i: Value) -> None:
        same = code.equal(code.element(types, i, PTR), type_)
        code.put(b.select(same, b.add(i, i64(NUMPY)), code.get(found)), found)

    code.loop(i64(SCALAR_TYPES), compare)
    b.ret(code.get(found))
    code.end(lambda: i64(-1))


def _write_read_number(code: Code) -> None:
    """Fill (int64, real, imaginary part) of a scalar; its rank, or -1. Of a float the int64 is undefined."""
    code.begin("read_number", [PTR, PTR], I64)
    b = code.b
    item, parts = code.function.args
    number = code.call("number_code", I64, item)
    code.put(i64(0), parts, 0)
    choice = b.switch(number, code.refuse)

    def case(kind: str, *codes: int) -> None:
        block = code.block(kind)
        for one in codes:
            choice.add_case(i64(one), block)
        b.position_at_end(block)

    def whole(kind: str, value: Value) -> None:
        code.put(value, parts, 0)
        real(kind, b.sitofp(value, F64))

    def real(kind: str, value: Value, imaginary: Value | None = None) -> None:
        code.put(value, parts, 1)
        code.put(ir.Constant(F64, 0.0) if imaginary is None else imaginary, parts, 2)
        b.ret(i64(RANKS[kind]))

    case("bool", PYTHON)
    whole("bool", b.zext(code.equal(item, code.python("_Py_TrueStruct")), I64))
    case("uint", PYTHON + 1)
    whole("uint", whole_number(code, item))
    case("float", PYTHON + 2)
    real("float", code.at(item, 16, F64))
    case("complex", PYTHON + 3)
    real("complex", code.at(item, 16, F64), code.at(item, 24, F64))
    for dtype, numbers in {**code.numbers, "bfloat16": (BFLOAT16,)}.items():
        kind = dtype.rstrip("0123456789").removeprefix("b") if dtype != "bool" else dtype
        bits = 8 * DTYPE_BYTES[dtype]
        case(kind, *(NUMPY + n for n in numbers))
        if dtype in STORED:
            real(kind, code.float_of(dtype, code.at(item, 16, ir.IntType(bits))))
            continue
        if kind in ("float", "complex"):
            type_ = F64 if bits in (64, 128) and dtype != "complex64" else F32
            size = 8 if type_ == F64 else 4
            values = [code.at(item, 16 + size * k, type_) for k in range(1 + (kind == "complex"))]
            real(kind, *(v if type_ == F64 else b.fpext(v, F64) for v in values))
            continue
        value = code.at(item, 16, ir.IntType(bits))
        if bits < 64:
            value = b.sext(value, I64) if kind == "int" else b.zext(value, I64)
        elif kind == "uint":
            code.require(b.icmp_signed(">=", value, i64(0)))  # larger ones are the Python path's
        whole(kind, value)
    code.end(lambda: i64(-1))


def whole_number(code: Code, item: Value) -> Value:
    """The int64 of a Python int."""
    overflow = code.stack(I32)
    value = code.call("PyLong_AsLongLongAndOverflow", I64, item, overflow)
    code.require(code.equal(code.get(overflow, I32), ir.Constant(I32, 0)))
    return value
