"""Index-set splitting of loops whose conditions compare the index: the iterations where all hold run without a mask.

A stencil writes `if 0 < i < m - 1 and 0 < j < n - 1`. A vectorised loop would load and store under a mask, which costs
ten times the arithmetic on some processors. Here the range of j for which the condition certainly holds is computed
before the loop; the iterations before and after it run the same body with its conditions.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any, Iterable, Iterator, NamedTuple, Sequence

from ...ir.operations import SWAPPED
from ...ir.tree import (
    Assign,
    Binary,
    BoolOp,
    Call,
    Compare,
    Const,
    Convert,
    Expr,
    If,
    Parallel,
    Scatter,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
    rebuilt,
    walk,
)  # fmt: skip
from ..llvm.expressions import Expressions, is_cheap
from ..llvm.writer import Writer
from .bodies import assigned, body_size, set_once

_MOST = 4  # conditions of one loop
_LARGE = 400  # nodes of a body that is not written three times: what is gained is small, what compiling costs is not
SAFE = 1 << 62  # an index stays below; with an addend that does too, index + addend cannot wrap


def conditions_to_split_by(loop: Parallel) -> list[Expr]:
    """The conditions on the index, if the body is worth writing three times."""
    return index_conditions(loop) if body_size(loop) <= _LARGE else []


def conditions_of_ends(loop: Parallel) -> list[Expr]:
    """Those of them that fail in a few iterations at the ends, as a rule, and without which there are no vectors. Next
    to others a mask is little where rows are short."""
    ends = set(_of_ends(loop))
    return [c for c in conditions_to_split_by(loop) if c in ends]


class Split(NamedTuple):
    """Of a range of iterations, names of the bounds of those for which the conditions certainly hold; where it may be
    that nothing is known, of whether that is not so; and whether there may be other iterations before and after."""

    low: str
    high: str
    known: str
    before: bool
    after: bool


def certain_range(
    loop: Parallel, conditions: list[Expr], start: str, stop: str, writer: Writer, expressions: Expressions
) -> Split:
    """Where nothing is known, or one of the conditions does not hold for any index, no iteration is in the range."""
    index, write = loop.names[-1], expressions.text
    known = definitions(loop.body)
    low, high = (writer.names.fresh(n) for n in ("_low", "_high"))
    writer.assign(f"{low}, {high}", f"{start}, {stop}")
    facts, wraps, sides = [], [], set()
    from_anywhere = [f"lt({start}, int64({SAFE}))", f"gt({start}, int64({-SAFE}))"] if loop.ranges else []
    for atom in (atom for c in conditions for atom in atoms(substituted(c, known))):
        side = affine_side(atom, index)
        if side is None:
            facts.append(write(atom))
            continue
        affine, op, other = side
        addend = write(substituted(affine, {index: Const(0, "int64")}))
        if not isinstance(affine, Var):
            wraps += [f"lt({addend}, int64({SAFE}))", f"gt({addend}, int64({-SAFE}))", *from_anywhere]
        limit = f"sub_saturating({write(other)}, {addend})"
        if op in (">", "<="):
            limit = f"add_saturating({limit}, int64(1))"
        target, choose = (low, "maximum") if op in (">", ">=") else (high, "minimum")
        writer.assign(target, f"{choose}({target}, {limit})")
        sides.add(target)
    held = writer.held("_known", _all([*dict.fromkeys(wraps)])) if wraps else ""
    certain = _all(facts + [held] * bool(held))
    if low in sides:
        writer.assign(low, f"minimum({low}, {stop})")
        if certain:
            writer.assign(low, f"select({certain}, {low}, {stop})")
    elif certain:
        writer.assign(high, f"select({certain}, {high}, {start})")
    if high in sides or certain:
        writer.assign(high, f"maximum({high}, {low})")
    return Split(low, high, held, low in sides, high in sides or low not in sides)


def _all(conditions: list[str]) -> str:
    return reduce(lambda both, condition: f"band({both}, {condition})", conditions) if conditions else ""


def does_nothing_else(body: Iterable[Stmt], conditions: list[Expr]) -> bool:
    """Whether nothing happens in an iteration for which one of the conditions does not hold."""
    *before, last = body
    quiet = all(isinstance(s, Assign) and is_cheap(s.value) for s in before)
    if not quiet or not isinstance(last, If) or last.orelse or last.condition not in conditions:
        return False
    left = [c for c in conditions if c != last.condition]
    return not left or does_nothing_else(last.body, left)


def assuming(body: Iterable[Stmt], conditions: list[Expr]) -> tuple[Stmt, ...]:
    """The statements as they are where the conditions hold."""

    def chosen(node: Any) -> Any:
        if isinstance(node, Select) and node.condition in conditions:
            return chosen(node.then)
        parts = {part: s for part in ("body", "orelse") if (s := getattr(node, part, ()))}
        bare = rebuilt(replace(node, **dict.fromkeys(parts, ())), chosen)
        return replace(bare, **{part: assuming(s, conditions) for part, s in parts.items()})

    found: list[Stmt] = []
    for s in body:
        if isinstance(s, If) and s.condition in conditions:
            found += [replace(inner, at=inner.at or s.at) for inner in assuming(s.body, conditions)]
        else:
            found.append(chosen(s))
    return tuple(found)


# ------------------------------------------------------------------------------------------------- conditions


def index_conditions(loop: Parallel) -> list[Expr]:
    """Conditions of a loop's body that keep memory from being touched, and that bounds on the last index decide."""
    index, known = loop.names[-1], definitions(loop.body)
    changed = assigned(loop.body) - set(known)
    found: list[Expr] = []

    def consider(condition: Expr, governed: Iterable) -> None:
        if not all(isinstance(e, Expr) and _is_light(e) for e in governed):
            split(condition)

    def split(condition: Expr) -> None:
        if condition in found or len(found) == _MOST:
            return
        written = substituted(condition, known)
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
        for condition in _of_ends(loop):
            split(condition)
    return found


