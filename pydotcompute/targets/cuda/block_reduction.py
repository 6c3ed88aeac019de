"""Combining the partial values of a block's threads: within a warp by shuffles, between warps through shared memory."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from ..llvm.dialect import of_types
from ..llvm.operations import OPERATIONS
from ..llvm.values import I32, I64, kind, select
from ..llvm.words import COMBINE
from .dialect import NvvmDialect
from .loop_intrinsics import better
from .threads import shuffled, shuffled_across


def _element(d: NvvmDialect, b, t, pointer, offset):
    """The element at an offset in elements."""
    return d.load(b, t, d.address(b, t, pointer, offset, False), 1)


def _literal(t) -> int | None:
    return t.literal_value if isinstance(t, types.IntegerLiteral) else None


def _others(
    b, values: list, kinds: list, distance: int, size: int, lane, thread, members, full: bool
) -> tuple[list, object]:
    """What the thread `distance` further on in its warp has, and whether there is one (None: always). Lanes of `full`
    warps, or of teams that fill one, change places, so that all come to the same."""
    if full or size % 32 == 0:
        there = ir.Constant(I32, distance)
        return [shuffled_across(b, t, v, there) for v, t in zip(values, kinds, strict=True)], None
    step = ir.Constant(I64, distance)
    inside = b.icmp_signed("<", b.add(thread, step), ir.Constant(I64, size))
    exists = b.and_(inside, b.icmp_signed("<", b.add(lane, step), ir.Constant(I64, 32)))
    source = b.trunc(b.select(exists, b.add(lane, step), lane), I32)
    return [shuffled(b, t, v, source, b.trunc(members, I32)) for v, t in zip(values, kinds, strict=True)], exists


def _over_warp(d: NvvmDialect, op: str, full: bool) -> Callable:
    def typed(value, lane, thread, members, size):
        """The value of a warp, in its first thread, of a whole one in every thread; `size` is that of the block; full:
        that of one of the teams that fill the warp, each of which gets its own."""
        t, threads = types.unliteral(value), _literal(size)
        if not kind(t) or threads is None:
            return None

        def emit(context, b, signature, values):
            value, lane, thread, members, _ = values
            for distance in (16, 8, 4, 2, 1):
                if distance < threads:
                    (other,), exists = _others(b, [value], [t], distance, threads, lane, thread, members, full)
                    combined = OPERATIONS[COMBINE[op]].emit(d, b, t, value, other)
                    value = combined if exists is None else select(b, t, exists, combined, value)
            return value

        return t(t, types.int64, types.int64, types.int64, size), emit

    return typed


def _over_warps(d: NvvmDialect, op: str) -> Callable:
    def typed(pointer, turn, count):
        """The partial values of so many warps as a balanced tree, the same in every thread."""
        warps = _literal(count)
        if not isinstance(pointer, types.CPointer) or warps is None:
            return None
        t = pointer.dtype

        def emit(context, b, signature, values):
            def tree(low: int, high: int):
                if high - low == 1:
                    return _element(d, b, t, values[0], b.add(values[1], ir.Constant(I64, low), flags=("nsw",)))
                middle = (low + high + 1) // 2
                return OPERATIONS[COMBINE[op]].emit(d, b, t, tree(low, middle), tree(middle, high))

            return tree(0, warps)

        return t(pointer, types.int64, count), emit

    return typed


# --------------------------------------------------------------------------------------------- with positions


def _taken(d: NvvmDialect, b, t, op: str, value, at, other, place):
    """The better of two elements with their positions."""
    wins = better(d, b, t, op, other, place, value, at)
    return b.select(wins, other, value), b.select(wins, place, at)


def _place_over_warp(d: NvvmDialect, op: str, full: bool) -> Callable:
    def typed(value, position, lane, thread, members, size):
        t, threads = types.unliteral(value), _literal(size)
        if kind(t) in ("", "complex") or threads is None:
            return None
        result = types.Tuple((t, types.int64))

        def emit(context, b, signature, values):
            value, at, lane, thread, members, _ = values
            for distance in (16, 8, 4, 2, 1):
                if distance < threads:  # one's own element again changes nothing
                    kinds = [t, types.int64]
                    others, _ = _others(b, [value, at], kinds, distance, threads, lane, thread, members, full)
                    value, at = _taken(d, b, t, op, value, at, *others)
            return context.make_tuple(b, result, (value, at))

        return result(t, types.int64, types.int64, types.int64, types.int64, size), emit

    return typed


def _place_over_warps(d: NvvmDialect, op: str) -> Callable:
    def typed(pointer, positions, turn, count):
        warps = _literal(count)
        if not isinstance(pointer, types.CPointer) or warps is None:
            return None
        t = pointer.dtype
        result = types.Tuple((t, types.int64))

        def emit(context, b, signature, values):
            def read(warp: int):
                place = b.add(values[2], ir.Constant(I64, warp), flags=("nsw",))
                return _element(d, b, t, values[0], place), _element(d, b, types.int64, values[1], place)

            best = read(0)
            for warp in range(1, warps):
                best = _taken(d, b, t, op, *best, *read(warp))
            return context.make_tuple(b, result, best)

        return result(pointer, positions, types.int64, count), emit

    return typed


def reductions(d: NvvmDialect) -> dict[str, Callable]:
    """The intrinsics `over_warp_OP`, `over_team_OP` and `over_warps_OP`, by name."""
    made = {}
    for op in COMBINE:
        made[f"over_warp_{op}"] = of_types(5, _over_warp(d, op, False))
        made[f"over_team_{op}"] = of_types(5, _over_warp(d, op, True))
        made[f"over_warps_{op}"] = of_types(3, _over_warps(d, op))
    for op in ("argmin", "argmax"):
        best = op[3:]
        made[f"over_warp_{op}"] = of_types(6, _place_over_warp(d, best, False))
        made[f"over_team_{op}"] = of_types(6, _place_over_warp(d, best, True))
        made[f"over_warps_{op}"] = of_types(4, _place_over_warps(d, best))
    return made
