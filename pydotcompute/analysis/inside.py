"""Which indices are inside their arrays whatever the arguments are: proved from extents, counts and conditions.

An access that is proved costs nothing; every other one is checked when it happens. So a proof may use nothing that
holds only in a program without faults: neither that other accesses are inside, nor that loops come to their ends.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Sequence

from ..ir import tree as t
from . import affine
from .accesses import Access, Value
from .affine import Poly
from .symbolic import Walk


def marked(tree: t.KernelTree) -> t.KernelTree:
    """The tree with `inside` set at each access that is proved, wherever it is reached from."""
    walk = _Prover(tree)
    walk.block(tree.body, ())

    def marking(node: Any) -> Any:
        made = t.rebuilt(node, marking)
        return replace(made, inside=walk.proved.get(id(node), False)) if isinstance(node, t.Access) else made

    helpers = tuple(replace(h, body=tuple(map(marking, h.body))) for h in tree.helpers)
    return replace(tree, body=tuple(map(marking, tree.body)), helpers=helpers)


def unproved(tree: t.KernelTree) -> list[t.Access]:
    """The accesses of a marked tree that nobody has proved to be inside, in the order of the text."""
    bodies = [*(h.body for h in tree.helpers), tree.body]
    nodes = [node for body in bodies for s in body for node in t.walk(s)]
    return [node for node in nodes if isinstance(node, t.Access) and node.indices and not node.inside]


class _Prover(Walk):
    def __init__(self, tree: t.KernelTree):
        super().__init__(tree)
        self.proved: dict[int, bool] = {}  # by the node's identity
        self.watched = {*self.watched, *self.found.extents}

    def record(self, node: t.Access, indices: Sequence[Value]) -> Access:
        access = super().record(node, indices)
        extents = self.found.extents.get(access.array, ())
        open_ = len(indices) - (isinstance(node, t.Load | t.Store) and node.known)
        inside = len(extents) == len(indices) and all(map(self.inside, indices[:open_], extents[:open_]))
        self.proved[id(node)] = inside and self.proved.get(id(node), True)
        return access

    def inside(self, index: Value, extent: Poly | None) -> bool:
        """Is 0 ≤ index < extent wherever the walk is?"""
        if extent is None:
            return False
        if self.between(index.poly, extent):
            return True
        if index.modular is None:
            return False
        poly, bits = index.modular  # which is the value itself where it stays in the signed type
        return self.between(poly, extent) and (bits == 64 or self.between(poly, affine.constant(1 << bits - 1)))

    def between(self, poly: Poly, extent: Poly) -> bool:
        return self.never_negative(poly) and self.never_negative(
            affine.add(affine.add(extent, poly, -1), affine.constant(1), -1)
        )
