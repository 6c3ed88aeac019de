"""Indices that cannot wrap although nothing bounds them: they would leave the array first, step by step.

Where loops with counts of their own run in full around an access, its index goes from element to element in steps that
are known: from one iteration to the next of one loop by the slope in that loop's index. If it starts inside the type,
and no step is longer than half of the width, it cannot come round to the array again without an iteration in which
it is outside, which is an error of the program, of whose results nothing is promised.
"""

from __future__ import annotations

from ..artifact.abi import ELEMENTS
from ..ir import tree as t
from . import affine
from .affine import Atom, Poly
from .ranges import Ranges
from .symbolic_state import State


def never_wraps(walk: State, poly: Poly, bits: int) -> bool:
    """May the walk, at an access to an array, take this index, known modulo 2 ** bits, to be the polynomial?"""
    if not _in_every_iteration(walk):
        return False
    atoms, ranges = walk.found.atoms, walk.ranges
    bound = {a for a in affine.atoms_of([poly]) if atoms[a].scopes}
    if not bound <= {atom.id for scope in walk.scopes for atom in scope.indices}:
        return False
    half = 1 << bits - 1
    waiting = sorted(bound)
    reached: list[Poly] = []
    if not ranges.within(_without(poly, waiting), -half, half - 1):
        return False
    while waiting:
        for number in waiting:
            step = affine.slope(poly, number)
            step = None if step is None else _without(step, waiting)
            if step is not None and _at_most(ranges, step, half, reached):
                break
        else:
            return False
        waiting.remove(number)
        reached.append(_last(_without(poly, waiting), atoms))
    return True


def _in_every_iteration(walk: State) -> bool:
    """Does the access happen in every iteration of the loops around it, whose counts do not depend on each other?"""
    if walk.returned or not all(c.always or not c.varies.intersection(walk.scopes) for c in walk.conditions):
        return False
    for scope in walk.scopes:
        if not scope.indices or not all(_counts_alone(atom, walk.found.atoms) for atom in scope.indices):
            return False
    leaving = (t.Break, t.Continue, t.While)
    return bool(walk.scopes) and not any(isinstance(node, leaving) for node in t.walk(walk.scopes[0].node))


def _counts_alone(atom: Atom, atoms: dict[int, Atom]) -> bool:
    alone = atom.below is not None and affine.constant_of(atom.every) == 1
    return alone and not any(atoms[a].scopes for a in affine.atoms_of([atom.below or {}]))


def _at_most(ranges: Ranges, step: Poly, half: int, reached: list[Poly]) -> bool:
    """The step is no longer than half of the width, by itself or because elements of the array are as far apart."""
    if ranges.least(step) < -half:
        return False
    return ranges.most(step) <= half or any(
        ranges.most(affine.add(step, element, -1)) + ELEMENTS <= half for element in reached
    )


def _without(poly: Poly, indices: list[int]) -> Poly:
    return {monomial: c for monomial, c in poly.items() if not any(a in indices for a in monomial)}


def _last(poly: Poly, atoms: dict[int, Atom]) -> Poly:
    """In the last iteration of every loop."""
    for number in affine.atoms_of([poly]):
        below = atoms[number].below
        if atoms[number].scopes:
            assert below is not None  # see `_counts_alone`
            poly = affine.substitute(poly, number, affine.add(below, affine.constant(1), -1))
    return poly
