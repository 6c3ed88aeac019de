"""Reductions: `sum(e for c in threads(n) if …)`, and accumulators of a parallel loop."""

from __future__ import annotations

import ast

from ..ir import tree
from ..ir.dtypes import kind_of
from ..ir.operations import COMPARED, REDUCTIONS, SYMBOLS, UPDATES, of_bools, sum_type
from . import expressions, indices, operators
from .promotion import Type, Value, constant, convert, held, truth
from .scope import Loop, Scope
from .syntax import called, parallel_kind

_UPDATES = {node: UPDATES[s] for node, s in SYMBOLS.items() if issubclass(node, ast.operator) and s in UPDATES}
_FORMS = f"`{' '.join(f'{symbol}=' for symbol in UPDATES)}`, `s = min(s, e)` or `s = max(s, e)`"


# ------------------------------------------------------------------------------------------ functional form


def functional(s: Scope, node: ast.Call) -> Value:
    """The reduction becomes a Parallel before the statement; its value is a new local."""
    op, at = called(node), s.at(node)
    if len(node.args) != 1 or not isinstance(node.args[0], ast.GeneratorExp):
        s.refuse(node, f"`{op}` takes one reduction", f"write `{op}(x[c] for c in threads(n))`")
    generator = node.args[0]
    clause = generator.generators[0]
    kind = parallel_kind(clause.iter)
    if kind not in ("grid", "threads"):
        text = ast.unparse(clause.iter)
        s.refuse(clause.iter, f"a reduction runs over threads or grid, not `{text}`", "write a loop and add up in it")
    indices.check_place(s, clause.iter, kind, reduction=True)
    names = indices.targets(s, clause.target, clause.iter)
    counts = indices.counts(s, clause.iter)
    outer = s.place, s.depth, s.before_statement, s.lazy, dict(s.shadow), dict(s.here)
    s.place, s.depth, s.before_statement, s.lazy = kind, 0, None, "inside a reduction"
    bound = tuple(indices.bind_index(s, name) for name in names)
    tests = [expressions.condition(s, test)[0] for test in clause.ifs]
    term = expressions.expression(s, generator.elt)
    s.place, s.depth, s.before_statement, s.lazy, s.shadow, s.state = outer

    type_, start, value, operand = _shape(s, op, term, node)
    op = of_bools(op, type_.dtype)
    name = s.fresh(f"{op}_", type_.dtype)
    body: tuple[tree.Stmt, ...] = (tree.Accumulate(name, op, value, at=s.at(generator.elt)),)
    for test, clause_test in zip(reversed(tests), reversed(clause.ifs)):
        body = (tree.If(test, body, at=s.at(clause_test)),)
    reduction = tree.Reduction(name, op, type_.dtype, start, operand)
    assert s.before_statement is not None  # see `check_place`
    s.before_statement.append(tree.Parallel(kind, bound, counts, body, (reduction,), at=at))
    return Value(tree.Var(name, type_.dtype, at=at), type_.weak)


def _shape(s: Scope, op: str, term: Value, node: ast.AST) -> tuple[Type, tree.Const, tree.Expr, str]:
    """The reduction's type, what it starts from, its term converted, and the type of what is compared."""
    fault, reduction = s.fault(node), REDUCTIONS[op]
    if reduction.gives == "bool":  # Python's own, whatever the terms are
        return Type("bool", True), constant(reduction.identity("bool"), "bool"), truth(term), "bool"
    if reduction.gives == "sum":
        done = Type(sum_type(term.expr.type), term.weak) if term.rank <= 1 else term.type
        return done, constant(reduction.identity(done.dtype), done.dtype), convert(term, done.dtype, fault), done.dtype
    if kind_of(term.expr.type) not in reduction.accepts:
        fault(f"`{op}` has no meaning for complex numbers", f"write `{op}(abs(z) …)`")
        return Type("float64"), constant(0, "float64"), constant(0, "float64"), "float64"
    dtype = term.expr.type
    if reduction.positioned:
        return Type("int64"), constant(-1, "int64"), held(term, fault), dtype
    return term.type, constant(reduction.identity(dtype), dtype), held(term, fault), dtype


# -------------------------------------------------------------------------------------------- accumulators


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
    if problem is None and len(set(ops)) > 1:
        problem = "give each kind of update an accumulator of its own"
    return (ops[0], "") if ops and problem is None else (None, problem or "")


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
    return f"an accumulator appears in its update alone: {_FORMS}"


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
    return tree.Accumulate(name, of_bools(op, dtype), convert(value, dtype, fault), at=s.at(node))


def of_loop(s: Scope, loop: Loop) -> tuple[tree.Reduction, ...]:
    """The reductions of a loop whose body is built: their names hold what they start from."""
    found = []
    for name, op in loop.reductions.items():
        dtype = s.type_of(name).dtype
        found.append(tree.Reduction(name, of_bools(op, dtype), dtype, None, dtype))
    return tuple(found)
