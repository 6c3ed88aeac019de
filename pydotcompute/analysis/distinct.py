"""Values that are handed out once. `k = atomic_add(count, c)`, for a constant c of at least 1, where nothing else
changes that element in the loop, gives each iteration another k: stores at `out[k]` hit different elements. A count
would have to wrap around to repeat a value, see `rounds`.
"""

from __future__ import annotations

from . import affine, rounds
from .accesses import Access, Accesses, Scope
from .affine import Poly
from .ranges import bits_of


def apart(found: Accesses, scope: Scope, a: Access, b: Access) -> bool:
    """Do `a` and `b` touch different elements in different iterations, by a value that is handed out once?"""
    for x, y in zip(a.indices, b.indices):
        for first in _counts(found, scope, x):
            for second in _counts(found, scope, y):
                if _same_form(found, scope, x, first, y, second) and _one_element(found, scope, a, first, b, second):
                    return True
    return False


def is_short(found: Accesses, access: Access) -> bool:
    """Is the access at a count of 32 bits?"""
    atoms = affine.atoms_of(access.indices)
    return any(a.result in atoms and a.literal is not None and a.literal.type == "int32" for a in found.all)


def _counts(found: Accesses, scope: Scope, index: Poly) -> list[Access]:
    """The atomics whose values stand in an index."""
    atoms = affine.atoms_of((index,))
    return [access for access in found.all if access.result in atoms and _rises(found, scope, access)]


def _rises(found: Accesses, scope: Scope, count: Access) -> bool:
    """Whether the element goes up whenever somebody takes a value of it in the loop, and never otherwise, and not so
    often that one comes again."""
    if scope.kind == "blocks" and count.array in found.made:
        return False  # each block has a count of its own
    own = [access for access in found.all if access.array == count.array and access.within(scope)]
    total = 0
    for access in own:
        if access.kind != "atomic" or access.op != "add" or access.literal is None or access.literal.whole < 1:
            return False
        total += access.literal.whole * rounds.iterations(found, access.scopes[access.scopes.index(scope) :])
    dtype = count.literal.type if count.literal else ""
    return dtype in rounds.SIGNED and (
        total < 1 << bits_of(dtype)
        or all(
            each.result is not None
            and rounds.leaves(found, each.scopes, each.under, affine.unknown(found.atoms[each.result]))
            for each in own
        )
    )


def _same_form(found: Accesses, scope: Scope, x: Poly, first: Access, y: Poly, second: Access) -> bool:
    """c · k + d and c · k' + d, where d is the same in all iterations."""
    assert first.result is not None and second.result is not None
    rest = affine.add(x, {(first.result,): x.get((first.result,), 0)}, -1)
    other = affine.add(y, {(second.result,): y.get((second.result,), 0)}, -1)
    fixed = not any(scope in found.atoms[atom].scopes for atom in affine.atoms_of((rest,)))
    slope = x.get((first.result,), 0)
    return bool(slope) and slope == y.get((second.result,), 0) and rest == other and fixed


def _one_element(found: Accesses, scope: Scope, a: Access, first: Access, b: Access, second: Access) -> bool:
    """Whether both values come from one element, or else `a` and `b` differ in another index: that of the element is
    either the same in all iterations, or an index of theirs at the same place."""
    if first.array != second.array:
        return False
    for p, q in zip(first.indices, second.indices):
        fixed = not any(scope in found.atoms[atom].scopes for atom in affine.atoms_of((p, q)))
        if not (fixed and p == q) and not any(p == x and q == y for x, y in zip(a.indices, b.indices)):
            return False
    return True
