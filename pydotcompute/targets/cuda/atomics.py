"""Atomic updates of one element for CUDA: an instruction where the GPU has it, else a loop of swaps."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from ..llvm.operations import OPERATIONS
from ..llvm.swaps import swap_until_kept
from ..llvm.values import call, kind, llvm_type
from ..llvm.words import EXTREMA


def update(d, b, t, op: str, value, address):
    """Update the element at an address, and give what it held before; `d` is the dialect, which knows the
    capability."""
    which, width = kind(t), t.bitwidth
    if which in ("int", "uint") and width >= 32:
        return b.atomic_rmw(("u" if which == "uint" and op != "add" else "") + op, address, value, "monotonic")
    if which == "float" and op == "add" and (t == types.float32 or d.capability >= (6, 0)):
        return call(b, f"llvm.nvvm.atomic.load.add.f{width}.p0f{width}", llvm_type(t), address, value)
    combine = OPERATIONS[EXTREMA.get(op, op)]
    return swap(d, b, t, address, lambda old: combine.emit(d, b, t, old, value))


def swap(d, b, t, address, combine: Callable):
    """The same by swaps; `combine` makes the new element of the old one."""
    word = ir.IntType(max(t.bitwidth, 16 if d.capability >= (7, 0) else 32))
    return swap_until_kept(b, t, address, word, combine, lambda b, cell: b.load(cell), _swapped)


def _swapped(b, cell, seen, new):
    """What the cell held; it holds `new` now if that was `seen`."""
    if new.type.width > 16:
        return b.extract_value(b.cmpxchg(cell, seen, new, "monotonic", "monotonic"), 0)
    function = ir.FunctionType(new.type, [cell.type, seen.type, new.type])  # NVVM itself swaps 32 and 64 bits alone
    text = "atom.cas.b16 $0, [$1], $2, $3;"
    return b.call(ir.InlineAsm(function, text, "=h,l,h,h,~{memory}", True), [cell, seen, new])
