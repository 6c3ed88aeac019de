"""What parallel loops and reductions share: where they may stand, their indices and their counts."""

from __future__ import annotations

import ast

from ..errors import Position
from ..ir import tree
from . import expressions, operators, uint64_ranges
from .names import check
from .promotion import Value, convert
from .scope import SET, Scope
from .syntax import called

_NAMES = "ijklmnopq"


def check_place(s: Scope, node: ast.AST, kind: str, reduction: bool = False) -> None:
    """Refuse a parallel loop or reduction where it may not stand."""
    what = f"a reduction over {kind}" if reduction else f"`{kind}`"
    if s.helper and kind == "threads" and all(loop.kind != "blocks" for loop in s.loops):
        s.refuse(node, f"{what} in a helper", "move it into the kernel, or write `range`")
    s.beyond_function()
    if reduction and s.lazy.startswith("inside"):
        s.refuse(node, f"{what} {s.lazy}", "write `range` for the inner one")
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


def targets(s: Scope, target: ast.expr, call: ast.expr, most: int = 0) -> list[str]:
    """The names of a parallel loop's indices, as many as it has counts; or of a sequential range's, `most`."""
    kind = called(call)
    assert isinstance(call, ast.Call)
    if not call.args and not most:
        s.refuse(call, f"`{kind}` takes a count for each index, found none", f"write `{kind}(n)` or `{kind}(m, n)`")
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
    if most:
        if len(names) > most:
            s.refuse(target, f"`{kind}` has 1 index and {len(names)} targets", "write a `for` for each: "
                     f"`for i in {kind}(m) for j in {kind}(n)`")  # fmt: skip
    elif len(names) != len(call.args):
        few = "1 target" if len(names) == 1 else f"{len(names)} targets"
        many = "1 count" if len(call.args) == 1 else f"{len(call.args)} counts"
        few_enough = len(call.args) <= len(_NAMES)
        example = ", ".join(_NAMES[: len(call.args)]) if few_enough else "i0, i1, …"
        s.refuse(target, f"`{kind}` has {many} and {few}", f"write `for {example} in {ast.unparse(call)}`")
    return names


def counts(s: Scope, call: ast.expr) -> tuple[tuple[tree.Expr, ...], tuple[tree.Range | None, ...]]:
    """How many iterations there are along each index, and the ranges of those that do not count from 0."""
    assert isinstance(call, ast.Call)
    what = f"`{called(call)}`"
    ranges = tuple(_range(s, a, what) if isinstance(a, ast.Tuple) else None for a in call.args)
    found = (_length(r, s.at(a)) if r else _integer(s, a, what) for r, a in zip(ranges, call.args))
    return tuple(found), ranges if any(ranges) else ()


def _range(s: Scope, node: ast.Tuple, what: str) -> tree.Range:
    """`(start, stop)` or `(start, stop, step)`."""
    if not 2 <= len(node.elts) <= 3:
        s.refuse(node, f"a count of {what} is a number, or a start and a stop, found a tuple of {len(node.elts)}",
                 "write `(start, stop)` or `(start, stop, step)`")  # fmt: skip
    start, stop = (_fixed(s, _integer(s, part, what), part) for part in node.elts[:2])
    step = _step(s, _integer(s, node.elts[2], what), node.elts[2]) if len(node.elts) > 2 else _ONE
    return tree.Range(start, stop, step, at=s.at(node))


def sequential_range(s: Scope, call: ast.expr) -> tuple[tree.Expr, tree.Range | None]:
    """Of `range(…)` in a reduction: how many iterations there are, and its range, unless it counts from 0."""
    assert isinstance(call, ast.Call)
    if not 1 <= len(call.args) <= 3:
        s.refuse(call, f"`range` takes 1 to 3 arguments, found {len(call.args)}", "write `range(start, stop, step)`")
    at, values = s.at(call), [_integer(s, argument, "`range`") for argument in call.args]
    if len(values) == 1:
        return values[0], None
    start, stop = (_fixed(s, value, node) for value, node in zip(values[:2], call.args))
    step = _step(s, values[2], call.args[2]) if len(values) == 3 else _ONE
    over = tree.Range(start, stop, step, at=at)
    return _length(over, at), over


