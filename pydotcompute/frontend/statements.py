"""Statements of the kernel language → the typed tree's."""

from __future__ import annotations

import ast
from typing import Sequence, cast

from ..ir import tree
from ..ir.functions import UPDATES
from . import array_swaps, arrays, constant_tuples, expressions, loops, reductions
from .names import array_kind, bindings, is_swap
from .promotion import Value, constant, convert, loaded
from .scope import SET, Scope, merge
from .syntax import without_docstring


def block(s: Scope, body: list[ast.stmt]) -> list[tree.Stmt]:
    """The statements in order; what can never be reached is left out."""
    built: list[tree.Stmt] = []
    for position, node in enumerate(body):
        if s.state is None:
            break
        outer, s.before_statement = s.before_statement, []
        if s.helper and isinstance(node, ast.If) and _returns(node):
            # A branch returns: the rest of the statements becomes the rest of each branch that does not.
            found = _if(s, node, _leveled(s, body[position + 1 :]))
        else:
            found = statement(s, node)
        built += [*s.before_statement, *found]
        s.before_statement = outer
        if s.helper and isinstance(node, (ast.For, ast.While)) and _returns(node):
            if s.state is None and not s.returned:
                break
            returned = tree.Var(s.returned, "bool", at=s.at(node))
            if s.loops:
                built.append(tree.If(returned, (tree.Break(),), at=s.at(node)))
                continue
            rest = block(s, _leveled(s, body[position + 1 :])) if s.state is not None else []
            if s.inlined:
                goes_on = expressions.negated(returned, returned.at)
                built += [tree.If(goes_on, tuple(rest), at=s.at(node))] if rest else []
                break
            results = tuple(tree.Var(n, t.dtype) for n, t in zip(s.left or (), s.result_types()))
            give = tree.Return(results, at=s.at(node))
            built += [tree.If(returned, (give,), tuple(rest), at=s.at(node))] if rest else [give]
            break
        if s.helper and isinstance(node, ast.If) and _returns(node):
            break
    return built


def statement(s: Scope, node: ast.stmt) -> list[tree.Stmt]:
    at = s.at(node)
    s.alone = node.value if isinstance(node, (ast.Assign, ast.Expr, ast.Return)) else None
    s.assigning = {name for name, _, _ in bindings([node])} if isinstance(node, (ast.Assign, ast.AugAssign)) else set()
    match node:
        case ast.Pass():
            return []
        case ast.Assign():
            return _assign(s, node)
        case ast.AugAssign():
            return _augmented(s, node)
        case ast.If():
            return _if(s, node, [])
        case ast.While():
            return loops.build_while(s, node)
        case ast.For():
            return loops.build_for(s, node)
        case ast.Break() | ast.Continue():
            return [_jump(s, node)]
        case ast.Return():
            return _return(s, node)
        case ast.Expr(value=ast.Call(func=ast.Name(id=name)) as call) if name in UPDATES:
            return [arrays.update(s, call)]
        case ast.Expr(value=ast.Call(func=ast.Name(id=name)) as call) if name in s.module.helpers:
            if s.parts.helper(s, call).call is None:
                return []
            s.refuse(node, f"`{ast.unparse(node)}` has no effect", "assign its value, or leave it out")
        case ast.Expr(value=ast.Call(func=ast.Name(id="sort")) as call):
            s.parts.ordering(s, call)
            return []
        case ast.Expr():
            expressions.expression(s, node.value)
            s.refuse(node, f"`{ast.unparse(node)}` has no effect", "assign its value, or leave it out")
    raise AssertionError(f"{type(node).__name__} passed the syntax check at {at}")


def _if(s: Scope, node: ast.If, rest: list[ast.stmt]) -> list[tree.Stmt]:
    s.alone = None
    test, _ = expressions.condition(s, node.test)
    entry = dict(s.here)
    s.depth += 1
    then = block(s, [*node.body, *rest])
    end, s.state = s.state, entry
    otherwise = block(s, [*node.orelse, *rest])
    s.depth -= 1
    s.state = merge(end, s.state, s.maybe)
    return [tree.If(test, tuple(then), tuple(otherwise), at=s.at(node))]


def _returns(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Return) for inner in ast.walk(node))


def _jump(s: Scope, node: ast.Break | ast.Continue) -> tree.Stmt:
    word = "break" if isinstance(node, ast.Break) else "continue"
    if not s.loops:
        s.refuse(node, f"`{word}` outside a loop", "leave it out")
    loop = s.loops[-1]
    if word == "break":
        if loop.kind not in ("for", "while"):
            s.refuse(
                node,
                f"`break` out of a parallel loop, `{loop.kind}` on line {s.module.line(loop.node)}",
                "its iterations are in no order; skip the rest of one with `continue`",
            )
        loop.breaks.append(s.state)
    else:
        loop.continues.append(s.state)
    s.state = None
    return tree.Break(at=s.at(node)) if word == "break" else tree.Continue(at=s.at(node))


