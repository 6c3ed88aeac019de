"""Counts that go up, and whether one comes round: it wraps in its type, and has a value again that it had.

It does not where the loops add too little for that, or where each of those who raise it uses its value as an index: it
would hold negative numbers first, which are no indices, and that is an error of the program.
"""

from __future__ import annotations

from typing import Sequence

from . import affine
from .accesses import Access, Accesses, Scope, Value
from .affine import Poly

SIGNED = ("int32", "int64")  # the types in which a count may be an index
_MOST = 1 << 62  # iterations of any call: years, if one count is raised every 30 picoseconds


def iterations(found: Accesses, scopes: Sequence[Scope]) -> int:
    """How many these loops, each inside the one before, have at most."""
    product, rest = affine.constant(1), 1
    for scope in scopes:
        if scope.parallel:
            for count in scope.counts:
                product = affine.multiply(product, count)
        elif scope.indices:
            index = scope.indices[0]
            rest *= index.most + 1 - (0 if index.natural else index.least)
        else:
            rest *= _MOST
    return min(max(found.ranges.most(product), 0) * rest, _MOST)


def leaves(found: Accesses, scopes: tuple[Scope, ...], under: tuple[Value, ...], count: Poly) -> bool:
    """Does an iteration that comes to a place under these conditions touch an element outside of an array whenever the
    count is negative there?"""
    return any(access.scopes == scopes and _is_outside(found, access, under, count) for access in found.all)


def _is_outside(found: Accesses, access: Access, under: tuple[Value, ...], count: Poly) -> bool:
    negative = affine.at_least(affine.constant(-1), count)

    def fails(more: Sequence[affine.Constraint]) -> bool:
        system = [negative, *more]
        return affine.impossible([*system, *found.ranges.facts(system)], found.atoms)

    here = {id(value) for value in under}
    return all(id(v) in here or fails(v.falsity) for v in access.under) and fails(found.inside(access))
