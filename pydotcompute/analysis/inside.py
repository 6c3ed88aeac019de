"""Which indices are inside their arrays whatever the arguments are: proved from extents, counts and conditions.

An access that is proved costs nothing; every other one is checked when it happens. So a proof may use nothing that
holds only in a program without faults: neither that other accesses are inside, nor that loops come to their ends.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Mapping, Sequence

from ..artifact.dimensions import COMPARE, Operation, Tree
from ..ir import tree as t
from . import affine
from .accesses import Access, Value
from .affine import Poly
from .symbolic import Walk

_HELD = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")  # dtypes of which int64 holds every value
_WRITTEN = {**dict.fromkeys(("+", "-", "*", "//", "%"), t.Binary), **dict.fromkeys(COMPARE, t.Compare),
            **dict.fromkeys(("and", "or"), t.BoolOp)}  # fmt: skip


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
        scalars = {p.name: p.dtype for p in tree.parameters if not p.in_memory and p.dtype in _HELD}
        known = {**scalars, **dict.fromkeys(tree.symbols, "int64")}
        for condition in tree.requires:
            if (written := _written(condition, known)) is not None:
                self.conditions.append(self.value(written))

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

    def never_negative(self, poly: Poly) -> bool:
        if self.ranges.least(poly) >= 0:
            return True
        below = affine.at_least(affine.constant(-1), poly)
        here = [c for v in self.conditions for c in v.truth]
        return affine.impossible([below, *here, *self.ranges.facts([below, *here])], self.found.atoms)


def _written(condition: Tree, known: Mapping[str, str]) -> t.Expr | None:
    """A condition on dimensions and scalars, of these dtypes, in the kernel's words; None where it has others."""
    if isinstance(condition, str):
        if condition not in known:
            return None
        name = t.Var(condition, known[condition])
        return name if name.type == "int64" else t.Convert(name, "int64")
    if isinstance(condition, (bool, int)):
        return t.Const(condition, "bool" if isinstance(condition, bool) else "int64")
    if not isinstance(condition, Operation) or condition.op not in _WRITTEN:
        return None
    left, right = (_written(operand, known) for operand in condition.operands)
    if left is None or right is None:
        return None
    kind = _WRITTEN[condition.op]
    if (kind is t.BoolOp) != (left.type == right.type == "bool"):
        return None
    return t.Binary(condition.op, left, right, "int64") if kind is t.Binary else kind(condition.op, left, right)
