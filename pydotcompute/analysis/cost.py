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
    NewArray,
    Parallel,
    Reduce,
    Scatter,
    Stmt,
    Store,
    Var,
    While,
    children,
    walk,
)  # fmt: skip

ATOMIC = 2500  # 25 ns: an update that other threads make too; alone it is a plain one, fifty times as fast
SLICE = 1_600_000  # 16 µs by these costs; 4 µs and more where they are vectors of a newer processor
LOOK = 4 * SLICE  # as much work lies between two looks whether a call is to end
_SLOW = ("/", "//", "%", "**")
EXACT = (
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
_MOST = LOOK + 1  # turns, and what each of them costs: more than is between two looks, and products have 64 bits


def cost_of(
    body: tuple[Stmt, ...],
    known: set[str],
    write: Callable[[Expr], str],
    helpers: dict[str, Helper],
    scalar: int = 1,
    atomic: int = 0,
    private: frozenset[str] = frozenset(),
    tile: frozenset[str] = frozenset(),
) -> str:
    """Python for the cost of the statements. known: the scalars that are set when it is evaluated; write: Python of
    an expression over them. scalar: what an operation costs more where it is not vectorised. atomic:
    what an atomic update costs. private: arrays that are kept in registers. tile: the indices of a loop over threads
    that is a tile of registers; what does not depend on all of them is loaded for several iterations at once."""
    fixed, terms = 0, []
    private |= {n.name for s in body for n in walk(s) if isinstance(n, NewArray) and n.kind == "private"}

    def turns(count: Expr) -> str:
        if isinstance(count, Call) and count.function == "min":
            return next((found for a in count.arguments if (found := turns(a)) != _GUESS), _GUESS)
        names = {node.name for node in walk(count) if isinstance(node, Var)}
        if isinstance(count, Const) and isinstance(count.value, int):
            return f"int64({min(max(count.value, 0), _MOST)})"
        if names <= known and not any(isinstance(node, (Load, CallHelper)) for node in walk(count)):
            return f"minimum(maximum(to_int64({write(count)}), int64(0)), int64({_MOST}))"
        return _GUESS

    def inner(statements: tuple[Stmt, ...], slower: int, tile: frozenset[str] = tile) -> str:
        return cost_of(statements, known, write, helpers, slower, atomic, private, tile)

    def expression(e: Expr) -> int:
        return _expression(e, helpers, private, tile)

    for s in body:
        if isinstance(s, Parallel):
            in_registers = s.kind == "threads" and len(s.names) > 1 and all(isinstance(n, Const) for n in s.counts)
            cost = inner(s.body, 1, frozenset(s.names) if in_registers else frozenset())
            for count in s.counts:
                cost = _product(turns(count), cost)
            terms.append(cost)
            fixed += (not in_registers) * 500 + 2000 * len(s.reductions)
        elif isinstance(s, Reduce):
            terms.append(_product(turns(s.count), inner(s.body, 1)))
            fixed += 0 if s.short else 500
        elif isinstance(s, For):
            terms.append(_product(turns(_span(s)), inner(s.body, 4)))
        elif isinstance(s, While):
            terms.append(_product(_GUESS, inner(s.body, 4)))
        elif isinstance(s, If):
            fixed += scalar * expression(s.condition)
            terms += [inner(s.body, scalar), inner(s.orelse, scalar)] if s.orelse else [inner(s.body, scalar)]
        else:
            fixed += scalar * sum(map(expression, _expressions(s)))
            stores = isinstance(s, (Store, Scatter, Accumulate)) and getattr(s, "array", "") not in private
            fixed += atomic if isinstance(s, Atomic) else 5 * scalar * stores
    numbers = [constant(term) for term in terms]
    text = f"int64({fixed + 1 + sum(number or 0 for number in numbers)})"
    for term, number in zip(terms, numbers, strict=True):
        text = text if number is not None else f"add({text}, {term})"
    return text


def constant(text: str) -> int | None:
    """What the text of a cost says, if it is the same in every call."""
    digits = text.removeprefix("int64(").removesuffix(")")
    return int(digits) if digits.isdecimal() else None


def _product(turns: str, cost: str) -> str:
    """What is known is not left to the compiler: nested loops of known lengths would be most of a kernel's text."""
    count, each = constant(turns), constant(cost)
    if count is not None and each is not None:
        return f"int64({count * min(each, _MOST)})"
    return f"mul({turns}, {f'minimum({cost}, int64({_MOST}))' if 'mul(' in cost else cost})"


def _span(s: For) -> Expr:
    """From the start of a range to its end, or half of that, which no 64 bits are too few for."""
    low, high, of = s.start, s.stop, s.start.type
    if isinstance(s.step, Const) and s.step.whole < 0:
        low, high = high, low
    if isinstance(low, Const) and isinstance(high, Const):
        return Const(min(max(high.whole - low.whole, 0), _MOST), "int64")
    if isinstance(low, Const) and low.whole >= 0:
        return high if low.whole == 0 else Binary("-", high, low, of)
    one = Const(1, of)
    return Binary("-", Binary(">>", high, one, of), Binary(">>", low, one, of), of)


def _expressions(s: Stmt) -> Iterator[Expr]:
    for value in s.__dict__.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Expr):
                yield item


def _expression(
    e: Expr, helpers: dict[str, Helper], private: frozenset[str] = frozenset(), tile: frozenset[str] = frozenset()
) -> int:
    match e:
        case Load():
            shared = tile - {n.name for n in walk(e) if isinstance(n, Var)}
            if e.array in private or shared:
                return 0
            own = 5
        case Call():
            own = 5 if e.function in EXACT else 60
        case CallHelper():
            body = helpers[e.helper].body
            own = sum(_expression(n, helpers) for s in body for n in walk(s) if n is not s and isinstance(n, Expr)) or 5
        case Binary():
            own = 30 if e.op in _SLOW else 3
        case _:
            own = 1
    return own + sum(_expression(n, helpers, private, tile) for n in children(e) if isinstance(n, Expr))
