"""Arrays of a kernel's own that lie in scratch: their size is known at the call alone, or too large for a block. Each
block or thread that is under way has one, for its iterations one after the other; a launch is kept to so many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from ..artifact.dimensions import Operation, Tree, data, from_data, names
from ..artifact.launch import CHUNK_TERMS, MOST_CHUNKS
from ..artifact.signature import DTYPE_BYTES
from ..ir.names import all_names
from ..ir.tree import (
    Assign,
    Binary,
    BoolOp,
    Call,
    Compare,
    Const,
    Convert,
    Expr,
    KernelTree,
    NewArray,
    Parallel,
    Unary,
    Var,
    walk,
)  # fmt: skip

MOST_BLOCKS = 512  # of a launch with scratch
MOST_THREADS = 1 << 16  # of one over a grid
UNKNOWN = 1024  # blocks, where only the kernel knows its count: see backends/launch.py


def extents(tree: KernelTree, made: NewArray) -> tuple[Expr, ...]:
    """The extents of an array as a kernel computes them, none negative."""
    types = {p.name: p.dtype for p in tree.parameters if p.name not in tree.symbols}

    def expression(part: Tree) -> Expr:
        match part:
            case str():
                dtype = types.get(part, "int64")
                return Var(part, dtype) if dtype == "int64" else Convert(Var(part, dtype), "int64")
            case Operation(op="neg", operands=(one,)):
                return Unary("-", expression(one), "int64")
            case Operation(op="min" | "max" as op, operands=operands):
                return Call(op, tuple(map(expression, operands)), "int64")
            case Operation(op=op, operands=(left, right)):
                return Binary(op, expression(left), expression(right), "int64")
        assert isinstance(part, int)
        return Const(part, "int64")

    zero = Const(0, "int64")
    return tuple(
        Const(n, "int64") if isinstance(n, int) else Call("max", (expression(n), zero), "int64") for n in made.shape
    )


def beyond_int64(e: Expr) -> Expr | None:
    """Whether a part of an extent has a value that int64 cannot hold; None where no part can."""

    def either(conditions: Iterable[Expr | None]) -> Expr | None:
        known = [c for c in conditions if c is not None]
        return reduce(lambda a, b: BoolOp("or", a, b), known) if known else None

    def of(op: str, one: Expr, other: Expr) -> Expr:
        return Binary(op, one, other, "int64")

    zero, least = Const(0, "int64"), Const(-(2**63), "int64")
    match e:
        case Unary(operand=x):
            return either((beyond_int64(x), Compare("==", x, least)))
        case Call(arguments=arguments):
            return either(map(beyond_int64, arguments))
        case Binary(op=op, left=x, right=y):
            own: Expr | None = None
            if op in "+-":  # the result's sign is that of neither operand, or of a difference not the first one's
                other = of("^", y, e) if op == "+" else of("^", x, y)
                own = Compare("<", of("&", of("^", x, e), other), zero)
            elif op in ("*", "//"):
                turned = BoolOp("and", Compare("==", x, Const(-1, "int64")), Compare("==", y, least))
                if op == "*":
                    wrong = BoolOp("and", Compare("!=", x, zero), Compare("!=", of("//", e, x), y))
                    own = BoolOp("or", turned, wrong)
                else:
                    own = BoolOp("and", Compare("==", y, Const(-1, "int64")), Compare("==", x, least))
            return either((beyond_int64(x), beyond_int64(y), own))
    return None


def flattened(tree: KernelTree) -> KernelTree:
    """The tree with one count in place of several of each loop over a grid whose iterations have such arrays."""
    if not any(a.scratch for a in tree.arrays.values()):
        return tree
    taken, locals_ = all_names(tree), dict(tree.locals)

    def changed(node: Any) -> Any:
        if not isinstance(node, Parallel) or node.kind != "grid":
            return rebuilt_statement(node)
        if len(node.counts) == 1 or not any(isinstance(n, NewArray) and n.scratch for n in walk(node)):
            return node
        flat, number = "flat", 1
        while flat in taken:
            flat, number = f"flat_{number}", number + 1
        taken.add(flat)
        locals_[flat] = "int64"
        left: Expr = Var(flat, "int64")
        first = []
        for name, count in reversed(list(zip(node.names[1:], node.counts[1:]))):
            first.append(Assign(name, Binary("%", left, count, "int64"), at=node.at))
            left = Binary("//", left, count, "int64")
        first.append(Assign(node.names[0], left, at=node.at))
        total = reduce(lambda a, b: Binary("*", a, b, "int64"), map(_natural, node.counts))
        return replace(node, names=(flat,), counts=(total,), body=(*first, *node.body))

    def rebuilt_statement(node: Any) -> Any:
        body = tuple(map(changed, node.body)) if hasattr(node, "body") else ()
        if not body:
            return node
        others = {"orelse": tuple(map(changed, node.orelse))} if hasattr(node, "orelse") else {}
        return replace(node, body=body, **others)

    return replace(tree, body=tuple(map(changed, tree.body)), locals=locals_)


def _natural(count: Expr) -> Expr:
    return count if isinstance(count, Const) else Call("max", (count, Const(0, "int64")), "int64")


@dataclass(frozen=True)
class Scratch:
    """The scratch of one launch: `grid` is how it is launched, and `sizes` are the bytes of each array."""

    grid: dict[str, Any]
    sizes: tuple[Tree, ...]


def planned(tree: KernelTree, grid: dict[str, Any], block: int) -> Scratch:
    """grid: {"kind", "counts"} of the launch, which is kept to as many threads as there is scratch for."""
    made = [a for a in tree.arrays.values() if a.scratch]
    if not made:
        return Scratch(grid, ())
    kind, counts = grid["kind"], [None if c is None else from_data(c) for c in grid["counts"]]
    most = {"grid": MOST_THREADS, "blocks": MOST_BLOCKS, "chunks": MOST_BLOCKS * CHUNK_TERMS * block}
    blocks: Tree
    if kind == "one":
        blocks = 1
    elif kind == "given":
        blocks = _product(counts)
    elif None in counts:
        blocks = MOST_CHUNKS if kind == "chunks" else UNKNOWN
    else:
        few = Operation("min", (_product(counts), most[kind]))
        grid = {"kind": kind, "counts": [data(few)]}
        items: Tree = few if set(names(few)) <= _of_call(tree) else most[kind]
        blocks = items if kind == "blocks" else MOST_BLOCKS
        if kind == "grid":
            blocks = Operation("//", (Operation("+", (items, block - 1)), block))
    return Scratch(grid, tuple(_size(a, blocks, block) for a in made))


def _of_call(tree: KernelTree) -> set[str]:
    """The integers that a call has; what the host of a device counts it knows only as it follows the phases."""
    scalars = {p.name for p in tree.parameters if not p.in_memory}
    return {"size", "rows", *scalars, *(n for p in tree.parameters for dim in p.dims or () for n in names(dim))}


def _product(counts: Sequence[Tree | None]) -> Tree:
    known = [Operation("max", (count, 0)) for count in counts if count is not None]
    return reduce(lambda a, b: Operation("*%", (a, b)), known)


def _size(a: NewArray, blocks: Tree, block: int) -> Tree:
    each: Tree = DTYPE_BYTES[a.dtype] * (1 if a.kind == "shared" else block)
    for extent in a.shape:
        each = Operation("*", (each, extent if isinstance(extent, int) else Operation("max", (extent, 0))))
    return Operation("max", (Operation("*", (blocks, each)), 1))


def largest(sizes: Sequence[Tree]) -> Tree:
    """Of arrays that launches use one after the other."""
    if all(isinstance(size, int) for size in sizes):
        return max(size for size in sizes if isinstance(size, int))
    return Operation("max", (*sizes, 0))
