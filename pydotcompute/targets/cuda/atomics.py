"""Atomic updates of one element for CUDA: an instruction where the GPU has it, else a loop of swaps."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from ..llvm.operations import OPERATIONS
from ..llvm.values import I64, call, kind, llvm_type
from ..llvm.words import EXTREMA


def update(d, b, t, op: str, value, address):
    """Update the element at an address, and give what it held before; `d` is the dialect, which knows the
    capability."""
    which, width = kind(t), t.bitwidth
    if which in ("int", "uint") and width >= 32:
        return b.atomic_rmw(("u" if which == "uint" and op != "add" else "") + op, address, value, "monotonic")
    if which == "float" and op == "add" and (t == types.float32 or d.capability >= (6, 0)):
        return call(b, f"llvm.nvvm.atomic.load.add.f{width}.p0f{width}", llvm_type(t), address, value)
    word = ir.IntType(max(width, 16 if d.capability >= (7, 0) else 32))
    combine = OPERATIONS[EXTREMA.get(op, op)]
    return _swap_until_kept(b, t, address, word, lambda old: combine.emit(d, b, t, old, value))


def _swap_until_kept(b, t, address, word: ir.IntType, combine: Callable):
    """Compare-and-swap of the aligned word that holds the element, until no one came between; the element before."""
    bits = t.bitwidth
    partial = bits < word.width
    place = b.ptrtoint(address, I64)
    start = b.and_(place, ir.Constant(I64, -(word.width // 8))) if partial else place
    shift = b.trunc(b.mul(b.sub(place, start), ir.Constant(I64, 8)), word) if partial else None
    cell = b.inttoptr(start, word.as_pointer())
    first = b.load(cell)  # a guess: the first swap says if it was right
    before, again, done = b.block, b.append_basic_block("swap"), b.append_basic_block("swapped")
    b.branch(again)
    b.position_at_end(again)
    seen = b.phi(word)
    seen.add_incoming(first, before)
    old = b.lshr(seen, shift) if partial else seen
    element = _of_bits(b, t, old)
    new = _bits(b, t, combine(element), word)
    if partial:
        mask = b.shl(ir.Constant(word, (1 << bits) - 1), shift)
        new = b.or_(b.and_(seen, b.not_(mask)), b.shl(new, shift))
    found = _swapped(b, cell, seen, new)
    seen.add_incoming(found, b.block)
    b.cbranch(b.icmp_unsigned("==", found, seen), done, again)
    b.position_at_end(done)
    return element


def _swapped(b, cell, seen, new):
    """What the cell held; it holds `new` now if that was `seen`."""
    if new.type.width > 16:
        return b.extract_value(b.cmpxchg(cell, seen, new, "monotonic", "monotonic"), 0)
    function = ir.FunctionType(new.type, [cell.type, seen.type, new.type])  # NVVM itself swaps 32 and 64 bits alone
    text = "atom.cas.b16 $0, [$1], $2, $3;"
    return b.call(ir.InlineAsm(function, text, "=h,l,h,h,~{memory}", True), [cell, seen, new])


def _of_bits(b, t, value):
    if kind(t) == "float":
        return b.bitcast(value, llvm_type(t))
    target = llvm_type(t)
    return value if target == value.type else b.trunc(value, target)


def _bits(b, t, value, word):
    if kind(t) == "float":
        return b.bitcast(value, word)
    return value if value.type == word else b.zext(value, word)
