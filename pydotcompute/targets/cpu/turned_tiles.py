"""Tiles of arrays, of four, eight or sixteen rows, as columns: what each of so many iterations of a grid reads along a
row of its own, for vectors whose lanes are these iterations.

    for lane, turn in threads(rows, turns):
        i = first + lane                       one loop, which is written as loads of vectors along the rows, the
        tile[turn, lane] = x[i, at + turn]     shuffles that make columns of them, and stores of whole columns
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from llvmlite import ir
from numba import types

from ...ir.effects import in_any_case
from ...ir.names import with_values
from ...ir.tree import (
    Assign,
    Binary,
    Const,
    Expr,
    For,
    If,
    Load,
    NewArray,
    Parallel,
    Stmt,
    Store,
    Var,
    rebuilt,
    walk,
)  # fmt: skip
from ..llvm.intrinsic import intrinsic
from ..llvm.statements import Statements
from ..llvm.values import I8, I32, I64, stored_type
from ..names import Names
from .arrays import itemsize
from .bodies import assigned, read
from .elements import Elements

ROWS = 8  # of a tile, or half as many
_TYPES = frozenset(("float32", "float64", "int32", "int64", "uint32", "uint64"))  # of 4 or 8 bytes
_COLUMNS = 32  # bytes of a row that become columns together: with more, registers do not hold them


def turns_of(loads: Iterable[Load]) -> int:
    """How many columns tiles of these loads have."""
    return _COLUMNS // min(itemsize(load.type) for load in loads)


def loads_along(loop: For, row: str, own: set[str]) -> list[Load]:
    """What a loop, whose turns neighbours in a grid take together, reads along rows that are as far from each other, at
    each turn in any case. row: the index of the grid; own: the scalars that differ between neighbours."""
    nodes = [n for s in loop.body for n in walk(s)]
    if loop.step != Const(1, "int64") or not all(isinstance(n, (Assign, If)) for n in nodes if isinstance(n, Stmt)):
        return []
    changing = own | assigned(loop.body) | {loop.name, row}
    loads = (n for s in loop.body for n in in_any_case(s) if isinstance(n, Load))
    return list(dict.fromkeys(n for n in loads if _is_along(n, loop.name, row, changing)))


def _is_along(load: Load, turn: str, row: str, changing: set[str]) -> bool:
    """Whether turns go through neighbours in a row, and neighbours in the grid through such rows. changing: all scalars
    that are not the same for all of them."""
    if load.type not in _TYPES or not load.inside or len(load.indices) < 2:
        return False
    *across, along = ([e for e in _terms(index) if read(e) & changing] for index in load.indices)
    rows = [e == Var(row, "int64") for each in across for e in each]
    steps = [e for e in along if e != Var(row, "int64")]
    return bool(rows) and all(rows) and steps == [Var(turn, "int64")]


def _terms(e: Expr) -> list[Expr]:
    return _terms(e.left) + _terms(e.right) if isinstance(e, Binary) and e.op == "+" else [e]


def from_tiles(node: Any, tiles: dict[Load, NewArray], turn: Var, lane: Var) -> Any:
    """A statement or expression that reads tiles at this turn of a piece and this lane."""
    if isinstance(node, Load) and node in tiles:
        return Load(tiles[node].name, (turn, lane), node.type, inside=True, known=True, at=node.at)
    return rebuilt(node, lambda child: from_tiles(child, tiles, turn, lane))


def filled(tile: NewArray, load: Load, index: str, first: Var, turn: Var, lane: Var, row: Assign) -> Parallel:
    """The loop that fills a tile with what is loaded at the turns from the first on. row: what sets the index of a
    lane."""

    begin = with_values(load.indices[-1], {index: first})
    along = (*load.indices[:-1], Binary("+", begin, turn, "int64"))
    store = Store(tile.name, (turn, lane), replace(load, indices=along), inside=True, known=True, at=load.at)
    turns, lanes = (Const(n, "int64") for n in tile.fixed)
    return Parallel("threads", (lane.name, turn.name), (lanes, turns), (row, store), at=load.at)


def write_filled(s: Parallel, statements: Statements, elements: Elements, names: Names) -> bool:
    """Whether this is such a loop, of an array whose rows are neighbours in memory; then it is written."""
    match s:
        case Parallel(
            "threads", (lane, turn), (Const() as lanes, Const() as count),
            (Assign(row, Binary("+", first, Var(add))) as index, Store(tile, place, Load() as load) as store),
        ):  # fmt: skip
            turns = count.whole
        case _:
            return False
    array, text, writer = elements.arrays[tile], statements.expressions.text, statements.writer
    if add != lane or read(first) & {lane, turn} or place != (Var(turn, "int64"), Var(lane, "int64")):
        return False
    if lanes.whole not in (ROWS // 2, ROWS, 2 * ROWS) or turns * itemsize(load.type) % 16:
        return False
    if not _is_along(load, turn, row, {lane, turn, row}):
        return False
    if array.strides is not None or array.dtype != load.type:
        return False
    if elements.faults.checks(store) or not elements.address(load, text):
        return False
    writer.assign(names.of(turn), "int64(0)")
    starts = []
    for k in range(2):
        writer.assign(names.of(lane), f"int64({k})")
        statements.write((index,))
        starts.append(writer.held("_row", elements.address(load, text)))
    stride = writer.held("_stride", f"sub(address({starts[1]}), address({starts[0]}))")
    writer.line(f"columns({array.pointer}, {array.extents[-1]}, {starts[0]}, {stride}, {lanes.whole}, {turns})")
    return True


def _chosen(b, first, second, numbers: Sequence[int]):
    return b.shuffle_vector(first, second, ir.Constant(ir.VectorType(I32, len(numbers)), list(numbers)))


def _joined(b, first, second):
    return _chosen(b, first, second, range(2 * first.type.count))


def _of_four(b, halves: Sequence) -> list:
    """Four columns of four or eight rows, of which each has four elements."""
    rows = halves if len(halves) == 4 else [_joined(b, *pair) for pair in zip(halves[:4], halves[4:])]
    width = len(halves)  # what rows 0 to 3 have, and beside it what rows 4 to 7 have
    low, high = [0, width, 1, width + 1], [2, width + 2, 3, width + 3]
    first, second = [0, 1, width, width + 1], [2, 3, width + 2, width + 3]

    def chosen(x, y, numbers):
        return _chosen(b, x, y, [number + four for four in range(0, width, 4) for number in numbers])

    pairs = [(chosen(rows[0], rows[1], which), chosen(rows[2], rows[3], which)) for which in (low, high)]
    return [chosen(*pair, which) for pair in pairs for which in (first, second)]


def _of_two(b, halves: Sequence) -> list:
    """Two columns of four rows, of which each has two elements."""
    even, odd = _joined(b, halves[0], halves[2]), _joined(b, halves[1], halves[3])
    return [_chosen(b, even, odd, [0, 4, 2, 6]), _chosen(b, even, odd, [1, 5, 3, 7])]


def _opaque(b, pointer):
    """The pointer, of which LLVM does not see what it comes from: else it makes a pointer for each row that it moves in
    each turn, and has no registers for so many."""
    return b.asm(ir.FunctionType(pointer.type, [pointer.type]), "", "=r,0", [pointer], False)


@intrinsic
def columns(typing_context, tile, width, start, stride, lanes, count):
    """Store so many columns of so many rows, two literals, as rows of a tile. width: elements of its rows; stride:
    bytes from a row to the next."""
    if not all(isinstance(n, types.IntegerLiteral) for n in (lanes, count)):
        return None

    def emit(context, b, signature, values):
        to, width, start, stride, *_ = values
        height = lanes.literal_value
        element, size = stored_type(tile.dtype), itemsize(tile.dtype.name)
        at_once, make = (min(height, ROWS), _of_four) if size == 4 else (4, _of_two)
        half = 16 // size  # elements that are loaded of a row at once
        apart = [b.mul(stride, ir.Constant(I64, k)) for k in range(min(height, ROWS))]
        for top in range(0, height, ROWS):
            base = _opaque(b, b.gep(start, [b.mul(stride, ir.Constant(I64, top))], source_etype=I8))
            rows = [b.gep(base, [distance], source_etype=I8) for distance in apart]
            for column in range(0, count.literal_value, half):
                places = [b.gep(row, [ir.Constant(I64, column)], source_etype=element) for row in rows]
                halves = [b.load(place, align=size, typ=ir.VectorType(element, half)) for place in places]
                for row in range(0, len(rows), at_once):
                    for k, made in enumerate(make(b, halves[row : row + at_once])):
                        place = b.add(b.mul(width, ir.Constant(I64, column + k)), ir.Constant(I64, top + row))
                        pointer = b.gep(to, [place], inbounds=True, source_etype=element)
                        b.store(made, b.bitcast(pointer, made.type.as_pointer()), align=size)

    return types.void(tile, types.int64, start, types.int64, lanes, count), emit


FUNCTIONS: dict[str, Callable] = {"columns": columns}
