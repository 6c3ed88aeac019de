"""Minima and maxima of several, so that what the turn before has only just come to is the last to be compared.

    row[j + 1] = min(row[j + 1] + 1, row[j] + 1, c)   ⟶   row[j + 1] = min(min(row[j + 1] + 1, c), row[j] + 1)

Each turn of a dynamic program waits for the one before it, and here for one comparison less. Of which two are taken
first makes no difference to a minimum, of floats neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial, reduce
from typing import Any

from ...ir.tree import Assign, Call, Expr, For, KernelTree, Load, Store, Var, rebuilt, walk
from .bodies import lie_side_by_side

_EXTREMES = ("min", "max")


def latest_last(tree: KernelTree) -> KernelTree:
    """The tree with such minima and maxima in its sequential loops."""
    return replace(tree, body=tuple(map(_loops, tree.body)))


def _loops(node: Any) -> Any:
    made = rebuilt(node, _loops)
    if not isinstance(made, For):
        return made
    stores = [n for s in made.body for n in walk(s) if isinstance(n, Store)]
    return replace(made, body=tuple(_values(s, stores) for s in made.body))


def _values(node: Any, stores: list[Store]) -> Any:
    """A statement with the values in order that it, or one in it, assigns or stores."""
    if isinstance(node, (Assign, Store)):
        name = node.name if isinstance(node, Assign) else ""
        return replace(node, value=_ordered(node.value, name, stores))
    return node if isinstance(node, For) else rebuilt(node, partial(_values, stores=stores))


def _ordered(e: Any, name: str, stores: list[Store]) -> Any:
    if not isinstance(e, Call) or e.function not in _EXTREMES:
        return rebuilt(e, partial(_ordered, name=name, stores=stores))
    written = [*_operands(e, e.function)]
    operands = [_ordered(operand, name, stores) for operand in written]
    if len(operands) > 2:
        operands.sort(key=lambda operand: _is_late(operand, name, stores))
    return e if operands == written else reduce(lambda a, b: replace(e, arguments=(a, b)), operands)


def _operands(e: Expr, function: str) -> Iterator[Expr]:
    if isinstance(e, Call) and e.function == function:
        for argument in e.arguments:
            yield from _operands(argument, function)
    else:
        yield e


def _is_late(e: Expr, name: str, stores: list[Store]) -> bool:
    """Whether it is what the turn before has set or stored."""
    return any(
        isinstance(n, Var) and n.name == name
        or isinstance(n, Load) and any(lie_side_by_side(n, s) for s in stores)
        for n in walk(e)
    )  # fmt: skip
