"""Stores of whole cache lines that go past the caches, in LLVM IR, and the question whether they are worth it.

A kernel's code, which names no processor, calls what is declared here, and each target links its own: only those of
x86-64 win by it. Other processors see by themselves that whole lines are written.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from ...artifact.signature import DTYPE_BYTES
from ..llvm.intrinsic import intrinsic
from ..llvm.values import I1, I32, I64, call, stored_type
from .arrays import LINE

PREFIX = "streaming."


@intrinsic
def streams(typing_context, count, least):
    """Whether so many iterations are streamed, if as many as `least` are worth it."""

    def emit(context, b, signature, values):
        return call(b, f"{PREFIX}pays", I1, *values)

    return types.boolean(types.int64, types.int64), emit


@intrinsic
def stream(typing_context, pointer, first, lanes, count):
    """Store so many elements, a literal, from the first on, where a line begins. lanes: leads to them."""
    if not isinstance(count, types.IntegerLiteral):
        return None

    def emit(context, b, signature, values):
        to, first, lanes, _ = values
        element, each = stored_type(pointer.dtype), LINE // DTYPE_BYTES[pointer.dtype.name]
        past_caches = b.module.add_metadata([ir.Constant(I32, 1)])
        for k in range(0, count.literal_value, each):
            source = b.gep(lanes, [ir.Constant(I64, k)], source_etype=element)
            line = b.load(source, align=LINE, typ=ir.VectorType(element, each))
            place = b.gep(to, [b.add(first, ir.Constant(I64, k))], inbounds=True, source_etype=element)
            store = b.store(line, b.bitcast(place, line.type.as_pointer()), align=LINE)
            store.set_metadata("nontemporal", past_caches)

    return types.void(pointer, types.int64, lanes, count), emit


@intrinsic
def end_of_stream(typing_context):
    """Other threads see what was streamed before they see what is stored later."""

    def emit(context, b, signature, values):
        call(b, f"{PREFIX}end", ir.VoidType())

    return types.void(), emit


FUNCTIONS: dict[str, Callable] = {"streams": streams, "stream": stream, "end_of_stream": end_of_stream}


def streaming_ir(wins: bool) -> str:
    """LLVM IR that defines what such code calls. wins: whether the processor is of those that win by it; for others
    nothing is left of it."""
    pays = "icmp sge i64 %count, %least" if wins else "or i1 false, false"
    end = "call void @llvm.x86.sse.sfence()" if wins else ""
    return f"""
{"declare void @llvm.x86.sse.sfence()" if wins else ""}
define i1 @{PREFIX}pays(i64 %count, i64 %least) alwaysinline {{
  %pays = {pays}
  ret i1 %pays
}}
define void @{PREFIX}end() alwaysinline {{
  {end}
  ret void
}}
"""
