"""NVVM, with an LLVM older than llvmlite's and libdevice's functions: what the shared operations leave to it.

NVVM is told not to fuse anything: a fused operation stands in the source as `fmuladd`.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir
from numba import types

from ...ir.math.helpers import NEAR_QUOTIENT
from ..llvm.dialect import Dialect
from ..llvm.memory import alignment, pair_words
from ..llvm.operations import leading_zeros
from ..llvm.values import F32, F64, I8, I32, I64, call, compare, join, kind, llvm_type, parts, stored_type
from .atomics import swap, update

Capability = tuple[int, int]
# The capabilities from which on something is done by other instructions, latest first: before 6.0 there is no atomic
# addition of float64, before 7.0 no swap of 16 bits, before 8.0 no minimum of float32 that propagates NaN.
GENERATIONS: tuple[Capability, ...] = ((8, 0), (7, 0), (6, 0), (0, 0))


def generation(capability: Capability) -> Capability:
    """The first capability for which the same instructions are made: all that the front end is told of one, so that
    what it makes is the same for all of a generation."""
    return next(first for first in GENERATIONS if capability >= first)


def device(b, name: str, t, *values):
    """A call of libdevice's `__nv_NAMEf` or `__nv_NAME`, by the type."""
    return call(b, f"__nv_{name}{'f' if t == types.float32 else ''}", llvm_type(t), *values)


def _large(name: str):
    """sin, cos or tan of a large float32, by libdevice's of float64."""
    return lambda b, x: b.fptrunc(device(b, name, types.float64, b.fpext(x, F64)), F32)


def _near_quotient(b, x, y):
    """By one instruction and a product; rounded as it is to be it takes eight, and a jump."""
    reciprocal = ir.InlineAsm(ir.FunctionType(F32, [F32]), "rcp.approx.ftz.f32 $0, $1;", "=f,f", False)
    return b.fmul(x, b.call(reciprocal, [y]))


@dataclass(frozen=True)
class NvvmDialect(Dialect):
    """For GPUs from a compute capability on. An index is in range, so its arithmetic carries `nsw`."""

    capability: Capability

    linkage = "linkonce_odr"  # as functions have in Numba's modules: several may hold the same one
    helpers = {f"large_{name}_float32": _large(name) for name in ("sin", "cos", "tan")} | {
        NEAR_QUOTIENT.name: _near_quotient
    }

    # ------------------------------------------------------------------------------------------------ arithmetic

    def function(self, b, name, t, *values):
        return device(b, name, t, *values)

    def negated(self, b, value):
        return b.fsub(ir.Constant(value.type, -0.0), value)  # this LLVM has no fneg

    def remainder(self, b, t, x, y, quotient):
        return b.sub(x, b.mul(quotient, y))  # rather than divide again

    def contracted(self, b, t, x, y, z):
        return device(b, "fma", t, x, y, z)

    def extremum(self, b, op, t, x, y):
        if t == types.float32 and self.capability >= (8, 0):
            operation = ir.InlineAsm(ir.FunctionType(F32, [F32, F32]), f"{op}.NaN.f32 $0, $1, $2;", "=f,f,f", False)
            return b.call(operation, [x, y])
        if kind(t) == "float":
            some = b.or_(self.is_nan(b, t, x), self.is_nan(b, t, y))
            return b.select(some, ir.Constant(x.type, float("nan")), device(b, f"f{op}", t, x, y))
        return b.select(compare(b, t, "<" if op == "min" else ">", x, y), x, y)

    def is_nan(self, b, t, x):
        """By its bits: what NVVM computes of constants, such as NaN + 3, is never NaN in its comparisons."""
        width = t.bitwidth
        bits = b.and_(b.bitcast(x, ir.IntType(width)), ir.Constant(ir.IntType(width), (1 << width - 1) - 1))
        infinity = 0x7F800000 if width == 32 else 0x7FF0000000000000
        return b.icmp_unsigned(">", bits, ir.Constant(bits.type, infinity))

    def count(self, b, x, y):
        """From 2**62 on it may be the largest number too: no loop gets there."""
        spare = b.add(leading_zeros(b, x), leading_zeros(b, y))
        over = b.icmp_unsigned("<", spare, ir.Constant(I64, 65))
        return b.select(over, ir.Constant(I64, 2**63 - 1), b.mul(x, y))

    def to_integer(self, b, source, target, x):
        """PTX's own conversion truncates and saturates to 32 or 64 bits; narrower ranges and NaN are seen to here."""
        signed, width = kind(target) == "int", target.bitwidth
        letter, wide = ("f" if source == types.float32 else "d"), max(32, width)
        name = f"llvm.nvvm.{letter}2{'' if signed else 'u'}{'i' if wide == 32 else 'll'}.rz"
        value = call(b, name, ir.IntType(wide), x)
        if width < 32:
            low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
            for limit, op in ((low, "<"), (high, ">")):
                bound = ir.Constant(I32, limit)
                value = b.select(compare(b, target, op, value, bound), bound, value)
            value = b.trunc(value, ir.IntType(width))
        return b.select(b.fcmp_unordered("uno", x, x), ir.Constant(value.type, 0), value)

    # ---------------------------------------------------------------------------------------------------- memory

    def address(self, b, t, pointer, offset, in_bytes):
        to = stored_type(t).as_pointer()
        if in_bytes:
            return b.bitcast(b.gep(b.bitcast(pointer, I8.as_pointer()), [offset], inbounds=True), to)
        return b.gep(b.bitcast(pointer, to), [offset], inbounds=True)

    def load(self, b, t, address, align):
        """NVVM aligns an access to its type, which for a complex number is its parts', if nothing more is known."""
        if kind(t) == "complex":
            return join(b, *(_aligned(b.load(_part(b, address, k)), t, (align, 0)[k]) for k in (0, 1)))
        value = _aligned(b.load(address), t, align)
        return b.icmp_unsigned("!=", value, ir.Constant(I8, 0)) if kind(t) == "bool" else value

    def store(self, b, t, value, address, align):
        if kind(t) == "complex":
            for k, part in enumerate(parts(b, value)):
                _aligned(b.store(part, _part(b, address, k)), t, (align, 0)[k])
        else:
            _aligned(b.store(b.zext(value, I8) if kind(t) == "bool" else value, address), t, align)

    def scatter(self, b, t, value, address):
        if kind(t) != "complex" or t.bitwidth == 128:
            return self.store(b, t, value, address, 1)
        # A complex64 by one store of 8 bytes, where they are aligned: arrays are to its parts only.
        low, high = pair_words(b, parts(b, value))
        place = b.ptrtoint(address, I64)
        aligned = b.icmp_unsigned("==", b.and_(place, ir.Constant(I64, 7)), ir.Constant(I64, 0))
        with b.if_else(aligned) as (whole, apart):
            with whole:
                store = b.store(b.or_(low, b.shl(high, ir.Constant(I64, 32))), b.inttoptr(place, I64.as_pointer()))
                store.align = 8
            with apart:
                self.store(b, t, value, address, 1)

    def has_atomic(self, t, op):
        return kind(t) not in ("bool", "complex")

    def atomic(self, b, t, op, value, address):
        return update(self, b, t, op, value, address)

    def swap(self, b, t, address, combine):
        return swap(self, b, t, address, combine)


def _aligned(access, t, align: int):
    """The load or store, with what is known of its address."""
    if align > alignment(t):
        access.align = align
    return access


def _part(b, address, k: int):
    return b.gep(address, [ir.Constant(I32, 0), ir.Constant(I32, k)], inbounds=True)
