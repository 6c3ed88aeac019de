"""Scans that go up: of two iterations of a loop, what the later one finds in a count is at least what the earlier one
left there. So a count that is raised by a positive number gives each iteration that raises it an index of its own."""

from __future__ import annotations

from typing import Iterable, Iterator

from ..ir import tree as t
from . import affine
from .accesses import Access, Cases, Scope, second
from .affine import Constraint, Poly


def in_order(scope: Scope, a: Access, b: Access) -> list[Cases]:
    """The iterations of the two accesses differ: one of them is the earlier one."""
    risen = [scan for scan in scope.scans.values() if scan.rise is not None]
    if not risen:
        return []
    earlier, later = [], []
    for scan in risen:
        assert scan.rise is not None
        before = affine.unknown(scan.before)
        earlier.append(_after(second(scan.before), before, scan.rise if scan.name in a.raised else {}))
        later.append(_after(before, second(scan.before), _second(scan.rise) if scan.name in b.raised else {}))
    return [[earlier, later]]


def _after(found: Poly, left: Poly, rise: Poly) -> Constraint:
    return affine.at_least(found, affine.add(left, rise))


def _second(poly: Poly) -> Poly:
    return {tuple(-1 - atom for atom in monomial): c for monomial, c in poly.items()}


def far(dtype: str, rise: int) -> bool:
    """Would a count that rises by at most so much pass through millions of negative values, which are no indices,
    before it can repeat a value? In int64, where a condition may leave those out, after billions of iterations."""
    return rise < {"int32": 1 << 5, "int64": 1 << 32}.get(dtype, 0)


def updates(body: Iterable[t.Stmt]) -> Iterator[t.Accumulate]:
    """The updates of a loop's own reductions."""
    for s in body:
        if isinstance(s, t.Accumulate):
            yield s
        elif isinstance(s, t.If):
            yield from updates(s.body)
            yield from updates(s.orelse)


def raised(body: tuple[t.Stmt, ...], names: frozenset[str]) -> dict[int, frozenset[str]]:
    """By the id of a statement, the scans that an iteration updates which comes to anything in it."""
    found: dict[int, frozenset[str]] = {}
    for k, s in enumerate(body):
        if isinstance(s, t.Accumulate) and s.name in names:
            for j, other in enumerate(body):
                left = (n for between in body[j:k] for n in t.walk(between))
                if not any(isinstance(n, t.Continue) for n in left):
                    found[id(other)] = found.get(id(other), frozenset()) | {s.name}
        elif isinstance(s, t.If):
            for inside in (raised(s.body, names), raised(s.orelse, names)):
                for number, more in inside.items():
                    found[number] = found.get(number, frozenset()) | more
    return found
