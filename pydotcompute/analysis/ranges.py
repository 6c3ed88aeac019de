"""What an integer can be: bounds of polynomials from what is known of their unknowns, and whether index arithmetic
stays within its type.

No array of a call has ELEMENTS elements, so that neither a dimension of one nor a product of its dimensions reaches
that (dimensions of 0 left out).
"""

from __future__ import annotations

import itertools
from typing import Iterable, Mapping

from ..artifact.abi import ELEMENTS
from . import affine
from .affine import Atom, Constraint, Monomial, Poly

LEAST, MOST = -(1 << 63), (1 << 64) - 1  # of any integer type
_BITS = {f"{prefix}int{bits}": bits for prefix in ("", "u") for bits in (8, 16, 32, 64)}


def is_integer(dtype: str) -> bool:
    return dtype in _BITS


def bits_of(dtype: str) -> int:
    return _BITS[dtype]


def of_type(dtype: str) -> tuple[int, int]:
    """The least and the greatest value of a dtype; of what is no integer, of all of them."""
    if dtype == "bool":
        return 0, 1
    if dtype not in _BITS:
        return LEAST, MOST
    bits = _BITS[dtype]
    return (0, (1 << bits) - 1) if dtype.startswith("u") else (-(1 << bits - 1), (1 << bits - 1) - 1)


class Ranges:
    """Bounds of polynomials over these unknowns."""

    def __init__(self, atoms: Mapping[int, Atom]):
        self.atoms = atoms
        self.products: set[Monomial] = set()  # of dimensions of one array: less than ELEMENTS

    def exists(self, extents: Iterable[Poly | None]) -> None:
        """There is an array with these dimensions."""
        size: Poly = affine.constant(1)
        for extent in extents:
            if extent is None:
                return
            size = affine.multiply(size, extent)
        if any(coefficient < 0 for coefficient in size.values()):
            return
        for monomial in size:
            for count in range(1, len(monomial) + 1):
                self.products.update(itertools.combinations(monomial, count))
        for monomial in self.products:
            if len(monomial) == 1:
                self.atoms[monomial[0]].most = min(self.atoms[monomial[0]].most, ELEMENTS)

    def most(self, poly: Poly) -> int:
        """A number that it does not exceed."""
        return min(self._most(poly), max(map(self._most, self._at_the_ends(poly))))

    def least(self, poly: Poly) -> int:
        return -self.most({monomial: -c for monomial, c in poly.items()})

    def within(self, poly: Poly, least: int, most: int) -> bool:
        return self.most(poly) <= most and self.least(poly) >= least

    def _at_the_ends(self, poly: Poly) -> list[Poly]:
        """With each index of a loop where the polynomial is greatest: at its last value, or at its first; the greatest
        of these is meant."""
        found = [poly]
        for number in sorted(affine.atoms_of([poly]), reverse=True):  # inner loops first: their ends have outer indices
            found = [end for each in found for end in self._at_end(each, number)]
        return found

    def _at_end(self, poly: Poly, number: int) -> list[Poly]:
        atom = self.atoms[number]
        if atom.below is None and not atom.ends or not (slope := affine.slope(poly, number)):
            return [poly]
        rises = self._natural(slope)
        if not rises and not self._natural(affine.add({}, slope, -1)):
            return [poly]
        if atom.ends:
            return [affine.substitute(poly, number, end) for end in atom.ends[rises]]
        first = affine.substitute(poly, number, {})
        if not rises or atom.below is None:
            return [first]
        each = affine.divided(slope, atom.every)
        if each is None or not self._natural(each):
            return [poly]
        return [affine.add(first, affine.multiply(each, affine.add(atom.below, affine.constant(1), -1)))]

    def _natural(self, poly: Poly) -> bool:
        """A sum of products of numbers that are known to be at least 0."""
        return all(c > 0 and all(self.atoms[a].natural for a in m) for m, c in poly.items())

    def _most(self, poly: Poly) -> int:
        return sum(max(c * bound for bound in self._bounds(monomial)) for monomial, c in poly.items())

    def _bounds(self, monomial: Monomial) -> tuple[int, int]:
        low = high = 1
        for number in monomial:
            atom = self.atoms[number]
            ends = [a * b for a in (low, high) for b in (max(atom.least, 0) if atom.natural else atom.least, atom.most)]
            low, high = min(ends), max(ends)
        return low, min(high, ELEMENTS) if monomial in self.products else high

    def facts(self, constraints: list[Constraint]) -> list[Constraint]:
        """What the ranges say of the unknowns and products in these constraints."""
        found: list[Constraint] = []
        monomials: set[Monomial] = set()
        seen: set[int] = set()
        waiting = list(constraints)
        for constraint in waiting:
            for poly in constraint.polys():
                monomials.update(poly)
                for number in affine.atoms_of([poly]) - seen:
                    waiting += self.atoms[number].facts if len(seen) < affine.MOST_UNKNOWNS else ()
                    seen.add(number)
        for monomial in {m for m in monomials if len(m) > 1} | {(a,) for a in seen}:
            low, high = self._bounds(monomial)
            if len(monomial) == 1 or monomial in self.products:
                found.append(affine.at_least(affine.constant(high), {monomial: 1}))
                found.append(affine.at_least({monomial: 1}, affine.constant(low)))
        return found


def widens(source: str, target: str) -> bool:
    """Every value of the one integer type is a value of the other."""
    if not (source.startswith(("int", "uint")) and target.startswith(("int", "uint"))):
        return False
    from_bits, to_bits = (int(name.lstrip("uint")) for name in (source, target))
    if source.startswith("u") == target.startswith("u"):
        return from_bits <= to_bits
    return source.startswith("u") and from_bits < to_bits
