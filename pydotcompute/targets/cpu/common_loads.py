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
) -> Generator[Stmt, None, tuple[list[Stmt], Expr | None, list[Stmt]]]:  # fmt: skip
    """Load what all may need, each under a condition of its own, before they do. What is left of the part where the
    indices that are not proved to be inside are so; the condition of that, if there are such; and what is left where
    they are not. extents: of arrays, numbers and symbols; local: makes one; is_same: whether an expression has one
    value for all."""
    held: dict[tuple[str, tuple[Expr, ...]], Var] = {}
    unproved: dict[tuple[str, tuple[Expr, ...]], None] = {}

    def left(node: Any, certain: bool) -> Any:
        node = rebuilt(node, lambda child: left(child, certain))
        if not isinstance(node, Load) or not (node.inside or certain):
            return node
        nested = any(isinstance(n, Load) for e in node.indices for n in walk(e))  # which may be outside here
        if nested or not extents.get(node.array) or node.type not in _NOTHING or not is_same(node):
            return node
        key = node.array, node.indices
        if key not in held:
            held[key] = local("_same", node.type)
        if not node.inside:
            unproved[key] = None
        return held[key]

    def inside(array: str, indices: tuple[Expr, ...]) -> Expr:
        counts = [Var(n, "int64") if isinstance(n, str) else Const(n, "int64") for n in extents[array]]
        tests: list[Expr] = [Compare("<=", Const(0, "int64"), e) for e in indices]
        tests += [Compare("<", e, count) for e, count in zip(indices, counts, strict=True)]
        return reduce(_both, tests)

    proved, all_inside = ([left(s, certain) if isinstance(s, If) else s for s in part] for certain in (False, True))
    for (array, indices), value in held.items():
        yield Assign(value.name, Const(_NOTHING[value.type], value.type), at=part[0].at)
        load = Load(array, indices, value.type, inside=True, at=part[0].at)
        yield If(inside(array, indices), (Assign(value.name, load, at=part[0].at),), at=part[0].at)
    return all_inside, reduce(_both, (inside(*key) for key in unproved)) if unproved else None, proved


def _both(a: Expr, b: Expr) -> Expr:
    return BoolOp("and", a, b)
