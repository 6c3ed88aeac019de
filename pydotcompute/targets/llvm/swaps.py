"""Updates of one element by compare-and-swap: of the aligned word that holds it, until nobody came between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from .values import I64, kind, llvm_type


def swap_until_kept(
    b, t, address, word: ir.IntType, combine: Callable[[Any], Any], load: Callable[..., Any],
    swapped: Callable[..., Any],
):  # fmt: skip
    """The element before; `combine` makes the new one of it. load(b, cell): a guess at the word; swapped(b, cell, seen,
    new): what the cell held, and holds `new` now if that was `seen`."""
    bits = t.bitwidth
    partial = bits < word.width
    place = b.ptrtoint(address, I64)
    start = b.and_(place, ir.Constant(I64, -(word.width // 8))) if partial else place
    shift = b.trunc(b.mul(b.sub(place, start), ir.Constant(I64, 8)), word) if partial else None
    cell = b.inttoptr(start, word.as_pointer())
    first = load(b, cell)  # the first swap says if it was right
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
    found = swapped(b, cell, seen, new)
    seen.add_incoming(found, b.block)
    b.cbranch(b.icmp_unsigned("==", found, seen), done, again)
    b.position_at_end(done)
    return element


def _of_bits(b, t, value):
    if kind(t) == "float":
        return b.bitcast(value, llvm_type(t))
    target = llvm_type(t)
    return value if target == value.type else b.trunc(value, target)


def _bits(b, t, value, word):
    if kind(t) == "float":
        return b.bitcast(value, word)
    return value if value.type == word else b.zext(value, word)
