"""What several iterations that go together all load under conditions, loaded once for all."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import reduce
from typing import Any

from ...ir.tree import Assign, BoolOp, Compare, Const, Expr, If, Load, Stmt, Var, rebuilt, walk

_NOTHING = {"float32": 0.0, "float64": 0.0, "int32": 0, "int64": 0, "uint8": 0}  # where nothing is loaded


def once_for_all(
    part: list[Stmt], extents: Mapping[str, tuple[Any, ...]], local: Callable[[str, str], Var],
    is_same: Callable[[Expr], bool],
) -> Generator[Stmt, None, list[Stmt]]:  # fmt: skip
    """Load what all may need, each under a condition of its own, before they do; what is left of the part. extents: of
    arrays, numbers and symbols; local: makes one; is_same: whether an expression has one value for all."""
    held: dict[tuple[str, tuple[Expr, ...]], Var] = {}

    def changed(node: Any) -> Any:
        node = rebuilt(node, changed)
        if not isinstance(node, Load):
            return node
        dims = extents.get(node.array, ())
        nested = any(isinstance(n, Load) for e in node.indices for n in walk(e))  # which may be outside here
        if nested or not node.inside or not dims or node.type not in _NOTHING or not is_same(node):
            return node
        key = node.array, node.indices
        if key not in held:
            held[key] = local("_same", node.type)
        return held[key]

    left = [rebuilt(s, changed) if isinstance(s, If) else s for s in part]
    for (array, indices), value in held.items():
        yield Assign(value.name, Const(_NOTHING[value.type], value.type), at=part[0].at)
        load = Load(array, indices, value.type, inside=True, at=part[0].at)
        counts = [Var(n, "int64") if isinstance(n, str) else Const(n, "int64") for n in extents[array]]
        tests: list[Expr] = [Compare("<=", Const(0, "int64"), e) for e in indices]
        tests += [Compare("<", e, count) for e, count in zip(indices, counts, strict=True)]
        yield If(reduce(_both, tests), (Assign(value.name, load, at=part[0].at),), at=part[0].at)
    return left


def _both(a: Expr, b: Expr) -> Expr:
    return BoolOp("and", a, b)