_ZERO, _ONE = tree.Const(0, "int64"), tree.Const(1, "int64")


def _binary(op: str, left: tree.Expr, right: tree.Expr, at: Position) -> tree.Expr:
    return tree.Binary(op, left, right, "int64", at=at)


def _way(low: tree.Expr, high: tree.Expr, at: Position) -> tree.Expr:
    """How far it is from low to high, 0 if high is less: the difference itself might wrap then."""
    return _binary("-", tree.Call("max", (low, high), "int64", at=at), low, at)


def _step(s: Scope, step: tree.Expr, node: ast.expr) -> tree.Expr:
    """The step of a range, looked at where it is not known here."""
    step = _fixed(s, step, node)
    s.before_statement += checked_step(s, step, node)
    return step


def checked_step(s: Scope, step: tree.Expr, node: ast.expr) -> list[tree.Stmt]:
    """What refuses a step of 0: here, or where it is only known then."""
    if not isinstance(step, tree.Const):
        return [tree.CheckStep(step, at=s.at(node))]
    if step.value == 0:
        s.fault(node)("the step of a range is 0", "write a step that is not 0")
    return []


def _fixed(s: Scope, e: tree.Expr, node: ast.expr) -> tree.Expr:
    """The bound of a range, under a name of its own if the loop might change what it is made of."""
    if _invariant(s, e):
        return e
    return expressions.kept(s, Value(e), s.before_statement, node).expr


def _invariant(s: Scope, e: tree.Expr) -> bool:
    match e:
        case tree.Const():
            return True
        case tree.Var(name=name):
            return name in s.shadow.values() or e in (given.expr for given in s.given.values())
        case tree.Binary(op="+" | "-"):
            return _invariant(s, e.left) and _invariant(s, e.right)
    return False


def _length(over: tree.Range, at: Position) -> tree.Expr:
    """How many iterations a range has."""
    start, stop, step = over.start, over.stop, over.step
    if not isinstance(step, tree.Const):
        up, down = (_turns(start, stop, step, falls, at) for falls in (False, True))
        return _where(tree.Compare(">", step, _ZERO, at=at), up, _where(tree.Compare("<", step, _ZERO, at=at), down))
    low, high = (start, stop) if step.whole > 0 else (stop, start)
    if isinstance(low, tree.Const) and isinstance(high, tree.Const):
        turns = max(-((low.whole - high.whole) // (abs(step.whole) or 1)), 0)
        return tree.Const(min(turns, 2**63 - 1), "int64", at=at)  # which nobody waits for
    if abs(step.whole) <= 1:
        return high if low == _ZERO else _way(low, high, at)
    if not isinstance(low, tree.Const) or low.whole < 0:
        return _turns(start, stop, step, step.whole < 0, at)
    size = tree.Const(abs(step.whole), "int64", at=at)
    return _binary("+", _binary("//", _binary("-", _way(low, high, at), _ONE, at), size, at), _ONE, at)


def _turns(start: tree.Expr, stop: tree.Expr, step: tree.Expr, falls: bool, at: Position) -> tree.Expr:
    """How many steps lead from start to stop, by quotients: the way itself might wrap."""
    whole = _binary("-", _binary("//", stop, step, at), _binary("//", start, step, at), at)
    rests = _binary("%", stop, step, at), _binary("%", start, step, at)
    part = _where(tree.Compare("<" if falls else ">", *rests, at=at), _ONE)
    return _where(tree.Compare(">" if falls else "<", start, stop, at=at), _binary("+", whole, part, at))


def _where(condition: tree.Compare, then: tree.Expr, otherwise: tree.Expr = _ZERO) -> tree.Expr:
    return tree.Select(condition, then, otherwise, "int64", at=condition.at)


def bind_index(s: Scope, name: str) -> str:
    """Make `name` a live index; its name in the tree, which no local or live index has."""
    free = name not in s.plain and name not in s.array_nodes and name not in s.shadow.values() and not s.helper
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
        s.fault(node)(f"{what} takes integers, not {value.type}", expressions.integer_of(s, node, value))
        return tree.Const(1, "int64", at=s.at(node))
    return convert(value, "int64", s.fault(node))
