"""Loops over threads that touch private arrays, and may have more iterations than these have elements: what is beyond
them touches none, by a condition, or is a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from ..artifact.signature import DTYPE_BYTES
from ..ir.effects import in_any_case
from ..ir.tree import (
    Const,
    Continue,
    For,
    If,
    KernelTree,
    Load,
    NewArray,
    Node,
    Parallel,
    Stmt,
    Store,
    While,
    rebuilt,
    walk,
)  # fmt: skip

MOST_BYTES = 40 * 1024  # of what becomes shared, and is so; behind that it lies in scratch: reductions share memory too


def stays_within(loop: Parallel, private: Iterable[str], checks: Callable[[Any], bool] = lambda n: False) -> bool:
    """Whether every iteration touches one of these arrays, so that all are inside or it is a fault, which `checks` says
    that the code has to look for."""
    names = set(private)
    return any(isinstance(n, (Load, Store)) and n.array in names and not checks(n) for n in _always(loop.body))


def is_within(loop: Parallel, extents: Sequence[int]) -> bool:
    """Whether its counts are known to be no more than these."""
    counts = zip(loop.counts, extents, strict=True)
    return all(isinstance(count, Const) and count.whole <= extent for count, extent in counts)


def _always(body: Iterable[Stmt]) -> Iterator[Node]:
    """What every iteration comes to."""
    for s in body:
        yield from in_any_case(s)
        if any(isinstance(n, Continue) for n in walk(s)):
            return


def shared_where_wider(tree: KernelTree) -> KernelTree:
    """The tree with shared arrays in place of private ones that a loop touches whose rows may be wider: a target
    numbers its iterations by how wide they are, and an element would be with another thread than in other loops."""
    private = {a.name: a for a in tree.arrays.values() if a.kind == "private" and len(a.fixed) > 1}
    wider: set[str] = set()
    for loop in (n for s in tree.body for n in walk(s) if isinstance(n, Parallel) and n.kind == "threads"):
        touched = {n.array for n in walk(loop) if isinstance(n, (Load, Store)) and n.array in private}
        if not touched or stays_within(loop, touched):
            continue
        of_rank = zip(*(a.fixed for a in private.values() if len(a.fixed) == len(loop.counts)))
        rows = replace(loop, names=loop.names[1:], counts=loop.counts[1:])
        if not is_within(rows, [max(extents) for extents in of_rank][1:]):
            wider |= touched
    if not wider:
        return tree
    arrays, taken = {}, sum(_bytes(a) for a in tree.arrays.values() if a.kind == "shared" and not a.scratch)
    for a in tree.arrays.values():
        if a.name in wider:
            taken += _bytes(a)
            a = replace(a, kind="shared", scratch=taken > MOST_BYTES)
        arrays[a.name] = a

    def changed(node: Any) -> Any:
        if isinstance(node, NewArray):
            return arrays[node.name]
        return rebuilt(node, changed) if isinstance(node, (Parallel, If, For, While)) else node

    return replace(tree, body=tuple(map(changed, tree.body)), arrays=arrays)


def _bytes(a: NewArray) -> int:
    return prod(a.fixed) * DTYPE_BYTES[a.dtype]
