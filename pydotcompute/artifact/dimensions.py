"""Expressions over dimensions and params as trees: `2 * n + 1`, `n % 2 == 0`, `n if n > m else m`.

A tree is a number, a bool, a name, or an Operation on trees; as data (JSON) an operation is `[op, operand, …]`. Text
is read in one place, `declare/expressions.py`. Every use is a visitor of these trees and has this arithmetic: Python's
numbers, `and`, `or` and `if` evaluated only as far as needed, and a ValueError where an integer, intermediate ones
too, does not fit int64, or something is divided by 0. So kernels may compute an accepted dimension in int64.
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Union

MOST_LEVELS = 100  # of nesting: compilers and Python itself have limits
MOST_EXPONENT = 63  # of a power or shift


class Operation(NamedTuple):
    op: str
    operands: tuple["Tree", ...]

    def __str__(self) -> str:
        return text(self)


Tree = Union[int, float, bool, str, Operation]

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
# A kernel's own int64 arithmetic, which wraps: in the counts of launches.
WRAPPING = {"+%": operator.add, "-%": operator.sub, "*%": operator.mul}
FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "abs": abs}
_ARITY = {
    **dict.fromkeys((*BINARY, *COMPARE, *WRAPPING, "and", "or"), (2, 2)), "neg": (1, 1), "not": (1, 1), "if": (3, 3),
    "abs": (1, 1), "min": (2, 99), "max": (2, 99),
}  # fmt: skip


def data(tree: Tree) -> Any:
    """A tree as JSON has it."""
    return [tree.op, *map(data, tree.operands)] if isinstance(tree, Operation) else tree


def from_data(value: Any, levels: int = MOST_LEVELS) -> Tree:
    """The tree that `data` wrote; of a tree that has operations, itself. ValueError: it is not one."""
    if isinstance(value, (bool, int, float, Operation)) or isinstance(value, str) and value.isidentifier():
        return value
    if not isinstance(value, (list, tuple)) or not value or not isinstance(value[0], str):
        raise ValueError(f"{value!r} is not an expression over dimensions")
    op, *operands = value
    low, high = _ARITY.get(op, (0, -1))
    if not low <= len(operands) <= high or levels <= 0:
        raise ValueError(f"{op!r} of {len(operands)} is not an operation on dimensions")
    return Operation(op, tuple(from_data(operand, levels - 1) for operand in operands))


def names(tree: Tree) -> Iterator[str]:
    """The names in an expression, from left to right; each as often as it stands there."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, Operation):
        for operand in tree.operands:
            yield from names(operand)


def substituted(tree: Tree, values: Mapping[str, Tree]) -> Tree:
    """The tree with values for some of its names; what is then known is computed, but for what has no value."""
    if isinstance(tree, str):
        return values.get(tree, tree)
    if not isinstance(tree, Operation):
        return tree
    done = Operation(tree.op, tuple(substituted(operand, values) for operand in tree.operands))
    if any(isinstance(operand, (str, Operation)) for operand in done.operands):
        return done
    try:
        return evaluate(done, {})
    except ValueError:
        return done  # which is the call's to report


# --------------------------------------------------------------------------------------------------- its value


def evaluate(tree: Tree, known: Mapping[str, Any]) -> Any:
    """The value of an expression, by the values of its names. Raises ValueError where it has none: an unknown name,
    a division by 0, an integer beyond int64."""
    try:
        return _value(tree, known)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        given = shown(tree, known)
        raise ValueError(f"'{text(tree)}' has no value ({reason}){given and f' for {given}'}") from None


def shown(tree: Tree, known: Mapping[str, Any]) -> str:
    """`n = 3, k = 4`: those of the names that the expression uses, for a message."""
    return ", ".join(f"{name} = {known[name]}" for name in dict.fromkeys(names(tree)) if name in known)


def _value(tree: Tree, known: Mapping[str, Any]) -> Any:
    if isinstance(tree, str):
        return known[tree]
    if not isinstance(tree, Operation):
        return tree
    op, operands = tree
    if op == "and":
        return _value(operands[0], known) and _value(operands[1], known)
    if op == "or":
        return _value(operands[0], known) or _value(operands[1], known)
    if op == "if":
        return _value(operands[1 if _value(operands[0], known) else 2], known)
    values = [_value(operand, known) for operand in operands]
    if op in COMPARE:
        return COMPARE[op](*values)
    if op == "not":
        return not values[0]
    if op in WRAPPING:
        return (WRAPPING[op](*values) + 2**63) % 2**64 - 2**63
    if op in ("**", "<<", ">>") and not 0 <= values[1] <= MOST_EXPONENT:
        raise ValueError(f"an exponent or shift of {values[1]}")
    if op in BINARY:
        result = BINARY[op](*values)
    else:
        result = -values[0] if op == "neg" else FUNCTIONS[op](*values)
    if isinstance(result, int) and not -(2**63) <= result < 2**63:
        raise OverflowError("an integer beyond 64 bits")
    return result


# ---------------------------------------------------------------------------------------------------- its text

_IF, _OR, _AND, _NOT, _COMPARED, _SHIFT, _SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(11)
_LEVELS = {
    "or": _OR, "and": _AND, **dict.fromkeys(COMPARE, _COMPARED), "<<": _SHIFT, ">>": _SHIFT, "+": _SUM, "-": _SUM,
    "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT, **dict.fromkeys(WRAPPING, _SUM),
}  # fmt: skip


def text(tree: Tree) -> str:
    """The expression as Python writes it."""
    return _written(tree)[0]


def _written(tree: Tree) -> tuple[str, int]:
    """The text, and how strongly its outermost operation binds."""
    if not isinstance(tree, Operation):
        negative = isinstance(tree, (int, float)) and not isinstance(tree, bool) and tree < 0
        return str(tree), _UNARY if negative else _ATOM
    op, operands = tree

    def part(k: int, least: int) -> str:
        written, level = _written(operands[k])
        return written if level >= least else f"({written})"

    if op == "if":
        return f"{part(1, _OR)} if {part(0, _OR)} else {part(2, _IF)}", _IF
    if op == "not":
        return f"not {part(0, _NOT)}", _NOT
    if op == "neg":
        return f"-{part(0, _UNARY)}", _UNARY
    if op == "**":
        return f"{part(0, _ATOM)} ** {part(1, _UNARY)}", _POWER
    if op in _LEVELS:
        level = _LEVELS[op]
        return f"{part(0, level + (level == _COMPARED))} {op} {part(1, level + 1)}", level
    return f"{op}({', '.join(map(text, operands))})", _ATOM
