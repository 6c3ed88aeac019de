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
    Reduce,
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
from .bodies import assigned, jumps

_MOST_TURNS, _MOST_NODES = 1 << 10, 4000
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
    own, done = {**known}, list[Stmt]()
    _run((loop,), own, done)
    done += [Assign(name, own[name], at=loop.at) for name in sorted(assigned((loop,)) & own.keys())]
    known.clear()
    known.update(own)
    return done


def _run(body: Iterable[Stmt], known: Known, done: list[Stmt]) -> None:
    """Do statements, of which what the text does not decide is left. A scalar that is known is set nowhere."""
    for s in body:
        match s:
            case Assign():
                value = _folded(s.value, known)
                _set(known, s.name, value)
                if s.name not in known:
                    done.append(replace(s, value=value))
            case While():
                for _ in range(_MOST_TURNS):
                    if not _number(_folded(s.condition, known)):
                        break
                    _run(s.body, known, done)
                else:
                    raise _Unknown
            case If() if isinstance(decided := _folded(s.condition, known), Const):
                _run(s.body if decided.value else s.orelse, known, done)
            case For():
                start, stop, step = (_number(_folded(e, known)) for e in (s.start, s.stop, s.step))
                turns = range(start, stop, step) if step else range(0)
                if jumps(s.body) or s.name in assigned(s.body) or len(turns) > _MOST_TURNS:
                    raise _Unknown
                for k in turns:
                    known[s.name] = Const(k, "int64")
                    _run(s.body, known, done)
            case If() if not jumps((s,)):
                _leave(s, known, done)
            case Store() | Atomic() | Scatter():
                _leave(s, known, done)
            case _:
                raise _Unknown
        if len(done) > _MOST_NODES:
            raise _Unknown
    if sum(1 for s in done for _ in walk(s)) > _MOST_NODES:
        raise _Unknown


def _leave(s: Stmt, known: Known, done: list[Stmt]) -> None:
    """Leave a statement, with what is known in it."""
    if any(isinstance(n, (While, For, Reduce, Parallel)) for n in walk(s)):
        raise _Unknown
    own = assigned((s,))
    done += [Assign(name, known[name], at=s.at) for name in sorted(own & known.keys())]
    _forget(known, own)
    done.append(_folded(s, known))


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
