"""argmin and argmax of a block of candidates, of which the best value is known, in LLVM IR: its first place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce

from llvmlite import ir
from numba import types

from ..llvm.intrinsic import intrinsic
from ..llvm.numba_frontend import call_linked
from ..llvm.values import I1, I64, call, kind, llvm_type, stored_type

SEARCHES = ("argmin", "argmax")
_WIDTH = 16  # lanes of a vector
_VECTORS = 4  # that are looked at together
SEARCHED = 1024  # candidates of a block


def _load(b, t, candidates, k, width: int):
    element = stored_type(t)
    place = b.gep(candidates, [k], source_etype=element)
    return b.load(place, align=1, typ=ir.VectorType(element, width))


def _beats(b, op: str, t, x, y):
    symbol = "<" if op == "argmin" else ">"
    if kind(t) == "float":
        return b.fcmp_ordered(symbol, x, y)
    return (b.icmp_signed if kind(t) == "int" else b.icmp_unsigned)(symbol, x, y)


def _is_nan(b, x):
    return b.fcmp_unordered("uno", x, x)


def _splat(b, value, width: int):
    vector = ir.VectorType(value.type, width)
    first = b.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(I64, 0))
    return b.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width))


def _first(b, t, candidates, count, holds: Callable, beats: Callable | None = None) -> None:
    """Return the first place whose element `holds`: by vectors, the last of which may overlap the one before it, or one
    by one where they are fewer than a vector has. -1 if there is none. beats: where `holds` does of the best alone."""
    few = b.icmp_unsigned("<", count, ir.Constant(I64, _WIDTH))
    with b.if_then(few):
        _first_of(b, t, candidates, ir.Constant(I64, 0), count, holds, 1)
    start = _without(b, t, candidates, count, holds, beats) if beats else ir.Constant(I64, 0)
    _first_of(b, t, candidates, start, count, holds, _WIDTH)


def _without(b, t, candidates, count, holds: Callable, beats: Callable) -> ir.Value:
    """Before how many candidates there is none, by the best of several vectors; what is left is a vector at least."""
    before, loop, turn, done = b.block, *(b.append_basic_block() for _ in range(3))
    step = _WIDTH * _VECTORS
    last = b.sub(count, ir.Constant(I64, step))
    b.branch(loop)
    b.position_at_end(loop)
    k = b.phi(I64)
    b.cbranch(b.icmp_signed("<=", k, last), turn, done)
    b.position_at_end(turn)
    places = [b.add(k, ir.Constant(I64, vector * _WIDTH)) for vector in range(_VECTORS)]
    best = reduce(lambda x, y: b.select(beats(x, y), x, y), [_load(b, t, candidates, p, _WIDTH) for p in places])
    number = ir.IntType(_WIDTH)
    found = b.bitcast(holds(best), number)
    following = b.add(k, ir.Constant(I64, step))
    k.add_incoming(ir.Constant(I64, 0), before)
    k.add_incoming(following, turn)
    b.cbranch(b.icmp_unsigned("==", found, ir.Constant(number, 0)), loop, done)
    b.position_at_end(done)
    most = b.sub(count, ir.Constant(I64, _WIDTH))  # from where there is a whole vector
    return b.select(b.icmp_signed("<", k, most), k, most)


def _first_of(b, t, candidates, start, count, holds: Callable, width: int) -> None:
    before, loop, other, done, nowhere = b.block, *(b.append_basic_block() for _ in range(4))
    last = b.sub(count, ir.Constant(I64, width))
    b.branch(loop)
    b.position_at_end(loop)
    k = b.phi(I64)
    number = ir.IntType(width)
    bits = b.bitcast(holds(_load(b, t, candidates, k, width)), number)
    b.cbranch(b.icmp_unsigned("==", bits, ir.Constant(number, 0)), other, done)
    b.position_at_end(other)
    following = b.add(k, ir.Constant(I64, width))
    following = b.select(b.icmp_signed("<", following, last), following, last)
    k.add_incoming(start, before)
    k.add_incoming(following, other)
    b.cbranch(b.icmp_signed("<", k, last), loop, nowhere)
    b.position_at_end(done)
    lane = call(b, f"llvm.cttz.i{width}", number, bits, ir.Constant(I1, 1))
    b.ret(b.add(k, b.zext(lane, I64)))
    b.position_at_end(nowhere)
    b.ret(ir.Constant(I64, -1))


@cache
def _search(op: str, t) -> ir.Function:
    """`(candidates, count, value, unordered, best, place) → the first of the candidates that are better than `best`,
    which was found at `place`, and than which none is better; -1 if there is none`. value: the best of the candidates,
    of which there is one at least. unordered: whether there is a NaN; then there need be no such value. place: -1 where
    nothing was found."""
    module = ir.Module()
    arguments = [ir.PointerType(), I64, llvm_type(t), I1, llvm_type(t), I64]
    function = ir.Function(module, ir.FunctionType(I64, arguments), f"search_{op}_{t.name}")
    function.linkage = "weak_odr"  # linked although nothing refers to it yet
    function.attributes.add("noinline")
    b = ir.IRBuilder(function.append_basic_block())
    candidates, count, value, unordered, best, place = function.args
    old = b.icmp_signed(">=", place, ir.Constant(I64, 0))
    nowhere, ordered, some = (b.append_basic_block() for _ in range(3))
    if kind(t) == "float":
        nan, first_nan = b.append_basic_block(), b.append_basic_block()
        b.cbranch(unordered, nan, ordered)
        b.position_at_end(nan)
        b.cbranch(b.and_(old, _is_nan(b, best)), nowhere, first_nan)
        b.position_at_end(first_nan)
        _first(b, t, candidates, count, lambda x: _is_nan(b, x))
    else:
        b.branch(ordered)
    b.position_at_end(ordered)
    b.cbranch(b.and_(old, b.not_(_beats(b, op, t, value, best))), nowhere, some)
    b.position_at_end(some)
    equal = (lambda x, y: b.fcmp_ordered("==", x, y)) if kind(t) == "float" else lambda x, y: b.icmp_signed("==", x, y)
    wanted = b.zext(value, stored_type(t)) if kind(t) == "bool" else value
    alike = lambda x: equal(x, _splat(b, wanted, x.type.count))  # noqa: E731
    _first(b, t, candidates, count, alike, lambda x, y: _beats(b, op, t, x, y))
    b.position_at_end(nowhere)
    b.ret(ir.Constant(I64, -1))
    return function


def _intrinsic(op: str) -> Callable:
    @intrinsic
    def search(typing_context, candidates, count, value, unordered, best, place):
        t = candidates.dtype if isinstance(candidates, types.CPointer) else None
        if kind(t) not in ("bool", "int", "uint", "float") or best != t or value != t:
            return None

        def emit(context, b, signature, values):
            return call_linked(context, b, _search(op, t), values)

        return types.int64(candidates, types.int64, t, types.boolean, t, types.int64), emit

    return search


FUNCTIONS: dict[str, Callable] = {f"search_{op}": _intrinsic(op) for op in SEARCHES}
