"""Which loads of a loop's iterations can be done early, so that a thread has those of several iterations under way.

A thread that waits for each element of its own leaves a GPU's memory half idle: bandwidth times latency is more than
one element for every thread that a GPU holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field, replace

from ..signature import DTYPE_BYTES
from .python_source import is_cheap
from .tree import (
    Accumulate, Assign, Binary, BoolOp, Const, Expr, If, Load, Node, Parallel, Select, Stmt, Store, Unary, Var,
    children, rebuilt, walk,
)  # fmt: skip

BYTES = 16  # of each array, under way in a thread
MOST_ITERATIONS = 8
MOST_LOADS = 16  # under way in a thread: each needs a register or two
MOST_NODES = 20  # of an expression that is worked out early as well as in its place


@dataclass(frozen=True)
class Early:
    """values: what is loaded before everything else of an iteration, in order, each under a name that only `body`
    and later values know; body: the iteration with those names in place of loads; at_once: how many iterations."""

    values: dict[str, Expr]
    body: tuple[Stmt, ...]
    at_once: int


def early_loads(loop: Parallel, own: Set[str], aliases: Iterable[tuple[str, str]], size: int = BYTES) -> Early | None:
    """The loads of several iterations at once; None where two or more are not worth it.

    own: the kernel's own arrays; aliases: as KernelTree has them; size: bytes of each array under way in a thread.
    Iterations of a parallel loop are independent, so that loads of one may come before stores of another; within one,
    a load stays behind stores to what it may read. A load that a condition guards is guarded early too.
    """
    if not all(isinstance(s, (Assign, Store, Accumulate, If)) for s in _statements(loop.body)):
        return None
    loads = _Loads(loop, own, set(aliases))
    body = loads.body(loop.body, _Scope())
    if not loads.values:
        return None
    widest = max(DTYPE_BYTES[e.type] for e in loads.values.values())
    at_once = min(size // widest, MOST_ITERATIONS, MOST_LOADS // len(loads.values))
    return Early(loads.values, body, at_once) if at_once > 1 else None


@dataclass
class _Scope:
    """What is known where a statement stands."""

    loaded: dict[Load, Var] = field(default_factory=dict)
    defined: dict[str, Expr] = field(default_factory=dict)  # locals whose values can be worked out early
    stored: set[str] = field(default_factory=set)  # arrays that may have changed
    guard: Expr | None = None  # condition under which the statement is executed

    def inside(self, condition: Expr) -> _Scope:
        both = condition if self.guard is None else BoolOp("and", self.guard, condition)
        return _Scope(dict(self.loaded), dict(self.defined), set(self.stored), both)


class _Loads:
    def __init__(self, loop: Parallel, own: Set[str], aliases: set[tuple[str, str]]):
        self.own, self.aliases = own, aliases
        self.assigned = Counter(s.name for s in _statements(loop.body) if isinstance(s, Assign))
        self.values: dict[str, Expr] = {}

    def body(self, body: tuple[Stmt, ...], scope: _Scope) -> tuple[Stmt, ...]:
        return tuple(self.statement(s, scope) for s in body)

    def statement(self, s: Stmt, scope: _Scope) -> Stmt:
        if isinstance(s, If):
            return self.branches(s, scope)
        for e in children(s):
            self.load(e, scope)
        done = rebuilt(s, lambda e: self.replaced(e, scope))
        if isinstance(done, Assign):
            value = self.early(done.value, scope)
            if self.assigned[s.name] == 1 and value is not None:
                scope.defined[s.name] = value
        if isinstance(s, Store):
            self.store(touched(s.array, self.aliases), scope)
        return done

    def branches(self, s: If, scope: _Scope) -> If:
        self.load(s.condition, scope)
        condition = self.replaced(s.condition, scope)
        early = self.early(condition, scope)
        parts = []
        for branch, holds in ((s.body, early), (s.orelse, early and Unary("not", early, "bool"))):
            if holds is None:  # nothing in it can be done before it is known whether it is executed
                parts.append(branch)
                changed = {
                    a for n in _statements(branch) if isinstance(n, Store) for a in touched(n.array, self.aliases)
                }
            else:
                inner = scope.inside(holds)
                parts.append(self.body(branch, inner))
                changed = inner.stored
            scope.stored |= changed
        self.store(scope.stored, scope)
        return replace(s, condition=condition, body=parts[0], orelse=parts[1])

    def store(self, arrays: set[str], scope: _Scope) -> None:
        scope.stored |= arrays
        scope.loaded = {load: name for load, name in scope.loaded.items() if load.array not in arrays}

    def load(self, e: Expr, scope: _Scope) -> None:
        """Enter the loads that this expression does, whatever the values are."""
        for load in _unconditional(e):
            if load in scope.loaded or load.array in self.own | scope.stored:
                continue
            indices = [self.early(self.replaced(i, scope), scope) for i in load.indices]
            if None in indices:
                continue
            value: Expr = replace(load, indices=tuple(indices))
            if scope.guard is not None:
                value = Select(scope.guard, value, Const(False if load.type == "bool" else 0, load.type), load.type)
            name = next((n for n, known in self.values.items() if known == value), f"{len(self.values)} early")
            self.values[name] = value
            scope.loaded[load] = Var(name, load.type)

    def early(self, e: Expr, scope: _Scope) -> Expr | None:
        """The expression as it can be worked out before everything else, if it can at little cost."""

        def known(part):
            return scope.defined.get(part.name, part) if isinstance(part, Var) else rebuilt(part, known)

        e = known(e)
        nodes = list(walk(e))
        names = {n.name for n in nodes if isinstance(n, Var)}
        return e if is_cheap(e) and len(nodes) <= MOST_NODES and not names & self.assigned.keys() else None

    def replaced(self, e: Expr, scope: _Scope) -> Expr:
        """The expression with names in place of the loads that are done."""
        if isinstance(e, Load) and e in scope.loaded:
            return scope.loaded[e]
        return rebuilt(e, lambda part: self.replaced(part, scope))


def touched(array: str, aliases: Iterable[tuple[str, str]]) -> set[str]:
    """The arrays that a store to this one may change."""
    return {array, *(name for pair in aliases if array in pair for name in pair)}


def _statements(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """These and those inside them."""
    for s in body:
        yield from (n for n in walk(s) if isinstance(n, Stmt))


def _unconditional(node: Node) -> Iterator[Load]:
    """The loads that are evaluated whatever the values are, inner ones first."""
    parts = children(node)
    if isinstance(node, Select):
        parts = iter((node.condition,))
    elif isinstance(node, BoolOp):
        parts = iter((node.left,))
    for part in parts:
        yield from _unconditional(part)
    if isinstance(node, Load):
        yield node
