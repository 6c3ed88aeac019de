"""What parallel loops and reductions share: where they may stand, their indices and their counts."""

from __future__ import annotations

import ast

from ..ir import tree
from . import expressions, operators, uint64_ranges
from .names import check
from .promotion import Value, convert
from .scope import SET, Scope
from .syntax import called


def check_place(s: Scope, node: ast.AST, kind: str, reduction: bool = False) -> None:
    """Refuse a parallel loop or reduction where it may not stand."""
    what = f"a reduction over {kind}" if reduction else f"`{kind}`"
    if s.place == "helper":
        s.refuse(node, f"{what} in a helper", "move it into the kernel")
    if reduction and s.before_statement is None and s.lazy:
        where = s.lazy if s.lazy.startswith("inside") else f"in a part of an expression that is {s.lazy}"
        hint = "give it a name on a line before: `s = sum(…)`"
        if s.lazy.startswith("inside"):
            hint = "write a loop with `range` for the inner one"
        s.refuse(node, f"{what} {where}", hint)
    if kind == "threads":
        if s.place == "threads":
            s.refuse(
                node, f"{what} inside `threads`", "write `range` for the inner loop, or `for i, j in threads(m, n)`"
            )
        if s.place == "grid":
            s.refuse(node, f"{what} inside `grid`", "write `range`, or make the outer loop `blocks`")
        if s.place != "blocks":
            s.refuse(node, f"{what} outside `blocks`", "write `for b in blocks(k):` around it, or use grid")
        return
    if s.place in ("grid", "blocks", "threads"):
        hint = "write `threads`" if s.place == "blocks" else "write `range` for the inner loop"
        s.refuse(node, f"{what} inside `{s.place}`", hint)


def targets(s: Scope, target: ast.expr, call: ast.expr) -> list[str]:
    """The names of a parallel loop's indices; as many as it has counts."""
    kind = called(call)
    assert isinstance(call, ast.Call)
    if not 1 <= len(call.args) <= 3:
        hint = f"write `{kind}(n)`, `{kind}(m, n)` or `{kind}(k, m, n)`"
        s.refuse(call, f"`{kind}` takes 1 to 3 counts, found {len(call.args)}", hint)
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    if isinstance(target, ast.Tuple) and len(parts) == 1:
        s.refuse(target, "a tuple of one target", f"write `for {ast.unparse(parts[0])} in {ast.unparse(call)}`")
    names = []
    for part in parts:
        if not isinstance(part, ast.Name):
            s.refuse(part, f"`{ast.unparse(part)}` cannot be the index of a loop", "write a name")
        check(s, part, part.id, index=True)
        if part.id in names or part.id in s.shadow:
            s.refuse(part, f"`{part.id}` is already the index of a loop here", "choose another name")
        names.append(part.id)
    if len(names) != len(call.args):
        few = "1 target" if len(names) == 1 else f"{len(names)} targets"
        many = "1 count" if len(call.args) == 1 else f"{len(call.args)} counts"
        example = ", ".join("ijk"[: len(call.args)])
        s.refuse(target, f"`{kind}` has {many} and {few}", f"write `for {example} in {ast.unparse(call)}`")
    return names


def counts(s: Scope, call: ast.expr) -> tuple[tree.Expr, ...]:
    assert isinstance(call, ast.Call)
    return tuple(_integer(s, argument, f"`{called(call)}`") for argument in call.args)


def bind_index(s: Scope, name: str) -> str:
    """Make `name` a live index; its name in the tree, which no local or live index has."""
    free = name not in s.plain and name not in s.array_nodes and name not in s.shadow.values()
    index = name if free else s.fresh(name, "int64")
    s.locals[index] = "int64"
    s.shadow[name] = index
    if s.state is not None:
        s.state[name] = SET
    return index


def _integer(s: Scope, node: ast.expr, what: str) -> tree.Expr:
    """The count of a parallel loop. One of a uint64 that no int64 holds is the largest: no loop gets there."""
    value = expressions.expression(s, node)
    if value.expr.type == "uint64":
        most = Value(tree.Const(uint64_ranges.MOST, "uint64", at=s.at(node)))
        value = operators.call("min", [value, most], s.fault(node), s.at(node))
    return whole(s, value, node, what)


def whole(s: Scope, value: Value, node: ast.expr, what: str) -> tree.Expr:
    if value.rank != 1:
        s.fault(node)(f"{what} takes integers, not {value.type}", "convert it: int64(…)")
        return tree.Const(1, "int64", at=s.at(node))
    return convert(value, "int64", s.fault(node))
