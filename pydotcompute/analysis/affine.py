"""Integer polynomials over named unknowns, and a prover: can these equations and inequalities hold at once?

An unknown (`Atom`) is a loop index, a dimension, a scalar, or a value that the analysis does not look into. Index
expressions are affine in loop indices; their coefficients may be dimensions (`i * cols + c`), so polynomials.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Callable, Hashable, Iterable, Iterator, Mapping

from .feasible import contradictory

Monomial = tuple[int, ...]  # the ids of its atoms, sorted; () is the constant
Poly = Mapping[Monomial, int]

_SPLITS = 6  # at most so many "or" are looked into; the others are left out, which proves less, never more
MOST_UNKNOWNS = 100  # whose facts are looked into, the nearest first; likewise: kernels have some ten in one question


@dataclass(eq=False)
class Atom:
    """`facts` hold of it wherever it stands. `scopes`: the loops, outermost first, in which it has one value."""

    id: int
    name: str
    scopes: tuple[Any, ...] = ()  # accesses.Scope, which builds on this
    natural: bool = False  # known to be at least 0
    least: int = -(1 << 63)  # what it can be at least and at most, whatever `facts` say
    most: int = (1 << 64) - 1
    index: bool = False  # counts: of a loop, or the quotient or rest of a division
    below: Poly | None = None  # of the index of a loop, which starts from 0: what `every` times it stays below
    every: Poly = field(default_factory=lambda: {(): 1})
    ends: tuple[tuple[Poly, ...], ...] = ()  # of one that goes nobody knows which way: the least it can be, the most
    turns: bool = False  # arithmetic that may wrap, of which `facts` say how
    facts: list[Constraint] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Constraint:
    """One of `alternatives` holds; each is a conjunction of (relation, poly): poly ">=" 0 or poly "==" 0."""

    alternatives: tuple[tuple[tuple[str, Poly], ...], ...]

    @cached_property
    def atoms(self) -> frozenset[int]:
        return frozenset(atoms_of(self.polys()))

    def polys(self) -> Iterator[Poly]:
        return (poly for alternative in self.alternatives for _, poly in alternative)

    @cached_property  # systems are put together from the same constraints again and again
    def key(self) -> Hashable:
        return frozenset(
            frozenset((relation, frozenset(poly.items())) for relation, poly in each) for each in self.alternatives
        )

    def mapped(self, change: Callable[[Poly], Poly]) -> Constraint:
        return Constraint(
            tuple(tuple((relation, change(poly)) for relation, poly in each) for each in self.alternatives)
        )


def constant(value: int) -> Poly:
    return {(): value} if value else {}


def unknown(atom: Atom) -> Poly:
    return {(atom.id,): 1}


def add(a: Poly, b: Poly, factor: int = 1) -> Poly:
    """a + factor · b."""
    total = dict(a)
    for monomial, coefficient in b.items():
        total[monomial] = total.get(monomial, 0) + factor * coefficient
    return {monomial: coefficient for monomial, coefficient in total.items() if coefficient}


def multiply(a: Poly, b: Poly) -> Poly:
    total: dict[Monomial, int] = {}
    for (m, c), (n, d) in itertools.product(a.items(), b.items()):
        key = tuple(sorted(m + n))
        total[key] = total.get(key, 0) + c * d
    return {monomial: coefficient for monomial, coefficient in total.items() if coefficient}


def divided(a: Poly, b: Poly) -> Poly | None:
    """The polynomial that times b is a, if there is one."""
    lead = max(b, key=lambda m: (len(m), m))
    rest = dict(a)
    quotient: dict[Monomial, int] = {}
    while rest:
        first = max(rest, key=lambda m: (len(m), m))
        left = list(first)
        for atom in lead:
            if atom not in left:
                return None
            left.remove(atom)
        if rest[first] % b[lead]:
            return None
        term: Poly = {tuple(left): rest[first] // b[lead]}
        quotient.update(term)
        rest = dict(add(rest, multiply(b, term), -1))
    return quotient


def degree(a: Poly) -> int:
    return max(map(len, a), default=0)


def constant_of(a: Poly) -> int | None:
    """The value of a polynomial without unknowns, else None."""
    return a.get((), 0) if all(monomial == () for monomial in a) else None


def atoms_of(polys: Iterable[Poly]) -> set[int]:
    return {atom for poly in polys for monomial in poly for atom in monomial}


def substitute(poly: Poly, atom: int, by: Poly) -> Poly:
    for monomial in poly:  # no generator: this is asked more often than anything else of a prover
        if atom in monomial:
            break
    else:
        return poly
    total: Poly = {monomial: coefficient for monomial, coefficient in poly.items() if atom not in monomial}
    for monomial, coefficient in poly.items():
        if atom not in monomial:
            continue
        term: Poly = {tuple(a for a in monomial if a != atom): coefficient}
        for _ in range(monomial.count(atom)):
            term = multiply(term, by)
        total = add(total, term)
    return total


def slope(poly: Poly, atom: int) -> Poly | None:
    """What a polynomial grows by when an unknown does by 1; None where that depends on the unknown."""
    if any(monomial.count(atom) > 1 for monomial in poly):
        return None
    return {tuple(a for a in monomial if a != atom): c for monomial, c in poly.items() if atom in monomial}


def at_least(a: Poly, b: Poly) -> Constraint:
    """a ≥ b."""
    return Constraint(((((">=", add(a, b, -1))),),))


def between(poly: Poly, least: int, most: int) -> tuple[Constraint, Constraint]:
    return at_least(poly, constant(least)), at_least(constant(most), poly)


def equal(a: Poly, b: Poly) -> Constraint:
    return Constraint(((("==", add(a, b, -1)),),))


def unequal(a: Poly, b: Poly) -> Constraint:
    difference = add(add(a, b, -1), constant(1), -1)
    return Constraint((((">=", difference),), ((">=", add(add(b, a, -1), constant(1), -1)),)))


def either(*groups: Iterable[Constraint]) -> Constraint | None:
    """All constraints of one of the groups; None where that says nothing or would have too many cases."""
    alternatives = []
    for group in groups:
        cases = list(itertools.product(*(constraint.alternatives for constraint in group)))
        alternatives += [tuple(itertools.chain(*case)) for case in cases]
    return None if any(not case for case in alternatives) or len(alternatives) > 8 else Constraint(tuple(alternatives))


def impossible(constraints: Iterable[Constraint], atoms: Mapping[int, Atom]) -> bool:
    """True if no integers satisfy all constraints and the facts of the atoms in them. False: some may."""
    system: dict[Hashable, Constraint] = {}
    seen: set[int] = set()
    waiting = list(constraints)
    for constraint in waiting:
        system.setdefault(constraint.key, constraint)
        for atom in constraint.atoms - seen:
            waiting += atoms[atom].facts if len(seen) < MOST_UNKNOWNS else ()
            seen.add(atom)
            if atoms[atom].natural:
                waiting.append(at_least({(atom,): 1}, {}))
    simple = [literal for c in system.values() if len(c.alternatives) == 1 for literal in c.alternatives[0]]
    splits = [c for c in system.values() if len(c.alternatives) != 1][:_SPLITS]
    return _refuted(simple, splits, {atom for atom in seen if not atoms[atom].index})


def _refuted(literals: list[tuple[str, Poly]], splits: list[Constraint], factors: set[int]) -> bool:
    if _contradiction(literals, factors):
        return True
    if not splits:
        return False
    return all(_refuted(literals + list(case), splits[1:], factors) for case in splits[0].alternatives)


def _contradiction(literals: list[tuple[str, Poly]], factors: set[int]) -> bool:
    return _decided(tuple((relation, tuple(poly.items())) for relation, poly in literals), frozenset(factors))


@lru_cache(1024)  # the specialisations of a kernel ask the same, atom by atom
def _decided(literals: tuple[tuple[str, tuple[tuple[Monomial, int], ...]], ...], factors: frozenset[int]) -> bool:
    """Equations are used up first, by substitution; then the rest, linear over its monomials, goes to the simplex."""
    equations: list[Poly] = [dict(poly) for relation, poly in literals if relation == "=="]
    inequalities: list[Poly] = [dict(poly) for relation, poly in literals if relation == ">="]
    while True:
        if any(_no_integers(poly) for poly in equations):
            return True
        found = next(((poly, atom) for poly in equations for atom in _solvable(poly)), None)
        if found is None:
            break
        poly, atom = found
        coefficient = poly[(atom,)]
        by = {monomial: -coefficient * c for monomial, c in poly.items() if monomial != (atom,)}
        equations = [substitute(p, atom, by) for p in equations if p is not poly]
        inequalities = [substitute(p, atom, by) for p in inequalities]
    inequalities += [p for poly in equations for p in (poly, {m: -c for m, c in poly.items()})]
    tight = [_tightened(poly) for poly in inequalities]
    if any((value := constant_of(poly)) is not None and value < 0 for poly in tight):
        return True
    tight = [poly for poly in tight if constant_of(poly) is None]
    return contradictory(tight + _products(tight, factors))


def _solvable(poly: Poly) -> Iterator[int]:
    for monomial, coefficient in poly.items():
        alone = len(monomial) == 1 and abs(coefficient) == 1
        if alone and sum(monomial[0] in other for other in poly) == 1:
            yield monomial[0]


def _no_integers(equation: Poly) -> bool:
    """An equation like 2a - 2b = 1: the common divisor of the coefficients does not divide the constant."""
    divisor = math.gcd(*(c for monomial, c in equation.items() if monomial))
    rest = equation.get((), 0)
    return rest % divisor != 0 if divisor else rest != 0


def _tightened(poly: Poly) -> Poly:
    """2a - 1 ≥ 0 as a - 1 ≥ 0."""
    divisor = math.gcd(*(c for monomial, c in poly.items() if monomial))
    return poly if divisor < 2 else {m: c // divisor for m, c in poly.items() if c // divisor}


def _products(inequalities: list[Poly], factors: frozenset[int]) -> list[Poly]:
    """The linear inequalities times what stands before loop indices, if it is known to be natural: with 0 ≤ n,
    i + 1 ≤ j gives i · n + n ≤ j · n."""
    naturals = {m[0] for poly in inequalities for m in poly if len(m) == 1 and m[0] in factors and _natural(poly, m)}
    found = set()
    for monomial in {m for poly in inequalities for m in poly if len(m) > 1 and not naturals.issuperset(m)}:
        for size in range(1, len(monomial)):
            found |= {f for f in itertools.combinations(monomial, size) if naturals.issuperset(f)}
    if len(found) > 7:
        return []
    linear = [poly for poly in inequalities if degree(poly) == 1]
    return [multiply(poly, {factor: 1}) for factor in sorted(found) for poly in linear]


def _natural(poly: Poly, unknown: Monomial) -> bool:
    """The inequality says that this unknown is at least 0, or more."""
    return poly.keys() <= {(), unknown} and poly[unknown] > 0 and poly.get((), 0) <= 0
