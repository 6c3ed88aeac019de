"""Registers that may be undefined: what is computed from one is undefined too, and an error only where it is used."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .operands import WIDTHS, Step, reader, writer
from .operation import DTYPES
from .parse import TYPE_BYTES, Instruction, PtxError


def copy(program, target: str, source: str) -> Step:
    """A register that may be undefined moves as it is, and makes the other one so."""
    read, flags = unchecked(program, source)
    write = writer(program, target, f"b{8 * WIDTHS[program.registers[target]].itemsize}")
    flag = _flagged(program, target)

    def run(batch, index):
        write(batch, index, read(batch, index))
        flag(batch, index, flags(batch, index))

    return run


def uncertain(program, i: Instruction, op, targets: list[str], sources: list[str]) -> Step:
    """A computation with operands that may be undefined, whose result then is: the compiler may do ahead of a branch
    what only one side of it needs."""
    if op.carry_in or op.carry_out or len(targets) != 1:
        raise PtxError(f"{i.text!r} with an operand that may be undefined")
    reads = []
    for operand, kind in zip(sources, op.sources):
        negated = kind == "pred" and operand.startswith("!")
        read, flags = unchecked(program, operand.lstrip("!") if negated else operand, kind)
        reads.append((read, flags, DTYPES[kind], negated))
    write, flag = writer(program, targets[0], op.results[0]), _flagged(program, targets[0])

    def compute(batch, index):
        values, defined = [], np.ones(1, bool)
        for read, flags, dtype, negated in reads:
            value = read(batch, index)
            if value.dtype.itemsize > dtype.itemsize:
                value = value.astype(f"u{dtype.itemsize}")
            value = value.view(dtype)
            values.append(~value if negated else value)
            defined = defined & flags(batch, index)
        write(batch, index, op.compute(*values))
        flag(batch, index, defined)

    return compute


def choice(program, i: Instruction) -> Step:
    """selp where an operand may be undefined: only the chosen one counts."""
    (kind,), (target, *sources, condition) = i.modifiers, i.operands
    bits = f"b{8 * TYPE_BYTES[kind]}"
    (one, one_flags), (other, other_flags) = (unchecked(program, s, bits) for s in sources)
    chosen, write, flag = reader(program, condition, "pred"), writer(program, target, bits), _flagged(program, target)

    def choose(batch, index):
        which = chosen(batch, index)
        write(batch, index, np.where(which, one(batch, index), other(batch, index)))
        flag(batch, index, np.where(which, one_flags(batch, index), other_flags(batch, index)))

    return choose


def unchecked(program, source: str, kind: str = "") -> tuple[Callable, Callable]:
    """How to get an operand and whether it is defined."""
    if source not in program.doubtful:
        kind = kind or f"b{8 * WIDTHS[program.registers[source]].itemsize}"
        return reader(program, source, kind), lambda batch, index: np.ones(1, bool)
    slot, width = program.slots[source], WIDTHS[program.registers[source]]

    def read(batch, index):
        values = batch.registers[slot]
        return np.zeros(1, width) if values is None else values if index is None else values[index]

    def flags(batch, index):
        values = batch.defined[slot]
        return np.zeros(1, bool) if values is None else values if index is None else values[index]

    return read, flags


def _flagged(program, target: str) -> Callable:
    slot, checked = program.slots[target], target in program.doubtful

    def flag(batch, index, defined):
        if checked:
            batch.defined[slot][slice(None) if index is None else index] = defined

    return flag
