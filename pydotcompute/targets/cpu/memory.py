"""Memory of a CPU's lowered Python, beyond what all targets share: the words that `run` is called with, and the marks
of loops whose iterations are independent."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from ..llvm.intrinsic import intrinsic
from ..llvm.memory import BYTES, accesses, atomics, loading, new_array, on_stack, storing
from ..llvm.values import I1, I8, I64, call, stored_type
from .dialect import CPU, UNGROUPED
from .float16 import converted

STACK_ALIGNMENT = 64


@intrinsic
def advance(typing_context, pointer, offset):
    """The pointer moved by so many bytes."""

    def emit(context, b, signature, values):
        return b.bitcast(b.gep(values[0], [values[1]], inbounds=True, source_etype=I8), values[0].type)

    return pointer(pointer, types.int64), emit


@intrinsic
def itself(typing_context, value):
    """The value, of which LLVM does not see that it is just copied: it makes a call of memcpy of a loop that copies,
    and for few elements that takes longer than the loop."""
    if isinstance(value, types.Complex):
        return None

    def emit(context, b, signature, values):
        frozen = ir.instructions.Instruction(b.block, values[0].type, "freeze", values)
        b._insert(frozen)
        return frozen

    return value(value), emit


@intrinsic
def exists(typing_context, pointer):
    """Whether it points to memory."""

    def emit(context, b, signature, values):
        return b.icmp_unsigned("!=", b.ptrtoint(values[0], I64), ir.Constant(I64, 0))

    return types.boolean(pointer), emit


@intrinsic
def address(typing_context, pointer):
    """Where it points to, as a number."""

    def emit(context, b, signature, values):
        return b.ptrtoint(values[0], I64)

    return types.int64(pointer), emit


@intrinsic
def several_threads(typing_context):
    """Whether phases may use more threads than this one."""

    def emit(context, b, signature, values):
        return b.icmp_unsigned("!=", call(b, "several", I64), ir.Constant(I64, 0))

    return types.boolean(), emit


@intrinsic
def pooled(typing_context):
    """Whether other threads wait for work, and need not be made."""

    def emit(context, b, signature, values):
        return b.icmp_unsigned("!=", call(b, "pooled", I64), ir.Constant(I64, 0))

    return types.boolean(), emit


@intrinsic
def release(typing_context, pointer):
    """Give memory of `heap_…` back; none is fine too."""

    def emit(context, b, signature, values):
        call(b, "free", ir.VoidType(), b.bitcast(values[0], I8.as_pointer()))

    return types.void(pointer), emit


def _on_heap(t) -> Callable:
    """The intrinsic `(bytes) → pointer`: as much memory, aligned to 16 bytes, or a null pointer."""

    @intrinsic
    def heap(typing_context, size):
        def emit(context, b, signature, values):
            memory = call(b, "malloc", I8.as_pointer(), values[0])
            return b.bitcast(memory, stored_type(t).as_pointer())

        return types.CPointer(t)(types.int64), emit

    return heap


@intrinsic
def claim(typing_context, words, value):
    """Put `value` into the first word if that is 0, atomically; whether it was."""

    def emit(context, b, signature, values):
        result = b.cmpxchg(values[0], ir.Constant(I64, 0), values[1], "monotonic", "monotonic")
        return b.extract_value(result, 1)

    return types.boolean(words, types.int64), emit


@intrinsic
def peek(typing_context, words):
    """The first word, as another thread may have claimed it."""

    def emit(context, b, signature, values):
        return b.load_atomic(values[0], "monotonic", 8, typ=I64)

    return types.int64(words), emit


@intrinsic
def usually(typing_context, condition):
    """The condition, of which LLVM is told that it holds as a rule: what is done else is to cost the rest nothing."""
    return types.boolean(condition), _expected(True)


@intrinsic
def rarely(typing_context, condition):
    """The same of one that does not hold as a rule: what it guards is jumped to."""
    return types.boolean(condition), _expected(False)


def _expected(value: bool):
    def emit(context, b, signature, values):
        return call(b, "llvm.expect.i1", I1, values[0], ir.Constant(I1, int(value)))

    return emit


@intrinsic
def interrupted(typing_context, faults):
    """Whether the call is to end: `interrupted` of `run.py`."""

    def emit(context, b, signature, values):
        return b.icmp_signed("!=", call(b, "interrupted", I64, *values), ir.Constant(I64, 0))

    return types.boolean(faults), emit


@intrinsic
def run_phase(typing_context, words, state, partials, units, phase):
    """So many work items of a phase, slices of them on other threads where that pays: `share` of `run.py`. They are
    done when it returns."""

    def emit(context, b, signature, values):
        call(b, "share", ir.VoidType(), *values)

    return types.void(words, state, partials, types.int64, types.int64), emit


def _at_word(b, words, index):
    return b.gep(words, [index], inbounds=True, source_etype=I64)


def _word(dtype) -> tuple[Callable, Callable, Callable]:
    """`word_float32(words, k)`: the scalar in word k. `words` is a CPointer(int64)."""

    @intrinsic
    def word(typing_context, words, index):
        def emit(context, b, signature, values):
            return UNGROUPED.load(b, dtype, _at_word(b, *values), 8)

        return dtype(words, types.int64), emit

    @intrinsic
    def set_word(typing_context, words, index, value):
        if types.unliteral(value) != dtype:
            return None

        def emit(context, b, signature, values):
            UNGROUPED.store(b, dtype, values[2], _at_word(b, *values[:2]), 8)

        return types.void(words, types.int64, dtype), emit

    @intrinsic
    def pointer(typing_context, words, index):
        def emit(context, b, signature, values):
            return b.load(_at_word(b, *values), align=8, typ=stored_type(dtype).as_pointer())

        return types.CPointer(dtype)(words, types.int64), emit

    return word, set_word, pointer


@intrinsic
def word_extent(typing_context, words, index):
    """The dimension or count in word k: LLVM is told that it is not negative, and spares what would be needed then."""

    def emit(context, b, signature, values):
        word = UNGROUPED.load(b, types.int64, _at_word(b, *values), 8)
        word.set_metadata("range", b.module.add_metadata([ir.Constant(I64, 0), ir.Constant(I64, -(2**63))]))
        return word

    return types.int64(words, types.int64), emit


@intrinsic
def not_negative(typing_context, value):
    """A number that is known to be none below 0, which LLVM sees."""

    def emit(context, b, signature, values):
        return b.and_(values[0], ir.Constant(I64, 2**63 - 1))

    return types.int64(types.int64), emit


def memory() -> dict[str, Callable]:
    """The intrinsics, by name; `load_local` and `store_local` are of an array that every iteration uses anew."""
    made: dict[str, Callable] = {
        **accesses(CPU),
        **{f"load{suffix}_local": loading(UNGROUPED, in_bytes) for suffix, in_bytes in BYTES.items()},
        **{f"store{suffix}_local": storing(UNGROUPED, in_bytes) for suffix, in_bytes in BYTES.items()},
        **atomics(CPU, converted),
        "advance": advance,
        "address": address,
        "exists": exists,
        "itself": itself,
        "several_threads": several_threads,
        "pooled": pooled,
        "release": release,
        "claim": claim,
        "peek": peek,
        "usually": usually,
        "rarely": rarely,
        "interrupted": interrupted,
        "run_phase": run_phase,
        "word_extent": word_extent,
        "not_negative": not_negative,
    }
    for dtype, t in CPU.numba_types.items():
        made[f"stack_{dtype}"] = new_array(t, on_stack(STACK_ALIGNMENT))
        made[f"heap_{dtype}"] = _on_heap(t)
        made[f"word_{dtype}"], made[f"set_word_{dtype}"], made[f"pointer_{dtype}"] = _word(t)
    return made
