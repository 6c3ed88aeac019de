"""How a kernel is launched: threads of a block, and the grid as expressions over what a call knows."""

from __future__ import annotations

from typing import Any

from ...artifact.dimensions import Tree, data
from ...ir.tree import Assign, Const, KernelTree, Parallel, walk
from ..geometry import along_axes, assigned, block_of, declared_grid, expression

BLOCK = 256


def threads(tree: KernelTree, launch: dict[str, Any], params: dict[str, Any]) -> int:
    """Threads of a block: as declared, else as many as the largest loop over them can use, at most BLOCK."""
    main = tree.main
    if launch.get("block"):
        return block_of(launch, params)[0]
    if main is None:
        return 1
    if main.kind != "blocks":
        return BLOCK
    sizes = [1]
    for loop in (n for n in walk(main) if isinstance(n, Parallel) and n.kind == "threads"):
        size = 1
        for count in loop.counts:
            known = count.value if isinstance(count, Const) else None
            size *= max(known, 1) if isinstance(known, int) else BLOCK
        sizes.append(size)
    return min(BLOCK, -(-max(sizes) // 32) * 32)


def grid(tree: KernelTree, launch: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """{"kind", "counts"} of the first kernel, as targets/cuda/lowering.py has it."""
    main = tree.main
    if main is None:
        return {"kind": "one", "counts": []}
    if declared := launch.get("grid"):
        return {"kind": "given", "counts": list(map(data, declared_grid(declared, params, main)))}
    kind = "chunks" if main.kind == "grid" and main.reductions else main.kind
    known = set_up(tree)
    found = [expression(c, known) for c in main.counts]
    if kind == "grid":
        found = along_axes(found)
    return {"kind": kind, "counts": [None if count is None else data(count) for count in found]}


def set_up(tree: KernelTree) -> dict[str, Tree | None]:
    """Names that a launch can know → expressions: dimensions, integer scalars, and locals made of them."""
    known: dict[str, Tree | None] = {s: s for s in tree.symbols}
    for p in tree.parameters:
        if not p.in_memory and "int" in p.dtype:
            known[p.name] = p.name
    for s in tree.body[: tree.body.index(tree.main)] if tree.main else ():
        if isinstance(s, Assign):
            known[s.name] = expression(s.value, known) if s.name not in known else None
        else:
            known.update({name: None for name in assigned((s,))})
    return known
