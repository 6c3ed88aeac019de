"""Numba's types as LLVM's, and what every emitter of LLVM IR builds values with."""

from __future__ import annotations

from llvmlite import ir
from numba import types

I1, I8, I16, I32, I64 = (ir.IntType(n) for n in (1, 8, 16, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
DTYPES = {
    "bool": types.boolean, "int8": types.int8, "int16": types.int16, "int32": types.int32, "int64": types.int64,
    "uint8": types.uint8, "uint16": types.uint16, "uint32": types.uint32, "uint64": types.uint64,
    "float32": types.float32, "float64": types.float64,
    "complex64": types.complex64, "complex128": types.complex128,
}  # fmt: skip
PARTS = {types.complex64: types.float32, types.complex128: types.float64}
WHOLE = {part: whole for whole, part in PARTS.items()}
_FLOATS = {types.float32: F32, types.float64: F64}
SUFFIX = {types.float32: "f32", types.float64: "f64"}


def kind(t) -> str:
    """ "bool", "int", "uint", "float", "complex", or "" for anything else."""
    if isinstance(t, types.Boolean):
        return "bool"
    if isinstance(t, types.Integer):
        return "uint" if t.name.startswith("u") else "int"
    return "float" if t in _FLOATS else "complex" if t in PARTS else ""


def llvm_type(t) -> ir.Type:
    """The LLVM type of a value in a register."""
    which = kind(t)
    if which == "complex":
        return ir.LiteralStructType([_FLOATS[PARTS[t]]] * 2)
    return I1 if which == "bool" else _FLOATS[t] if which == "float" else ir.IntType(t.bitwidth)


def stored_type(t) -> ir.Type:
    """The LLVM type of a value in memory: a bool is a byte."""
    return I8 if kind(t) == "bool" else llvm_type(t)


def constant(t, number) -> ir.Constant:
    """A number as a value of a Numba type."""
    return ir.Constant(llvm_type(t), number)


def call(b, name: str, result: ir.Type, *arguments):
    """A call of an external function: an intrinsic of LLVM, or one of a library that is linked in."""
    function = b.module.globals.get(name)
    function = function or ir.Function(b.module, ir.FunctionType(result, [a.type for a in arguments]), name)
    return b.call(function, arguments)


def llvm_call(b, name: str, t, *arguments):
    """A call of `llvm.NAME` whose arguments and result are all of one Numba type."""
    value = llvm_type(t)
    return call(b, f"llvm.{name}.{SUFFIX.get(t) or f'i{value.width}'}", value, *arguments)


def parts(b, value):
    """Real and imaginary part of a complex value."""
    return b.extract_value(value, 0), b.extract_value(value, 1)


def join(b, real, imaginary):
    """A complex value from its parts."""
    pair = ir.Constant(ir.LiteralStructType([real.type, imaginary.type]), ir.Undefined)
    return b.insert_value(b.insert_value(pair, real, 0), imaginary, 1)


def select(b, t, condition, x, y):
    """x where the condition holds, else y."""
    if kind(t) != "complex":
        return b.select(condition, x, y)
    (a, c), (d, e) = parts(b, x), parts(b, y)
    return join(b, b.select(condition, a, d), b.select(condition, c, e))


def compare(b, t, op: str, x, y):
    """x op y of integers or bools: signed where their type is."""
    return (b.icmp_signed if kind(t) == "int" else b.icmp_unsigned)(op, x, y)
