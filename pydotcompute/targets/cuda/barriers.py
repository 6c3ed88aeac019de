"""Barriers and votes on faults as statements of a block's body; analysis/barriers.py says where threads must wait."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from typing import Any

from ...analysis.barriers import Path, barriers
from ...ir.tree import Break, Const, For, If, KernelTree, Node, Parallel, Stmt, Unary, While
from ..sites import ends_alone
from .teams import Team


@dataclass(frozen=True)
class Barrier(Node):
    """Every thread of the block waits for the others. As the first statement of a `threads` loop: between its counts
    and its iterations."""


@dataclass(frozen=True)
class Vote(Node):
    """Every thread of the block takes a fault of any other for its own."""


def body_with_barriers(tree: KernelTree, team: Team) -> tuple[Stmt, ...]:
    """The body of the kernel's `blocks` loop. Reductions of `threads` loops end in a barrier of their own, but where
    shuffles do: after these nobody is sure to see what another thread has stored."""
    assert tree.main is not None
    return _placed(tree.main.body, barriers(tree, reductions_synchronise=not team.shuffles_alone), ())


def _placed(body: tuple[Stmt, ...], points: Set[Path], base: Path) -> tuple[Stmt, ...]:
    placed: list[Any] = []  # statements, and barriers
    for k, s in enumerate(body):
        path = (*base, k)
        if path in points:
            placed.append(Barrier(at=s.at))
        if ends_alone(s) and not isinstance(s, While):
            placed.append(Vote(at=s.at))
        if isinstance(s, If):
            then, otherwise = (_placed(part, points, (*path, j)) for j, part in enumerate((s.body, s.orelse)))
            placed.append(replace(s, body=then, orelse=otherwise))
        elif isinstance(s, (For, While)):
            made = replace(s, body=_placed(s.body, points, (*path, 0)))
            placed.append(_asking(made) if isinstance(made, While) and ends_alone(s) else made)
        elif isinstance(s, Parallel) and (*path, 0, 0) in points:
            waiting: tuple[Any, ...] = (Barrier(), *s.body)
            placed.append(replace(s, body=waiting))
        else:
            placed.append(s)
    if (*base, len(body)) in points:
        placed.append(Barrier())
    return tuple(placed)


def _asking(s: While) -> While:
    """The loop with its condition in the body, at the head of which threads vote."""
    leaves = If(Unary("not", s.condition, "bool"), (Break(at=s.at),), at=s.at)
    return replace(s, condition=Const(True, "bool"), body=(leaves, *s.body))


def without_first_barrier(loop: Parallel) -> tuple[Parallel, bool]:
    """A `threads` loop, and whether a barrier stands between its counts and its iterations."""
    waits = bool(loop.body) and isinstance(loop.body[0], Barrier)
    return replace(loop, body=loop.body[1:]) if waits else loop, waits
