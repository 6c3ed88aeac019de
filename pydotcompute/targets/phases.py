"""The phases of a kernel: its parallel loops, and what happens once before, between and after them."""

from __future__ import annotations

from ..errors import DeclarationError
from ..ir.tree import KernelTree, Load, Parallel, Stmt, Store, walk


def phases_of(tree: KernelTree) -> list[Parallel]:
    """The loops over grid or blocks, in the order of the text."""
    return [n for s in tree.body for n in walk(s) if isinstance(n, Parallel) and n.kind != "threads"]


def require_one_loop(tree: KernelTree, target: str) -> None:
    """Raise DeclarationError for a kernel that is more than scalars, one parallel loop over grid or blocks and, where
    that is a reduction over grid, what follows it."""
    main = tree.main
    where = tree.body.index(main) if main else len(tree.body)
    written = {n.array for s in tree.body for n in walk(s) if isinstance(n, Store)}
    for k, s in enumerate(tree.body):
        if what := _more(s, k - where, written, bool(main and main.kind == "grid" and main.reductions)):
            raise DeclarationError(
                f"{what}: {target} runs one parallel loop a kernel so far, before it scalars alone, and after a "
                "reduction over grid what happens once", s.at, "make several kernels, and call one after the other",
            )  # fmt: skip


def _more(s: Stmt, where: int, written: set[str], reduces: bool) -> str:
    """What it is that makes a kernel more; `where`: before (< 0), at or after its first parallel loop."""
    inside = [n for n in walk(s) if n is not s]
    if where and any(isinstance(n, Parallel) and n.kind != "threads" for n in (s, *inside)):
        return "a second parallel loop" if isinstance(s, Parallel) else "a parallel loop in sequential statements"
    if where < 0 and any(isinstance(n, Store) or isinstance(n, Load) and n.array in written for n in (s, *inside)):
        return "an array that the kernel writes is used before its parallel loop"
    return "a statement after the parallel loop" if where > 0 and not reduces else ""
