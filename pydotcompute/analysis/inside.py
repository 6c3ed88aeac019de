"""Which indices are inside their arrays whatever the arguments are: proved from extents, counts and conditions.

An access that is proved costs nothing; every other one is checked when it happens. So a proof may use nothing that
holds only in a program without faults: neither that other accesses are inside, nor that loops come to their ends. Where
code leaves a `while` loop as soon as its condition has had a fault, what the condition reads is inside in the body.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Sequence

from ..ir import tree as t
from . import affine
from .accesses import Access, Accesses, Value
from .affine import Poly
from .symbolic import Walk


def marked(tree: t.KernelTree, leaves: bool = False) -> t.KernelTree:
    """The tree with `inside` and `proved` set at each access, wherever it is reached from. leaves: the code leaves
    `while` loops before their bodies where there was a fault."""
    return walked(tree, leaves)[0]


def walked(tree: t.KernelTree, leaves: bool = False) -> tuple[t.KernelTree, Accesses]:
    """The same, and every access that the walk came by."""
    walk = _Prover(tree, leaves)
    walk.block(tree.body, ())

    def marking(node: Any) -> Any:
        made = t.rebuilt(node, marking)
        if not isinstance(node, t.Access):
            return made
        axes = walk.proved.get(id(node), ())
        whole = len(axes) == len(node.indices)
        inside = whole and all(axes)
        return replace(made, inside=inside, proved=axes if whole and not inside else ())

    helpers = tuple(replace(h, body=tuple(map(marking, h.body))) for h in tree.helpers)
    return replace(tree, body=tuple(map(marking, tree.body)), helpers=helpers), walk.found


def unproved(tree: t.KernelTree) -> list[t.Access]:
    """The accesses of a marked tree that nobody has proved to be inside, in the order of the text."""
    bodies = [*(h.body for h in tree.helpers), tree.body]
    nodes = [node for body in bodies for s in body for node in t.walk(s)]
    return [node for node in nodes if isinstance(node, t.Access) and node.indices and not node.inside]


class _Prover(Walk):
    def __init__(self, tree: t.KernelTree, leaves: bool):
        super().__init__(tree)
        self.leaves = leaves
        self.proved: dict[int, tuple[bool, ...]] = {}  # the axes, by the node's identity
        self.watched = {*self.watched, *self.found.extents}

    def record(self, node: t.Access, indices: Sequence[Value]) -> Access:
        access = super().record(node, indices)
        extents = self.found.extents.get(access.array, ())
        axes = [self.inside(index, extent) for index, extent in zip(indices, extents)]
        if axes and node.known:
            axes[-1] = True
        before = self.proved.get(id(node), (True,) * len(axes))
        self.proved[id(node)] = tuple(a and b for a, b in zip(axes, before))
        return access

    def condition(self, s: t.While) -> Value:
        first, around = len(self.found.all), len(self.conditions)
        condition = super().condition(s)
        if not self.leaves:
            return condition
        certain = [a for a in self.found.all[first:] if len(a.under) == around and a.scopes == self.scopes]
        read = [constraint for access in certain for constraint in self.found.inside(access)]
        return replace(condition, truth=(*condition.truth, *read))

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
