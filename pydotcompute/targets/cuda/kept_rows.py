"""Rows that stay in registers: what several loops over the threads read of the same elements is read once, and what one
of them stores is kept for those that come later, which alone write it to memory where they store there too.

An element belongs to one thread in every such loop. Its loops wait for memory once, not once each; and where the rows
that are under way are together larger than a GPU's caches, as they are from some hundred elements a warp on, a second
reading would come from memory again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ...artifact.signature import DTYPE_BYTES
from ...ir.names import with_values
from ...ir.tree import (
    Access,
    ArrayName,
    BoolOp,
    Break,
    Continue,
    Expr,
    For,
    If,
    KernelTree,
    Load,
    NewArray,
    Node,
    Parallel,
    Reduce,
    Return,
    Select,
    Stmt,
    Store,
    Var,
    While,
    children,
    rebuilt,
    walk,
)
from ..geometry import assigned

BYTES = 128  # of a row, in a thread's registers
LEAST = 8  # elements of a row in a thread that are worth it
ELEMENT = "the element"  # in place of the index of any loop: no user could write it

Place = tuple[str, tuple[Expr, ...]]  # an array and indices, in which ELEMENT is the loop's


@dataclass(frozen=True)
class Met:
    """Where a loop, the k-th statement, meets an array, in the order in which an iteration does."""

    loop: int
    access: Access
    place: Place | None  # None: it is not the loop's own element of a row that stays the same
    always: bool  # whether every iteration does it


@dataclass(frozen=True)
class Kept:
    """What is kept of a place. copied: what it is before the loop `first`, if that reads it; stored: the last loop that
    stores to it; after: whether it is read later than that."""

    type: str
    first: int
    copied: Load | None
    stored: int | None
    after: bool


def slots(tree: KernelTree, kept: dict[Place, Kept]) -> int:
    """How many elements of a row a thread has room for, a power of two; 0: nothing is kept, or too little."""
    copied = [k for k in kept.values() if k.copied]
    room = BYTES // sum(DTYPE_BYTES[k.type] for k in copied or kept.values()) if kept else 0
    if any(p.layout != "C" for p in tree.parameters if p.is_array and p.name in {array for array, _ in kept}):
        room //= 2  # each has an address of its own, which takes registers too
    return 1 << room.bit_length() - 1 if room >= LEAST else 0


def kept_rows(tree: KernelTree, kept: dict[Place, Kept], length: int, fresh: Callable[[str], str]) -> KernelTree:
    """The kernel with rows of at most so many elements in private arrays. fresh: makes a name."""
    main = tree.main
    assert main is not None
    names = {place: fresh(f"{place[0]}_kept") for place in kept}
    arrays = {name: NewArray("private", name, (length,), kept[place].type, at=main.at) for place, name in names.items()}
    body: list[Stmt] = [*arrays.values()]
    for k, s in enumerate(main.body):
        if isinstance(s, Parallel):
            index = Var(s.names[0], "int64", at=s.at)
            for place, one in kept.items():
                if one.copied and one.first == k:
                    value = with_values(one.copied, {ELEMENT: index})
                    copy = Store(names[place], (index,), value, inside=True, at=one.copied.at)
                    body.append(replace(s, body=(copy,), reductions=()))
            s = replace(s, body=tuple(_rewritten(s.body, k, index, kept, names)))
        body.append(s)
    where = tree.body.index(main)
    changed = (*tree.body[:where], replace(main, body=tuple(body)), *tree.body[where + 1 :])
    return replace(tree, arrays={**tree.arrays, **arrays}, body=changed)


def _rewritten(
    body: tuple[Stmt, ...], k: int, index: Var, kept: dict[Place, Kept], names: dict[Place, str]
) -> Iterator[Stmt]:
    """The statements of the loop that is the k-th, with private arrays in place of rows."""

    def place(access: Load | Store) -> Place:
        return access.array, _general(access.indices, index.name)

    def change(node: Node) -> Node:
        if isinstance(node, Load) and (found := place(node)) in kept:
            return replace(node, array=names[found], indices=(index,), inside=True)
        return rebuilt(node, change)

    for s in body:
        changed: Stmt = change(s)  # type: ignore[assignment]
        if isinstance(changed, Store) and (found := place(changed)) in kept:
            one, own = kept[found], replace(changed, array=names[found], indices=(index,), inside=True)
            if k == one.stored and one.after:
                yield own
                changed = replace(changed, value=Load(names[found], (index,), one.type, inside=True, at=changed.at))
            elif k != one.stored:
                changed = own
        yield changed


def found(tree: KernelTree) -> dict[Place, Kept]:
    """What of a kernel's rows can be kept, where some loop reads again what another one read or stored."""
    main = tree.main
    if main is None or main.kind != "blocks" or main.reductions:
        return {}
    loops = {k: s for k, s in enumerate(main.body) if isinstance(s, Parallel)}
    inside = [n for n in walk(main) if isinstance(n, Parallel) and n is not main]
    changing = assigned(main.body)  # in which are the loops' own indices
    if len({s.counts for s in loops.values()}) != 1 or len(inside) != len(loops):
        return {}
    (counts,) = {s.counts for s in loops.values()}
    varying = any(isinstance(n, Load) or isinstance(n, Var) and n.name in changing for c in counts for n in walk(c))
    # What jumps leaves out what stands behind it; helpers may do anything with an array.
    if len(counts) != 1 or varying or any(isinstance(n, (ArrayName, Break, Continue, Return)) for n in walk(main)):
        return {}
    met = [one for k, s in loops.items() for one in _met(k, s, changing)]
    elsewhere = {n.array for k, s in enumerate(main.body) if k not in loops for n in walk(s) if isinstance(n, Access)}
    by_array: dict[str, list[Met]] = {}
    for one in met:
        by_array.setdefault(one.access.array, []).append(one)
    written = {name for name, all_ in by_array.items() if not all(isinstance(m.access, Load) for m in all_)}
    refused = {name for name in written if name in elsewhere or not _is_own(by_array[name])} | tree.arrays.keys()
    for name, other in tree.aliases:
        if name in written and other in by_array and not _read_before(met, name, other):
            refused |= {name, other}
    result = {}
    for place in dict.fromkeys(m.place for m in met if m.place and m.access.array not in refused):
        if how := _kept([m for m in met if m.place == place]):
            result[place] = how
    return result


