"""Accumulators of a parallel loop: `s += e`, `s = max(s, e)`; read between their updates, they are scans."""

from __future__ import annotations

import ast
from typing import Iterator

from ..ir import tree
from ..ir.operations import COMPARED, SYMBOLS, UPDATES, of_bools
from . import expressions, operators
from .names import bindings
from .promotion import Value, convert
from .scope import Loop, Scope

_UPDATES = {node: UPDATES[s] for node, s in SYMBOLS.items() if issubclass(node, ast.operator) and s in UPDATES}
_FORMS = f"`{' '.join(f'{symbol}=' for symbol in UPDATES)}`, `s = min(s, e)` or `s = max(s, e)`"


def update_of(node: ast.stmt, name: str) -> tuple[str, ast.expr] | None:
    """The op and the term, if the statement is an update of the accumulator `name`."""
    match node:
        case ast.AugAssign(target=ast.Name(id=target), op=op, value=value) if target == name:
            return (_UPDATES[type(op)], value) if type(op) in _UPDATES and not appears(value, name) else None
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call(func=ast.Name(id=function), args=[a, b])):
            if target == name and function in COMPARED:
                first, second = _is(a, name), _is(b, name)
                term = b if first else a
                if first != second and not appears(term, name):
                    return function, term
    return None


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def appears(node: ast.AST, name: str) -> bool:
    return any(_is(inner, name) for inner in ast.walk(node))


def classify(body: list[ast.stmt], name: str) -> tuple[str | None, str]:
    """The op of an accumulator whose only appearances in the loop are its updates; or None and what to do."""
    ops: list[str] = []
    problem = _search(body, name, ops, sequential=False)
    if problem is not None:  # of an assignment that is no update but could be one, rather than of what reads it
        advice = (_advice(node, name) for node in _once(body) if isinstance(node, (ast.Assign, ast.AugAssign)))
        problem = next((told for told in advice if told.startswith("write")), problem)
    if problem is None and len(set(ops)) > 1:
        problem = "give each kind of update an accumulator of its own"
    return (ops[0], "") if ops and problem is None else (None, problem or "")


def scanned(body: list[ast.stmt], name: str) -> str | None:
    """The op of an accumulator that the loop reads too: it has one update, in no loop inside."""
    updates = [found for node in _once(body) if (found := update_of(node, name))]
    assigned = [node for bound, node, _ in bindings(body) if bound == name]
    return updates[0][0] if len(updates) == len(assigned) == 1 else None


def _once(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that an iteration comes to at most once."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from _once(node.body)
            yield from _once(node.orelse)


def _search(body: list[ast.stmt], name: str, ops: list[str], sequential: bool) -> str | None:
    for node in body:
        if not appears(node, name):
            continue
        if update := update_of(node, name):
            if sequential:
                return f"add up in a name of the iteration's own in the inner loop, and update `{name}` once after it"
            ops.append(update[0])
            continue
        if isinstance(node, ast.If) and not appears(node.test, name):
            problem = _search(node.body, name, ops, sequential) or _search(node.orelse, name, ops, sequential)
        elif isinstance(node, (ast.For, ast.While)):
            heads = [node.test] if isinstance(node, ast.While) else [node.target, node.iter]
            used = any(appears(head, name) for head in heads)
            problem = _advice(node, name) if used else _search(node.body, name, ops, True)
        else:
            problem = _advice(node, name)
        if problem is not None:
            return problem
    return None


def _advice(node: ast.AST, name: str) -> str:
    match node:
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.BinOp() as value) if target == name:
            left, op, right = value.left, value.op, value.right
            other = right if _is(left, name) else left if _is(right, name) else None
            symbol = expressions.operator_of(op) if type(op) in _UPDATES else ""
            if other is not None and symbol and not appears(other, name) and (symbol != "-" or other is right):
                return f"write `{name} {symbol}= {ast.unparse(other)}`"
        case ast.AugAssign(target=ast.Name(id=target), op=op, value=value) if target == name:
            if isinstance(op, ast.Div) and not appears(value, name):
                return f"write `{name} *= 1 / ({ast.unparse(value)})`"
    return (
        f"an accumulator's updates are {_FORMS}; it has one where the loop reads it too (a scan), and what is carried "
        "in another way takes a loop over `range`"
    )


def of_extreme(loop: ast.For, name: str) -> str:
    """What to write for `if e > best: best = e` in a parallel loop, also where more is kept of that iteration; "" if it
    has no such thing of this name."""
    index = ast.unparse(loop.target)
    for node in loop.body:
        if not isinstance(node, ast.If) or node.orelse:
            continue
        kept = {bound for bound, _, _ in bindings(node.body)}
        tests = [node.test]
        if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And):
            tests = node.test.values
        for test in tests if name in kept else ():
            match test:
                case ast.Compare(left=larger, ops=[ast.Gt() | ast.GtE()], comparators=[smaller]):
                    pass
                case ast.Compare(left=smaller, ops=[ast.Lt() | ast.LtE()], comparators=[larger]):
                    pass
                case _:
                    continue
            if _is(larger, name) == _is(smaller, name):
                continue
            function, term = ("min", smaller) if _is(larger, name) else ("max", larger)
            under = ast.unparse(ast.BoolOp(ast.And(), [other for other in tests if other is not test]))
            if kept == {name}:
                update = f"write `{name} = {function}({name}, {ast.unparse(term)})`"
                return f"{update} under `if {under}`" if under else update
            over = f"{_written_out(loop, term)} for {index} in {ast.unparse(loop.iter)}"
            over += f" if {under}" if under else ""
            at = (n.targets[0] for n in node.body if isinstance(n, ast.Assign) and ast.unparse(n.value) == index)
            number = next((ast.unparse(target) for target in at), f"{name}_at")
            return (
                f"write `{number} = arg{function}({over})`, the number from 0 of the first such iteration, and "
                f"`{name} = {function}({over})`"
            )
    return ""


def _written_out(loop: ast.For, term: ast.expr) -> str:
    """A term; of a name that the loop sets once, what it is."""
    text = ast.unparse(term)
    values = [n.value for n in loop.body if isinstance(n, ast.Assign) and any(_is(t, text) for t in n.targets)]
    return ast.unparse(values[0]) if len(values) == 1 else text


def accumulate(s: Scope, node: ast.stmt, name: str) -> tree.Stmt:
    """An update of an accumulator: typed as the assignment that it is in Python, built as an Accumulate."""
    update = update_of(node, name)
    assert update is not None  # see `classify`
    op, term = update
    value = expressions.expression(s, term)
    known = s.type_of(name)
    old = Value(tree.Var(name, known.dtype), known.weak)
    fault = s.fault(node)
    if isinstance(node, ast.AugAssign):
        result = operators.binary(expressions.operator_of(node.op), old, value, fault)
    else:
        result = operators.call(op, [old, value], fault)
    dtype = s.join(name, result.type, node).dtype
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Sub):
        value = operators.unary("-", Value(convert(value, dtype, fault)), fault, s.at(node))
    return tree.Accumulate(s.renamed.get(name, name), of_bools(op, dtype), convert(value, dtype, fault), at=s.at(node))


def of_loop(s: Scope, loop: Loop) -> tuple[tree.Reduction, ...]:
    """The reductions of a loop whose body is built: their names hold what they start from."""
    found = []
    for name, op in loop.reductions.items():
        dtype = s.type_of(name).dtype
        own = s.renamed.get(name, name)
        found.append(tree.Reduction(own, of_bools(op, dtype), dtype, None, dtype, name in loop.scans))
    return tuple(found)
