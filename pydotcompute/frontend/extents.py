"""Integers that are the same in all of a call: what follows from dimensions and integer arguments alone."""

from __future__ import annotations

from ..artifact.dimensions import Operation, Tree
from ..ir import tree
from .scope import Scope

_OPERATIONS = ("+", "-", "*", "//", "%")


def of_call(s: Scope, e: tree.Expr) -> Tree | None:
    """The expression over dimensions and integer arguments that this one is, in int64; None where it has other
    parts."""
    match e:
        case tree.Const(value=int() as value):
            return int(value)
        case tree.Var(name=name):
            scalars = (p.name for p in s.module.parameters if not p.in_memory and "int" in p.dtype)
            return name if name in s.module.kernel.signature.symbols or name in scalars else None
        case tree.Convert(operand=operand, type="int64") if "int" in operand.type:
            return of_call(s, operand)
        case tree.Unary(op="-", operand=operand) if "int" in e.type:
            return _operation("neg", of_call(s, operand))
        case tree.Binary(op=op, left=left, right=right) if op in _OPERATIONS and "int" in e.type:
            return _operation(op, of_call(s, left), of_call(s, right))
        case tree.Call(function="min" | "max" as op, arguments=(left, right)) if "int" in e.type:
            return _operation(op, of_call(s, left), of_call(s, right))
    return None


def _operation(op: str, *operands: Tree | None) -> Tree | None:
    known = tuple(operand for operand in operands if operand is not None)
    return Operation(op, known) if len(known) == len(operands) else None
