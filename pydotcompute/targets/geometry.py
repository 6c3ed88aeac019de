"""How a kernel is launched, as far as it follows from arguments and dimensions: the counts of its loops as expressions,
and the blocks and grids of a declaration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from ..artifact.dimensions import MOST_LEVELS, Operation, Tree, evaluate, names, substituted
from ..artifact.launch import MOST_BLOCK, MOST_THREADS
from ..artifact.signature import DTYPE_BYTES
from ..errors import DeclarationError, Position
from ..ir.tree import Binary, Call, Compare, Const, Convert, Expr, Parallel, Select, Stmt, Unary, Var, walk

_MOST_LEVELS = MOST_LEVELS - 30  # what else is made of an expression is nested deeper
_MOST_NODES = 1000  # what is divided by stands several times in a tree


def assigned(body: Iterable[Stmt]) -> set[str]:
    """The locals that these statements set."""
    nodes = [n for s in body for n in walk(s)]
    return {n.name for n in nodes if isinstance(n, Stmt) and hasattr(n, "name")} | {
        name for n in nodes for name in getattr(n, "names", ()) if isinstance(name, str)
    }


def expression(e: Expr, known: Mapping[str, Tree | None]) -> Tree | None:
    """An expression of a kernel in any integers but uint64, or two of them compared, as a tree for the launch, which
    wraps as in the kernel; None if it is made of more than that, or would be more than a launch has to do with."""
    found = _followed(e, known)
    return found if found is not None and _is_small(found) else None


def _is_small(tree: Tree) -> bool:
    left, seen = [(tree, 0)], 0
    while left:
        one, level = left.pop()
        seen += 1
        if level > _MOST_LEVELS or seen > _MOST_NODES:
            return False
        if isinstance(one, Operation):
            left += [(operand, level + 1) for operand in one.operands]
    return True


def _followed(e: Expr, known: Mapping[str, Tree | None]) -> Tree | None:
    def operation(op: str, *parts: Expr) -> Tree | None:
        values = [value for part in parts if (value := expression(part, known)) is not None]
        return Operation(op, tuple(values)) if len(values) == len(parts) else None

    match e:
        case Const(value=int() as value):
            return value
        case Var(name=name):
            return known.get(name)
        case Compare(op=op, left=left, right=right) if left.type == right.type and "int" in left.type:
            return operation(op, left, right)
        case Convert(operand=operand) if "int" in operand.type:
            return _wrapped(operation("+%", operand, Const(0, "int64")), e.type)
        case Unary(op="-", operand=operand):
            return _wrapped(operation("-%", Const(0, "int64"), operand), e.type)
        case Binary(op="+" | "-" | "*" as op, left=left, right=right):
            return _wrapped(operation(f"{op}%", left, right), e.type)
        case Binary(op="//" | "%" as op, left=left, right=Const(value=int() as by) as right):
            return _wrapped(operation(op, left, right), e.type) if by not in (0, -1) else None
        case Binary(op="//", left=left, right=right):
            divided, divisor = expression(left, known), expression(right, known)
            if divided is None or divisor is None:
                return None
            quotient, back = Operation("//", (divided, divisor)), Operation("-%", (0, divided))
            some = Operation("if", (Operation("==", (divisor, -1)), back, quotient))
            return _wrapped(Operation("if", (Operation("==", (divisor, 0)), 0, some)), e.type)
        case Call(function="min" | "max" as name, arguments=(left, right)):
            return _wrapped(operation(name, left, right), e.type)
        case Select(condition=condition, then=then, otherwise=otherwise):
            return _wrapped(operation("if", condition, then, otherwise), e.type)
    return None


def _wrapped(tree: Tree | None, dtype: str) -> Tree | None:
    """A value of 64 bits in a narrower integer type; None where the type is no integer, or has what 64 bits with a
    sign have not."""
    if tree is None or "int" not in dtype or dtype == "uint64":
        return None
    bits = 8 * DTYPE_BYTES[dtype]
    if bits == 64:
        return tree
    if dtype.startswith("u"):
        return Operation("%", (tree, 1 << bits))
    half = 1 << bits - 1
    return Operation("-", (Operation("%", (Operation("+%", (tree, half)), 2 * half)), half))


def along_axes(counts: list[Tree | None]) -> list[Tree | None]:
    """The counts of a grid as a launch has axes for them, at most three: the first ones of more as one."""
    if len(counts) <= 3:
        return counts
    *first, row, last = counts
    known = [Operation("max", (count, 0)) for count in first if count is not None]
    merged = reduce(lambda a, b: Operation("*%", (a, b)), known) if len(known) == len(first) else None
    return [merged, row, last]


def up_to_three(declared: Tree | tuple[Tree, ...]) -> tuple[Tree, ...]:
    """What `block` or `grid` of a declaration says, as one to three expressions."""
    return declared if isinstance(declared, tuple) and not isinstance(declared, Operation) else (declared,)


def declared_grid(declared: Tree | tuple[Tree, ...], params: Mapping[str, Tree], main: Parallel) -> list[Tree]:
    """The numbers of blocks that `grid` of a declaration says, at least one: all of them together do everything,
    however many there are. Those along axes that the loop does not go along lie along x: several would do the same."""
    parts: list[Tree] = [Operation("max", (substituted(part, params), 1)) for part in up_to_three(declared)]
    axes = len(main.counts) if main.kind == "grid" and not main.reductions else 1
    return [reduce(lambda a, b: Operation("*", (a, b)), (parts[0], *parts[axes:])), *parts[1:axes]]


def block_of(launch: dict[str, Any], params: dict[str, Any], at: Position | None = None) -> tuple[int, list[int]]:
    """The threads of a declared block, and its one to three sizes. Raises DeclarationError, at the place where the
    block is declared, if no GPU runs so many."""
    declared = launch["block"]
    parts = up_to_three(declared)
    sizes = [p if isinstance(p, int) else int(evaluate(p, params)) for p in parts]
    threads = 1
    for size in sizes:
        threads *= size
    if min(sizes) < 1 or threads > MOST_THREADS or len(sizes) > 2 and sizes[2] > MOST_BLOCK[2]:
        used = dict.fromkeys(name for part in parts for name in names(part))
        chosen = f" with {', '.join(f'{name} = {params[name]}' for name in used)}" if used else ""
        raise DeclarationError(
            f"a block of {' x '.join(map(str, sizes))} threads{chosen}", at,
            f"a GPU runs 1 to {MOST_THREADS}, at most {MOST_BLOCK[2]} of them along z: write another block, or other "
            "params",
        )  # fmt: skip
    return threads, sizes
