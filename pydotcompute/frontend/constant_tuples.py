"""Constant tuples, `w = (0.25, 0.5, 0.25)`: folded where the index is known, else a local array of whoever reads it."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Callable, Mapping

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
        return Value(tree.Const(known.values[index.whole].value, known.type.dtype, at=at), known.type.weak)
    text = ast.unparse(node)
    s.beyond_function()
    if s.place == "top" and s.parallel:
        s.refuse(node, f"`{text}` outside of parallel loops, whose index is not known at compile time",
                 f"write `{text}` in the parallel loop that needs it")  # fmt: skip
    return Value(tree.Load(array.name, (index,), known.type.dtype, at=at), known.type.weak)


class Placing:
    """Gives each parallel loop that reads tuples by unknown indices arrays of its own that hold them."""

    def __init__(self, constants: Mapping[str, Constants], unique: Callable[[str], str]):
        self.constants, self.unique = constants, unique
        self.arrays: dict[str, tree.NewArray] = {}

    def placed(self, node: tree.Stmt) -> tree.Stmt:
        """The statement, of the top level or of a block."""
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
            values, type_ = self.constants[name]
            names[name] = name if name not in self.arrays else self.unique(name)
            array = tree.NewArray(kind, names[name], (len(values),), type_.dtype, at=node.at)
            self.arrays[array.name] = array
            before.append(array)
            before += [
                tree.Store(array.name, (tree.Const(k, "int64"),), value, at=node.at) for k, value in enumerate(values)
            ]

        def named(inner: tree.N) -> tree.N:
            inner = tree.rebuilt(inner, named)
            if isinstance(inner, tree.Load) and inner.array in names:
                return replace(inner, array=names[inner.array])
            return inner

        return replace(node, body=(*before, *(named(statement) for statement in body)))


def _is_statement(node: tree.Node) -> bool:
    return isinstance(node, (tree.If, tree.While, tree.For, tree.Parallel))
