"""What every call of a kernel keeps: the conditions of its `requires`, in the kernel's words."""

from __future__ import annotations

from typing import Iterator, Mapping

from ..artifact.dimensions import COMPARE, Operation, Tree
from ..ir import tree as t

_HELD = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")  # dtypes of which int64 holds every value
_WRITTEN = {**dict.fromkeys(("+", "-", "*", "//", "%"), t.Binary), **dict.fromkeys(COMPARE, t.Compare),
            **dict.fromkeys(("and", "or"), t.BoolOp)}  # fmt: skip


def conditions(tree: t.KernelTree) -> Iterator[t.Expr]:
    """Those over dimensions and integer scalars."""
    scalars = {p.name: p.dtype for p in tree.parameters if not p.in_memory and p.dtype in _HELD}
    known = {**scalars, **dict.fromkeys(tree.symbols, "int64")}
    return (e for condition in tree.requires if (e := _written(condition, known)) is not None)


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
