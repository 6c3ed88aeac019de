"""Grids whose last index has a few values, known when the kernel is built (colours, coordinates): as a loop in each
iteration over the other indices, which the compiler unrolls; a loop of three iterations would begin anew for each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...ir.tree import Const, For, If, KernelTree, NewArray, Parallel, While, rebuilt, walk

_FEW = 4
_ZERO, _ONE = Const(0, "int64"), Const(1, "int64")


def unrolled(tree: KernelTree) -> KernelTree:
    """The tree with such loops; of a tree whose loops count from 0."""

    def changed(node: Any) -> Any:
        if isinstance(node, Parallel):
            return _without_last(node) if _is_narrow(node) else node
        return rebuilt(node, changed) if isinstance(node, (If, For, While)) else node

    return replace(tree, body=tuple(map(changed, tree.body)))


def _is_narrow(loop: Parallel) -> bool:
    last = loop.counts[-1]
    few = isinstance(last, Const) and last.whole <= _FEW
    simple = not any(isinstance(n, (Parallel, NewArray)) for s in loop.body for n in walk(s))
    return loop.kind == "grid" and len(loop.counts) > 1 and few and simple and not loop.reductions


def _without_last(loop: Parallel) -> Parallel:
    inner = For(loop.names[-1], _ZERO, loop.counts[-1], _ONE, loop.body, at=loop.at)
    return replace(loop, names=loop.names[:-1], counts=loop.counts[:-1], body=(inner,))
