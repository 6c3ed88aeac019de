"""Tell LLVM which loops have independent iterations: metadata for the marks at the heads of lowered loops' bodies."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from llvmlite.ir import values

# The access group that ordinary accesses belong to.
ACCESS = "pydotcompute.access"
# What stands at the head of a loop's body: no element that one iteration touches is touched by another. The second:
# and it is of so few iterations that it becomes vectors and no loop is left.
INDEPENDENT, INDEPENDENT_VECTORS = "independent", "independent_vectors"
# The first, and each turn does the work of two: one turn alone is a long chain of steps that wait for each other.
INTERLEAVED = "interleaved"
# The first, in turns of two vectors, of which each is much code.
COMPACT = "compact"
# The first, of a few vectors at most, each in a turn of its own.
SHORT = "short"
# What stands at the head of a loop that hardly ever runs.
RARE = "rare"
# What stands at the end of a loop of which several iterations may be done as one, so that their loads wait together;
# of one that does that already; and of one of which nothing may be left, for its indices are those of registers.
UNROLLED, ROLLED, WHOLE = "unrolled", "rolled", "unrolled_whole"
AS_ONE = 4  # iterations
TOGETHER = {INTERLEAVED: 2, COMPACT: 2, SHORT: 1}  # vectors of a turn


class _Distinct(values.MDValue):
    """A metadata node that is its own first operand: what identifies a loop."""

    def descr(self, buf):
        rest = "".join(f", {operand.get_reference()}" for operand in self.operands)
        buf += (f"distinct !{{ {self.get_reference()}{rest} }}", "\n")

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__


def mark_loop(latch: ir.Instruction, kind: str, place: Any = None) -> None:
    """Say it of the loop whose body this branch ends: its ordinary accesses may be reordered across iterations.
    place: where it stands, for LLVM's remarks of it."""
    module, facts = latch.parent.parent.parent, list[values.Value]()
    if kind == RARE:
        facts = _once(module)
    elif kind == ROLLED:
        facts = [_hint(module, "unroll.disable")]
    elif kind == WHOLE:
        facts = [_hint(module, "unroll.full")]
    elif kind == UNROLLED:
        facts = [_hint(module, "unroll.count", ir.Constant(ir.IntType(32), AS_ONE))]
    elif kind and (group := module.namedmetadata.get(ACCESS)):
        name = ir.MetaDataString(module, "llvm.loop.parallel_accesses")
        hints = _hints(module) if kind == INDEPENDENT_VECTORS else []
        if kind in TOGETHER:
            hints = [_hint(module, "interleave.count", ir.Constant(ir.IntType(32), TOGETHER[kind]))]
        if kind == COMPACT:
            hints.append(_hint(module, "unroll.disable"))
        facts = [module.add_metadata([name, group.operands[0]]), *hints]
    if place is not None:  # else LLVM takes that of the code before the loop, which may be of many lines, so of none
        facts = [place, *facts]
    if facts:  # it may touch no memory
        latch.set_metadata("llvm.loop", _Distinct(module, facts, name=str(len(module.metadata))))


def _hint(module: ir.Module, name: str, *more: values.Value) -> values.MDValue:
    return module.add_metadata([ir.MetaDataString(module, f"llvm.loop.{name}"), *more])


def _hints(module: ir.Module) -> list[values.MDValue]:
    """What makes a loop vectors before it could be unrolled, and unrolls those. No width is given: where it cannot be
    had, LLVM says so on the terminal."""
    return [_hint(module, "unroll.disable"), _hint(module, "vectorize.followup_all", _hint(module, "unroll.full"))]


def _once(module: ir.Module) -> list[values.MDValue]:
    """What keeps a loop as it is written."""
    never = ir.Constant(ir.IntType(1), 0)
    return [_hint(module, "unroll.disable"), _hint(module, "vectorize.enable", never)]
