"""Dimensions of arrays in lowered Python: expressions over symbols as calls of int64 intrinsics. A call has accepted
their values, so nothing overflows and nothing is divided by 0 but in what is not chosen, where both mean no harm."""

from __future__ import annotations

from typing import Callable

from ...artifact.dimensions import Operation, Tree
from .words import COMPARE, EXTREMA, OPERATORS

_INTEGERS = {**OPERATORS, "//": "floordiv_integer", "%": "mod_integer", "**": "power_integer", "neg": "neg"}


def dimension(tree: Tree, symbol: Callable[[str], str]) -> str:
    """A dim of a signature as an int64 expression: `symbol` says how a symbol is written."""
    if isinstance(tree, str):
        return symbol(tree)
    if not isinstance(tree, Operation):
        return f"int64({int(tree)})"
    op, operands = tree
    if op == "not" or op in COMPARE:
        return f"to_int64({_truth(tree, symbol)})"
    values = [dimension(operand, symbol) for operand in operands]
    if op == "if":
        return f"({values[1]} if {_truth(operands[0], symbol)} else {values[2]})"
    if op in ("and", "or"):  # one of the operands, as in Python
        left, right = values
        holds = _truth(operands[0], symbol)
        return f"({right} if {holds} else {left})" if op == "and" else f"({left} if {holds} else {right})"
    if op == "abs":
        return f"maximum({values[0]}, neg({values[0]}))"
    if op in ("min", "max"):
        result, *others = values
        for other in others:
            result = f"{EXTREMA[op]}({result}, {other})"
        return result
    return f"{_INTEGERS[op]}({', '.join(values)})"


def _truth(tree: Tree, symbol: Callable[[str], str]) -> str:
    """A condition in a dim as an expression of bool."""
    if isinstance(tree, Operation) and tree.op in COMPARE:
        return f"{COMPARE[tree.op]}({', '.join(dimension(operand, symbol) for operand in tree.operands)})"
    if isinstance(tree, Operation) and tree.op == "not":
        return f"invert({_truth(tree.operands[0], symbol)})"
    return f"ne({dimension(tree, symbol)}, int64(0))"
