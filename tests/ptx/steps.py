"""Instructions → steps: functions of a batch and the threads that execute them (None: all)."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from .memory import CONSTANT, LOCAL_WINDOW, SHARED_WINDOW
from .operands import Step, reader, writer
from .operation import DTYPES
from .operations import CARRY, operation
from .parse import TYPE_BYTES, Instruction, PtxError
from .undefined import choice, copy, unchecked, uncertain

SPACES = ("global", "shared", "local", "const", "param")
# Modifiers of memory accesses that change neither the value nor the place.
QUIET = {"nc", "volatile", "relaxed", "weak", "gpu", "cta", "sys", "ca", "cg", "cs", "lu", "cv", "wb", "L1:no_allocate"}


def step(program, i: Instruction) -> Step:
    """The step of any instruction that neither branches nor waits."""
    made = _computation(program, i) or MOVES.get(i.name, _unknown)(program, i)
    if not i.guard:
        return made
    negated = i.guard.startswith("!")
    guard = reader(program, i.guard.lstrip("!"), "pred")

    def guarded(batch, index):
        chosen = guard(batch, index) != negated
        index = np.flatnonzero(chosen) if index is None else index[chosen]
        if len(index):
            made(batch, index)

    return guarded


def _unknown(program, i: Instruction) -> Step:
    raise PtxError(f"instruction {i.text!r}")


def _computation(program, i: Instruction) -> Step | None:
    op = operation(i)
    if op is None:
        return None
    if i.name == "selp" and any(o in program.doubtful for o in i.operands[1:3]):
        return choice(program, i)
    operands = list(i.operands)
    targets = operands[: len(op.results)]
    sources = operands[len(op.results) :]
    if len(sources) != len(op.sources) or "|" in targets[0]:
        raise PtxError(f"operands of {i.text!r}")
    if any(o.lstrip("!") in program.doubtful for o in sources):
        return uncertain(program, i, op, targets, sources)
    reads = [_negatable(program, o, k) for o, k in zip(sources, op.sources)]
    if op.carry_in or op.carry_out:
        reads.append(reader(program, CARRY, "u32") if op.carry_in else lambda batch, index: np.zeros(1, np.uint32))
    writes = [writer(program, o, k) for o, k in zip(targets, op.results)]
    compute = op.compute
    if op.carry_out:
        carry = writer(program, CARRY, "u32")

        def with_carry(batch, index):
            value, out = compute(*(read(batch, index) for read in reads))
            writes[0](batch, index, value)
            carry(batch, index, out)

        return with_carry
    write = writes[0]
    if len(reads) == 1:
        first = reads[0]
        return lambda batch, index: write(batch, index, compute(first(batch, index)))
    return lambda batch, index: write(batch, index, compute(*[read(batch, index) for read in reads]))


def _negatable(program, operand: str, kind: str) -> Callable:
    if kind == "pred" and operand.startswith("!"):
        plain = reader(program, operand[1:], kind)
        return lambda batch, index: ~plain(batch, index)
    return reader(program, operand, kind)


def address(program, operand: str) -> tuple[Callable, str]:
    """How to get the address in `[register+offset]` or `[name+offset]`, and the space of a name ("" otherwise)."""
    match = re.fullmatch(r"\[\s*([%\w$.]+)\s*(?:\+\s*(-?\d+))?\s*\]", operand)
    if match is None:
        raise PtxError(f"address {operand!r}")
    offset = np.uint64(int(match[2] or 0) % (1 << 64))
    if match[1] in program.registers:
        kind = "u64" if TYPE_BYTES[program.registers[match[1]]] == 8 else "u32"
        read = reader(program, match[1], kind)
        return (lambda batch, index: read(batch, index).astype(np.uint64) + offset), ""
    if match[1] in program.addresses:
        space, base = program.addresses[match[1]]
        fixed = np.array([base], np.uint64) + offset
        return (lambda batch, index: np.repeat(fixed, batch.n if index is None else len(index))), space
    raise PtxError(f"address {operand!r}")


def _mov(program, i: Instruction) -> Step:
    (kind,) = i.modifiers
    target, source = i.operands
    if target.startswith("{"):
        parts = [p.strip() for p in target[1:-1].split(",")]
        bits = TYPE_BYTES[kind] * 8 // len(parts)
        read = reader(program, source, f"b{bits * len(parts)}")
        writes = [writer(program, p, f"b{bits}") for p in parts]

        def unpack(batch, index):
            value = read(batch, index)
            for k, write in enumerate(writes):
                write(batch, index, (value >> value.dtype.type(k * bits)).astype(f"u{bits // 8}"))

        return unpack
    if source.startswith("{"):
        parts = [p.strip() for p in source[1:-1].split(",")]
        bits, whole = TYPE_BYTES[kind] * 8 // len(parts), np.dtype(f"u{TYPE_BYTES[kind]}")
        reads = [reader(program, p, f"b{bits}") for p in parts]
        write = writer(program, target, f"b{whole.itemsize * 8}")

        def pack(batch, index):
            value = whole.type(0)
            for k, read in enumerate(reads):
                value = value | read(batch, index).astype(whole) << whole.type(k * bits)
            write(batch, index, value)

        return pack
    if source in program.doubtful and target in program.registers:
        return copy(program, target, source)
    read, write = reader(program, source, kind), writer(program, target, kind)
    return lambda batch, index: write(batch, index, read(batch, index))


def _access(i: Instruction) -> tuple[str, int, str]:
    """(space, elements, type) of a load or store; refuses other modifiers."""
    *modifiers, kind = i.modifiers
    space = next((m for m in modifiers if m in SPACES), "")
    count = next((int(m[1]) for m in modifiers if m in ("v2", "v4")), 1)
    rest = set(modifiers) - {space, f"v{count}"} - QUIET
    if rest or kind not in DTYPES:
        raise PtxError(f"modifiers of {i.text!r}")
    return space, count, kind


def _parts(operand: str) -> list[str]:
    return [p.strip() for p in operand.strip("{}").split(",")]


def _ld(program, i: Instruction) -> Step:
    space, count, kind = _access(i)
    item, dtype = TYPE_BYTES[kind], DTYPES[kind]
    parts = _parts(i.operands[0])
    writes = [writer(program, p, kind) for p in parts]
    if space == "param":
        name, offset = _parameter(i.operands[1])
        if name not in program.parameters:
            slot = f"{name}+{offset}"
            if count != 1:
                raise PtxError(f"{i.text!r}: a vector as parameter of a call")

            def from_call(batch, index):
                values = batch.slots[slot]
                writes[0](batch, index, (values if index is None else values[index]).astype(f"u{item}").view(dtype))

            return from_call

        def from_launch(batch, index):
            data = batch.parameters[name]
            for k, write in enumerate(writes):
                write(batch, index, np.frombuffer(data[offset + k * item : offset + (k + 1) * item], dtype))

        return from_launch
    where, named = address(program, i.operands[1])
    space, text = {"const": "global"}.get(space or named, space or named), i.text
    constant = "nc" in i.modifiers

    def load(batch, index):
        addresses = where(batch, index)
        if count > 1 and (addresses % np.uint64(item * count)).any():
            raise PtxError(f"{text}: misaligned")
        for k, write in enumerate(writes):
            places = addresses + np.uint64(k * item)
            if count > 1 and parts[k] not in program.read:  # one load of four where three are wanted
                batch.reach(space, places, index, item, text)
                continue
            write(batch, index, batch.load(space, places, index, item, text).view(dtype))
            if constant:
                for found, _, offsets in batch.memory.find(places, text):
                    found.use(offsets, item, CONSTANT, text)

    return load


def _parameter(operand: str) -> tuple[str, int]:
    match = re.fullmatch(r"\[\s*([\w$.]+)\s*(?:\+\s*(\d+))?\s*\]", operand)
    if match is None:
        raise PtxError(f"parameter {operand!r}")
    return match[1], int(match[2] or 0)


def _st(program, i: Instruction) -> Step:
    space, count, kind = _access(i)
    item = TYPE_BYTES[kind]
    reads = [reader(program, p, kind) for p in _parts(i.operands[1])]
    if space == "param":
        slot = "{}+{}".format(*_parameter(i.operands[0]))

        def to_call(batch, index):
            values = batch.slots.setdefault(slot, np.zeros(batch.n, np.uint64))
            values[slice(None) if index is None else index] = reads[0](batch, index).view(f"u{item}")

        if count != 1:
            raise PtxError(f"{i.text!r}: a vector as parameter of a call")
        return to_call
    where, named = address(program, i.operands[0])
    space, text = space or named, i.text

    # Undefined values may be kept in local memory, as they may in a register.
    doubts = [(k, p) for k, p in enumerate(_parts(i.operands[1])) if space == "local" and p in program.doubtful]
    flags = {}
    for k, operand in doubts:
        reads[k], flags[k] = unchecked(program, operand, f"b{8 * item}")

    def store(batch, index):
        addresses = where(batch, index)
        if count > 1 and (addresses % np.uint64(item * count)).any():
            raise PtxError(f"{text}: misaligned")
        for k, read in enumerate(reads):
            places, values = addresses + np.uint64(k * item), read(batch, index)
            batch.store(
                space, places, values.astype(f"u{item}") if k in flags else values.view(f"u{item}"), index, item, text
            )
            if k in flags and not (defined := np.broadcast_to(flags[k](batch, index), len(places))).all():
                threads = np.arange(batch.n) if index is None else index
                batch.forget(space, places[~defined], threads[~defined], item, text)

    return store


def _cvta(program, i: Instruction) -> Step:
    to, space = "to" in i.modifiers, next((m for m in i.modifiers if m in SPACES), "")
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space, 0)
    if not space or i.modifiers[-1] != "u64":
        raise PtxError(f"modifiers of {i.text!r}")
    read, write = reader(program, i.operands[1], "u64"), writer(program, i.operands[0], "u64")
    change = np.uint64((1 << 64) - window if to and window else window)
    return lambda batch, index: write(batch, index, read(batch, index) + change)


def _fence(program, i: Instruction) -> Step:
    return lambda batch, index: None


MOVES: dict[str, Callable] = {
    "mov": _mov, "ld": _ld, "st": _st, "cvta": _cvta, "membar": _fence, "fence": _fence,
}  # fmt: skip
