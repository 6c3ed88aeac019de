"""Checks of indices that a loop need not repeat: made once before it, and the loop written again without them.

An index that does not change in the loop (the row of a gather), or goes up or down with the loop's own (a stencil on
an array of another size), is inside in all iterations if it is inside in the first and the last; one that is brought
between two values which do not change, if those are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

from ...ir.names import with_values
from ...ir.tree import (
    Access,
    Binary,
    BoolOp,
    Break,
    Const,
    Continue,
    Expr,
    For,
    If,
    Load,
    Parallel,
    Reduce,
    Return,
    Select,
    Stmt,
    Unary,
    Var,
    While,
    children,
    rebuilt,
    walk,
)  # fmt: skip
from ..llvm.expressions import Expressions, is_cheap
from .bodies import assigned, body_size, read, set_once
from .elements import Elements
from .index_ends import ends_of
from .index_set_splitting import definitions, substituted

_LARGE = 400  # nodes of a body that is not written again
_STEEP = 1 << 20  # by how much what an index is made of may change from turn to turn
_TURNS = 1 << 40  # and in how many turns
Checks = list[tuple[Expr, str]]  # expressions, and the extents that they are to be within
Iterations = Callable[[Parallel], None]


class _Lifted(NamedTuple):
    indices: tuple[Expr, ...]
    checks: list[Checks]  # of each index, and of the loop: what is to be inside, and of how many
    exact: bool  # what a check finds outside is so in an iteration


class LiftedChecks:
    """aliases: of which arrays a call may give one view for two."""

    def __init__(self, expressions: Expressions, elements: Elements, aliases: frozenset[tuple[str, str]]):
        self.expressions, self.elements, self.aliases = expressions, elements, aliases
        self.writer = elements.writer

    def write(
        self, loop: Parallel, start: str, stop: str, iterations: Iterations, failing: Iterations | None = None
    ) -> None:
        """The iterations from start to stop of a loop without loops of its kind inside: where the checks that can be
        made before it find everything inside, without these checks. failing: writes it where one of its accesses is
        certainly outside."""
        lifted = self._lifted(loop, start, stop)
        if not lifted:
            iterations(loop)
            return
        writer = self.writer
        with writer.if_(f"lt({start}, {stop})"):
            tests: dict[str, None] = {}
            held: dict[Expr, Var] = {}  # what is looked at is what is used, whoever else writes the array it comes from
            new: dict[int, tuple[Expr, ...]] = {}
            for number, (indices, checks, _) in lifted.items():
                for e in (e for axis in checks for e, _ in axis if any(isinstance(part, Load) for part in walk(e))):
                    if e not in held:
                        held[e] = Var(writer.held("_index", self.expressions.text(e)), "int64")
                        writer.names.bind(held[e].name, held[e].name)
                found = ((held.get(e, e), extent) for axis in checks for e, extent in axis)
                tests |= dict.fromkeys(f"within({self.expressions.text(e)}, {extent})" for e, extent in found)
                new[number] = tuple(held.get(axis[0][0], e) if axis else e for e, axis in zip(indices, checks))

            def certain(node: Any) -> Any:
                if id(node) not in new:
                    return rebuilt(node, certain)
                indices = tuple(map(certain, new[id(node)]))
                value = {} if isinstance(node, Load) else {"value": certain(node.value)}
                return replace(node, indices=indices, inside=True, **value)

            every = {id(node) for node in _unconditional(loop.body)}.issuperset(lifted)
            fails = failing if every and all(one.exact for one in lifted.values()) else None
            inside = " and ".join(tests) or "True"
            with writer.if_(f"usually({reduce('band({}, {})'.format, tests)})" if fails and tests else inside):
                # What is found by an index that is known to be inside now may be looked at before the loop too.
                self.write(replace(loop, body=tuple(map(certain, loop.body))), start, stop, iterations, failing)
            with writer.else_():
                (fails or iterations)(loop)

    def _lifted(self, loop: Parallel, start: str, stop: str) -> dict[int, _Lifted]:
        """By the identity of an access."""
        lifted: dict[int, _Lifted] = {}
        faults, index = self.elements.faults, loop.names[-1]
        if faults.sites.bounds or not faults.any or body_size(loop) > _LARGE or index in assigned(loop.body):
            return lifted
        names = self.writer.names
        from_zero = not any(loop.ranges[-1:])
        ends = tuple(Var(f"{index}.{end}", "int64") for end in ("first", "last"))
        names.bind(ends[0].name, start)
        names.bind(ends[1].name, f"sub({stop}, int64(1))")
        known, changed = definitions(loop.body), assigned(loop.body)
        once = set_once(loop.body)

        def is_fixed(e: Expr) -> bool:
            return is_cheap(e) and not read(e) & {index, *changed}

        accesses = [node for s in loop.body for node in walk(s) if isinstance(node, Access)]
        written = {node.array for node in accesses if not isinstance(node, Load)}
        written |= {other for pair in self.aliases for other in pair if written & set(pair)}
        certain = {id(node) for node in _unconditional(loop.body)}
        for node in accesses:
            if not faults.checks(node):
                continue
            checks: list[Checks] = []
            turns: Checks = []
            exact = True
            looked = range(len(node.indices))[faults.sites.looked_at(node)]
            for axis, (e, extent) in enumerate(zip(node.indices, self.elements.arrays[node.array].extents)):
                if axis not in looked:
                    checks.append([])
                    continue
                given, e = e, with_values(e, known)
                if from_zero and e == Var(index, "int64") and extent == self.expressions.text(loop.counts[-1]):
                    checks.append([])  # of what the loop counts to
                    continue
                found = ends_of(given, once, is_fixed)
                if len(set(found)) > 1:
                    places, exact = list(found), False
                elif any(isinstance(part, Var) and part.name in changed for part in walk(e)):
                    break
                elif is_cheap(e) and (steps := slope(e, index)) is not None:
                    places = [substituted(e, {index: end}) for end in ends] if _mentions(e, index) else [e]
                    if abs(steps) > 1:  # whose values are no neighbours: among so few turns none wraps
                        exact = False
                        turns.append((Binary("-", ends[1], ends[0], "int64"), f"int64({_TURNS})"))
                elif id(node) in certain and not _mentions(e, index) and self._is_fixed(e, written):
                    places = [e]
                else:
                    break
                checks.append([(place, extent) for place in places])
            else:
                lifted[id(node)] = _Lifted(node.indices, [*checks, turns], exact)
        return lifted

    def _is_fixed(self, e: Expr, written: set[str]) -> bool:
        """Whether an expression has one value in all iterations, and may be evaluated before the first one."""
        if isinstance(e, Load):
            return (
                e.array not in written
                and not self.elements.faults.checks(e)
                and all(self._is_fixed(i, written) for i in e.indices)
            )
        if isinstance(e, (Select, BoolOp)):
            return is_cheap(e)
        loads = any(isinstance(part, Load) for part in walk(e))
        return all(self._is_fixed(part, written) for part in children(e)) if loads else is_cheap(e)


def _mentions(e: Expr, index: str) -> bool:
    return any(isinstance(node, Var) and node.name == index for node in walk(e))


def slope(e: Expr, index: str) -> int | None:
    """By how much e goes up, modulo 2 ** 64, when the index does by 1; None where that is not looked into."""
    if not _mentions(e, index):
        return 0
    if isinstance(e, Var):
        return 1
    if isinstance(e, Unary) and e.op == "-" and e.type == "int64":
        inner = slope(e.operand, index)
        return None if inner is None else -inner
    if isinstance(e, Binary) and e.op in ("+", "-") and e.type == "int64":
        left, right = slope(e.left, index), slope(e.right, index)
        return None if left is None or right is None else left + (right if e.op == "+" else -right)
    match e:
        case Binary("*", a, Const() as c, "int64") | Binary("*", Const() as c, a, "int64"):
            inner = slope(a, index)
            return None if inner is None or abs(inner * c.whole) > _STEEP else inner * c.whole
    return None


def _unconditional(body: tuple[Stmt, ...]) -> Iterator[Any]:
    """The nodes that are evaluated in every iteration: in the first, before anything could have changed them."""
    for s in body:
        if isinstance(s, (If, For, While)):
            if any(isinstance(node, (Continue, Break, Return)) for node in walk(s)):
                return
            continue
        yield from _evaluated(s)


def _evaluated(node: Any) -> Iterator[Any]:
    yield node
    if isinstance(node, Reduce):  # which may have no turns, and conditions in them
        yield from _evaluated(node.count)
        return
    inside = list(children(node))
    for child in inside[:1] if isinstance(node, (Select, BoolOp)) else inside:
        yield from _evaluated(child)
