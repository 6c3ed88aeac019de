"""Which names a function assigns, and whether it may."""

from __future__ import annotations

import ast
from typing import Iterator

from ..ir.functions import ARRAYS
from .module import place
from .scope import Scope, element
from .syntax import parallel_kind


def collect(s: Scope) -> None:
    """Fill the scope's locals, kernel arrays and loop indices; refuse names that may not be assigned."""
    s.plain = {}
    for name, node, kind in bindings(s.function.body):
        if kind == "swap":
            if is_array(s, name):
                continue
            kind = "scalar"
        check(s, node, name, kind == "index")
        if kind == "tuple" and name in s.array_nodes:
            line = s.module.line(s.array_nodes[name])
            s.refuse(node, f"`{name}` is set here and on line {line}", "use two names: a tuple is constant")
        if kind in ("array", "tuple"):
            s.array_nodes.setdefault(name, node)
        else:
            s.assigned.setdefault(name, node)
        if kind == "scalar":
            s.plain.setdefault(name, node)
        if name in s.array_nodes and name in s.assigned:
            first = min(s.array_nodes[name], s.assigned[name], key=place)
            what, other = ("an array", "a scalar") if kind == "array" else ("a scalar", "an array")
            s.refuse(node, f"`{name}` is {what} here and {other} on line {s.module.line(first)}", "use two names")


def bindings(body: list[ast.stmt]) -> Iterator[tuple[str, ast.AST, str]]:
    """(name, node, kind) of each assignment in these statements, in their order; a kind is one of "scalar", "array",
    "tuple", "swap" and "index"."""
    for node in body:
        match node:
            case ast.Assign(targets=targets, value=value):
                kind = "array" if array_kind(value) else "scalar"
                if is_swap(node):
                    kind = "swap"
                for target in targets:
                    if isinstance(value, ast.Tuple) and isinstance(target, ast.Name):
                        kind = "tuple"
                    for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                        if isinstance(part, ast.Name):
                            yield part.id, part, kind
            case ast.AugAssign(target=ast.Name(id=name) as target):
                yield name, target, "scalar"
            case ast.For(target=target):
                kind = "index" if parallel_kind(node.iter) else "scalar"
                for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if isinstance(part, ast.Name):
                        yield part.id, part, kind
                yield from bindings(node.body)
            case ast.While():
                yield from bindings(node.body)
            case ast.If():
                yield from bindings(node.body)
                yield from bindings(node.orelse)


def is_swap(node: ast.Assign) -> bool:
    """Whether it assigns names to one another: `a, b = b, a`."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=left)], value=ast.Tuple(elts=right)):
            names, values = ([e.id for e in side if isinstance(e, ast.Name)] for side in (left, right))
            return len(set(names)) == len(left) == len(right) > 1 and sorted(names) == sorted(values)
    return False


def is_array(s: Scope, name: str) -> bool:
    """Whether an array is meant where a name is swapped."""
    return name in s.arrays or name in s.array_nodes


def array_kind(value: ast.expr) -> str | None:
    """`shared`, `private` or `local`, if the value is a call of one."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ARRAYS:
        return value.func.id
    return None


def check(s: Scope, node: ast.AST, name: str, index: bool = False) -> None:
    """Refuse to assign a name that has another meaning, or (`index`) to make it the index of a loop."""
    meaning, hint = s.module.meaning(name), "choose another name"
    if name in s.arrays and name not in s.array_nodes:
        array = s.arrays[name]
        meaning = "an array" if array.rank else "an output scalar"
        hint = hint if index else f"store into its elements: `{element(name, array)} = …`"
    elif name in s.module.kernel.signature.symbols and not s.helper:
        meaning = "a dimension"
    elif name in s.given and not s.helper:
        meaning = "an argument"
        hint = hint if index else f"keep your own copy: `my_{name} = {name}`"
    elif name in s.module.helpers:
        meaning = "a helper"
    elif name == "e":  # a local `e` hides the constant, as in Python: it is too good a name for exp(x - m)
        return
    if meaning:
        cannot = "be the index of a loop" if index else "be assigned"
        s.refuse(node, f"`{name}` cannot {cannot}: it is {meaning}", hint)
