"""Constant tuples, `w = (0.25, 0.5, 0.25)`: folded where the index is known, else an array of whoever reads it."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any, Callable, Iterable, Mapping

from ..ir import tree
from . import promotion
from .promotion import Value, convert
from .scope import SET, Array, Constants, Scope

MOST_VALUES = 256


def set_tuple(s: Scope, node: ast.Assign, evaluated: Callable[[Scope, ast.expr], Value]) -> None:
    """`w = (0.25, 0.5, 0.25)`, whose parts are evaluated so."""
    target, parts = node.targets[0], node.value
    assert isinstance(target, ast.Name) and isinstance(parts, ast.Tuple)
    if len(node.targets) > 1:
        s.refuse(node, "a constant tuple with several names", "write one assignment a line")
    if not 1 <= len(parts.elts) <= MOST_VALUES:
        s.refuse(parts, f"a constant tuple of {len(parts.elts)} values; 1 to {MOST_VALUES} are allowed",
                 "declare an array in the signature")  # fmt: skip
    values = []
    for part in parts.elts:
        if isinstance(part, ast.Tuple):
            s.refuse(part, "a tuple in a constant tuple", "write the items in one tuple, and `w[i * 3 + j]`")
        value = evaluated(s, part)
        if not isinstance(value.expr, tree.Const):
            array = f"`{target.id} = local(({len(parts.elts)},), float64)`"
            s.refuse(part, f"a tuple holds what is known at compile time, and `{ast.unparse(part)}` is not",
                     f"write {array} and store its elements")  # fmt: skip
        values.append(value)
    type_ = values[0].type
    for value in values[1:]:
        type_ = promotion.common(type_, value.type)
    fault = s.fault(node)
    constants = (convert(Value(v.expr, v.weak), type_.dtype, fault) for v in values)
    own = s.parts.own(target.id) if s.inlined and s.final else target.id
    s.constants[own] = Constants(tuple(c for c in constants if isinstance(c, tree.Const)), type_)
    s.arrays[target.id] = Array(own, 1, type_.dtype, "tuple", (len(values),))
    s.here[target.id] = SET


def element(s: Scope, node: ast.Subscript, array: Array, index: tree.Expr) -> Value:
    """`w[k]`."""
    known, at = s.constants[array.name], s.at(node)
    if isinstance(index, tree.Const):
        if index.whole >= len(known.values):
            s.refuse(node, f"index {index.whole} of `{array.name}`, which has {len(known.values)} values",
                     f"write an index from 0 to {len(known.values) - 1}")  # fmt: skip
        chosen = known.values[max(index.whole, 0)]  # one below 0 is refused once the types have settled
        return Value(tree.Const(chosen.value, known.type.dtype, at=at), known.type.weak)
    s.beyond_function()
    return Value(tree.Load(array.name, (index,), known.type.dtype, at=at), known.type.weak)


class Placing:
    """Gives each parallel loop that reads tuples by unknown indices arrays of its own that hold them, and the program
    around the loops one of the call."""

    def __init__(self, constants: Mapping[str, Constants], unique: Callable[[str], str]):
        self.constants, self.unique = constants, unique
        self.arrays: dict[str, tree.NewArray] = {}
        self.of_call: dict[str, str] = {}  # a tuple → the array of the call
        self.first: list[tree.Stmt] = []

    def program(self, body: Iterable[tree.Stmt]) -> list[tree.Stmt]:
        """The statements of the kernel, behind those that make what its top level reads."""
        placed = [self.top(statement) for statement in body]
        return [*self.first, *placed]

    def top(self, node: Any) -> Any:
        """A part of the top level."""
        if isinstance(node, tree.Parallel):
            counts = tuple(self.top(count) for count in node.counts)
            ranges = tuple(r and self.top(r) for r in node.ranges)
            placed = self.placed(node)
            assert isinstance(placed, tree.Parallel)
            return replace(placed, counts=counts, ranges=ranges)
        node = tree.rebuilt(node, self.top)
        if isinstance(node, tree.Load) and node.array in self.constants:
            if node.array not in self.of_call:
                own = self.of_call[node.array] = self.named(node.array)
                self.first += self.made("call", own, node.array, node)
            return replace(node, array=self.of_call[node.array])
        return node

    def named(self, name: str) -> str:
        """The name of an array that holds a tuple: the tuple's own, if no other has it."""
        return name if name not in self.arrays else self.unique(name)

    def made(self, kind: str, own: str, name: str, near: tree.Node) -> list[tree.Stmt]:
        """The statements that make an array which holds a tuple."""
        values, type_ = self.constants[name]
        self.arrays[own] = array = tree.NewArray(kind, own, (len(values),), type_.dtype, at=near.at)
        return [array, *(tree.Store(own, (tree.Const(k, "int64"),), v, at=near.at) for k, v in enumerate(values))]

    def placed(self, node: tree.Stmt) -> tree.Stmt:
        """A parallel loop, or a statement of a block."""
        if not isinstance(node, tree.Parallel):
            return tree.rebuilt(node, lambda inner: inner if not _is_statement(inner) else self.placed(inner))
        kind = "local"
        body = node.body
        if node.kind == "blocks":
            kind, body = "shared", tuple(self.placed(statement) for statement in body)
        names: dict[str, str] = {}
        before: list[tree.Stmt] = []
        for name in dict.fromkeys(
            inner.array for statement in body for inner in tree.walk(statement)
            if isinstance(inner, tree.Load) and inner.array in self.constants
        ):  # fmt: skip
            names[name] = self.named(name)
            before += self.made(kind, names[name], name, node)

        def named(inner: tree.N) -> tree.N:
            inner = tree.rebuilt(inner, named)
            if isinstance(inner, tree.Load) and inner.array in names:
                return replace(inner, array=names[inner.array])
            return inner

        return replace(node, body=(*before, *(named(statement) for statement in body)))


def _is_statement(node: tree.Node) -> bool:
    return isinstance(node, (tree.If, tree.While, tree.For, tree.Parallel))