def _return(s: Scope, node: ast.Return) -> list[tree.Stmt]:
    """Inside a loop it keeps the results and leaves the loops one by one."""
    name = s.function.name
    if loop := next((loop for loop in reversed(s.loops) if loop.kind not in ("for", "while")), None):
        hint = "its iterations are in no order: reduce, or store into an array"
        s.refuse(node, f"`return` inside `{loop.kind}`", hint)
    parts: list[ast.expr] = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value] if node.value else []
    if isinstance(node.value, ast.Tuple) and len(parts) < 2:
        s.refuse(
            node.value, f"helper `{name}` returns a tuple of {len(parts)}", "return a scalar, or several: `return a, b`"
        )
    if s.results is None:
        s.results = len(parts), node
    if s.results[0] != len(parts):
        here, there = (count or "no value" for count in (len(parts), s.results[0]))
        first = s.module.line(s.results[1])
        s.refuse(node, f"helper `{name}` returns {here} here and {there} on line {first}", "return as many")
    values = []
    for position, part in enumerate(parts):
        value = expressions.expression(s, part)
        values.append(convert(value, s.join_result(position, value.type, part).dtype, s.fault(part)))
    s.state = None
    at = s.at(node)
    if not s.loops and not s.inlined:
        return [tree.Return(tuple(values), at=at)]
    if s.left is None:
        s.left = tuple(s.fresh("result_", value.type) for value in values)
    kept: list[tree.Stmt] = [tree.Assign(n, value, at=at) for n, value in zip(s.left, values)]
    if not s.loops:
        return kept
    s.returned = s.returned or s.fresh("returned_", "bool")
    return [*kept, tree.Assign(s.returned, tree.Const(True, "bool", at=at), at=at), tree.Break(at=at)]


def _leveled(s: Scope, rest: list[ast.stmt]) -> list[ast.stmt]:
    """Statements that become part of a branch, and stand in the text where it is."""
    for node in rest:
        s.levels.setdefault(id(node), s.depth)
    return rest


def helper_body(s: Scope) -> list[tree.Stmt]:
    """The statements of a helper; what it returns inside of loops, or in the place of its call, is kept in names."""
    built: list[tree.Stmt] = []
    for name, given in s.given.items():
        if name in s.plain:  # assigned in the body: a local that starts as the argument
            dtype = s.join(name, given.type, s.function).dtype
            value = convert(given, dtype, s.fault(s.function))
            built.append(tree.Assign(s.renamed.get(name, name), value, at=s.at(s.function)))
            s.here[name] = SET
    body = block(s, without_docstring(s.function.body))
    if s.returned:
        first = {s.returned: "bool", **dict(zip(s.left or (), (t.dtype for t in s.result_types())))}
        built += [tree.Assign(n, constant(0, dtype)) for n, dtype in first.items()]
    built += body
    if not (s.results and s.results[0]):
        s.beyond_function()
    elif s.state is not None:
        s.refuse(s.function, f"helper `{s.function.name}` can end without a value",
                 "end every way through it with `return`")  # fmt: skip
    return built


# -------------------------------------------------------------------------------------------- assignments


def _assign(s: Scope, node: ast.Assign) -> list[tree.Stmt]:
    first = node.targets[0]
    if isinstance(first, ast.Name) and _accumulating(s, first.id):
        return [reductions.accumulate(s, node, first.id)]
    if array_kind(node.value):
        return [arrays.new(s, node)]
    if isinstance(node.value, ast.Tuple) and isinstance(first, ast.Name):
        constant_tuples.set_tuple(s, node, expressions.expression)
        return []
    if len(node.targets) == 1:
        if isinstance(first, (ast.Tuple, ast.List)):
            return _assign_tuple(s, node, first)
        return [assign(s, first, expressions.expression(s, node.value), node)]
    for target in node.targets:
        if isinstance(target, (ast.Tuple, ast.List)):
            s.refuse(target, "several targets, one of them a tuple", "write one assignment a line")
    value = expressions.expression(s, node.value)
    built: list[tree.Stmt] = []
    if not isinstance(value.expr, (tree.Const, tree.Var)):
        value = expressions.kept(s, value, built, node)
    return built + _assign_each(s, node.targets, [value] * len(node.targets), node)


def _accumulating(s: Scope, name: str) -> bool:
    loop = next((loop for loop in reversed(s.loops) if loop.kind not in ("for", "while")), None)
    return loop is not None and name in loop.reductions


def assign(s: Scope, target: ast.expr, value: Value, node: ast.stmt) -> tree.Stmt:
    """`target = value` for a name or an element."""
    at, fault = s.at(node), s.fault(getattr(node, "value", node))
    match target:
        case ast.Name(id=name):
            loops.not_an_index(s, target)
            dtype = s.join(name, value.type, target).dtype
            s.here[name] = SET
            return tree.Assign(s.renamed.get(name, name), convert(value, dtype, fault), at=at)
        case ast.Subscript():
            array, indices = expressions.access(s, target, "stored into")
            known = id(target) in s.module.known
            return tree.Store(array.name, indices, convert(value, array.dtype, fault), known=known, at=at)
    s.refuse(target, f"`{ast.unparse(target)}` cannot be assigned", "assign a name or an element, `out[i] = …`")


