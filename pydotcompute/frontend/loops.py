"""Loops: `while`, `for … in range`, and the parallel ones."""

from __future__ import annotations

import ast
from typing import Callable

from ..ir import tree
from . import expressions, reductions, uint64_ranges
from .indices import bind_index, check_place, checked_step, counts, targets, whole
from .module import near
from .names import bindings, is_array
from .promotion import Type, Value, convert
from .scope import SET, Loop, Scope, State, Unreadable, merge
from .syntax import INSTEAD, parallel_kind


def build_for(s: Scope, node: ast.For) -> list[tree.Stmt]:
    kind = parallel_kind(node.iter)
    if kind:
        return [_parallel(s, node, kind)]
    match node.iter:
        case ast.Call(func=ast.Name(id="range")):
            return _sequential(s, node)
        case ast.Call(func=ast.Name(id=name)):
            fitting = f"write `for i in {_fitting(s)}(n):`"
            hint = INSTEAD.get(name) or near(name, ("range", "grid", "blocks", "threads"), fitting)
            s.refuse(node.iter, f"`for` cannot run over `{name}(…)`", hint)
    index = "i" if ast.unparse(node.target) != "i" else "k"
    count, instead = "n", ""
    if isinstance(node.iter, ast.Name) and node.iter.id in s.arrays and s.arrays[node.iter.id].rank:
        count = str(next(iter(s.arrays[node.iter.id].dims), "n"))
        instead = f", and `{node.iter.id}[{index}]` for `{ast.unparse(node.target)}`"
    hint = f"write `for {index} in {_fitting(s)}({count}):`{instead}"
    s.refuse(node.iter, f"`for` cannot run over `{ast.unparse(node.iter)}`", hint)


def _fitting(s: Scope) -> str:
    """The loop that may stand in this place."""
    if s.place == "blocks" and not s.depth:
        return "threads"
    return "grid" if s.place == "top" and not s.depth else "range"


# ---------------------------------------------------------------------------------------------- sequential


def _sequential(s: Scope, node: ast.For) -> list[tree.Stmt]:
    at = s.at(node)
    if not isinstance(node.target, ast.Name):
        s.refuse(node.target, f"`{ast.unparse(node.target)}` cannot be the index of a range", "write a name")
    name = node.target.id
    not_an_index(s, node.target)
    assert isinstance(node.iter, ast.Call)
    arguments = node.iter.args
    if not 1 <= len(arguments) <= 3:
        s.refuse(
            node.iter, f"`range` takes 1 to 3 arguments, found {len(arguments)}", "write `range(start, stop, step)`"
        )
    given = [expressions.expression(s, argument) for argument in arguments]
    values = [whole(s, value, argument, "`range`") for value, argument in zip(given, arguments)]
    zero, one = tree.Const(0, "int64", at=at), tree.Const(1, "int64", at=at)
    start, stop = (values[0], values[1]) if len(values) > 1 else (zero, values[0])
    step, before = (values[2] if len(values) == 3 else one), list[tree.Stmt]()
    if len(values) == 3:
        if not isinstance(step, (tree.Const, tree.Var)):  # looked at as well as used
            step = expressions.kept(s, Value(step), before, arguments[2]).expr
        before += checked_step(s, step, arguments[2])
    known = [e.whole for e in (start, stop, step) if isinstance(e, tree.Const)]
    runs = len(known) == 3 and bool(known[2] and range(*known))

    index = s.renamed.get(name, name)
    dtype = s.join(name, Type("int64", True), node.target).dtype
    first: tuple[tree.Stmt, ...] = ()
    if any(value.expr.type == "uint64" for value in given):
        weak = Value(zero, True), Value(one, True)
        begin, end, by = (weak[0], given[0], weak[1]) if len(given) == 1 else (*given, weak[1])[:3]
        counting, turns, of_turn = uint64_ranges.turns(s, node, (begin, end, by))
        before += counting
        index, start, stop, step = s.fresh(name, "int64"), zero, turns, one
        value = convert(Value(of_turn(tree.Var(index, "int64", at=at)), True), dtype, s.fault(node.target))
        first = (tree.Assign(s.renamed.get(name, name), value, at=at),)
    elif dtype != "int64":
        index = s.fresh(name, "int64")
        value = convert(Value(tree.Var(index, "int64", at=at), True), dtype, s.fault(node.target))
        first = (tree.Assign(s.renamed.get(name, name), value, at=at),)

    def set_index() -> None:
        s.here[name] = SET

    loop = Loop("for", node)
    entry = s.state
    body = _body(s, loop, node.body, set_index)
    ends = [s.state, *loop.continues]
    after: State | None = None if runs else entry
    for state in (*ends, *loop.breaks):
        after = merge(after, state, s.maybe)
    s.state = after
    return [*before, tree.For(index, start, stop, step, (*first, *body), at=at)]


