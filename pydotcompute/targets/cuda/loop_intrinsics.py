"""What lowered loops and reductions for CUDA compute with, beyond the operations of the language."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from ..llvm.dialect import Table, intrinsics, of_types
from ..llvm.intrinsic import intrinsic
from ..llvm.operations import infinite
from ..llvm.values import DTYPES, I32, I64, PARTS, compare, join, kind, llvm_type, parts
from .dialect import NvvmDialect

_OPERATIONS = Table()
operation = _OPERATIONS.operation


@operation("divided", 2, "int")
def _divided(d, b, t, x, y):
    """x / y for x ≥ 0 and y > 0."""
    return b.udiv(x, y)


@operation("advanced", 2, "int")
def _advanced(d, b, t, x, y):
    """x + y, which does not overflow: how loops go on."""
    return b.add(x, y, flags=("nsw",))


def _finite_sum(d, b, t, total, error):
    return b.select(infinite(d, b, t, "<", total), b.fadd(total, error), total)


@operation("settled", 2, "float complex")
def _settled(d, b, t, total, error):
    """A sum with the error that it carried; the error of an infinite one is NaN, and nothing."""
    if kind(t) == "float":
        return _finite_sum(d, b, t, total, error)
    return join(b, *(_finite_sum(d, b, PARTS[t], s, e) for s, e in zip(parts(b, total), parts(b, error), strict=True)))


def better(d: NvvmDialect, b, t, op: str, x, p, y, q):
    """Whether an element x at the position p comes before the best one so far, y at q; a position of -1: none."""
    sign = "<" if op == "min" else ">"
    if kind(t) == "float":
        x_nan, y_nan = b.fcmp_unordered("uno", x, x), b.fcmp_unordered("uno", y, y)
        over = b.or_(b.fcmp_ordered(sign, x, y), b.and_(x_nan, b.not_(y_nan)))
        under = b.or_(b.fcmp_ordered(sign, y, x), b.and_(y_nan, b.not_(x_nan)))
    else:
        over, under = compare(b, t, sign, x, y), compare(b, t, sign, y, x)
    zero = ir.Constant(I64, 0)
    first = b.and_(b.not_(under), b.icmp_signed("<", p, q))
    wins = b.or_(b.icmp_signed("<", q, zero), b.or_(over, first))
    return b.and_(b.icmp_signed(">=", p, zero), wins)


def _later(d: NvvmDialect, op: str) -> Callable:
    """`later_OP(x, y, q)`: whether an element x that comes behind the best one so far, y at q, is better."""

    def typed(value, best, at):
        value, best = types.unliteral(value), types.unliteral(best)
        if value != best or kind(value) in ("", "complex"):
            return None

        def emit(context, b, signature, values):
            (x, y, q), sign = values, "<" if op == "min" else ">"
            if kind(value) == "float":  # a NaN is better than anything but another
                over = b.and_(b.fcmp_unordered(sign, x, y), b.fcmp_ordered("ord", y, y))
            else:
                over = compare(b, value, sign, x, y)
            return b.or_(b.icmp_signed("<", q, ir.Constant(I64, 0)), over)

        return types.boolean(value, best, types.int64), emit

    return typed


def _better(d: NvvmDialect, op: str) -> Callable:
    def typed(value, position, best, at):
        value, best = types.unliteral(value), types.unliteral(best)
        if value != best or kind(value) in ("", "complex"):
            return None
        signature = types.boolean(value, types.int64, best, types.int64)
        return signature, lambda context, b, signature, values: better(d, b, value, op, *values)

    return typed


@intrinsic
def _near(typing_context, outer, extent, inner):
    """outer * extent + inner of numbers whose lower 32 bits say the same, as is true of the result."""

    def emit(context, b, signature, values):
        x, y, z = (b.trunc(value, I32) for value in values)
        return b.sext(b.add(b.mul(x, y, flags=("nsw",)), z, flags=("nsw",)), I64)

    return types.int64(types.int64, types.int64, types.int64), emit


def _unset(dtype: str) -> Callable:
    """`unset_DTYPE()`: any value, of which nothing may depend."""

    @intrinsic
    def any_value(typing_context):
        return DTYPES[dtype](), lambda *_: ir.Constant(llvm_type(DTYPES[dtype]), ir.Undefined)

    return any_value


def loops(d: NvvmDialect) -> dict[str, Callable]:
    """The intrinsics, by name."""
    return {
        **intrinsics(d, _OPERATIONS),
        "better_argmin": of_types(4, _better(d, "min")),
        "better_argmax": of_types(4, _better(d, "max")),
        "later_argmin": of_types(3, _later(d, "min")),
        "later_argmax": of_types(3, _later(d, "max")),
        "near": _near,
        **{f"unset_{dtype}": _unset(dtype) for dtype in d.dtypes},
    }
