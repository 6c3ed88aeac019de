"""`while` loops of which the text alone says how they turn, turn after turn: their indices are numbers then, and proved
to be inside, and nothing counts.

    j = 4                     x[0] += x[4]
    while j != 0:             x[0] += x[2]
        x[0] += x[j]    ⟶     x[0] += x[1]
        j >>= 1               j = 0
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ...analysis.races import check
from ...errors import DeclarationError
from ...ir.dtypes import INTEGER_BITS
from ...ir.integers import COMPARISONS, operations, wrapping
from ...ir.tree import (
    Assign,
    Atomic,
    Binary,
    BoolOp,
    Call,
    Compare,
    Const,
    Convert,
    Expr,
    For,
    If,
    KernelTree,
    Parallel,
    Scatter,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
    While,
    rebuilt,
    walk,
)  # fmt: skip
from .bodies import assigned, has_loops, jumps

_MOST = 1 << 13  # nodes that are done, turn after turn
Known = dict[str, Const]  # the scalars that hold a number of the text


class _Unknown(Exception):
    """It is not the text alone, or too much of it."""


def written_out(tree: KernelTree) -> KernelTree:
    """The tree without such loops, as far as they are short."""
    if not any(isinstance(n, While) for s in tree.body for n in walk(s)):
        return tree
    body = _with(tree.body, {})
    if body == tree.body:
        return tree
    try:
        return replace(check(replace(tree, body=body)), aliases=tree.aliases)
    except DeclarationError:
        return tree


def _with(body: Sequence[Stmt], known: Known) -> tuple[Stmt, ...]:
    """Statements with such loops written out; `known` is what is so before them, and then after them."""
    done: list[Stmt] = []
    for s in body:
        if isinstance(s, While):
            try:
                done += _turns(s, known)
                continue
            except _Unknown:
                pass
        if isinstance(s, Assign):
            done.append(s)
            _set(known, s.name, _folded(s.value, known))
            continue
        own = assigned((s,)) | (set(s.names) if isinstance(s, Parallel) else set())
        if isinstance(s, If):
            done.append(replace(s, body=_with(s.body, {**known}), orelse=_with(s.orelse, {**known})))
        elif isinstance(s, (While, For, Parallel)):
            inside = {name: value for name, value in known.items() if name not in own}
            done.append(replace(s, body=_with(s.body, inside)))
        else:
            done.append(s)
        _forget(known, own)
    return tuple(done)


def _turns(loop: While, known: Known) -> list[Stmt]:
    """The turns of a loop, one after the other. `known` is changed only if they are known."""
    turns = _Turns(known)
    turns.run((loop,))
    own = turns.known
    known.clear()
    known.update(own)
    return [*turns.done, *(Assign(name, own[name], at=loop.at) for name in sorted(assigned((loop,)) & own.keys()))]


class _Turns:
    """What is left to do of statements that are done as far as the text decides them. A scalar that is known is set
    nowhere."""

    def __init__(self, known: Known):
        self.known, self.done, self.left = {**known}, list[Stmt](), _MOST

    def run(self, body: Iterable[Stmt]) -> None:
        for s in body:
            match s:
                case Assign():
                    self._spend(s)
                    value = _folded(s.value, self.known)
                    _set(self.known, s.name, value)
                    if s.name not in self.known:
                        self.done.append(replace(s, value=value))
                case While():
                    while _number(_folded(s.condition, self.known)):
                        self._spend(s.condition)
                        self.run(s.body)
                case If() if isinstance(decided := _folded(s.condition, self.known), Const):
                    self._spend(s.condition)
                    self.run(s.body if decided.value else s.orelse)
                case For() if not jumps(s.body) and s.name not in assigned(s.body):
                    start, stop, step = (_number(_folded(e, self.known)) for e in (s.start, s.stop, s.step))
                    for k in range(start, stop, step) if step else ():
                        self._spend(s.stop)
                        self.known[s.name] = Const(k, "int64")
                        self.run(s.body)
                case If() if not jumps((s,)):
                    self._leave(s)
                case Store() | Atomic() | Scatter():
                    self._leave(s)
                case _:
                    raise _Unknown

    def _spend(self, node: Any) -> None:
        self.left -= sum(1 for _ in walk(node))
        if self.left < 0:
            raise _Unknown

    def _leave(self, s: Stmt) -> None:
        """Leave a statement, with what is known in it."""
        self._spend(s)
        if has_loops(s):
            raise _Unknown
        own = assigned((s,))
        self.done += [Assign(name, self.known[name], at=s.at) for name in sorted(own & self.known.keys())]
        _forget(self.known, own)
        self.done.append(_folded(s, self.known))


def _set(known: Known, name: str, value: Expr) -> None:
    known.pop(name, None)
    if isinstance(value, Const) and _is_whole(value.type):
        known[name] = value


def _forget(known: Known, names: Iterable[str]) -> None:
    for name in names:
        known.pop(name, None)


def _number(e: Expr) -> int:
    if not isinstance(e, Const):
        raise _Unknown
    return e.whole


def _is_whole(dtype: str) -> bool:
    return dtype == "bool" or dtype in INTEGER_BITS


def _folded(node: Any, known: Known) -> Any:
    """With the numbers that are known, and what follows from them in integers."""
    if isinstance(node, Var):
        return known.get(node.name, node)
    made = rebuilt(node, lambda child: _folded(child, known))
    match made:
        case Select(condition=Const() as condition):
            return made.then if condition.value else made.otherwise
        case BoolOp(left=Const() as left):
            return made.right if bool(left.value) == (made.op == "and") else left
        case Compare(left=Const() as left, right=Const() as right) if _is_whole(left.type):
            return Const(COMPARISONS[made.op](left.value, right.value), "bool", at=made.at)
        case Unary(op="not", operand=Const() as operand):
            return Const(not operand.value, "bool", at=made.at)
        case Convert(type="bool", operand=Const() as operand) if _is_whole(operand.type):
            return Const(operand.value != 0, "bool", at=made.at)
    if getattr(made, "type", "") not in INTEGER_BITS:
        return made
    value: int | None = None
    match made:
        case Binary(left=Const() as left, right=Const() as right):
            value = operations(made.type)[made.op](left.value, right.value)
        case Unary(operand=Const() as operand):
            value = wrapping(operator.neg if made.op == "-" else operator.invert, made.type, 1)(operand.value)
        case Convert(operand=Const() as operand) if _is_whole(operand.type):
            value = wrapping(int, made.type, 1)(operand.value)
        case Call(function="min" | "max", arguments=(Const() as left, Const() as right)):
            value = (min if made.function == "min" else max)(left.whole, right.whole)
    return made if value is None else Const(value, made.type, at=made.at)
