"""Operands: registers, special registers, numbers and names, as vectors of the type that an instruction wants."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

import numpy as np

from .operation import DTYPES
from .operations import CARRY
from .parse import TYPE_BYTES, PtxError

WIDTHS = {"pred": np.dtype(bool)} | {t: np.dtype(f"u{b}") for t, b in TYPE_BYTES.items() if t != "pred"}
Step = Callable  # (batch, index) -> None


def reader(program, operand: str, kind: str) -> Callable:
    """How to get an operand as a vector of `kind`: an element a thread, or one for all."""
    dtype = DTYPES[kind]
    if operand in program.registers:
        slot, width = program.slots[operand], WIDTHS[program.registers[operand]]
        if width.itemsize < dtype.itemsize or (width == bool) != (dtype == bool):
            raise PtxError(f"{operand} is no operand of type .{kind}")
        narrow = None if width.itemsize == dtype.itemsize else np.dtype(f"u{dtype.itemsize}")
        checked = operand in program.doubtful

        def read(batch, index):
            values = batch.registers[slot]
            if (
                values is None
                or checked
                and not (batch.defined[slot] if index is None else batch.defined[slot][index]).all()
            ):
                raise PtxError(f"{operand} is read before it is set")
            if index is not None:
                values = values[index]
            return (values if narrow is None else values.astype(narrow)).view(dtype)

        return read
    if operand.startswith("%") and operand not in program.registers:
        if operand == CARRY:
            raise PtxError("the carry is read before it is set")

        def special(batch, index):
            if operand not in batch.special:
                raise PtxError(f"special register {operand}")
            values = batch.special[operand]
            return (values if index is None or len(values) == 1 else values[index]).astype(dtype)

        return special
    value = immediate(program, operand, kind)
    return lambda batch, index: value


def immediate(program, text: str, kind: str) -> np.ndarray:
    dtype = DTYPES[kind]
    if text == "WARP_SZ":
        text = "32"
    if match := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})", text):
        value = struct.unpack(">f" if match[1] else ">d", bytes.fromhex(match[1] or match[2]))[0]
        if kind[0] != "f":  # bits of a float moved as they are
            return np.frombuffer(bytes.fromhex(match[1] or match[2])[::-1], DTYPES[f"b{dtype.itemsize * 8}"]).view(
                dtype
            )
        return np.array([value], dtype)
    if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", text):
        value = int(text.rstrip("U"), 0)
        if kind == "pred":
            return np.array([value != 0])
        if kind[0] == "f":
            return np.array([value], dtype)
        return np.array([value % (1 << 8 * dtype.itemsize)], f"u{dtype.itemsize}").view(dtype)
    match = re.fullmatch(r"([\w$.]+)([+-]\d+)?", text)
    if match and match[1] in program.addresses:
        return np.array([program.addresses[match[1]][1] + int(match[2] or 0)], np.uint64).astype(dtype)
    raise PtxError(f"operand {text!r}")


def writer(program, operand: str, kind: str) -> Callable:
    """How to set a register from a vector of `kind`, extended where the register is wider."""
    if operand == "_":
        return lambda batch, index, values: None
    if operand not in program.registers:
        raise PtxError(f"{operand} is not declared")
    slot, width, dtype = program.slots[operand], WIDTHS[program.registers[operand]], DTYPES[kind]
    if width.itemsize < dtype.itemsize or (width == bool) != (dtype == bool):
        raise PtxError(f"{operand} is too narrow for .{kind}")
    wide = np.dtype(f"{'i' if kind[0] == 's' else 'u'}{width.itemsize}") if width.itemsize > dtype.itemsize else None
    checked = operand in program.doubtful

    def write(batch, index, values):
        register = batch.registers[slot]
        if register is None:
            register = batch.registers[slot] = np.zeros(batch.n, width)
            if checked:
                batch.defined[slot] = np.zeros(batch.n, bool)
        if values.dtype != dtype:
            values = values.astype(dtype)
        if wide is not None:
            values = values.astype(wide)
        register[slice(None) if index is None else index] = values.view(width)
        if checked:
            batch.defined[slot][slice(None) if index is None else index] = True

    return write
