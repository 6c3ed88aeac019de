"""What a statement list holds: the names that it sets and reads, and how large it is; and the same with other names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...analysis.cost import EXACT
from ...ir.dtypes import FLOATS
from ...ir.tree import (
    Accumulate,
    Assign,
    AssignTuple,
    Atomic,
    Binary,
    Break,
    Call,
    CallHelper,
    Const,
    Continue,
    Expr,
    For,
    If,
    Load,
    Parallel,
    Range,
    Reduce,
    Stmt,
    Store,
    Var,
    While,
    children,
    rebuilt,
    walk,
)  # fmt: skip

SMALL = 500  # nodes of what is written several times, as by LLVM, which then makes vectors of the loop around
_QUICK = ("abs", "min", "max", "where", "fma")


def body_size(loop: Parallel) -> int:
    """How many nodes the tree of a loop's body has."""
    return sum(1 for s in loop.body for _ in walk(s))


def has_much_code(loop: Parallel | Reduce) -> bool:
    """Whether an iteration evaluates a function of many instructions: next to it, what a turn costs besides is little,
    and what is written twice is much code."""
    calls = (n for s in loop.body for n in walk(s) if isinstance(n, Call) or isinstance(n, Binary) and n.op == "**")
    return any(isinstance(n, Binary) or n.function not in EXACT for n in calls)


def vector_width(loop: Parallel) -> int:
    """How many lanes a vector of the loop has: fewer where it computes in 64 bits, for which functions have no more."""
    types = {getattr(node, "type", "") for s in loop.body for node in walk(s)}
    return 8 if types & {"float64", "complex64", "complex128"} else 16


def goes_across(loop: Parallel | Reduce) -> bool:
    """Whether its iterations read elements that lie apart: those of a column."""
    index = loop.names[-1] if isinstance(loop, Parallel) else loop.name
    loads = (n for s in loop.body for n in walk(s) if isinstance(n, Load))
    return any(index in read(*load.indices[:-1]) for load in loads)


def assigned(body: Iterable[Stmt], into: Callable[[Stmt], bool] = lambda s: True) -> set[str]:
    """The scalars that statements set; `into`: whether to look at what is inside one."""
    names: set[str] = set()
    for s in body:
        if isinstance(s, (Assign, For)):
            names.add(s.name)
        elif isinstance(s, AssignTuple):
            names |= set(s.names)
        elif isinstance(s, Atomic):
            names |= {s.result} - {""}
        elif isinstance(s, Reduce):
            names |= {s.name, s.reduction.name}
        elif isinstance(s, Parallel):
            names |= {r.name for r in s.reductions}
        if into(s):
            names |= assigned((node for node in children(s) if isinstance(node, Stmt)), into)
    return names


def executed(body: Iterable[Stmt], loops: Container[str]) -> Iterator[Stmt]:
    """The statements of a body, and of the loops in it over such indices, that none of its conditions guards."""
    for s in body:
        yield s
        if isinstance(s, For) and s.name in loops:
            yield from executed(s.body, loops)


def renamed(node: Any, names: dict[str, str]) -> Any:
    """With other scalars."""
    made = rebuilt(node, lambda child: renamed(child, names))
    if isinstance(made, (Var, Assign, For, Reduce, Accumulate)) and made.name in names:
        made = replace(made, name=names[made.name])
    if isinstance(made, Reduce) and made.reduction.name in names:
        made = replace(made, reduction=replace(made.reduction, name=names[made.reduction.name]))
    return made


def jumps(body: Iterable[Stmt]) -> bool:
    """Whether it may leave its loop, or go on to the next turn of it."""
    for s in body:
        if isinstance(s, (Break, Continue)):
            return True
        if isinstance(s, If) and (jumps(s.body) or jumps(s.orelse)):
            return True
    return False


def read(*nodes: Any) -> set[str]:
    return {n.name for node in nodes for n in walk(node) if isinstance(n, Var)}


def exposed(body: Iterable[Stmt]) -> tuple[set[str], set[str]]:
    """The scalars that may be read before statements set them, and those that they set in any case."""
    found: set[str] = set()
    certain: set[str] = set()
    for s in body:
        if isinstance(s, If):
            (one, set_one), (other, set_other) = exposed(s.body), exposed(s.orelse)
            found |= (read(s.condition) | one | other) - certain
            certain |= set_one & set_other
        elif isinstance(s, For):
            found |= (read(s.start, s.stop, s.step) | exposed(s.body)[0] - {s.name}) - certain
        elif isinstance(s, While):
            found |= (read(s.condition) | exposed(s.body)[0]) - certain
        elif isinstance(s, Reduce):
            r = s.reduction
            begins = {r.name} if r.start is None else set()
            found |= (read(s.count) | begins | exposed(s.body)[0] - {s.name, r.name}) - certain
            certain.add(r.name)
        elif isinstance(s, Parallel):
            begins = {r.name for r in s.reductions if r.start is None}
            starts = {n for r in s.reductions if r.start is not None for n in read(r.start)}
            inside = exposed(s.body)[0] - {*s.names, *(r.name for r in s.reductions)}
            found |= (read(*s.counts) | begins | starts | inside) - certain
        else:
            found |= read(s) - certain
            if isinstance(s, Assign):
                certain.add(s.name)
    return found, certain


