"""Lanes of a sum or product as vectors, in LLVM IR: how they begin, and the tree that folds them.

Lanes are 256 bytes: half of the vector registers of a level that has 16. The code generator cuts vectors of them into
what a level has; so the bits are the same on every level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial

from llvmlite import ir
from numba import types

from ...ir.dtypes import FLOATS
from ...ir.operations import REDUCTIONS
from ..llvm.intrinsic import intrinsic
from ..llvm.numba_frontend import call_linked
from ..llvm.operations import OPERATIONS
from ..llvm.values import I32, I64, PARTS, constant, join, kind, llvm_type, parts, stored_type
from ..llvm.words import COMBINE
from .dialect import CPU

PASSES = 8  # over all lanes, before they are folded
PIECES = 4  # that the lanes are cut into: few terms do not use them all
_BYTES = 256
SUMS = ("sum", "prod")
_ALIGNMENT = 8  # of any lane, at least


def identity(op: str, dtype: str):
    """The value that changes nothing: of a sum of floats -0.0, because -0.0 + 0.0 is 0.0."""
    return -0.0 if op == "sum" and dtype in FLOATS else REDUCTIONS[op].identity(dtype)


def identity_value(op: str, t) -> ir.Value | list[ir.Value]:
    """The same as a value of a Numba type; of a complex one its parts."""
    if kind(t) == "complex":
        real = identity(op, PARTS[t].name)
        return [constant(PARTS[t], real), constant(PARTS[t], 0.0 if op == "prod" else real)]
    return constant(t, identity(op, t.name))


def lanes_of(sizes: Iterable[int]) -> int:
    """How many lanes sums of elements of so many bytes have, that go through a loop together."""
    return _BYTES // max(sizes, default=1)


def _size(t) -> int:
    """Bytes of an element."""
    return t.bitwidth // 8


def _flat(t, lanes: int) -> ir.VectorType:
    """So many lanes as they lie in memory."""
    part, count = (PARTS[t], 2 * lanes) if kind(t) == "complex" else (t, lanes)
    return ir.VectorType(stored_type(part), count)


def _chosen(b, vector, numbers: Sequence[int]):
    mask = ir.Constant(ir.VectorType(I32, len(numbers)), list(numbers))
    return b.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _load(b, t, lanes, first: int, count: int):
    """So many lanes from the first: a vector, or a pair of one for each part."""
    place = b.gep(lanes, [ir.Constant(I64, first)], source_etype=stored_type(t))
    flat = b.load(place, align=_ALIGNMENT, typ=_flat(t, count))
    if kind(t) != "complex":
        return flat
    return join(b, _chosen(b, flat, range(0, 2 * count, 2)), _chosen(b, flat, range(1, 2 * count, 2)))


def _each(b, t, value, change: Callable):
    """What `change` makes of a vector, or of both parts of a pair."""
    return join(b, *map(change, parts(b, value))) if kind(t) == "complex" else change(value)


def _update(b, op: str, t, x, y):
    return OPERATIONS[COMBINE[op]].emit(CPU, b, t, x, y)


def _folded(b, op: str, t, lanes, count: int, most: int):
    """The tree: lane k and lane k + half, from these lanes down to one. most: lanes of a vector that is loaded."""
    width = min(count, most)
    vectors = [_load(b, t, lanes, first, width) for first in range(0, count, width)]
    while len(vectors) > 1:
        half = len(vectors) // 2
        vectors = [_update(b, op, t, x, y) for x, y in zip(vectors[:half], vectors[half:])]
    (value,) = vectors
    while width > 1:
        width //= 2
        halves = ([*range(first, first + width)] for first in (0, width))
        value = _update(b, op, t, *(_each(b, t, value, partial(_chosen, b, numbers=half)) for half in halves))
    return _each(b, t, value, lambda v: b.extract_element(v, ir.Constant(I32, 0)))


@cache
def _fold(op: str, t, lanes: int) -> ir.Function:
    """`(lanes, terms) → value`, where no more than `terms` of the lanes hold anything."""
    module = ir.Module()
    name = f"fold_{op}_{t.name}_{lanes}"
    function = ir.Function(module, ir.FunctionType(llvm_type(t), [ir.PointerType(), I64]), name)
    function.linkage = "weak_odr"  # linked although nothing refers to it yet
    b = ir.IRBuilder(function.append_basic_block())
    pointer, terms = function.args
    most = min(lanes // 2, _BYTES // PIECES // _size(t))  # halves of one register would have to be taken apart
    for count in (lanes // 4, lanes // 2):
        with b.if_then(b.icmp_signed("<=", terms, ir.Constant(I64, count))):
            b.ret(_folded(b, op, t, pointer, count, most))
    b.ret(_folded(b, op, t, pointer, lanes, most))
    return function


def _has_lanes(pointer) -> bool:
    return isinstance(pointer, types.CPointer) and kind(pointer.dtype) in ("float", "complex")


@intrinsic
def lane_number(typing_context, k):
    """k, a number below that of lanes, as an int32 from memory. Computed, LLVM would widen it to 64 bits, and with it
    the comparisons that masks of vectors come from."""

    def emit(context, b, signature, values):
        name = "pydotcompute.lane_numbers"
        table = b.module.globals.get(name)
        if table is None:
            table = ir.GlobalVariable(b.module, ir.ArrayType(I32, _BYTES), name)
            table.linkage, table.global_constant = "linkonce_odr", True
            table.initializer = ir.Constant(table.value_type, list(range(_BYTES)))
        place = b.gep(table, [ir.Constant(I64, 0), values[0]], inbounds=True)
        return CPU.load(b, types.int32, place, 4)

    return types.int32(types.int64), emit


def _of(op: str) -> dict[str, Callable]:
    @intrinsic
    def clear(typing_context, lanes, first, count):
        """Fill so many lanes from the first with the identity: two literals."""
        if not _has_lanes(lanes) or not all(isinstance(n, types.IntegerLiteral) for n in (first, count)):
            return None

        def emit(context, b, signature, values):
            t, value = lanes.dtype, identity_value(op, lanes.dtype)
            flat = _flat(t, count.literal_value)
            each = [*value] * count.literal_value if isinstance(value, list) else [value] * count.literal_value
            place = b.gep(values[0], [ir.Constant(I64, first.literal_value)], source_etype=stored_type(t))
            b.store(ir.Constant(flat, each), b.bitcast(place, flat.as_pointer()), align=_ALIGNMENT)

        return types.void(lanes, first, count), emit

    @intrinsic
    def fold(typing_context, lanes, count, terms):
        """The value of so many lanes, a literal, of which no more than `terms` hold anything."""
        if not _has_lanes(lanes) or not isinstance(count, types.IntegerLiteral):
            return None

        def emit(context, b, signature, values):
            return call_linked(context, b, _fold(op, lanes.dtype, count.literal_value), [values[0], values[2]])

        return lanes.dtype(lanes, count, types.int64), emit

    return {f"clear_{op}": clear, f"fold_{op}": fold}


FUNCTIONS: dict[str, Callable] = {"lane_number": lane_number}
FUNCTIONS |= {name: made for op in SUMS for name, made in _of(op).items()}