def build_while(s: Scope, node: ast.While) -> list[tree.Stmt]:
    at = s.at(node)
    entry = dict(s.here)
    test, first = _test(s, node)
    loop = Loop("while", node)
    body = _body(s, loop, node.body, lambda: None)
    again = _next_turn(entry, (s.state, *loop.continues))
    if again != entry:  # the condition reads names of the next turn too
        end, s.state, kept = s.state, again, dict(s.locals)
        _test(s, node)
        s.state, s.locals = end, kept
    after = None if isinstance(test, tree.Const) and test.value else entry
    for state in (s.state, *loop.continues) if after is not None else ():
        after = merge(after, state, s.maybe)
    for state in loop.breaks:
        after = merge(after, state, s.maybe)
    if after is None and not loop.breaks and not any(isinstance(inner, ast.Return) for inner in ast.walk(node)):
        s.refuse(node, f"`while {ast.unparse(node.test)}` never ends", "leave it by `break`, or give it a condition")
    s.state = after
    if first:  # a reduction in the condition: computed anew before each turn
        stop = tree.If(expressions.negated(test, at), (tree.Break(at=at),), at=at)
        return [tree.While(tree.Const(True, "bool", at=at), (*first, stop, *body), at=at)]
    return [tree.While(test, tuple(body), at=at)]


def _test(s: Scope, node: ast.While) -> tuple[tree.Expr, list[tree.Stmt]]:
    """The condition, and the reductions in it, which come before."""
    outer, s.before_statement = s.before_statement, []
    s.depth += 1
    test, _ = expressions.condition(s, node.test)
    s.depth -= 1
    first, s.before_statement = s.before_statement, outer
    return test, first


def _next_turn(entry: State, ends: tuple[State | None, ...]) -> State:
    """The state in which a further turn begins: what was set, but for what a turn leaves unreadable."""
    again = dict(entry)
    for state in ends:
        for name, known in (state or {}).items():
            if isinstance(known, Unreadable) and entry.get(name) == SET:
                again[name] = known
    return again


def _body(s: Scope, loop: Loop, body: list[ast.stmt], begin: Callable[[], None]) -> list[tree.Stmt]:
    """The body of a sequential loop; s.state is then that of its end. What a turn leaves unreadable (a name that a
    parallel loop inside has made its own) is so in the next turn too, so the body may be built a second time."""
    entry = dict(s.here)
    for _ in range(len(entry) + 1):
        kept = dict(s.locals), dict(s.kernel_arrays), dict(s.now)
        s.state = dict(entry)
        begin()
        s.loops.append(loop)
        s.depth += 1
        built = s.parts.block(s, body)
        s.depth -= 1
        s.loops.pop()
        again = _next_turn(entry, (s.state, *loop.continues))
        if again == entry:
            return built
        entry = again
        s.locals, s.kernel_arrays, s.now = kept
        loop.breaks, loop.continues = [], []
    return built


def not_an_index(s: Scope, node: ast.Name) -> None:
    if node.id in s.shadow:
        loop = next(loop for loop in reversed(s.loops) if loop.kind in ("grid", "blocks", "threads"))
        s.refuse(
            node,
            f"`{node.id}` is the index of a parallel loop and cannot be assigned inside it",
            f"use another name in the loop of line {s.module.line(loop.node)}",
        )


# ------------------------------------------------------------------------------------------------ parallel


def _parallel(s: Scope, node: ast.For, kind: str) -> tree.Parallel:
    at, line = s.at(node), s.module.line(node)
    check_place(s, node.iter, kind)
    names = targets(s, node.target, node.iter)
    limits, ranges = counts(s, node.iter)
    loop = Loop(kind, node)
    entry = s.here
    own = {
        name: "scalar" if binding == "swap" else binding
        for name, _, binding in bindings(node.body) if binding != "swap" or not is_array(s, name)
    } | dict.fromkeys(names, "index")  # fmt: skip
    inside = dict(entry)
    for name, binding in own.items():
        if entry.get(name) != SET:
            if name not in entry or not isinstance(entry[name], Unreadable):
                inside.pop(name, None)
            continue
        op, hint = (None, "") if binding != "scalar" else reductions.classify(node.body, name)
        if binding == "scalar" and not op and (scanned := reductions.scanned(node.body, name)):
            op = scanned
            loop.scans.add(name)
        if op:
            loop.reductions[name] = op
        elif binding not in ("array", "tuple"):
            inside[name] = Unreadable(
                f"`{name}` carries a value from one iteration of the parallel loop of line {line} to the next",
                reductions.of_extreme(node, name) or hint,
            )
        else:
            inside.pop(name)
    if s.place == "top":  # a kernel or function of its own on every target: it has all of the memory
        s.finished = frozenset(s.kernel_arrays)
    outer = s.place, s.depth, dict(s.shadow)
    s.state, s.place, s.depth = inside, kind, 0
    s.loops.append(loop)
    indices = tuple(bind_index(s, name) for name in names)
    body = s.parts.block(s, node.body)
    s.loops.pop()
    s.place, s.depth, s.shadow = outer
    s.state = dict(entry)
    for name in own:
        if name not in loop.reductions:
            s.here[name] = Unreadable(
                f"`{name}` belongs to an iteration of the parallel loop of line {line} and cannot be read after it",
                "reduce it, `s += e`, or store it into an array",
            )
    return tree.Parallel(kind, indices, limits, tuple(body), reductions.of_loop(s, loop), ranges, at=at)
