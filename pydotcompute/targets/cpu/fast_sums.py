"""Sums of floats in any order, whose rounding `fastmath` frees too, as loops over a range, of which LLVM makes vectors.
To keep the roundings of other sums few takes short rows more time than their terms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ...ir.contraction import reorders
from ...ir.tree import Accumulate, Assign, Binary, Const, For, If, KernelTree, Reduce, Stmt, Var, rebuilt

_ZERO, _ONE = Const(0, "int64"), Const(1, "int64")


def with_plain_sums(tree: KernelTree) -> KernelTree:
    """The tree with such loops; of a tree whose loops count from 0."""
    return replace(tree, body=_of(tree.body)) if reorders(tree) else tree


def _of(body: Iterable[Stmt]) -> tuple[Stmt, ...]:
    return tuple(made for s in body for made in _statements(s))


def _statements(s: Stmt) -> tuple[Stmt, ...]:
    parts: dict[str, Any] = {part: _of(getattr(s, part)) for part in ("body", "orelse") if hasattr(s, part)}
    s = replace(s, **parts)
    if not isinstance(s, Reduce) or s.reduction.op != "sum" or s.reduction.type not in ("float32", "float64"):
        return (s,)
    r = s.reduction

    def added(node: Any) -> Any:
        if isinstance(node, Accumulate) and node.name == r.name:
            return Assign(r.name, Binary("+", Var(r.name, r.type), node.value, r.type), at=node.at)
        return rebuilt(node, added) if isinstance(node, If) else node

    loop = For(s.name, _ZERO, s.count, _ONE, tuple(map(added, s.body)), at=s.at)
    return (loop,) if r.start is None else (Assign(r.name, r.start, at=s.at), loop)
