"""atom and red: the threads of a group one after the other, in random order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .operation import DTYPES
from .parse import TYPE_BYTES, Instruction, PtxError
from .operands import reader, writer
from .steps import MOVES, QUIET, address

COMBINE: dict[str, Callable] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip


def _atomic(program, i: Instruction) -> Callable:
    *modifiers, kind = i.modifiers
    space = next((m for m in modifiers if m in ("global", "shared")), "")
    operation = next((m for m in modifiers if m in (*COMBINE, "cas", "exch")), "")
    if set(modifiers) - {space, operation} - QUIET or not operation or kind not in DTYPES:
        raise PtxError(f"modifiers of {i.text!r}")
    if kind[0] == "f" and operation != "add":
        raise PtxError(f"{i.text!r}: floats have add alone")
    item, dtype, text = TYPE_BYTES[kind], DTYPES[kind], i.text
    operands = list(i.operands)
    target = operands.pop(0) if i.name == "atom" else "_"
    where, named = address(program, operands[0])
    reads = [reader(program, o, kind) for o in operands[1:]]
    write = writer(program, target, kind)
    needed = target in program.read

    def run(batch, index):
        addresses = where(batch, index)
        order = batch.random.permutation(len(addresses))
        values = [np.broadcast_to(read(batch, index), len(addresses)) for read in reads]
        old = np.zeros(len(addresses), dtype)
        for found, chosen, offsets in batch.reach(space or named, addresses, index, item, text):
            batch.writable(found, offsets, item, text)
            if found.written is not None:
                batch.load(space or named, addresses, index, item, text)  # what was never written has no value
            view, elements = found.view(item).view(dtype), (offsets // np.uint64(item)).astype(np.int64)
            threads = np.arange(len(addresses)) if chosen is None else chosen
            sequence = order[np.isin(order, threads)] if chosen is not None else order
            at = np.empty(len(addresses), np.int64)
            at[threads] = elements
            if operation in COMBINE and not needed:
                COMBINE[operation].at(view, at[sequence], values[0][sequence])
                continue
            for turn in _turns(at[sequence]):
                who = sequence[turn]
                old[who] = current = view[at[who]]
                view[at[who]] = _next(operation, current, *(v[who] for v in values))
        if needed:
            write(batch, index, old)

    return run


def _next(operation: str, current, value, other=None):
    if operation == "exch":
        return value
    if operation == "cas":
        return np.where(current == value, other, current)
    return COMBINE[operation](current, value)


def _turns(elements: np.ndarray):
    """Positions, dealt so that no turn meets an element twice, in order for each element."""
    by_element = np.argsort(elements, kind="stable")
    ordered = elements[by_element]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rank = np.arange(len(elements)) - np.repeat(starts, np.diff(np.r_[starts, len(elements)]))
    for turn in range(rank.max() + 1):
        yield by_element[rank == turn]


MOVES["atom"] = MOVES["red"] = _atomic
