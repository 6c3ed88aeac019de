"""Every intrinsic that lowered Python for a CPU calls: the shared operations in LLVM's dialect, and memory."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from ..llvm.conversions import conversions, reinterpretations
from ..llvm.dialect import Table, intrinsics
from ..llvm.numba_frontend import Unflagged
from ..llvm.operations import OPERATIONS, mixed
from ..llvm.values import I32, call, constant, llvm_call
from .dialect import CPU
from .memory import memory

_OWN = Table()
_OWN.operation("add_saturating", 2, "int")(lambda d, b, t, x, y: llvm_call(b, "sadd.sat", t, x, y))
_OWN.operation("sub_saturating", 2, "int")(lambda d, b, t, x, y: llvm_call(b, "ssub.sat", t, x, y))


@_OWN.operation("fma", 3, "float")
def _fma(d, b, t, x, y, z):
    """As it is written, whatever `fastmath` allows: nothing of it is added up in another order."""
    made = llvm_call(b, "fma", t, x, y, z)
    made.fastmath = Unflagged()
    return made


@_OWN.operation("natural", 1, "int")
def _natural(d, b, t, x):
    """x, which is at least 0."""
    call(b, "llvm.assume", ir.VoidType(), b.icmp_signed(">=", x, constant(t, 0)))
    return x


@_OWN.operation("fits_int32", 1, "float", lambda t: types.boolean)
def _fits(d, b, t, x):
    """Whether a float, truncated, is a whole number of 32 bits; of those at the ends nobody needs to know."""
    return b.fcmp_ordered("<", llvm_call(b, "fabs", t, x), constant(t, 2.0**31 - 128))


@_OWN.operation("whole_int32", 1, "float", lambda t: types.int32)
def _whole(d, b, t, x):
    """A float, truncated; any number where it does not fit."""
    frozen = ir.instructions.Instruction(b.block, I32, "freeze", [b.fptosi(x, I32)])
    b._insert(frozen)
    return frozen


def _quick(op: str) -> None:
    @_OWN.operation(f"quick_{op}", 2, "float")
    def emit(d, b, t, x, y):
        """One instruction: right where neither is NaN, but for the sign of a zero."""
        result = llvm_call(b, f"{op}num", t, x, y)
        result.fastmath.update(("nnan", "nsz"))
        return result


_quick("min")
_quick("max")

INTRINSICS: dict[str, Callable] = {
    **intrinsics(CPU, OPERATIONS),
    **mixed(CPU),
    **conversions(CPU),
    **reinterpretations(),
    **intrinsics(CPU, _OWN),
    **memory(),
}
