"""Scans that go up: of two iterations of a loop, what the later one finds in a count is at least what the earlier one
left there. So a count that is raised by a positive number gives each iteration that raises it an index of its own."""

from __future__ import annotations

from typing import Iterable, Iterator

from ..ir import tree as t
from . import affine, rounds
from .accesses import Access, Accesses, Scan, Scope, Way, second
from .affine import Constraint, Poly
from .ranges import bits_of


def in_order(found: Accesses, scope: Scope, a: Access, b: Access) -> list[Way]:
    """The iterations of the two accesses differ: in one of them scans are greater, by what the other adds. That is the
    later one; but where a scan has wrapped it is the earlier one, which says nothing of other scans."""
    risen = [scan for scan in scope.scans.values() if scan.rise is not None]
    together = [scan for scan in risen if scan.bounded]
    alone = [[scan] for scan in risen if not scan.bounded and _wraps_far(found, scope, scan)]
    return [
        [[[_greater_in_b(scan, a) for scan in scans], [_greater_in_a(scan, b) for scan in scans]]]
        for scans in ([together] if together else []) + alone
    ]


def _wraps_far(found: Accesses, scope: Scope, scan: Scan) -> bool:
    """Is a value, if the scan has wrapped, below every earlier one by at least what an iteration adds? With what the
    loop adds it comes round half the way at most; or it is negative, and nothing is added to that."""
    if scan.dtype not in rounds.SIGNED:
        return False
    half = 1 << bits_of(scan.dtype) - 1
    return scan.most * rounds.iterations(found, (scope,)) <= half or rounds.leaves(
        found, scan.before.scopes, scan.under, affine.unknown(scan.before)
    )


def _greater_in_b(scan: Scan, a: Access) -> Constraint:
    rise = scan.rise if scan.rise and scan.name in a.raised else {}
    return affine.at_least(second(scan.before), affine.add(affine.unknown(scan.before), rise))


def _greater_in_a(scan: Scan, b: Access) -> Constraint:
    rise = _second(scan.rise) if scan.rise and scan.name in b.raised else {}
    return affine.at_least(affine.unknown(scan.before), affine.add(second(scan.before), rise))


def _second(poly: Poly) -> Poly:
    return {tuple(-1 - atom for atom in monomial): c for monomial, c in poly.items()}


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
