"""Expressions of a declaration: parsed with `ast`, every node and every name checked before anything is evaluated. Here
alone text becomes a tree of artifact/dimensions.py; references stay Python's text."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache
from typing import Callable, Collection

from ..artifact.dimensions import FUNCTIONS, MOST_EXPONENT, MOST_LEVELS, Operation, Tree
from ..errors import DeclarationError, Position
from ..ir.operations import SYMBOLS
from .names import near

Spot = Callable[[int], Position]  # where the character at this offset of an expression stands

_INTEGER = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.UnaryOp, ast.Call, ast.Compare, ast.BoolOp,
    ast.IfExp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.USub, ast.UAdd,
    ast.Not, ast.And, ast.Or, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
)  # fmt: skip
_NUMBER = (*_INTEGER, ast.Div)
_REFERENCE = (
    *_NUMBER, ast.Attribute, ast.keyword, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Starred, ast.MatMult,
    ast.BitAnd, ast.BitOr, ast.BitXor, ast.Invert,
)  # fmt: skip
ALLOWED = {"integer": _INTEGER, "number": _NUMBER, "condition": _NUMBER, "reference": _REFERENCE}
WHAT = {
    "integer": "an expression over integers", "number": "an arithmetic expression", "condition": "a condition",
    "reference": "a NumPy expression",
}  # fmt: skip
SHOWN = {
    ast.Lambda: "lambda", ast.ListComp: "a comprehension", ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension", ast.GeneratorExp: "a comprehension", ast.Attribute: "an attribute",
    ast.Subscript: "an index", ast.Tuple: "a tuple", ast.List: "a list", ast.Set: "a set", ast.Dict: "a dictionary",
    ast.JoinedStr: "an f-string", ast.NamedExpr: "':='", ast.Starred: "'*'", ast.Div: "'/'", ast.MatMult: "'@'",
    ast.BitAnd: "'&'", ast.BitOr: "'|'", ast.BitXor: "'^'", ast.Invert: "'~'", ast.In: "'in'", ast.NotIn: "'not in'",
    ast.Is: "'is'", ast.IsNot: "'is not'",
}  # fmt: skip
_HAS = "comparisons, 'and', 'or', 'not', 'a if c else b', min, max and abs"
HAS = {
    "integer": f"it may have integers, names, + - * // % ** << >>, {_HAS}",
    **dict.fromkeys(("number", "condition"), f"it may have numbers, names, + - * / // % ** << >>, {_HAS}"),
    "reference": "write it in a function beside the templates: file.py:function",
}  # fmt: skip
CONDITIONS = (ast.Compare, ast.BoolOp, ast.IfExp)
CONSTANTS = {"integer": (int,), "number": (int, float), "condition": (int, float, bool)}
INT64_MAX = 2**63 - 1
_OPERATORS = {**SYMBOLS, ast.USub: "neg"}


@lru_cache(4096)
def parse(text: str) -> ast.Expression:
    """The syntax of an expression; line breaks count as spaces. Raises SyntaxError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(_flat(text), mode="eval")
        except ValueError as error:
            raise SyntaxError(str(error), ("", 1, 1, text)) from None
        except (RecursionError, MemoryError):
            raise SyntaxError("it is nested too deep to be read", ("", 1, 1, text)) from None


def check(
    text: str, kind: str, names: Collection[str], spot: Spot, what: str = "a dimension or param",
    params: Collection[str] = (),
) -> str:  # fmt: skip
    """Check an expression of a kind ("integer", "number", "condition", "reference") over these names, some of them
    params.

    Returns it on one line. Raises DeclarationError, pointing into the expression.
    """
    start = len(text) - len(text.lstrip())
    try:
        tree = parse(text)
    except SyntaxError as error:
        offset = start + max((error.offset or 1) - 1, 0)
        message = f"not an expression: {error.msg}"
        raise DeclarationError(message, spot(min(offset, len(text))), f"expected {WHAT[kind]}") from None
    stripped = _flat(text)

    def fail(node: ast.AST, message: str, hint: str = "") -> DeclarationError:
        column = len(stripped.encode()[: getattr(node, "col_offset", 0)].decode())
        return DeclarationError(message, spot(start + column), hint)

    for node in _ordered(tree):
        _check_node(node, kind, names, what, params, fail)
    if kind == "condition" and not isinstance(tree.body, CONDITIONS):
        negated = isinstance(tree.body, ast.UnaryOp) and isinstance(tree.body.op, ast.Not)
        if not negated:
            raise fail(tree.body, f"not a condition: {stripped}", "write a comparison, such as n % 2 == 0")
    return stripped


def read(
    text: str, kind: str, names: Collection[str], spot: Spot, what: str = "a dimension or param",
    params: Collection[str] = (),
) -> Tree:  # fmt: skip
    """The tree of an expression of a kind that is not "reference". Raises DeclarationError as `check` does."""
    check(text, kind, names, spot, what, params)
    tree, deep = _tree(parse(text).body)
    if deep > MOST_LEVELS:
        raise DeclarationError(f"an expression nested {deep} deep", spot(0), f"{MOST_LEVELS} levels are allowed")
    return tree


