"""The race rules of parallel loops: what would mean something else in another order is refused.

In a parallel loop (`grid`, `blocks`, `threads`; for `blocks` the `threads` loops in it belong to its iterations)
- an array that is written may be read only if each iteration provably touches its own elements alone;
- an array that atomics update is not otherwise read or written, nor by atomics of another kind where they may meet;
- two iterations that certainly store different values to one element, at indices that follow from the loop indices
  alone (`out[0] = x[i]`), are refused. Where the index or a condition around it depends on data, or nothing can be
  said, a store is allowed, and which value stays is unspecified. Storing the same value from all is allowed;
- an element of a private array is touched only at exactly the indices of the enclosing `threads` loop.
Shared arrays are a block's own and local ones an iteration's; a barrier separates two `threads` loops of a block.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Iterator

from ..errors import DeclarationError, Position
from . import affine, tree as t
from .accesses import Access, Accesses, Scope, collect, may_meet, other_iteration
from .affine import Poly
from .aliases import alias_pairs

_OWN = "let each iteration touch only its own elements, write to another array, or use a reduction or an atomic"
_ONE = "use a reduction, an atomic, or an element for each iteration"


def check(tree: t.KernelTree) -> t.KernelTree:
    """The tree with its alias pairs; DeclarationError, naming the array and both lines, for a race."""
    found = collect(tree)
    _private(tree, found)
    for scope in found.parallels:
        _loop(tree, found, scope)
    return dataclasses.replace(tree, aliases=alias_pairs(tree, found))


def _loop(tree: t.KernelTree, found: Accesses, scope: Scope) -> None:
    own = {"grid": ("local",), "blocks": ("shared", "private", "local"), "threads": ("private", "local")}[scope.kind]
    accesses: dict[str, list[Access]] = {}
    for access in found.all:
        made = tree.arrays.get(access.array)
        if access.within(scope) and not (made and made.kind in own):
            accesses.setdefault(access.array, []).append(access)
    for group in accesses.values():
        loads, stores, atomics = ([a for a in group if a.kind == kind] for kind in ("load", "store", "atomic"))
        if atomics:
            _atomics(found, scope, atomics, loads + stores)
        for load in loads:
            for store in stores:
                if _between_iterations(found, scope, store, load):
                    raise DeclarationError(
                        f"`{load.array}` is read here, and another iteration of `{scope.kind}` may write the same "
                        f"element {_line(store.at, load.at)}",
                        load.at,
                        _OWN,
                    )
        for a, b in itertools.combinations_with_replacement(stores, 2):
            if _differ(scope, a, b) and _certainly_meet(found, scope, a, b):
                other = "" if a is b else f", here and {_line(a.at, b.at)}"
                raise DeclarationError(
                    f"iterations of `{scope.kind}` store different values to the same element of `{a.array}`{other}",
                    b.at,
                    _ONE,
                )


def _line(at: Position | None, seen_from: Position | None) -> str:
    if at is None or seen_from is None or at.path == seen_from.path:
        same = at is not None and seen_from is not None and at.line == seen_from.line
        return "on this line" if same else f"on line {at.line if at else '?'}"
    return f"in {at.path}:{at.line}"


def _outer(scope: Scope, access: Access) -> tuple[Scope, ...]:
    return access.scopes[: access.scopes.index(scope)]


def _between_iterations(found: Accesses, scope: Scope, a: Access, b: Access) -> bool:
    """May an iteration of the loop do `a` and another one `b` on the same element?"""
    if _plainly_apart(found, scope, a, b):
        return False
    return may_meet(found, a, b, _outer(scope, a), other_iteration(scope))


def _plainly_apart(found: Accesses, scope: Scope, a: Access, b: Access) -> bool:
    """The quick answer for the common case, coordinates like c · i + d: those of different iterations differ, or the
    coordinates together allow one iteration only."""
    one = set()
    for x, y in zip(a.indices, b.indices):
        bound = [n for n in affine.atoms_of((x, y)) if scope in found.atoms[n].scopes]
        if len(bound) != 1 or found.atoms[bound[0]] not in scope.indices:
            continue
        index = (bound[0],)
        difference = affine.constant_of(affine.add(x, y, -1))
        if difference is None or any(bound[0] in monomial for monomial in x if monomial != index):
            continue
        if difference % x[index]:
            return True
        if difference == 0:
            one.add(bound[0])
    return one == {atom.id for atom in scope.indices}


# -------------------------------------------------------------------------------------------------- atomics


def _atomics(found: Accesses, scope: Scope, atomics: list[Access], others: list[Access]) -> None:
    first = atomics[0]
    if others:
        other = min(others, key=lambda access: access.number)
        done = "read" if other.kind == "load" else "written"
        raise DeclarationError(
            f"`{other.array}` is {done} here, and updated by `atomic_{first.op}` {_line(first.at, other.at)} "
            f"in the same `{scope.kind}` loop",
            other.at,
            "an array that atomics update is not otherwise read or written in that loop",
        )
    for other in atomics:
        if other.op != first.op and may_meet(found, first, other, _outer(scope, first), [[[]]]):
            raise DeclarationError(
                f"`{other.array}` is updated by `atomic_{other.op}` here and by `atomic_{first.op}` "
                f"{_line(first.at, other.at)}, in any order",
                other.at,
                "use one kind of atomic for an element in a loop",
            )


# --------------------------------------------------------------------------------------------- store and store


def _differ(scope: Scope, a: Access, b: Access) -> bool:
    """May the two store different values, apart from what one iteration stores twice?"""
    if a.literal is not None and b.literal is not None:
        return a.literal != b.literal
    return a is not b or scope in a.value.varies


def _certainly_meet(found: Accesses, scope: Scope, a: Access, b: Access) -> bool:
    """Do two iterations certainly store to one element, given that the loops run more than once? Looked for among
    neighbours: indices that are one more or one less."""
    if not (a.certain and b.certain and _between_iterations(found, scope, a, b)):
        return False
    conditions = {*a.conditions, *b.conditions} if a is b else {*a.conditions}
    bound, equations = set(), []
    waiting = [*a.indices, *(poly for c in conditions for poly in c.polys()), *map(affine.unknown, scope.indices)]
    while waiting:
        for number in affine.atoms_of([waiting.pop()]) - bound:
            atom = found.atoms[number]
            if scope not in atom.scopes:
                continue
            if atom.data or atom.hidden:
                return False
            bound.add(number)
            conditions |= {*atom.facts}
            waiting += [poly for fact in atom.facts for poly in fact.polys()]
    if len(bound) > 6 or any(len(c.alternatives) != 1 for c in conditions):
        return False
    equations = [poly for c in conditions for relation, poly in c.alternatives[0] if relation == "=="]
    own = {atom.id for atom in scope.indices}
    if a is not b and (bound - own or b.conditions):
        return False
    return any(
        all(_moved(p, by) == q for p, q in zip(a.indices, b.indices)) and all(_moved(p, by) == p for p in equations)
        for by in _neighbours(sorted(bound), own)
    )


def _neighbours(atoms: list[int], own: set[int]) -> Iterator[dict[int, int]]:
    for steps in itertools.product((0, 1, -1), repeat=len(atoms)):
        moved = {atom: step for atom, step in zip(atoms, steps) if step}
        if own & moved.keys():
            yield moved


def _moved(poly: Poly, by: dict[int, int]) -> Poly:
    for atom, step in by.items():
        poly = affine.substitute(poly, atom, affine.add({(atom,): 1}, affine.constant(step)))
    return poly


# ------------------------------------------------------------------------------------------------ private arrays


def _private(tree: t.KernelTree, found: Accesses) -> None:
    for access in found.all:
        made = tree.arrays.get(access.array)
        if not made or made.kind != "private":
            continue
        threads = access.threads
        if threads is None:
            raise DeclarationError(
                f"`{access.array}` is private, and used outside `threads` here", access.at, "make it shared"
            )
        if access.indices != tuple(map(affine.unknown, threads.indices)):
            wanted = ", ".join(threads.node.names)
            raise DeclarationError(
                f"`{access.array}` is private, and used at other indices than [{wanted}] here",
                access.at,
                "an element of a private array belongs to one iteration of `threads`; make it shared to exchange",
            )