def _met(k: int, loop: Parallel, changing: set[str]) -> Iterator[Met]:
    index = loop.names[0]

    def place(access: Access) -> Place | None:
        nodes = [n for i in access.indices for n in walk(i)]
        names = {n.name for n in nodes if isinstance(n, Var)}
        if index not in names or names & (changing - {index}) or any(isinstance(n, Load) for n in nodes):
            return None
        return access.array, _general(access.indices, index)

    def visit(node: Node, always: bool) -> Iterator[Met]:
        sides: tuple[Node, ...]
        if isinstance(node, (If, Select)):
            yield from visit(node.condition, always)
            sides = (*node.body, *node.orelse) if isinstance(node, If) else (node.then, node.otherwise)
        elif isinstance(node, BoolOp):
            yield from visit(node.left, always)
            sides = (node.right,)
        elif isinstance(node, (For, While, Reduce)):
            sides = tuple(children(node))
        else:
            for part in children(node):
                yield from visit(part, always)
            sides = ()
        for side in sides:
            yield from visit(side, False)
        if isinstance(node, Access):
            yield Met(k, node, place(node), always)

    for s in loop.body:
        yield from visit(s, True)


def _general(indices: tuple[Expr, ...], index: str) -> tuple[Expr, ...]:
    return tuple(with_values(i, {index: Var(ELEMENT, "int64")}) for i in indices)


def _is_own(all_: list[Met]) -> bool:
    """Whether all that loops do with an array that they write is done by an element's own thread: stores, one a loop
    and always, and loads."""
    stores = [m for m in all_ if not isinstance(m.access, Load)]
    plain = all(isinstance(m.access, Store) and m.always for m in stores)
    return plain and None not in {m.place for m in all_} and len({m.place for m in all_}) == 1 and (
        len({m.loop for m in stores}) == len(stores)
    )


def _read_before(met: list[Met], written: str, other: str) -> bool:
    """Whether of two arrays that may be the same the one is only read, by an element's own thread, before it stores."""
    places = {m.place and m.place[1] for m in met if m.access.array in (written, other)}
    first = next(k for k, m in enumerate(met) if m.access.array == written and not isinstance(m.access, Load))
    of_other = [(k, m) for k, m in enumerate(met) if m.access.array == other]
    return len(places) == 1 and all(k < first and isinstance(m.access, Load) for k, m in of_other)


def _kept(all_: list[Met]) -> Kept | None:
    """How a place is kept that loops meet so; None where nothing is gained, or what is first is not done always."""
    first, place = all_[0], all_[0].place
    loads = [k for k, m in enumerate(all_) if isinstance(m.access, Load)]
    stores = [k for k, m in enumerate(all_) if isinstance(m.access, Store)]
    types = {m.access.type if isinstance(m.access, Load) else m.access.value.type for m in all_}
    if not first.always or len(types) != 1 or not any(all_[k].loop > first.loop for k in loads):
        return None
    (type_,) = types
    copied = None
    if isinstance(first.access, Load) and place is not None:
        copied = replace(first.access, indices=place[1])
    stored = all_[stores[-1]].loop if stores else None
    return Kept(type_, first.loop, copied, stored, after=bool(stores) and stores[-1] < loads[-1])
