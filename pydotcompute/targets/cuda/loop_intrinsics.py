"""What lowered loops and reductions for CUDA compute with, beyond the operations of the language."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from ...artifact.launch import VIEW_LEVELS, VIEW_WORDS
from ..llvm.dialect import Table, intrinsics, of_types
from ..llvm.operations import infinite
from ..llvm.values import I64, PARTS, compare, join, kind, parts
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


def _better(d: NvvmDialect, op: str) -> Callable:
    def typed(value, position, best, at):
        value, best = types.unliteral(value), types.unliteral(best)
        if value != best or kind(value) in ("", "complex"):
            return None
        signature = types.boolean(value, types.int64, best, types.int64)
        return signature, lambda context, b, signature, values: better(d, b, value, op, *values)

    return typed


def _view_offset(levels: int) -> Callable:
    def typed(*operands):
        def emit(context, b, signature, values):
            """The offset in bytes of position i of a view: see targets/cuda/arrays.py."""
            index, inner, outermost, *pairs = values
            with b.goto_entry_block():
                left, offset = b.alloca(I64), b.alloca(I64)
            b.store(index, left)
            b.store(ir.Constant(I64, 0), offset)
            done = b.append_basic_block("flat")
            for level in range(levels):
                deeper = b.append_basic_block("level")
                b.cbranch(b.icmp_signed(">", inner, ir.Constant(I64, level)), deeper, done)
                b.position_at_end(deeper)
                size, stride = pairs[2 * level : 2 * level + 2]
                here = b.load(left)
                quotient = b.udiv(here, size)
                rest = b.sub(here, b.mul(quotient, size))
                b.store(b.add(b.load(offset), b.mul(rest, stride)), offset)
                b.store(quotient, left)
            b.branch(done)
            b.position_at_end(done)
            return b.add(b.load(offset), b.mul(b.load(left), outermost))

        return types.int64(*[types.int64] * len(operands)), emit

    return typed


def loops(d: NvvmDialect) -> dict[str, Callable]:
    """The intrinsics, by name."""
    return {
        **intrinsics(d, _OPERATIONS),
        "better_argmin": of_types(4, _better(d, "min")),
        "better_argmax": of_types(4, _better(d, "max")),
        "view_offset": of_types(1 + VIEW_WORDS, _view_offset(VIEW_LEVELS)),
    }
