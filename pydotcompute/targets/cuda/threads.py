"""Threads of a block and of a warp, and how they wait for each other and exchange values, as intrinsics for CUDA."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from ..llvm.dialect import of_types
from ..llvm.intrinsic import intrinsic
from ..llvm.values import I1, I32, I64, PARTS, call, join, kind, llvm_type, parts


def _register(name: str) -> Callable:
    """`NAME()`: a special register, not negative, as int64."""

    @intrinsic
    def read(typing_context):
        def emit(context, b, signature, values):
            return b.zext(call(b, f"llvm.nvvm.read.ptx.sreg.{name}", I32), I64)

        return types.int64(), emit

    return read


def _thread_below(size):
    """The number of the thread in its block, which has so many."""
    if not isinstance(size, types.IntegerLiteral):
        return None

    def emit(context, b, signature, values):
        read = call(b, "llvm.nvvm.read.ptx.sreg.tid.x", I32)
        read.set_metadata("range", b.module.add_metadata([ir.Constant(I32, 0), ir.Constant(I32, size.literal_value)]))
        return b.zext(read, I64)

    return types.int64(size), emit


@intrinsic
def _barrier(typing_context):
    """Every thread of the block waits for all others here; what they wrote before is seen after."""

    def emit(context, b, signature, values):
        call(b, "llvm.nvvm.barrier0", ir.VoidType())

    return types.void(), emit


@intrinsic
def _warp_barrier(typing_context):
    """The same of the threads of a warp."""

    def emit(context, b, signature, values):
        call(b, "llvm.nvvm.bar.warp.sync", ir.VoidType(), ir.Constant(I32, -1))

    return types.void(), emit


def threads() -> dict[str, Callable]:
    """The intrinsics, by name."""
    registers = [f"{name}.{axis}" for name in ("tid", "ctaid", "ntid", "nctaid") for axis in "xyz"]
    made = {name.replace(".", "_"): _register(name) for name in registers}
    return {**made, "thread_below": of_types(1, _thread_below), "barrier": _barrier, "warp_barrier": _warp_barrier}


# ------------------------------------------------------------------------------------------------- exchange


def _words(b, t, value) -> list:
    """A value as 32-bit words."""
    if kind(t) == "complex":
        return [w for part in parts(b, value) for w in _words(b, PARTS[t], part)]
    if kind(t) == "float":
        value = b.bitcast(value, ir.IntType(t.bitwidth))
    if value.type.width == 64:
        return [b.trunc(value, I32), b.trunc(b.lshr(value, ir.Constant(I64, 32)), I32)]
    return [value if value.type.width == 32 else b.zext(value, I32)]


def _of_words(b, t, words: list):
    if kind(t) == "complex":
        half = len(words) // 2
        return join(b, *(_of_words(b, PARTS[t], w) for w in (words[:half], words[half:])))
    value = words[0]
    if len(words) == 2:
        high = b.shl(b.zext(words[1], I64), ir.Constant(I64, 32))
        value = b.or_(high, b.zext(value, I64))
    if kind(t) == "float":
        return b.bitcast(value, llvm_type(t))
    target = llvm_type(t)
    return value if target == value.type else b.trunc(value, target)


def shuffled(b, t, value, lane, members):
    """`value` of the thread `lane` of the warp; `members` says which lanes take part, that one among them."""
    return _exchanged(b, t, value, members, 0, lane)


def shuffled_across(b, t, value, distance):
    """`value` of the thread so many lanes on or back in a whole warp, the distance being a power of 2: lanes change
    places."""
    return _exchanged(b, t, value, ir.Constant(I32, -1), 3, distance)


def _exchanged(b, t, value, members, mode: int, operand):
    pair, fixed = ir.LiteralStructType([I32, I1]), (ir.Constant(I32, mode), ir.Constant(I32, 31))
    words = [
        b.extract_value(call(b, "llvm.nvvm.shfl.sync.i32", pair, members, fixed[0], word, operand, fixed[1]), 0)
        for word in _words(b, t, value)
    ]
    return _of_words(b, t, words)