def moves_on(s: If, loop: For | While) -> bool:
    """Whether a turn looks at an element that a turn before has chosen, and may choose another one, as in
    `if x[j] > x[best]: best = j`. Where that is no jump, each load waits for the choice before."""
    chosen = {inner.name for inner in s.body if isinstance(inner, Assign) and inner.name not in read(inner.value)}
    if s.orelse or len(chosen) < len(s.body):
        return False
    places = {name for n in walk(s.condition) if isinstance(n, Load) for name in read(*n.indices)}
    return bool(places & chosen & exposed(loop.body)[0])


def has_loops(*nodes: Any) -> bool:
    """Whether one of them is a loop, or has one inside."""
    return any(isinstance(n, (For, While, Parallel, Reduce)) for node in nodes for n in walk(node))


def as_parallel(loop: For) -> Parallel:
    """A sequential loop with a step of 1, as what asks about the iterations of a parallel one takes it."""
    ranges = () if loop.start == Const(0, "int64") else (Range(loop.start, loop.stop, loop.step),)
    return Parallel("threads", (loop.name,), (loop.stop,), loop.body, ranges=ranges, at=loop.at)


def decides_for_all(loop: object) -> bool:
    """Whether a loop that has none inside has a condition that is the same in all turns."""
    if not isinstance(loop, (For, While, Parallel)) or has_loops(*loop.body):
        return False
    own = assigned(loop.body) | ({loop.names[-1]} if isinstance(loop, Parallel) else set())
    own |= {loop.name} if isinstance(loop, For) else set()
    conditions = [n.condition for s in loop.body for n in walk(s) if isinstance(n, If)]
    same = (e for e in conditions if not isinstance(e, Const) and not read(e) & own)
    return any(not any(isinstance(n, (Load, CallHelper)) for n in walk(e)) for e in same)


def set_once(body: Sequence[Stmt]) -> dict[str, Expr]:
    """What a loop's body sets once, at its own level, and to what: where nothing reads what an iteration before it has
    left."""
    counts = Counter(name for s in body for name in assigned([s]))
    carried = exposed(body)[0]
    return {
        s.name: s.value
        for s in body
        if isinstance(s, Assign) and counts[s.name] == 1 and s.name not in carried
    }


def turns_of_nest(loop: For) -> int:
    """How often the innermost loops of a nest turn, where that is known; else a large number."""
    bounds = [e.whole for e in (loop.start, loop.stop, loop.step) if isinstance(e, Const)]
    if len(bounds) < 3 or not bounds[2]:
        return 1 << 30
    inner = [turns_of_nest(n) for s in loop.body for n in walk(s) if isinstance(n, For)]
    start, stop, step = bounds
    return max(-((start - stop) // step), 0) * max(inner, default=1)


def is_small(loop: Stmt) -> bool:
    """Whether LLVM writes all turns of a loop one after the other."""
    return isinstance(loop, For) and turns_of_nest(loop) * sum(1 for _ in walk(loop)) <= SMALL


def told_by_data(body: Sequence[Stmt]) -> set[str]:
    """The scalars that a body sets to what it loads or computes of floats, or to what follows from such ones."""
    sets = [n for s in body for n in walk(s) if isinstance(n, Assign)]
    found: set[str] = set()

    def is_data(n: Any) -> bool:
        of_data = isinstance(n, Var) and n.name in found
        return of_data or isinstance(n, (Load, CallHelper)) or getattr(n, "type", "") in FLOATS

    while more := {s.name for s in sets if any(map(is_data, walk(s.value)))} - found:
        found |= more
    return found


def is_extreme(body: Iterable[Stmt], name: str) -> bool:
    """Whether all that is done to a name is to keep the larger or the smaller, which vectors of terms can do too."""
    updates = [n for s in body for n in walk(s) if isinstance(n, Assign) and n.name == name]
    reads = sum(isinstance(n, Var) and n.name == name for s in body for n in walk(s))
    return reads == len(updates) and all(
        isinstance(s.value, Call) and s.value.function in ("min", "max")
        and any(isinstance(a, Var) and a.name == name for a in s.value.arguments)
        for s in updates
    )  # fmt: skip


def lie_side_by_side(load: Load, store: Store) -> bool:
    """Whether they are of one row of an array, and of two elements of it or of who knows which."""
    same_row = load.array == store.array and load.indices[:-1] == store.indices[:-1]
    return same_row and load.indices != store.indices


def adds_rows(loop: For, goes_on: set[str]) -> bool:
    """Whether all that a loop does is to add up, in what goes on from turn to turn, elements that lie side by side."""
    sums = {
        s.name for s in loop.body if isinstance(s, Assign) and isinstance(s.value, Binary) and s.value.op == "+"
        and any(isinstance(term, Var) and term.name == s.name for term in (s.value.left, s.value.right))
    }  # fmt: skip
    if goes_on - sums or not all(isinstance(s, Assign) for s in loop.body):
        return False
    return not any(isinstance(n, Load) and loop.name in read(*n.indices[:-1]) for s in loop.body for n in walk(s))


def is_slow(node: Any) -> bool:
    """Whether it is a function that takes longer than to gather what it is given."""
    return isinstance(node, CallHelper) or isinstance(node, Call) and node.function not in _QUICK
