"""How much work one iteration of a parallel loop is: a static estimate, written as Python over the dimensions.

Units are 10 ps on one core of a processor of 2020, from saxpy (0.12 ns an element) and exp (0.4 ns); a factor of two
either way only changes how finely the work is sliced.
"""

from __future__ import annotations

from typing import Callable, Iterator

from ..ir.tree import (
    Accumulate,
    Atomic,
    Binary,
    Call,
    CallHelper,
    Const,
    Expr,
    For,
    Helper,
    If,
    Load,
    Parallel,
    Reduce,
    Scatter,
    Stmt,
    Store,
    Var,
    While,
    walk,
)  # fmt: skip

ATOMIC = 2500  # 25 ns: an update that other threads make too; alone it is a plain one, fifty times as fast
SLICE = 6_400_000  # 64 µs by these costs; 20 µs and more where they are vectors of a newer processor
_SLOW = ("/", "//", "%", "**")
_EXACT = (
    "abs",
    "min",
    "max",
    "floor",
    "ceil",
    "trunc",
    "round",
    "sign",
    "fma",
    "copysign",
    "where",
    "isnan",
    "real",
    "imag",
)
_GUESS = "int64(16)"  # turns of a loop whose count is not known before it runs
_LIMIT = "int64(65536)"  # more turns than this fill a slice anyway


def cost_of(
    body: tuple[Stmt, ...],
    known: set[str],
    write: Callable[[Expr], str],
    helpers: dict[str, Helper],
    scalar: int = 1,
    atomic: int = 0,
) -> str:
    """Python for the cost of the statements. known: the scalars that are set when it is evaluated; write: Python of
    an expression over them. scalar: what an operation costs more where it is not vectorised. atomic:
    what an atomic update costs."""
    fixed, terms = 0, []

    def turns(count: Expr) -> str:
        if isinstance(count, Call) and count.function == "min":
            return next((found for a in count.arguments if (found := turns(a)) != _GUESS), _GUESS)
        names = {node.name for node in walk(count) if isinstance(node, Var)}
        if names <= known and not any(isinstance(node, (Load, CallHelper)) for node in walk(count)):
            return f"minimum(maximum(to_int64({write(count)}), int64(0)), {_LIMIT})"
        return _GUESS

    def inner(statements: tuple[Stmt, ...], slower: int) -> str:
        return cost_of(statements, known, write, helpers, slower, atomic)

    for s in body:
        if isinstance(s, Parallel):
            cost = inner(s.body, 1)
            for count in s.counts:
                cost = f"mul({turns(count)}, {cost})"
            terms.append(cost)
            fixed += 500 + 2000 * len(s.reductions)
        elif isinstance(s, Reduce):
            terms.append(f"mul({turns(s.count)}, {inner(s.body, 1)})")
            fixed += 0 if s.short else 500
        elif isinstance(s, For):
            span = s.stop if s.start == Const(0, "int64") else Binary("-", s.stop, s.start, s.start.type)
            terms.append(f"mul({turns(span)}, {inner(s.body, 4)})")
        elif isinstance(s, While):
            terms.append(f"mul({_GUESS}, {inner(s.body, 4)})")
        elif isinstance(s, If):
            fixed += scalar * _expression(s.condition, helpers)
            terms += [inner(s.body, scalar), inner(s.orelse, scalar)] if s.orelse else [inner(s.body, scalar)]
        else:
            fixed += scalar * sum(_expression(e, helpers) for e in _expressions(s))
            stores = isinstance(s, (Store, Scatter, Accumulate))
            fixed += atomic if isinstance(s, Atomic) else 5 * scalar * stores
    text = f"int64({fixed + 1})"
    for term in terms:
        text = f"add({text}, {term})"
    return text


def _expressions(s: Stmt) -> Iterator[Expr]:
    for value in s.__dict__.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Expr):
                yield item


def _expression(e: Expr, helpers: dict[str, Helper]) -> int:
    total = 0
    for node in walk(e):
        if isinstance(node, Load):
            total += 5
        elif isinstance(node, Call):
            total += 5 if node.function in _EXACT else 60
        elif isinstance(node, CallHelper):
            total += (
                sum(
                    _expression(part, helpers)
                    for s in helpers[node.helper].body
                    for n in walk(s)
                    for part in [n]
                    if n is not s and isinstance(n, Expr)
                )
                or 5
            )
        elif isinstance(node, Binary):
            total += 30 if node.op in _SLOW else 3
        else:
            total += 1
    return total
