"""Expressions of a declaration as calls have them: what has no value in any call, or a wrong one, is refused."""

from __future__ import annotations

from itertools import product
from typing import Any, Collection, Iterator, Mapping, Sequence

from ..artifact.dimensions import COMPARE, MOST_EXPONENT, Operation, Tree, evaluate, names, shown, substituted, text
from ..errors import DeclarationError
from . import expressions

_KINDS = ("int", "float", "complex")
_LACKING = {
    **dict.fromkeys(("<", "<=", ">", ">=", "min", "max", "//", "%"), ("complex",)),
    **dict.fromkeys(("<<", ">>"), ("float", "complex")),
}  # fmt: skip
Params = Mapping[str, Sequence[Any]]  # each param's values


def read(
    written: str, kind: str, known: Collection[str], spot: expressions.Spot, what: str, params: Params,
    least: int | None = None,
) -> Tree:  # fmt: skip
    """The tree of an expression, as `expressions.read` gives it. `params`: those of the names that are params, and
    their values; `least`: the smallest value that there may be. Raises DeclarationError as that does, and where some
    values of the params leave no call that could succeed."""
    tree = expressions.read(written, kind, known, spot, what, params)
    for name, at in expressions.places(written, spot) if kind == "integer" else ():
        if floats := [value for value in params.get(name, ()) if isinstance(value, float)]:
            hint = f"write {name}: {int(floats[0])}" if floats[0].is_integer() else "n times 1.5 is 3 * n // 2"
            message = f"'{name}' is {floats[0]}, and {expressions.WHAT[kind]} takes none but integers"
            raise DeclarationError(message, at, hint)
    at, choices = spot(len(written) - len(written.lstrip())), list(_settled(tree, params))
    for value, chosen in choices:
        why = _no_exponent(value) or _no_value(value)
        if not why and least is not None and not isinstance(value, (str, Operation)) and value < least:
            why = f"it is {value}, and may not be below {least}"
        if why:
            raise DeclarationError(f"no call{chosen} can succeed: {why}", at, "write another expression")
    if kind == "condition" and all(value is False for value, _ in choices):
        raise DeclarationError("no call can meet this condition", at, "write another one")
    return tree


def _settled(tree: Tree, params: Params) -> Iterator[tuple[Tree, str]]:
    """The tree for each choice of the params that it names, and `with S = 0` for that choice (nothing: "")."""
    used = [name for name in dict.fromkeys(names(tree)) if name in params]
    for values in product(*(params[name] for name in used)):
        chosen = dict(zip(used, values))
        yield substituted(tree, chosen), f" with {shown(tree, chosen)}" if chosen else ""


def _no_exponent(tree: Tree) -> str:
    """Which exponent or shift in a tree cannot be one; "" where all can."""
    if not isinstance(tree, Operation):
        return ""
    by = tree.operands[-1]
    if tree.op in ("**", "<<", ">>") and not expressions.is_exponent(by):
        return f"an exponent or shift is an integer from 0 to {MOST_EXPONENT}, not {text(by)}"
    return next(filter(None, map(_no_exponent, tree.operands)), "")


def _no_value(tree: Tree) -> str:
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
    return next(filter(None, map(_no_value, always)), "")


def unsuited(tree: Tree, scalars: Mapping[str, Sequence[str]]) -> str:
    """Why an operation takes no scalar argument of a dtype that it may have; "" where all may be."""
    found: list[str] = []

    def widest(tree: Tree) -> str:
        """The kind of number that the tree may be."""
        if not isinstance(tree, Operation):
            dtypes = scalars.get(tree, ()) if isinstance(tree, str) else (type(tree).__name__,)
            return max((_kind(dtype) for dtype in dtypes), key=_KINDS.index, default="int")
        kinds = sorted(map(widest, tree.operands), key=_KINDS.index) or ["int"]
        if kinds[-1] in _LACKING.get(tree.op, ()):
            found.append(f"{kinds[-1]} numbers have no '{tree.op}': {text(tree)}")
        if tree.op in COMPARE or tree.op == "not":
            return "int"
        if tree.op in ("/", "abs") and kinds[-1] != ("complex" if tree.op == "/" else "int"):
            return "float"
        return kinds[0 if tree.op in ("and", "or", "if") else -1]

    widest(tree)
    return next(iter(found), "")


def _kind(dtype: str) -> str:
    return next(kind for kind in reversed(_KINDS) if kind in dtype or kind == "int")
