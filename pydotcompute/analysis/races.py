"""The race rules of parallel loops: what would mean something else in another order is refused.

In a parallel loop (`grid`, `blocks`, `threads`; for `blocks` the `threads` loops in it belong to its iterations)
- an array that is written may be read only if each iteration provably touches its own elements alone;
- a store must be proved to hit another element in each iteration, and none that another store of the loop hits in
  another iteration, or to store the same value from all;
- an array that atomics update or that `scatter` stores into is not otherwise read or written, nor updated by atomics of
  another kind where they may meet;
- an element of a private array is touched only at exactly the indices of the enclosing `threads` loop.
Shared arrays are a block's own and local ones an iteration's; a barrier separates two `threads` loops of a block.
"""

from __future__ import annotations

import dataclasses
import itertools

from ..errors import DeclarationError, Position
from ..ir import tree as t
from . import affine, counts, distinct, inside, ways_out
from .accesses import ANYHOW, Access, Accesses, Scope, may_meet, other_iteration
from .aliases import alias_pairs


def check(tree: t.KernelTree) -> t.KernelTree:
    """The tree with its alias pairs, and with the indices marked that are proved to be inside (see `inside`);
    DeclarationError, naming the array and both lines, for a race."""
    marked, found = inside.walked(tree)
    _private(tree, found)
    for scope in found.parallels:
        _loop(tree, found, scope)
    return dataclasses.replace(marked, aliases=alias_pairs(tree, found))


def _loop(tree: t.KernelTree, found: Accesses, scope: Scope) -> None:
    own = {"grid": ("local",), "blocks": ("shared", "private", "local"), "threads": ("private", "local")}[scope.kind]
    accesses: dict[str, list[Access]] = {}
    for access in found.all:
        made = tree.arrays.get(access.array)
        if access.within(scope) and not (made and made.kind in own):
            accesses.setdefault(access.array, []).append(access)
    for group in accesses.values():
        of = {kind: [a for a in group if a.kind == kind] for kind in ("load", "store", "atomic", "scatter")}
        loads, stores = of["load"], of["store"]
        _alone(found, scope, of["atomic"], loads + stores + of["scatter"])
        _alone(found, scope, of["scatter"], loads + stores)
        if group[0].array in tree.disjoint:
            continue
        for load in loads:
            for store in stores:
                if not _proved_apart(found, scope, store, load):
                    raise DeclarationError(
                        f"`{load.array}` is read here, and another iteration of `{scope.kind}` may write the same "
                        f"element {_line(store.at, load.at)}",
                        load.at,
                        ways_out.of_read(tree, found, scope, load, store),
                    )
        for a, b in itertools.combinations_with_replacement(stores, 2):
            if not _same_value(scope, a, b) and not _proved_apart(found, scope, a, b):
                other = "" if a is b else f", here and {_line(a.at, b.at)}"
                raise DeclarationError(
                    f"iterations of `{scope.kind}` may store different values to the same element of "
                    f"`{a.array}`{other}",
                    b.at,
                    ways_out.of_stores(tree, found, b),
                )


def apart_in_turns(tree: t.KernelTree, found: Accesses, loop: t.For) -> bool:
    """Is it proved that no turn of a loop over a range touches an element that another one writes?"""
    scope = next((scope for access in found.all for scope in access.scopes if scope.node is loop), None)
    accesses = [access for access in found.all if scope in access.scopes]
    stores = [access for access in accesses if access.kind != "load"]
    return scope is not None and all(
        _proved_apart(found, scope, store, other)
        for store in stores
        for other in accesses
        if other.array == store.array or {(store.array, other.array), (other.array, store.array)} & tree.aliases
    )


def apart_anyhow(found: Accesses, scope: Scope, a: Access, b: Access) -> bool:
    """Is it proved that `a` and `b` touch different elements, in whatever turns of a loop that both are in?"""
    return not may_meet(found, a, b, _outer(scope, a), [ANYHOW])


def _line(at: Position | None, seen_from: Position | None) -> str:
    if at is None or seen_from is None or at.path == seen_from.path:
        same = at is not None and seen_from is not None and at.line == seen_from.line
        return "on this line" if same else f"on line {at.line if at else '?'}"
    return f"in {at.path}:{at.line}"


def _outer(scope: Scope, access: Access) -> tuple[Scope, ...]:
    return access.scopes[: access.scopes.index(scope)]


def _proved_apart(found: Accesses, scope: Scope, a: Access, b: Access) -> bool:
    """Is it proved that no iteration of the loop does `a` on an element on which another one does `b`?"""
    if _plainly_apart(found, scope, a, b) or distinct.apart(found, scope, a, b):
        return True
    ways = [*other_iteration(scope), *counts.in_order(found, scope, a, b)]
    return not may_meet(found, a, b, _outer(scope, a), ways)


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


def _same_value(scope: Scope, a: Access, b: Access) -> bool:
    """Do all iterations, and all passes through loops in them, store one value?"""
    if a.literal is not None and b.literal is not None:
        return a.literal == b.literal
    assert a.value is not None
    return a is b and not any(inner in a.value.varies for inner in a.scopes[a.scopes.index(scope) :])


# ------------------------------------------------------------------------------------------- atomics and scatter

_DONE = {"load": "read", "store": "written"}


def _alone(found: Accesses, scope: Scope, updates: list[Access], others: list[Access]) -> None:
    """`updates`, atomics or scatters, are all that touches their array in the loop; atomics of one kind where they may
    meet."""
    if updates and others:
        first, other = updates[0], min(others, key=lambda access: access.number)
        done = _DONE.get(other.kind) or f"updated by `{_name(other)}`"
        raise DeclarationError(
            f"`{other.array}` is {done} here, and updated by `{_name(first)}` {_line(first.at, other.at)} "
            f"in the same `{scope.kind}` loop",
            other.at,
            f"an array that {'`scatter` stores into' if first.kind == 'scatter' else 'atomics update'} is not "
            "otherwise read or written in that loop: use another array for one of the two",
        )
    for a, b in itertools.combinations(updates, 2):
        if a.op != b.op and may_meet(found, a, b, _outer(scope, a), [ANYHOW]):
            raise DeclarationError(
                f"`{b.array}` is updated by `{_name(b)}` here and by `{_name(a)}` {_line(a.at, b.at)}, in any order",
                b.at,
                "use one kind of atomic for an element in a loop",
            )


def _name(access: Access) -> str:
    return f"atomic_{access.op}" if access.kind == "atomic" else access.kind


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
        if access.indices != threads.values:
            assert isinstance(threads.node, t.Parallel)
            wanted = ", ".join(threads.node.names)
            raise DeclarationError(
                f"`{access.array}` is private, and used at other indices than [{wanted}] here",
                access.at,
                "an element of a private array belongs to one iteration of `threads`; make it shared to exchange",
            )
