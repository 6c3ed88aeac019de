"""What no call can meet: expressions of a declaration that have no value, or a wrong one, whatever the sizes are."""

from __future__ import annotations

from itertools import product
from typing import Any, Iterator, Mapping, Sequence

from ..artifact.dimensions import Operation, Tree, evaluate, names, shown, substituted, text

Params = Mapping[str, Sequence[Any]]  # each param's values


def settled(tree: Tree, params: Params) -> Iterator[tuple[Tree, str]]:
    """The tree for each choice of the params that it names, and `with S = 0` for that choice (nothing: "")."""
    used = [name for name in dict.fromkeys(names(tree)) if name in params]
    for values in product(*(params[name] for name in used)):
        chosen = dict(zip(used, values))
        yield substituted(tree, chosen), f" with {shown(tree, chosen)}" if chosen else ""


def no_value(tree: Tree) -> str:
    """Why no values of the names in a tree give it one; "" where some may."""
    if not isinstance(tree, Operation):
        return ""
    op, operands = tree
    if not any(True for _ in names(tree)):
        try:
            evaluate(tree, {})
        except ValueError as error:
            return str(error)
        return ""
    if op in ("//", "%", "/") and not isinstance(operands[1], (str, Operation)) and operands[1] == 0:
        return f"'{text(tree)}' divides by 0"
    always = operands[:1] if op in ("and", "or", "if") else operands  # of the others it depends
    if op == "if" and not isinstance(operands[0], (str, Operation)):
        always = operands[1 if operands[0] else 2 :][:1]
    return next(filter(None, map(no_value, always)), "")