def fail_at_ends(loop: Parallel, conditions: list[Expr]) -> bool:
    """Whether a few iterations at the ends are all for which one of the conditions does not hold, as a rule."""
    return set(_of_ends(loop)).issuperset(conditions)


def _of_ends(loop: Parallel) -> Iterator[Expr]:
    """The conditions of the choices of targets/cpu/periodic.py."""
    for node in (node for s in loop.body for node in walk(s)):
        match node:
            case Select(BoolOp() as condition, otherwise=Binary("%", right=Var())):
                yield condition
            case Select(BoolOp() | Compare() as condition, otherwise=Call("min" | "max"), type="int64"):
                yield condition


def _is_light(e: Expr) -> bool:
    """Whether it may as well be evaluated where its value is not wanted."""
    divides = any(isinstance(n, Binary) and n.op == "%" and isinstance(n.right, Var) for n in walk(e))
    return is_cheap(e) and not divides


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
    if not isinstance(atom, Compare) or atom.op in ("==", "!=") or atom.left.type != "int64":
        return None
    for side, op, other in ((atom.left, atom.op, atom.right), (atom.right, SWAPPED[atom.op], atom.left)):
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


def definitions(body: Sequence[Stmt]) -> dict[str, Expr]:
    """Locals that the body sets to something cheap: an index by another name."""
    found: dict[str, Expr] = {}
    for name, set_to in set_once(body).items():
        if is_cheap(set_to):
            value = substituted(set_to, found)
            if sum(1 for _ in walk(value)) < 20:
                found[name] = value
    return found


def substituted(e: Expr, values: dict[str, Expr]) -> Expr:
    """The expression with variables replaced."""
    if isinstance(e, Var):
        return values.get(e.name, e)
    if isinstance(e, (Binary, BoolOp, Compare)):
        return replace(e, left=substituted(e.left, values), right=substituted(e.right, values))
    if isinstance(e, (Unary, Convert)):
        return replace(e, operand=substituted(e.operand, values))
    return e
