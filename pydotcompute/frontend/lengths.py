"""`len(a)`: the first dimension of an array, weak as every dimension."""

from __future__ import annotations

import ast
from typing import NoReturn

from ..artifact.dimensions import Operation, Tree
from ..ir.operations import SYMBOLS
from . import operators, promotion
from .promotion import Value
from .scope import Scope

_BINARY = frozenset(SYMBOLS.values()) - {"/", "**"}  # of two operands, integers for integers


def length(s: Scope, node: ast.Call) -> Value:
    if len(node.args) != 1:
        s.refuse(node, f"`len` takes 1 argument, found {len(node.args)}", "write `len(x)`")
    of, dropped = node.args[0], 0
    if isinstance(of, ast.Subscript):
        dropped = len(of.slice.elts) if isinstance(of.slice, ast.Tuple) else 1
        of = of.value
    if not isinstance(of, ast.Name) or of.id not in s.arrays or of.id in s.shadow:
        s.refuse(node.args[0], f"`{ast.unparse(node.args[0])}` is not an array", "write `len(x)` for an array `x`")
    array = s.arrays[of.id]
    s.check_set(of)
    if dropped >= array.rank:
        what = "an element" if dropped else "an output scalar"
        s.refuse(node.args[0], f"`{ast.unparse(node.args[0])}` is {what} and has no length", f"write `len({of.id})`"
                 if dropped else "write 1")  # fmt: skip
    return _value(s, node, array.dims[dropped])


def _value(s: Scope, node: ast.Call, dimension: Tree) -> Value:
    """An expression over dimensions."""
    at = s.at(node)

    def value(part: Tree) -> Value:
        match part:
            case str():
                return s.dimension(part, at)
            case int():
                return promotion.literal(part, at)
            case Operation(op="min" | "max" | "abs", operands=operands):
                return operators.call(part.op, [value(p) for p in operands], s.fault(node), at)
            case Operation(op="neg", operands=(operand,)):
                return operators.unary("-", value(operand), s.fault(node), at)
            case Operation(op=op, operands=(left, right)) if op in _BINARY:
                return operators.binary(op, value(left), value(right), s.fault(node), at)
        unknown()

    def unknown() -> NoReturn:
        s.refuse(node, f"`{ast.unparse(node)}` is {dimension}, which kernels do not compute",
                 "give that length a name in the signature")  # fmt: skip

    return value(dimension)
