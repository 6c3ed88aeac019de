"""Conversions between dtypes by the rules of the kernel language: `to_float32(x)` and its like, and `bits` views.

float → int truncates, saturates, and NaN gives 0; int → int wraps; → bool is != 0, NaN included; → float rounds
once to nearest even; complex → real drops the imaginary part.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from .dialect import Dialect, of_types
from .values import DTYPES, PARTS, constant, join, kind, llvm_type, parts


def convert(d: Dialect, b, source, target, x):
    """The LLVM value of x, of Numba type `source`, converted to `target`."""
    have, want = kind(source), kind(target)
    if source == target:
        return x
    if have == "complex":
        real, imaginary = parts(b, x)
        part = PARTS[source]
        if want == "complex":
            return join(b, *(convert(d, b, part, PARTS[target], v) for v in (real, imaginary)))
        if want == "bool":
            return b.or_(convert(d, b, part, target, real), convert(d, b, part, target, imaginary))
        return convert(d, b, part, target, real)
    if want == "complex":
        part = PARTS[target]
        return join(b, convert(d, b, source, part, x), constant(part, 0.0))
    value = llvm_type(target)
    if want == "bool":
        zero = ir.Constant(x.type, 0)
        return b.fcmp_unordered("!=", x, zero) if have == "float" else b.icmp_signed("!=", x, zero)
    if want == "float":
        if have == "float":
            return (b.fpext if target.bitwidth > source.bitwidth else b.fptrunc)(x, value)
        return (b.sitofp if have == "int" else b.uitofp)(x, value)
    if have == "float":
        return d.to_integer(b, source, target, x)
    if have == "bool" or target.bitwidth > source.bitwidth:
        return (b.sext if have == "int" else b.zext)(x, value)
    return b.trunc(x, value) if target.bitwidth < source.bitwidth else x


def conversions(d: Dialect) -> dict[str, Callable]:
    """The intrinsics `to_DTYPE(x)`, by name."""

    def to(target) -> Callable:
        def typed(x):
            source = types.unliteral(x)
            if not d.has(source):
                return None
            return target(source), lambda context, b, signature, values: convert(d, b, source, target, values[0])

        return of_types(1, typed)

    return {f"to_{dtype}": to(t) for dtype, t in d.numba_types.items()}


def reinterpretations() -> dict[str, Callable]:
    """The intrinsics `bits_FLOAT(x)` and `FLOAT_of_bits(x)`, by name."""

    def seen_as(source, target) -> Callable:
        def typed(x):
            if types.unliteral(x) != source:
                return None
            return target(source), lambda context, b, signature, values: b.bitcast(values[0], llvm_type(target))

        return of_types(1, typed)

    made = {}
    for width in (32, 64):
        real, bits = DTYPES[f"float{width}"], DTYPES[f"uint{width}"]
        made[f"bits_float{width}"], made[f"float{width}_of_bits"] = seen_as(real, bits), seen_as(bits, real)
    return made
