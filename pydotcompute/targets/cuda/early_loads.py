"""Which loads of a loop's iterations can be done early, so that a thread has those of several iterations under way.

A thread that waits for each element of its own leaves a GPU's memory half idle: bandwidth times latency is more than
one element for every thread that a GPU holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from ...artifact.signature import DTYPE_BYTES
from ...ir.contraction import product_of
from ...ir.dtypes import FLOATS
from ...ir.names import with_values
from ...ir.tree import (
    Accumulate,
    Assign,
    Atomic,
    Binary,
    BoolOp,
    CallHelper,
    Const,
    Expr,
    For,
    If,
    Load,
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
from ..llvm.expressions import is_cheap

SMALL = 64  # nodes of the tree of a loop that is unrolled
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

    @cached_property
    def stages(self) -> list[dict[str, Expr]]:
        """The values in parts of which each needs what the one before has loaded: while a thread waits for that of one
        iteration, it waits for that of the others."""
        stages: list[dict[str, Expr]] = [{}]
        for name, value in self.values.items():
            if any(isinstance(n, Var) and n.name in stages[-1] for n in walk(value)):
                stages.append({})
            stages[-1][name] = value
        return stages

    @cached_property
    def deciding(self) -> set[str]:
        """The names in conditions, which are worked out also where one before them does not hold; and in divisions of
        integers, which take jumps, and may be done where their result is not wanted."""
        nodes = (n for one in (*self.values.values(), *self.body) for n in walk(one))
        deciding = (n for n in nodes if isinstance(n, Expr) and (n.type == "bool" or _divides(n)))
        return {v.name for one in deciding for v in walk(one) if isinstance(v, Var)}


def is_small(s: Parallel, counting: bool = False) -> bool:
    """Whether a loop's iterations are worth doing several at once: short, and mostly waiting for memory. counting: all
    atomic updates are of copies that a block has, and wait for nothing."""
    nodes = list(walk(s))
    if any(isinstance(n, (For, While, Reduce, CallHelper)) or isinstance(n, Atomic) and not counting for n in nodes):
        return False
    return len(nodes) <= SMALL


def early_loads(loop: Parallel, own: Set[str], aliases: Iterable[tuple[str, str]], size: int) -> Early | None:
    """The loads of several iterations at once; None where two or more are not worth it.

    own: the kernel's own arrays; aliases: as KernelTree has them; size: bytes of each array under way in a thread.
    Iterations of a parallel loop are independent, so that loads of one may come before stores of another; within one,
    a load stays behind stores to what it may read. A load that a condition guards is guarded early too.
    """
    if not all(isinstance(s, (Assign, Store, Scatter, Atomic, Accumulate, If)) for s in _statements(loop.body)):
        return None
    loads = _Loads(loop, own, set(aliases))
    body = loads.body(loop.body, _Scope())
    if not loads.names:
        return None
    widest = max(DTYPE_BYTES[value.type] for value in _apart(loads.names, loop.names[-1]))
    at_once = min(size // widest, MOST_ITERATIONS, MOST_LOADS // len(loads.names))
    return Early({name: value for value, name in loads.names.items()}, body, at_once) if at_once > 1 else None


@dataclass
class _Scope:
    """What is known where a statement or an expression stands."""

    loaded: dict[Load, Var] = field(default_factory=dict)
    defined: dict[str, Expr] = field(default_factory=dict)  # locals whose values can be worked out early
    stored: set[str] = field(default_factory=set)  # arrays that may have changed
    guard: Expr | None = None  # condition under which all this is executed
    open: bool = True  # whether that is known early, so that loads can be done

    def inside(self, condition: Expr | None) -> _Scope:
        """Where that holds too; None for a condition that is not known early."""
        guard = condition if self.guard is None or condition is None else BoolOp("and", self.guard, condition)
        is_open = self.open and condition is not None
        return _Scope(dict(self.loaded), dict(self.defined), set(self.stored), guard, is_open)


class _Loads:
    def __init__(self, loop: Parallel, own: Set[str], aliases: set[tuple[str, str]]):
        self.own, self.aliases = own, aliases
        self.assigned = Counter(s.name for s in _statements(loop.body) if isinstance(s, Assign))
        self.names: dict[Expr, str] = {}  # of what is loaded early

    def body(self, body: tuple[Stmt, ...], scope: _Scope) -> tuple[Stmt, ...]:
        return tuple(self.statement(s, scope) for s in body)

    def statement(self, s: Stmt, scope: _Scope) -> Stmt:
        if isinstance(s, If):
            condition, holds, fails = self.sides(s.condition, scope)
            body, orelse = self.body(s.body, holds), self.body(s.orelse, fails)
            self.store(holds.stored | fails.stored, scope)
            return replace(s, condition=condition, body=body, orelse=orelse)
        done = rebuilt(s, lambda e: self.expression(e, scope))
        if isinstance(done, Assign):
            value = self.early(done.value, scope)
            # A sum with a product in place of its name would be rounded once, and not as it is in the body.
            if self.assigned[done.name] == 1 and value and not (value.type in FLOATS and product_of(value)):
                scope.defined[done.name] = value
        if isinstance(s, (Store, Scatter, Atomic)):
            self.store({s.array, *(name for pair in self.aliases if s.array in pair for name in pair)}, scope)
        return done

    def store(self, arrays: set[str], scope: _Scope) -> None:
        """What is known where these arrays may have changed."""
        scope.stored |= arrays
        scope.loaded = {load: name for load, name in scope.loaded.items() if load.array not in arrays}

    def sides(self, condition: Expr, scope: _Scope) -> tuple[Expr, _Scope, _Scope]:
        """A condition, and what is known where it holds and where it does not."""
        condition = self.expression(condition, scope)
        early = self.early(condition, scope)
        return condition, scope.inside(early), scope.inside(early and Unary("not", early, "bool"))

    def expression(self, e: Expr, scope: _Scope) -> Expr:
        """The expression with names in place of loads, those that it adds and those that were there."""
        if isinstance(e, Load):
            return scope.loaded.get(e) or self.load(e, rebuilt(e, lambda part: self.expression(part, scope)), scope)
        if isinstance(e, Select):
            condition, holds, fails = self.sides(e.condition, scope)
            then, otherwise = self.expression(e.then, holds), self.expression(e.otherwise, fails)
            return replace(e, condition=condition, then=then, otherwise=otherwise)
        if isinstance(e, BoolOp):
            left, holds, fails = self.sides(e.left, scope)
            return replace(e, left=left, right=self.expression(e.right, holds if e.op == "and" else fails))
        return rebuilt(e, lambda part: self.expression(part, scope))

    def load(self, load: Load, done: Load, scope: _Scope) -> Expr:
        """A name for what it loads, if that can be early; `done` has names in place of the loads in its indices."""
        indices = tuple(early for i in done.indices if (early := self.early(i, scope)) is not None)
        if not scope.open or load.array in self.own | scope.stored or len(indices) < len(done.indices):
            return done
        value: Expr = replace(done, indices=indices)
        if scope.guard is not None:
            value = Select(scope.guard, value, Const(False if load.type == "bool" else 0, load.type), load.type)
        scope.loaded[load] = Var(self.names.setdefault(value, f"{len(self.names)} early"), load.type, at=load.at)
        return scope.loaded[load]

    def early(self, e: Expr, scope: _Scope) -> Expr | None:
        """The expression as it can be worked out before everything else, if it can at little cost."""

        e = with_values(e, scope.defined)
        nodes = list(walk(e))
        names = {n.name for n in nodes if isinstance(n, Var)}
        return e if is_cheap(e) and len(nodes) <= MOST_NODES and not names & self.assigned.keys() else None


def _apart(names: Mapping[Expr, str], index: str) -> list[Expr]:
    """The loads that differ from thread to thread, if there are any: the others, of one place of a whole row of
    threads, take next to nothing of what memory can do at once."""
    moving, found = {index}, []
    for value, name in names.items():
        if any(isinstance(n, Var) and n.name in moving for n in walk(value)):
            moving.add(name)
            found.append(value)
    return found or [*names]


def _statements(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """These and those inside them."""
    for s in body:
        yield from (n for n in walk(s) if isinstance(n, Stmt))


def _divides(e: Expr) -> bool:
    return isinstance(e, Binary) and e.op in ("//", "%") and e.type not in FLOATS
