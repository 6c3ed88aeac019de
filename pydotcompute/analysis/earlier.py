"""How a loop changes the locals that it sets.

    best = 0                       # in the loop and after it, `best` is 0 or the index of some turn of it,
    k = 0                          # and `k` at least 0, and at most as large as there were turns
    for j in range(1, n):
        if x[j] > x[best]:
            best = j
            k += 1
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..ir import tree as t
from ..ir.operations import SWAPPED

MOST = 4  # settings of one local: each is a case more to be looked into
_SIMPLE = (t.Const, t.Var, t.Unary, t.Binary, t.Convert)


class Setting(NamedTuple):
    """A value that an assignment may give: the expression, and the `for` loops around it, outermost first."""

    loops: tuple[t.For, ...]
    value: t.Expr


class Asked(NamedTuple):
    """What a `while` loop asks before each turn: that a local and `more` are at most `bound`; at least, where the loop
    makes the local less."""

    more: int
    bound: t.Expr
    beyond: int  # 1 where they may not be as much, -1 where they may not be as little


class Step(NamedTuple):
    """What assignments add to a local, all of one sign."""

    total: int
    largest: int  # of one of them
    once: bool  # each at most once a turn
    dtype: str
    asked: Asked | None = None


class Changes(NamedTuple):
    """By local: `settings`, of what follows from indices of loops and from names that the loop does not set; `steps`,
    of constants that are added."""

    settings: dict[str, list[Setting]]
    steps: dict[str, Step]


def changes(loop: t.For | t.While) -> Changes:
    """Of the integers that a loop sets in such ways alone."""
    statements = [*_statements(loop)]
    found: dict[str, list[tuple[tuple[t.Stmt, ...], t.Expr]]] = {}
    for around, s in statements:
        if isinstance(s, t.Assign) and s.value.type.startswith(("int", "uint")):
            mine = found.setdefault(s.name, [])
            mine += [(around, value) for value in _chosen(s.value) if not _is_itself(value, s.name)]
    if not found:
        return Changes({}, {})
    changing = {name for _, s in statements for name in names(s)}
    others = {name for _, s in statements if not isinstance(s, t.Assign) for name in names(s)}
    settings, steps = {}, {}
    for name in found.keys() - others:
        if step := _step(name, found[name]):
            steps[name] = step._replace(asked=_asked(loop, name, step.total, changing))
            continue
        each = [Setting(tuple(s for s in around if isinstance(s, t.For)), value) for around, value in found[name]]
        if len(each) <= MOST and _follow(each, changing):
            settings[name] = each
    return Changes(settings, steps)


def _step(name: str, found: list[tuple[tuple[t.Stmt, ...], t.Expr]]) -> Step | None:
    added = [_added(e, name) for _, e in found]
    known = [each for each in added if each is not None]
    if not added or len(known) < len(added) or min(known) < 0 < max(known):
        return None
    return Step(sum(known), max(map(abs, known)), all(len(around) == 1 for around, _ in found), found[0][1].type)


def _added(e: t.Expr, name: str) -> int | None:
    """The constant that an expression adds to a local, if it is nothing else."""
    match e:
        case t.Binary("+" | "-", t.Var(own), t.Const() as by) if own == name:
            return by.whole if e.op == "+" else -by.whole
        case t.Binary("+", t.Const() as by, t.Var(own)) if own == name:
            return by.whole
    return None


def _asked(loop: t.For | t.While, name: str, total: int, changing: set[str]) -> Asked | None:
    waiting = [loop.condition] if isinstance(loop, t.While) else []
    strict, weak = (">", ">=") if total < 0 else ("<", "<=")
    while waiting:
        e = waiting.pop()
        if isinstance(e, t.BoolOp) and e.op == "and":
            waiting += [e.left, e.right]
        if not isinstance(e, t.Compare):
            continue
        for op, one, other in ((e.op, e.left, e.right), (SWAPPED[e.op], e.right, e.left)):
            more = 0 if _is_itself(one, name) else _added(one, name)
            if more is not None and op in (strict, weak) and _is_known(other, changing):
                return Asked(more, other, (1 if total > 0 else -1) if op == strict else 0)
    return None


def _follow(found: list[Setting], changing: set[str]) -> bool:
    """Whether the values follow from indices of the loops around, and from what does not change."""
    for loops, value in found:
        indices: set[str] = set()
        for loop in loops:
            bounds = (loop.start, loop.stop, loop.step)
            if not all(_is_known(bound, changing - indices) for bound in bounds) or loop.name in assigned(loop.body):
                return False
            indices.add(loop.name)
        if not _is_known(value, changing - indices):
            return False
    return True


def _chosen(e: t.Expr) -> list[t.Expr]:
    """What an expression has the value of one of."""
    match e:
        case t.Select():
            return [*_chosen(e.then), *_chosen(e.otherwise)]
        case t.Call("min" | "max", arguments) if len(arguments) == 2:
            return [*_chosen(arguments[0]), *_chosen(arguments[1])]
    return [e]


def _is_itself(e: t.Expr, name: str) -> bool:
    return isinstance(e, t.Var) and e.name == name


def _is_known(e: t.Expr, changing: set[str]) -> bool:
    nodes = [*t.walk(e)]
    return all(isinstance(n, _SIMPLE) and not (isinstance(n, t.Var) and n.name in changing) for n in nodes)


def _statements(s: t.Stmt, around: tuple[t.Stmt, ...] = ()) -> Iterator[tuple[tuple[t.Stmt, ...], t.Stmt]]:
    """A statement and those in it, each with the loops around it."""
    yield around, s
    around = (*around, s) if isinstance(s, (t.For, t.While, t.Parallel, t.Reduce)) else around
    for part in (getattr(s, "body", ()), getattr(s, "orelse", ())):
        for inner in part:
            yield from _statements(inner, around)


def names(s: t.Stmt) -> set[str]:
    """The locals that a statement itself sets."""
    match s:
        case t.Assign() | t.For():
            return {s.name}
        case t.Reduce():
            return {s.name, s.reduction.name}
        case t.Atomic():
            return {s.result} - {""}
        case t.AssignTuple() | t.Parallel():
            return {*s.names, *(reduction.name for reduction in getattr(s, "reductions", ()))}
    return set()


def assigned(body: tuple[t.Stmt, ...]) -> set[str]:
    """The locals that statements and those in them set."""
    return {name for s in body for _, inner in _statements(s) for name in names(inner)}
