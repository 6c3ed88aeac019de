"""Tell LLVM which loops have independent iterations: metadata for the marks at the heads of lowered loops' bodies."""

from __future__ import annotations

from llvmlite import ir
from llvmlite.ir import values

# The access group that ordinary accesses belong to.
ACCESS = "pydotcompute.access"
# What stands at the head of a loop's body: no element that one iteration touches is touched by another. The second:
# and it is of so few iterations that it becomes vectors and no loop is left.
INDEPENDENT, INDEPENDENT_VECTORS = "independent", "independent_vectors"


class _Distinct(values.MDValue):
    """A metadata node that is its own first operand: what identifies a loop."""

    def descr(self, buf):
        rest = "".join(f", {operand.get_reference()}" for operand in self.operands)
        buf += (f"distinct !{{ {self.get_reference()}{rest} }}", "\n")

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__


def mark_loop(latch: ir.Instruction, kind: str) -> None:
    """Say it of the loop whose body this branch ends: its ordinary accesses may be reordered across iterations."""
    module = latch.parent.parent.parent
    if group := module.namedmetadata.get(ACCESS):  # else it touches no memory
        name = ir.MetaDataString(module, "llvm.loop.parallel_accesses")
        parallel = module.add_metadata([name, group.operands[0]])
        hints = _hints(module) if kind == INDEPENDENT_VECTORS else []
        identity = _Distinct(module, [parallel, *hints], name=str(len(module.metadata)))
        latch.set_metadata("llvm.loop", identity)


def _hints(module: ir.Module) -> list[values.MDValue]:
    """What makes a loop vectors before it could be unrolled, and unrolls those. No width is given: where it cannot be
    had, LLVM says so on the terminal."""

    def hint(name: str, *more: values.MDValue) -> values.MDValue:
        return module.add_metadata([ir.MetaDataString(module, f"llvm.loop.{name}"), *more])

    return [hint("unroll.disable"), hint("vectorize.followup_all", hint("unroll.full"))]
