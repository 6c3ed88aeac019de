"""The offset in bytes of a position of a view, as intrinsics for CUDA: see artifact/launch.py."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from ...artifact.launch import FEW_LEVELS, VIEW_LEVELS, VIEW_WORDS
from ..llvm.dialect import of_types
from ..llvm.values import I32, I64

Emit = Callable[..., ir.Value]  # of a builder and int64 values


def _of_any(b, index, levels, outermost, *words):
    """words: (size, stride) of each level, then what divides."""
    pairs, reciprocals = words[: 2 * VIEW_LEVELS], words[2 * VIEW_LEVELS :]
    few = [word for k, one in enumerate(reciprocals) for word in (*pairs[2 * k : 2 * k + 2], one)]
    with b.goto_entry_block():
        result = b.alloca(I64)
    with b.if_else(b.icmp_signed("!=", reciprocals[0], ir.Constant(I64, 0))) as (small, large):
        with small:
            b.store(_of_few(b, index, outermost, *few), result)
        with large:
            b.store(_divided(b, index, levels, outermost, pairs), result)
    return b.load(result)


def _divided(b, index, levels, outermost, pairs):
    with b.goto_entry_block():
        left, offset = b.alloca(I64), b.alloca(I64)
    b.store(index, left)
    b.store(ir.Constant(I64, 0), offset)
    done = b.append_basic_block("flat")
    for level in range(VIEW_LEVELS):
        deeper = b.append_basic_block("level")
        b.cbranch(b.icmp_signed(">", levels, ir.Constant(I64, level)), deeper, done)
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


def _of_few(b, index, outermost, *levels):
    """levels: (size, stride, what divides) of each."""
    left, offset = b.trunc(index, I32), ir.Constant(I64, 0)
    for size, stride, reciprocal in zip(levels[::3], levels[1::3], levels[2::3], strict=True):
        product, shift = _product(b, "u", left, reciprocal), b.lshr(reciprocal, ir.Constant(I64, 32))
        quotient = b.trunc(b.lshr(product, shift), I32)
        rest = b.sub(left, b.mul(quotient, b.trunc(size, I32)))
        offset, left = b.add(offset, _product(b, "s", rest, stride)), quotient
    return b.add(offset, _product(b, "s", left, outermost))


def _product(b, kind: str, x, y):
    """One of 32 bits by the lower 32 bits of another, in 64. NVVM would take apart what it hoists from a loop."""
    operation = ir.InlineAsm(ir.FunctionType(I64, [I32, I32]), f"mul.wide.{kind}32 $0, $1, $2;", "=l,r,r", False)
    return b.call(operation, [x, b.trunc(y, I32)])


def _intrinsic(emit: Emit, count: int) -> Callable:
    def typed(*operands):
        made = types.int64(*[types.int64] * len(operands))
        return made, lambda context, b, signature, values: emit(b, *values)

    return of_types(count, typed)


def views() -> dict[str, Callable]:
    """The intrinsics, by name."""
    return {
        "view_offset": _intrinsic(_of_any, 1 + VIEW_WORDS + FEW_LEVELS),
        "few_levels_offset": _intrinsic(_of_few, 2 + 3 * FEW_LEVELS),
    }
