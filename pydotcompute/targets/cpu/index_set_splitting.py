"""Loops whose conditions compare the index: split, so that the iterations where all hold run without a mask.

A stencil writes `if 0 < i < m - 1 and 0 < j < n - 1`. A vectorised loop would load and store under a mask, which costs
ten times the arithmetic on some processors. Here the range of j for which the condition certainly holds is computed
before the loop; the iterations before and after it run the same body with its conditions.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Iterable

from .loops import CpuLoops, assigned, body_size
from ..llvm.python_source import is_cheap
from ...ir.tree import (
    Assign,
    Binary,
    BoolOp,
    Compare,
    Const,
    Convert,
    Expr,
    If,
    Parallel,
    Select,
    Stmt,
    Scatter,
    Store,
    Unary,
    Var,
    walk,
)  # fmt: skip

_MOST = 4  # conditions of one loop
_LARGE = 400  # nodes of a body that is not written three times: what is gained is small, what compiling costs is not
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_SAFE = 1 << 62  # an index stays below; with an addend that does too, index + addend cannot wrap


class CpuGuards(CpuLoops):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.assumed: list[Expr] = []  # conditions that hold where code is being written

    # -------------------------------------------------------------------------------------- what is assumed

    def write_if(self, s: If) -> None:
        if s.condition in self.assumed:
            self.statements(s.body)
            return
        merged = None if self.bounds else common_store(s)
        if merged is None:
            super().write_if(s)
            return
        body, orelse, array, indices = merged
        value = self.names.fresh(f"{array}_new")
        with self.block(f"if {self.expression(s.condition)}:"):
            self.statements(body[:-1])
            self.line(f"{value} = {self.expression(body[-1].value)}")
        with self.block("else:"):
            self.statements(orelse[:-1])
            self.line(f"{value} = {self.expression(orelse[-1].value)}")
        self.line(self.store_text(array, indices, value))

    def _select(self, e: Select) -> str:
        return self.expression(e.then) if e.condition in self.assumed else super()._select(e)

    # ------------------------------------------------------------------------------------------------ loops

    def plain_loop(self, loop: Parallel, start: str, stop: str) -> None:
        conditions = guards(loop)
        if not conditions or self.bounds or body_size(loop) > _LARGE:
            super().plain_loop(loop, start, stop)
            return
        index = loop.names[-1]
        known = definitions(loop.body)
        low, high, certain = (self.names.fresh(n) for n in ("_low", "_high", "_certain"))
        self.line(f"{low}, {high} = {start}, {stop}")
        facts = []
        for atom in (atom for c in conditions for atom in atoms(inlined(c, known))):
            side = affine_side(atom, index)
            if side is None:
                facts.append(self.expression(atom))
                continue
            affine, op, other = side
            addend = self.expression(substituted(affine, {index: Const(0, "int64")}))
            if not isinstance(affine, Var):
                facts += [f"lt({addend}, int64({_SAFE}))", f"gt({addend}, int64({-_SAFE}))"]
            limit = f"sub_saturating({self.expression(other)}, {addend})"
            if op in (">", "<="):
                limit = f"add_saturating({limit}, int64(1))"
            target, choose = (low, "maximum") if op in (">", ">=") else (high, "minimum")
            self.line(f"{target} = {choose}({target}, {limit})")
        condition = "True"
        for fact in facts:
            condition = fact if condition == "True" else f"band({condition}, {fact})"
        self.line(f"{certain} = {condition}")
        self.line(f"{low} = select({certain}, minimum({low}, {stop}), {stop})")
        self.line(f"{high} = maximum({high}, {low})")
        super().plain_loop(loop, start, low)
        self.assumed += conditions
        super().plain_loop(loop, low, high)
        del self.assumed[-len(conditions) :]
        super().plain_loop(loop, high, stop)


# ------------------------------------------------------------------------------------------------- conditions


def guards(loop: Parallel) -> list[Expr]:
    """Conditions of a loop's body that keep memory from being touched, and that bounds on the last index decide."""
    index, known = loop.names[-1], definitions(loop.body)
    changed = assigned(loop.body) - set(known)
    found: list[Expr] = []

    def consider(condition: Expr, guarded: Iterable) -> None:
        if condition in found or len(found) == _MOST or all(isinstance(e, Expr) and is_cheap(e) for e in guarded):
            return
        written = inlined(condition, known)
        parts = atoms(written)
        names = {node.name for node in walk(written) if isinstance(node, Var)}
        usable = is_cheap(written) and not names & changed
        usable = usable and any(affine_side(a, index) for a in parts) and all(_decided(a, index) for a in parts)
        if usable and not names & set(known):
            found.append(condition)

    def look(body: Iterable[Stmt]) -> None:
        for s in body:
            if isinstance(s, If):
                consider(s.condition, (*s.body, *s.orelse))
                look(s.body)
            elif isinstance(s, (Assign, Store, Scatter)):
                for node in walk(s.value):
                    if isinstance(node, Select):
                        consider(node.condition, (node.then, node.otherwise))

    if index not in assigned(loop.body):
        look(loop.body)
    return found


