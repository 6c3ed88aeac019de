"""Branches that end in stores to one element: one store after them, of a value that they choose, needs no mask."""

from __future__ import annotations

from dataclasses import replace

from ...ir.tree import Assign, If, Stmt, Store, Var, walk
from ..llvm.expressions import is_cheap
from ..names import Names
from .bodies import assigned


def common_store(s: If, names: Names) -> tuple[Stmt, Stmt] | None:
    """The statement with one store behind it; None where its branches do not end so."""
    if not s.body or not s.orelse:
        return None
    last, other = s.body[-1], s.orelse[-1]
    if not isinstance(last, Store) or not isinstance(other, Store):
        return None
    used = {node.name for i in last.indices for node in walk(i) if isinstance(node, Var)}
    same = (last.array, last.indices) == (other.array, other.indices)
    if not same or used & (assigned(s.body) | assigned(s.orelse)) or not all(map(is_cheap, last.indices)):
        return None
    value = names.fresh(f"{last.array}_new")
    names.bind(value, value)
    branches = [(*b[:-1], Assign(value, end.value, at=s.at)) for b, end in ((s.body, last), (s.orelse, other))]
    chosen = replace(s, body=branches[0], orelse=branches[1])
    merged = replace(last, value=Var(value, last.value.type), inside=last.inside and other.inside, proved=(), at=s.at)
    return chosen, merged