def _tree(node: ast.expr) -> tuple[Tree, int]:
    """The tree of a checked expression, and how deep it is nested."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return value, 0
        case ast.Name(id=name):
            return name, 0
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _operation("+", [ast.Constant(0), operand])  # +True is 1
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as n)) if type(n) is not bool and n:
            return -n, 0
        case ast.UnaryOp(op=op, operand=operand):
            return _operation(_OPERATORS[type(op)], [operand])
        case ast.BinOp(op=op):
            return _operation(_OPERATORS[type(op)], [node.left, node.right])
        case ast.IfExp():
            return _operation("if", [node.test, node.body, node.orelse])
        case ast.Call(func=ast.Name(id=name), args=operands):
            return _operation(name, operands)
        case ast.BoolOp(op=op, values=operands):
            return _chain(_OPERATORS[type(op)], [_tree(operand) for operand in operands])
        case ast.Compare(left=left, ops=ops, comparators=others):
            pairs = zip(ops, [left, *others], others)
            return _chain("and", [_operation(_OPERATORS[type(op)], [a, b]) for op, a, b in pairs])
    raise AssertionError(f"{type(node).__name__} passed the check")


def _operation(op: str, operands: list[ast.expr]) -> tuple[Tree, int]:
    parts = [_tree(operand) for operand in operands]
    return Operation(op, tuple(tree for tree, _ in parts)), 1 + max(deep for _, deep in parts)


def _chain(op: str, parts: list[tuple[Tree, int]]) -> tuple[Tree, int]:
    """`a and b and c`, evaluated from the left."""
    (tree, deep), *others = parts
    for other, levels in others:
        tree, deep = Operation(op, (tree, other)), 1 + max(deep, levels)
    return tree, deep


def _check_node(
    node: ast.AST, kind: str, names: Collection[str], what: str, params: Collection[str], fail: Callable
) -> None:
    for part in (node, getattr(node, "op", None), *getattr(node, "ops", ())):
        if part is not None and not isinstance(part, ALLOWED[kind]):
            found = SHOWN.get(type(part), type(part).__name__)
            hint = "write // for the quotient rounded down" if isinstance(part, ast.Div) else HAS[kind]
            raise fail(node, f"{found} is not allowed in {WHAT[kind]}", hint)
    if isinstance(node, ast.Name):
        if node.id in FUNCTIONS and kind != "reference":
            return
        if node.id not in names:
            raise fail(node, f"'{node.id}' is not {what}", near(node.id, sorted(names)))
    elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
        raise fail(node, f"'{node.attr}' is private", "use NumPy's public functions")
    elif kind == "reference":
        return
    elif isinstance(node, ast.Constant):
        if type(node.value) not in CONSTANTS[kind]:
            hint = "write the name without quotes" if isinstance(node.value, str) else ""
            raise fail(node, f"{node.value!r} is not allowed in {WHAT[kind]}", hint)
        if type(node.value) is int and node.value > INT64_MAX:
            raise fail(node, "the number is too large", "numbers have 64 bits")
    elif isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or node.keywords:
            raise fail(node, f"only {', '.join(FUNCTIONS)} can be called in {WHAT[kind]}")
        if not node.args or (node.func.id == "abs") != (len(node.args) == 1):
            count = "one argument" if node.func.id == "abs" else "two arguments or more"
            raise fail(node, f"{node.func.id} takes {count}")
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Pow, ast.LShift, ast.RShift)):
        right = node.right
        known = isinstance(right, ast.Name) and right.id in params  # whose values `possible` looks at
        if not (known or isinstance(right, ast.Constant) and is_exponent(right.value)):
            message = f"an exponent or shift here is a number from 0 to {MOST_EXPONENT} or a param, not"
            raise fail(right, f"{message} {ast.unparse(right)}", "make it a param, or its result a dimension")


def is_exponent(value: object) -> bool:
    """Whether a number may stand as an exponent or a shift."""
    return type(value) is int and 0 <= value <= MOST_EXPONENT


def used_names(text: str) -> list[str]:
    """The names in an expression, in order, functions left out."""
    found = [n for n in ast.walk(parse(text)) if isinstance(n, ast.Name) and n.id not in FUNCTIONS]
    return list(dict.fromkeys(n.id for n in sorted(found, key=lambda n: n.col_offset)))


def _flat(text: str) -> str:
    return text.replace("\n", " ").strip()


def places(text: str, spot: Spot) -> list[tuple[str, Position]]:
    """The names in an expression that `check` accepts, and where each of them stands."""
    start, flat = len(text) - len(text.lstrip()), _flat(text).encode()
    found = [node for node in _ordered(parse(text)) if isinstance(node, ast.Name)]
    return [(node.id, spot(start + len(flat[: node.col_offset].decode()))) for node in found]


def _ordered(tree: ast.Expression) -> list[ast.expr | ast.keyword | ast.arg]:
    """Every node that has a place, the leftmost first, so that the first mistake is the one that is told."""
    placed = [n for n in ast.walk(tree) if isinstance(n, (ast.expr, ast.keyword, ast.arg))]
    return sorted(placed, key=lambda node: node.col_offset)
