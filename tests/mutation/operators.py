"""Mutants of a Python file: each is one small change of its text, found through the syntax tree.

Left alone: annotations, decorators, docstrings, the text of messages (what a `raise` or an f-string says), imports.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from typing import Iterator

COMPARISONS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt,), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt,), ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.Div: ast.Mult,
}  # fmt: skip
FUNCTIONS = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True)
class Mutant:
    file: str  # relative to the repository
    function: str  # the qualified name around it; empty at the top of the file
    line: int
    old: str  # the first line that differs, without indentation
    new: str
    text: str  # the whole file

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What stays the same when other lines move."""
        return (self.file, self.function, self.old, self.new)


def mutants(file: str, text: str) -> list[Mutant]:
    """Every mutant of a file's text, without repetitions, in the order of the text."""
    tree = ast.parse(text)
    found: dict[str, Mutant] = {}
    for function, node, replacement in _changes(tree, ""):
        changed = _replaced(text, node, replacement)
        if changed in found or changed == text:
            continue
        try:
            ast.parse(changed)
        except SyntaxError:
            continue
        pairs = zip(text.split("\n"), changed.split("\n") + [""] * text.count("\n"))
        number, (old, new) = next((k, pair) for k, pair in enumerate(pairs, 1) if pair[0] != pair[1])
        found[changed] = Mutant(file, function, number, old.strip(), new.strip(), changed)
    return sorted(found.values(), key=lambda mutant: mutant.line)


def _replaced(text: str, node: ast.AST, replacement: str) -> str:
    """The text with a node's part of it replaced. The syntax tree counts columns in bytes."""
    lines = [line.encode() for line in text.split("\n")]
    before = b"\n".join([*lines[: node.lineno - 1], lines[node.lineno - 1][: node.col_offset]])
    after = b"\n".join([lines[node.end_lineno - 1][node.end_col_offset :], *lines[node.end_lineno :]])
    return (before + replacement.encode() + after).decode()


def _changes(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST, str]]:
    """(qualified name around it, node, what to write in its place) for a node and all below it."""
    for replacement in _alternatives(node):
        text = replacement if isinstance(replacement, str) else ast.unparse(ast.fix_missing_locations(replacement))
        yield function, node, f"({text})" if isinstance(node, ast.expr) and " " in text else text
    if isinstance(node, (ast.If, ast.IfExp, ast.While)) and not isinstance(node.test, (ast.Compare, ast.UnaryOp)):
        yield function, node.test, f"(not ({ast.unparse(node.test)}))"
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or isinstance(node, (ast.Raise, ast.JoinedStr)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, (ast.Import, ast.ImportFrom)):
                inner = getattr(node, "name", "") if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else ""
                yield from _changes(child, ".".join(filter(None, (function, inner))))


def _alternatives(node: ast.AST) -> Iterator[ast.AST | str]:
    """What may stand in a node's place."""
    match node:
        case ast.Compare():
            for k, op in enumerate(node.ops):
                for other in COMPARISONS.get(type(op), ()):
                    changed = copy.deepcopy(node)
                    changed.ops[k] = other()
                    yield changed
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            for k in range(len(node.values)):
                rest = node.values[:k] + node.values[k + 1 :]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
        case ast.Constant(value=bool() as value):
            yield repr(not value)
        case ast.Constant(value=int() as value):
            yield repr(value + 1)
            yield repr(value - 1)
        case ast.IfExp():
            yield node.body
            yield node.orelse
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
            yield ast.Call(ast.Name(FUNCTIONS[name]), node.args, node.keywords)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            for k, clause in enumerate(node.generators):
                for j in range(len(clause.ifs)):
                    changed = copy.deepcopy(node)
                    del changed.generators[k].ifs[j]
                    yield changed
        case ast.Return(value=value) if value is not None and not _is_falsy(value):
            yield "return None"
        case ast.Expr(value=value) if not isinstance(value, ast.Constant):
            yield "pass"
        case ast.AugAssign() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "pass"
        case ast.Raise() | ast.Continue() | ast.Break():
            yield "pass"


def _is_falsy(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value
