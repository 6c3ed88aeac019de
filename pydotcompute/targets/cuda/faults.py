"""What a CUDA thread does where an index is outside of its array, as intrinsics: artifact/launch.py says what is told.

A thread keeps words of its own, which it finds in registers: whether it had a fault, where the device's slot is, the
kernel's number there, and the word by which launches of a call tell those that follow (its address is 0: there are
none).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from llvmlite import ir
from numba import types

from ...artifact import launch
from ..llvm.dialect import of_types
from ..llvm.values import I32, I64, call

OWN, SLOT, NUMBER, OF_CALL = range(4)  # a thread's words
WORDS = types.CPointer(types.int64)
AXES = 8  # that one check looks at


def _place(b, words, k: int):
    return b.gep(words, [ir.Constant(I64, k)])


def _half(b, words, k: int):
    """The lower half of a word: what is 0 or 1 needs no more registers."""
    return b.bitcast(_place(b, words, k), I32.as_pointer())


def _made(b, first, slot, number, of_call):
    """The words of a thread."""
    with b.goto_entry_block():
        words = b.alloca(ir.ArrayType(I64, 4))
    words = b.bitcast(words, I64.as_pointer())
    b.store(first, _half(b, words, OWN))
    for k, value in ((SLOT, b.ptrtoint(slot, I64)), (NUMBER, number), (OF_CALL, of_call)):
        b.store(value, _place(b, words, k))
    return words


def _thread_faults(slot, number):
    """The words of a thread of a call's only launch."""

    def emit(context, b, signature, values):
        slot, number = values
        return _made(b, ir.Constant(I32, 0), slot, number, ir.Constant(I64, 0))

    return WORDS(WORDS, types.int64), emit


def _thread_faults_of_call(slot, number, of_call):
    """The words of a thread, for which a fault of an earlier launch of the call counts as its own."""

    def emit(context, b, signature, values):
        slot, number, of_call = values
        return _made(b, b.load(_half(b, of_call, 0)), slot, number, b.ptrtoint(of_call, I64))

    return WORDS(WORDS, types.int64, WORDS), emit


def _had(b, words):
    return b.icmp_signed("!=", b.load(_half(b, words, OWN)), ir.Constant(I32, 0))


def _faulted(words):
    """Whether this thread had a fault."""
    return types.boolean(WORDS), lambda context, b, signature, values: _had(b, values[0])


def _block_faulted(words):
    """Whether a thread of the block had one: a barrier, after which all know. Every thread of the block comes here."""

    def emit(context, b, signature, values):
        own = b.zext(_had(b, values[0]), I32)
        found = call(b, "llvm.nvvm.barrier0.or", I32, own)
        b.store(found, _half(b, values[0], OWN))
        return b.icmp_signed("!=", found, ir.Constant(I32, 0))

    return types.boolean(WORDS), emit


def _in_range(words, site, call_of, *pairs):
    """Whether 0 ≤ index < extent for each (extent, index); if not, the first that is outside is told."""

    def emit(context, b, signature, values):
        words, site, call_of, *pairs = values
        axes = [(extent, index, b.icmp_unsigned("<", index, extent)) for extent, index in zip(pairs[::2], pairs[1::2])]
        every = reduce(b.and_, (inside for *_, inside in axes))  # no extent is below 0
        with b.if_then(b.not_(every), likely=False):
            extent, index, _ = axes[-1]
            axis = ir.Constant(I64, len(axes) - 1)
            for k in range(len(axes) - 2, -1, -1):
                *found, inside = axes[k]
                extent, index = (b.select(inside, *both) for both in zip((extent, index), found))
                axis = b.select(inside, axis, ir.Constant(I64, k))
            _tell(b, words, b.add(site, axis), call_of, extent, index)
        return every

    return types.boolean(WORDS, *[types.int64] * (2 + len(pairs))), emit


def _tell(b, words, site, call_of, extent, index) -> None:
    one, zero = ir.Constant(I32, 1), ir.Constant(I32, 0)
    b.store(one, _half(b, words, OWN))
    of_call = b.load(_place(b, words, OF_CALL))
    with b.if_then(b.icmp_signed("!=", of_call, ir.Constant(I64, 0))):
        b.store(one, b.inttoptr(of_call, I32.as_pointer()))
    slot = b.inttoptr(b.load(_place(b, words, SLOT)), I64.as_pointer())
    claimed = b.cmpxchg(_half(b, slot, launch.CLAIMED), zero, one, "monotonic", "monotonic")
    with b.if_then(b.extract_value(claimed, 1), likely=False):
        said = {
            launch.KERNEL: b.load(_place(b, words, NUMBER)), launch.SITE: site, launch.CALL: call_of,
            launch.EXTENT: extent, launch.INDEX: index,
        }  # fmt: skip
        for k, value in said.items():
            b.store(value, _place(b, slot, k))
        call(b, "llvm.nvvm.membar.sys", ir.VoidType())  # the host, which looks at the last one, sees the others
        b.store(one, _half(b, slot, launch.READY))


def _within(index, extent):
    """Whether 0 ≤ index < extent."""
    return types.boolean(types.int64, types.int64), lambda context, b, s, v: b.icmp_unsigned("<", *v)


def faults() -> dict[str, Callable]:
    """The intrinsics, by name."""
    made: dict[str, tuple[int, Callable]] = {
        "thread_faults": (2, _thread_faults), "thread_faults_of_call": (3, _thread_faults_of_call),
        "faulted": (1, _faulted), "block_faulted": (1, _block_faulted), "within": (2, _within),
        **{f"in_range_{axes}": (3 + 2 * axes, _in_range) for axes in range(1, AXES + 1)},
    }  # fmt: skip
    return {name: of_types(arity, typed) for name, (arity, typed) in made.items()}
