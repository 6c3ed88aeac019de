"""Conversions between dtypes by the rules of the kernel language: `to_float32(x)` and its like, and `bits` views.

float → int truncates, saturates, and NaN gives 0; int → int wraps; → bool is != 0, NaN included; → float rounds
once to nearest even; complex → real drops the imaginary part.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .intrinsics import INTRINSICS, NUMBA_TYPES, PARTS, SUFFIX, constant, join, kind, llvm_type, parts


def convert(b, source, target, x):
    """The LLVM value of x, of Numba type `source`, converted to `target`."""
    have, want = kind(source), kind(target)
    if source == target:
        return x
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
    value = llvm_type(target)
    if want == "bool":
        zero = ir.Constant(x.type, 0)
        return b.fcmp_unordered("!=", x, zero) if have == "float" else b.icmp_signed("!=", x, zero)
    if want == "float":
        if have == "float":
            return (b.fpext if target.bitwidth > source.bitwidth else b.fptrunc)(x, value)
        return (b.sitofp if have == "int" else b.uitofp)(x, value)
    if have == "float":
        name = f"llvm.fpto{'s' if want == 'int' else 'u'}i.sat.i{target.bitwidth}.{SUFFIX[source]}"
        function = b.module.globals.get(name)
        return b.call(function or ir.Function(b.module, ir.FunctionType(value, [x.type]), name), [x])
    if have == "bool" or target.bitwidth > source.bitwidth:
        return (b.sext if have == "int" else b.zext)(x, value)
    return b.trunc(x, value) if target.bitwidth < source.bitwidth else x


def _conversion(target):
    @intrinsic
    def define(typing_context, x):
        source = types.unliteral(x)
        if not kind(source):
            return None
        return target(source), lambda context, b, signature, values: convert(b, source, target, values[0])

    return define


for _dtype, _type in NUMBA_TYPES.items():
    INTRINSICS[f"to_{_dtype}"] = _conversion(_type)


def _reinterpretation(source, target):
    @intrinsic
    def define(typing_context, x):
        if types.unliteral(x) != source:
            return None
        return target(source), lambda context, b, signature, values: b.bitcast(values[0], llvm_type(target))

    return define


for _width in (32, 64):
    _float, _bits = NUMBA_TYPES[f"float{_width}"], NUMBA_TYPES[f"uint{_width}"]
    INTRINSICS[f"bits_float{_width}"] = _reinterpretation(_float, _bits)
    INTRINSICS[f"float{_width}_of_bits"] = _reinterpretation(_bits, _float)