def _assign_tuple(s: Scope, node: ast.Assign, target: ast.Tuple | ast.List) -> list[tree.Stmt]:
    parts = target.elts
    for part in parts:
        if not isinstance(part, (ast.Name, ast.Subscript)):
            s.refuse(part, f"`{ast.unparse(part)}` cannot be assigned here", "write names and elements, `a, b = b, a`")
    if is_swap(node) and (swap := array_swaps.of_assignment(s, node)):
        return [cast(tree.Stmt, swap)]  # until the whole body is known
    if isinstance(node.value, ast.Tuple):
        _same_number(s, node, len(parts), len(node.value.elts))
        values = [expressions.expression(s, item) for item in node.value.elts]
        built: list[tree.Stmt] = []
        if not _independent(parts, node.value):  # as in a swap: all are computed before the first is assigned
            values = [v if isinstance(v.expr, tree.Const) else expressions.kept(s, v, built, node) for v in values]
        return built + _assign_each(s, parts, values, node)
    match node.value:
        case ast.Call(func=ast.Name(id=name)) as call_ if name in s.module.helpers:
            called = s.parts.helper(s, call_)
            types = called.types
        case _:
            s.refuse(node.value, f"one value for {len(parts)} targets", "write as many values, or call a helper")
    if not types:
        s.refuse(node.value, f"`{name}` returns no value", f"write `{ast.unparse(call_)}` alone")
    if len(types) == 1:
        hint = f"write `v = {ast.unparse(call_)}`"
        s.refuse(node.value, f"`{name}` returns one value, not a tuple of {len(parts)}", hint)
    _same_number(s, node, len(parts), len(types))
    if called.call is None:
        return _assign_each(s, parts, called.values, node)
    plain = [part for part in parts if isinstance(part, ast.Name)]
    names = [part.id for part in plain]
    if len(set(names)) == len(parts):
        for part, type_ in zip(plain, types):
            loops.not_an_index(s, part)
            s.join(part.id, type_, part)
        if all(s.type_of(name).dtype == type_.dtype for name, type_ in zip(names, types)):
            for name in names:
                s.here[name] = SET
            return [tree.AssignTuple(tuple(s.renamed.get(n, n) for n in names), called.call, at=s.at(node))]
    kept = [s.fresh("kept_", type_.dtype) for type_ in types]
    values = [Value(tree.Var(n, type_.dtype), type_.weak) for n, type_ in zip(kept, types)]
    return [
        tree.AssignTuple(tuple(kept), called.call, at=s.at(node)),
        *_assign_each(s, parts, values, node),
    ]


def _assign_each(s: Scope, targets: Sequence[ast.expr], values: Sequence[Value], node: ast.stmt) -> list[tree.Stmt]:
    """Each target its value, in order. What the indices of one take first stands behind the targets before it, which
    they may read: `k, out[sum(…)] = 3, 5`."""
    built: list[tree.Stmt] = []
    for target, value in zip(targets, values):
        outer, s.before_statement = s.before_statement, []
        assigned = assign(s, target, value, node)
        built += [*s.before_statement, assigned]
        s.before_statement = outer
    return built


def _independent(targets: list[ast.expr], values: ast.Tuple) -> bool:
    """Whether no value reads what the assignment sets."""
    read = {inner.id for inner in ast.walk(values) if isinstance(inner, ast.Name)}
    return all(isinstance(target, ast.Name) and target.id not in read for target in targets)


def _same_number(s: Scope, node: ast.Assign, targets: int, values: int) -> None:
    if targets != values:
        s.refuse(
            node, f"{values} {'value' if values == 1 else 'values'} for {targets} targets", "write as many of both"
        )


def _augmented(s: Scope, node: ast.AugAssign) -> list[tree.Stmt]:
    target, op = node.target, expressions.operator_of(node.op)
    if isinstance(target, ast.Name):
        if _accumulating(s, target.id):
            return [reductions.accumulate(s, node, target.id)]
        loops.not_an_index(s, target)
        old = s.read(target)
    elif isinstance(target, ast.Subscript):
        term = expressions.expression(s, node.value)  # first: `total[()] += sum(…)` stands after the reduction
        array, indices = expressions.access(s, target, "stored into")
        old = loaded(tree.Load(array.name, indices, array.dtype, at=s.at(target)))
        value = expressions.binary(s, op, old, term, node)
        stored = convert(value, array.dtype, s.fault(node.value))
        return [tree.Store(array.name, indices, stored, at=s.at(node))]
    else:
        s.refuse(target, f"`{ast.unparse(target)}` cannot be assigned", "assign a name or an element")
    value = expressions.binary(s, op, old, expressions.expression(s, node.value), node)
    return [assign(s, target, value, node)]
