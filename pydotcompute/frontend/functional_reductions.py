"""Reductions as values: `sum(e for c in threads(n) if …)`, and over `range`, anywhere an expression stands."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..ir import tree
from ..ir.dtypes import kind_of
from ..ir.operations import REDUCTIONS, of_bools, sum_type
from . import expressions, indices
from .promotion import Type, Value, constant, convert, held, truth
from .scope import Scope
from .syntax import called, parallel_kind


def functional(s: Scope, node: ast.Call) -> Value:
    """The reduction becomes a loop before the statement; its value is a new local."""
    op = called(node)
    if len(node.args) != 1 or not isinstance(node.args[0], ast.GeneratorExp):
        s.refuse(node, f"`{op}` takes one reduction", expressions.reduced(s, node))
    clauses = node.args[0].generators
    kinds = [_kind(s, clause.iter) for clause in clauses]
    if set(kinds) == {"range"}:
        return _serial(s, node, clauses)
    if len(clauses) > 1:
        first = next(kind for kind in kinds if kind != "range")
        same = set(kinds) == {first}
        s.refuse(
            clauses[1].target,
            f"a second `for` in a reduction over {first}",
            f"run over several counts at once: `for i, j in {first}(m, n)`" if same
            else f"write the one over `range` as a reduction of its own: `{op}({op}(… for k in range(m)) for i in "
            f"{first}(n))`",
        )  # fmt: skip
    return _parallel(s, node, clauses[0], kinds[0])


def _kind(s: Scope, iterable: ast.expr) -> str:
    kind = parallel_kind(iterable)
    if kind:
        return kind
    if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and iterable.func.id == "range":
        return "range"
    text = ast.unparse(iterable)
    hint = "write `range(n)`, or a loop that adds up with atomic_add"
    if isinstance(iterable, ast.Name) and iterable.id in s.arrays:
        hint = f"write `for k in range({next(iter(s.arrays[iterable.id].dims), 'n')})`, and `{text}[k]` for an element"
    s.refuse(iterable, f"a reduction runs over range, threads, blocks or grid, not `{text}`", hint)


def _parallel(s: Scope, node: ast.Call, clause: ast.comprehension, kind: str) -> Value:
    generator = node.args[0]
    assert isinstance(generator, ast.GeneratorExp)
    op, at = called(node), s.at(node)
    indices.check_place(s, clause.iter, kind, reduction=True)
    names = indices.targets(s, clause.target, clause.iter)
    counts, ranges = indices.counts(s, clause.iter)
    if s.place == "top":
        s.finished = frozenset(s.kernel_arrays)
    outer = s.place, s.depth, dict(s.shadow), dict(s.here)
    s.place, s.depth = kind, 0
    bound = tuple(indices.bind_index(s, name) for name in names)
    why = "" if kind == "blocks" else _INSIDE  # a block may reduce over its threads
    tests = _tests(s, clause, why)
    with s.apart(why) as first:
        term = expressions.expression(s, generator.elt)
    s.place, s.depth, s.shadow, s.state = outer

    type_, start, value, operand = _shape(s, op, term, node)
    op = of_bools(op, type_.dtype)
    name = s.fresh(f"{op}_", type_.dtype)
    update = tree.Accumulate(name, op, value, at=s.at(generator.elt))
    body = _guarded(s, clause, tests, [*first, update])
    reduction = tree.Reduction(name, op, type_.dtype, start, operand)
    s.before_statement.append(tree.Parallel(kind, bound, counts, body, (reduction,), ranges, at=at))
    return Value(tree.Var(name, type_.dtype, at=at), type_.weak)


_INSIDE = "inside a reduction"
Test = tuple[list[tree.Stmt], tree.Expr]  # what a condition takes first, and the condition


def _tests(s: Scope, clause: ast.comprehension, why: str = _INSIDE) -> list[Test]:
    found = []
    for test in clause.ifs:
        with s.apart(why) as first:
            condition, _ = expressions.condition(s, test)
        found.append((first, condition))
    return found


def _guarded(s: Scope, clause: ast.comprehension, tests: list[Test], body: list[tree.Stmt]) -> tuple[tree.Stmt, ...]:
    for (first, condition), test in zip(reversed(tests), reversed(clause.ifs)):
        body = [*first, tree.If(condition, tuple(body), at=s.at(test))]
    return tuple(body)


# ------------------------------------------------------------------------------------------------ over range


@dataclass(frozen=True)
class _Clause:
    """One `for k in range(…) if …` of a reduction; `first` is what its bounds take first."""

    node: ast.comprehension
    index: str
    first: list[tree.Stmt]
    count: tree.Expr
    range: tree.Range | None
    tests: list[Test]


def _serial(s: Scope, node: ast.Call, clauses: list[ast.comprehension]) -> Value:
    """A reduction over one or more ranges, of whoever evaluates the expression: a loop in a loop."""
    generator = node.args[0]
    assert isinstance(generator, ast.GeneratorExp)
    op, shadow, state = called(node), dict(s.shadow), dict(s.here)
    outer, s.serial = s.serial, True
    found = [_clause(s, clause) for clause in clauses]
    with s.apart(_INSIDE) as first:
        term = expressions.expression(s, generator.elt)
    s.shadow, s.state, s.serial = shadow, state, outer
    type_, start, value, operand = _shape(s, op, term, node)
    if len(found) > 1 and REDUCTIONS[op].positioned:
        return _best(s, node, found, first, value)
    op, at = of_bools(op, type_.dtype), s.at(node)
    body = first
    for clause in reversed(found):
        name = s.fresh(f"{op}_", type_.dtype)
        update = tree.Accumulate(name, op, value, at=s.at(generator.elt))
        inside = _guarded(s, clause.node, clause.tests, [*body, update])
        reduction = tree.Reduction(name, op, type_.dtype, start, operand)
        loop = tree.Reduce(clause.index, clause.count, inside, reduction, clause.range, at=at)
        body, value = [*clause.first, loop], tree.Var(name, type_.dtype, at=at)
    s.before_statement += body
    return Value(value, type_.weak)


def _clause(s: Scope, clause: ast.comprehension) -> _Clause:
    name = indices.targets(s, clause.target, clause.iter, most=1)[0]
    with s.apart(_INSIDE) as first:
        count, over = indices.sequential_range(s, clause.iter)
    return _Clause(clause, indices.bind_index(s, name), first, count, over, _tests(s, clause))


def _best(s: Scope, node: ast.Call, clauses: list[_Clause], first: list[tree.Stmt], value: tree.Expr) -> Value:
    """argmin or argmax over several ranges: loops that count their iterations and keep the first of the best."""
    op, at = called(node), s.at(node)
    for clause in clauses[:-1]:
        if clause.tests:
            s.refuse(
                clause.node.ifs[0],
                f"`if` before another `for` of `{op}`, whose iterations are counted",
                "write the condition at the end",
            )
    number, place = s.fresh("number_", "int64"), s.fresh(f"{op}_", "int64")
    best, candidate = s.fresh("best_", value.type), s.fresh("candidate_", value.type)

    def var(name: str) -> tree.Var:
        return tree.Var(name, "int64" if name in (number, place) else value.type, at=at)

    zero, one = tree.Const(0, "int64"), tree.Const(1, "int64")
    better: tree.Expr = tree.Compare(REDUCTIONS[op].combine, var(candidate), var(best), at=at)
    if kind_of(value.type) == "f":
        other, own = (tree.Call("isnan", (var(n),), "bool", at=at) for n in (candidate, best))
        better = tree.BoolOp("or", better, tree.BoolOp("and", other, tree.Unary("not", own, "bool")))
    better = tree.BoolOp("or", tree.Compare("<", var(place), zero), better)
    take = (tree.Assign(best, var(candidate)), tree.Assign(place, var(number)))
    body = _guarded(s, clauses[-1].node, clauses[-1].tests, [
        *first, tree.Assign(candidate, value, at=at), tree.If(better, take, at=at),
    ])  # fmt: skip
    body = (*body, tree.Assign(number, tree.Binary("+", var(number), one, "int64")))
    for clause in reversed(clauses):
        over = clause.range or tree.Range(zero, clause.count, one)
        body = (*clause.first, tree.For(clause.index, over.start, over.stop, over.step, body, at=at))
    empty = tree.Const(False, "bool") if value.type == "bool" else constant(0, value.type)
    s.before_statement += [
        tree.Assign(number, zero), tree.Assign(place, constant(-1, "int64")), tree.Assign(best, empty), *body
    ]
    return Value(var(place), False)


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
