"""Tell LLVM which loops have independent iterations: metadata from the `independent()` marks of lowered Python."""

from __future__ import annotations

from llvmlite import ir
from llvmlite.ir import instructions, values

# The access group that ordinary accesses belong to, and the mark at the head of a loop's body.
ACCESS, INDEPENDENT = "pydotcompute.access", "pydotcompute.independent"


class _Distinct(values.MDValue):
    """A metadata node that is its own first operand: what identifies a loop."""

    def descr(self, buf):
        rest = "".join(f", {operand.get_reference()}" for operand in self.operands)
        buf += (f"distinct !{{ {self.get_reference()}{rest} }}", "\n")

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__


def mark_independent_loops(module: ir.Module) -> None:
    """Replace each mark by `llvm.loop` metadata on the loop that it stands in: its ordinary accesses may be reordered
    across iterations."""
    if INDEPENDENT not in module.globals:
        return
    parallel = None
    for function in module.functions:
        marks = [
            (block, instruction)
            for block in function.blocks
            for instruction in block.instructions
            if isinstance(instruction, instructions.CallInstr) and instruction.callee.name == INDEPENDENT
        ]
        if not marks:
            continue
        loops = _loops(function)
        for block, mark in marks:
            block.instructions.remove(mark)
            group = module.namedmetadata.get(ACCESS)
            around = [loop for loop in loops if block in loop[1]]
            if group is None or not around:
                continue  # the loop touches no memory, or never comes round
            if parallel is None:
                name = ir.MetaDataString(module, "llvm.loop.parallel_accesses")
                parallel = module.add_metadata([name, group.operands[0]])
            latches, _ = min(around, key=lambda loop: len(loop[1]))
            hints = _hints(module) if mark.args[0].constant else []
            identity = _Distinct(module, [parallel, *hints], name=str(len(module.metadata)))
            for latch in latches:
                latch.terminator.set_metadata("llvm.loop", identity)


def _hints(module: ir.Module) -> list[values.MDValue]:
    """What makes a loop vectors before it could be unrolled, and unrolls those. No width is given: where it cannot be
    had, LLVM says so on the terminal."""

    def hint(name: str, *more: values.MDValue) -> values.MDValue:
        return module.add_metadata([ir.MetaDataString(module, f"llvm.loop.{name}"), *more])

    return [hint("unroll.disable"), hint("vectorize.followup_all", hint("unroll.full"))]


def _loops(function: ir.Function) -> list[tuple[list, set]]:
    """(latches, blocks) of every natural loop."""
    blocks = list(function.blocks)
    following = {block: _successors(block) for block in blocks}
    before: dict = {block: [] for block in blocks}
    for block, targets in following.items():
        for target in targets:
            before[target].append(block)
    dominators = _dominators(blocks, before)
    by_header: dict = {}
    for block, targets in following.items():
        for target in targets:
            if target in dominators.get(block, ()):
                by_header.setdefault(target, []).append(block)
    loops = []
    for header, latches in by_header.items():
        inside, waiting = {header}, list(latches)
        while waiting:
            block = waiting.pop()
            if block not in inside:
                inside.add(block)
                waiting += before[block]
        loops.append((latches, inside))
    return loops


def _successors(block) -> list:
    return [operand for operand in block.terminator.operands if isinstance(operand, ir.Block)]


def _dominators(blocks: list, before: dict) -> dict:
    """Every reachable block's dominators, by iteration to the fixed point."""
    entry = blocks[0]
    result = {entry: {entry}}
    changed = True
    while changed:
        changed = False
        for block in blocks[1:]:
            known = [result[p] for p in before[block] if p in result]
            if not known:
                continue
            found = set.intersection(*known) | {block}
            if result.get(block) != found:
                result[block] = found
                changed = True
    return result