def _decided(atom: Expr, index: str) -> bool:
    """Whether the atom bounds the index, or does not depend on it."""
    return affine_side(atom, index) is not None or not _mentions(atom, index)


def atoms(condition: Expr) -> list[Expr]:
    """What `and` joins."""
    if isinstance(condition, BoolOp) and condition.op == "and":
        return atoms(condition.left) + atoms(condition.right)
    return [condition]


def _mentions(e: Expr, index: str) -> bool:
    return any(isinstance(node, Var) and node.name == index for node in walk(e))


def affine_side(atom: Expr, index: str) -> tuple[Expr, str, Expr] | None:
    """(index + addend, op, a value without the index) of an order comparison of int64."""
    if not isinstance(atom, Compare) or atom.op not in _FLIPPED or atom.left.type != "int64":
        return None
    for side, op, other in ((atom.left, atom.op, atom.right), (atom.right, _FLIPPED[atom.op], atom.left)):
        if _is_affine(side, index) and not _mentions(other, index):
            return side, op, other
    return None


def _is_affine(e: Expr, index: str) -> bool:
    if isinstance(e, Var):
        return e.name == index
    if not isinstance(e, Binary) or e.op not in "+-":
        return False
    if _is_affine(e.left, index):
        return not _mentions(e.right, index)
    return e.op == "+" and _is_affine(e.right, index) and not _mentions(e.left, index)


def definitions(body: Iterable[Stmt]) -> dict[str, Expr]:
    """Locals that the body sets once, at its own level, to something cheap: an index by another name."""
    counts = Counter(name for s in body for name in assigned([s]))
    found: dict[str, Expr] = {}
    for s in body:
        if isinstance(s, Assign) and counts[s.name] == 1 and is_cheap(s.value):
            value = inlined(s.value, found)
            if sum(1 for _ in walk(value)) < 20:
                found[s.name] = value
    return found


def inlined(e: Expr, known: dict[str, Expr]) -> Expr:
    return substituted(e, known)


def substituted(e: Expr, values: dict[str, Expr]) -> Expr:
    """The expression with variables replaced."""
    if isinstance(e, Var):
        return values.get(e.name, e)
    if isinstance(e, (Binary, BoolOp, Compare)):
        return replace(e, left=substituted(e.left, values), right=substituted(e.right, values))
    if isinstance(e, (Unary, Convert)):
        return replace(e, operand=substituted(e.operand, values))
    return e


def common_store(s: If) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...], str, tuple] | None:
    """(body, orelse, array, indices) where both branches end in a store to the same element."""
    if not s.body or not s.orelse:
        return None
    last, other = s.body[-1], s.orelse[-1]
    if not isinstance(last, Store) or not isinstance(other, Store):
        return None
    names = {node.name for i in last.indices for node in walk(i) if isinstance(node, Var)}
    same = (last.array, last.indices) == (other.array, other.indices)
    if not same or names & (assigned(s.body) | assigned(s.orelse)) or not all(map(is_cheap, last.indices)):
        return None
    return s.body, s.orelse, last.array, last.indices
