"""One entry, decoded: basic blocks of steps, and what ends each."""

from __future__ import annotations

import re
from typing import NamedTuple

from . import atomics  # noqa: F401  (adds its instructions)
from .operands import reader
from .operations import CARRY, operation
from .parse import Function, Instruction, PtxError, Table
from .steps import step
from .waiting import WAITING, Wait, wait


class Block(NamedTuple):
    steps: list
    kind: str  # "next" "branch" "exit" "wait"
    target: int = -1  # of a branch
    guard: object = None  # reader of a branch's condition
    negated: bool = False
    wait: Wait | None = None


class Program:
    """`addresses` are of the module's tables: name → (space, address)."""

    def __init__(self, function: Function, addresses: dict[str, tuple[str, int]], shared: list[Table]):
        self.name = function.name
        self.registers = dict(function.registers) | {CARRY: "b32"}
        self.slots = {name: k for k, name in enumerate(self.registers)}
        self.parameters = dict(function.parameters)
        self.addresses = dict(addresses)
        self.shared, self.local = 0, 0
        for table in (*shared, *function.tables):
            base = -(-(self.shared if table.space == "shared" else self.local) // table.align) * table.align
            self.addresses[table.name] = (table.space, base)
            if table.space == "shared":
                self.shared = base + table.size
            else:
                self.local = base + table.size
        pieces, labels = _split(function.body)
        flows = [_flow(piece, k, labels, len(pieces)) for k, piece in enumerate(pieces)]
        self.read = {r for piece in pieces for i in piece for r in _registers(i)[0]}
        self.doubtful = _doubtful(pieces, flows, set(self.registers))
        self.blocks = [self._block(piece, k, labels) for k, piece in enumerate(pieces)]

    def _block(self, piece: list[Instruction], number: int, labels: dict[str, int]) -> Block:
        last = piece[-1] if piece else None
        if last is None or last.name not in ("bra", "ret", "exit", *WAITING):
            return Block([step(self, i) for i in piece], "next")
        steps = [step(self, i) for i in piece[:-1]]
        if last.name in WAITING:
            return Block(steps, "wait", wait=wait(self, last))
        guard = reader(self, last.guard.lstrip("!"), "pred") if last.guard else None
        negated = last.guard.startswith("!")
        if last.name == "bra":
            if set(last.modifiers) - {"uni"}:
                raise PtxError(f"modifiers of {last.text!r}")
            return Block(steps, "branch", labels[last.operands[0]], guard, negated)
        return Block(steps, "exit", -1, guard, negated)


def _split(body: list) -> tuple[list[list[Instruction]], dict[str, int]]:
    """Basic blocks in the order of the text; where each label's begins. A waiting instruction stands alone."""
    pieces: list[list[Instruction]] = [[]]
    labels: dict[str, int] = {}
    for item in body:
        if isinstance(item, str):
            if pieces[-1]:
                pieces.append([])
            labels[item] = len(pieces) - 1
        else:
            if item.name in WAITING and pieces[-1]:
                pieces.append([])
            pieces[-1].append(item)
            if item.name in ("bra", "ret", "exit", *WAITING):
                pieces.append([])
    pieces.append([])  # where a text that runs off its end arrives
    return pieces, labels


def _flow(piece: list[Instruction], number: int, labels: dict[str, int], count: int) -> list[int]:
    """Where control may go after a block."""
    last = piece[-1] if piece else None
    following = [number + 1] if number + 1 < count else []
    if last is None or last.name not in ("bra", "ret", "exit"):
        return following
    if last.name != "bra":
        return following if last.guard else []
    if last.operands[0] not in labels:
        raise PtxError(f"no label {last.operands[0]}")
    return [labels[last.operands[0]]] + (following if last.guard else [])


def _registers(i: Instruction) -> tuple[set[str], set[str]]:
    """(read, written) names of an instruction, registers among them."""
    names = [re.findall(r"[%\w$.]+", o) for o in i.operands]
    guard = set(re.findall(r"[%\w$.]+", i.guard))
    if i.name in ("st", "red", "bra", "ret", "exit", "bar", "barrier", "membar", "fence"):
        return {n for group in names for n in group} | guard, set()
    op = operation(i)
    written = set(names[0]) if names else set()
    read = {n for group in names[1:] for n in group} | guard
    if op is not None and op.carry_in:
        read.add(CARRY)
    if op is not None and op.carry_out:
        written.add(CARRY)
    if i.guard:
        written = set()  # perhaps
    return read, written


def carries(i: Instruction) -> bool:
    """Whether it only computes: with something undefined the result is undefined, and no use of it."""
    return i.name in ("mov", "cvta") or operation(i) is not None


def _doubtful(pieces, flows, registers: set[str]) -> set[str]:
    """Registers that some path reads before it sets them: checked as the program runs."""
    number = {name: 1 << k for k, name in enumerate(registers)}
    steps = []
    for piece in pieces:
        steps.append([])
        for i in piece:
            read, sets = ([number[n] for n in names & registers] for names in _registers(i))
            steps[-1].append((sum(read), sum(sets), carries(i) and not i.guard))

    def after(block: int, defined: int) -> tuple[int, int]:
        """What is defined at the end of a block, and what it reads before."""
        early = 0
        for read, sets, copies in steps[block]:
            early |= read & ~defined
            defined = defined & ~sets if copies and read & ~defined else defined | sets
        return defined, early

    before = [0] + [(1 << len(registers)) - 1] * (len(pieces) - 1)
    changed = True
    while changed:
        changed = False
        for k, following in enumerate(flows):
            end = after(k, before[k])[0]
            for target in following:
                if before[target] & end != before[target]:
                    before[target] &= end
                    changed = True
    bits = 0
    for k in range(len(pieces)):
        bits |= after(k, before[k])[1]
    return {name for name, bit in number.items() if bits & bit}
