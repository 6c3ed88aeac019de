"""argmin and argmax of a block of candidates, in LLVM IR: the best value by vectors, then its first place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from llvmlite import ir
from numba import types

from ..llvm.intrinsic import intrinsic
from ..llvm.numba_frontend import call_linked
from ..llvm.values import I1, I16, I64, call, kind, llvm_type, stored_type
from .lane_vectors import identity

SEARCHES = ("argmin", "argmax")
_WIDTH, _VECTORS = 16, 4  # lanes of a vector, and vectors of one turn
SEARCHED = 1024  # candidates of a block
PADDING = _WIDTH * _VECTORS  # how many elements behind the candidates are used too


def _load(b, t, candidates, k, align: int):
    element = stored_type(t)
    return b.load(b.gep(candidates, [k], source_etype=element), align=align, typ=ir.VectorType(element, _WIDTH))


def _beats(b, op: str, t, x, y):
    symbol = "<" if op == "argmin" else ">"
    if kind(t) == "float":
        return b.fcmp_ordered(symbol, x, y)
    return (b.icmp_signed if kind(t) == "int" else b.icmp_unsigned)(symbol, x, y)


def _is_nan(b, x):
    return b.fcmp_unordered("uno", x, x)


def _splat(b, value):
    vector = ir.VectorType(value.type, _WIDTH)
    first = b.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(I64, 0))
    return b.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), _WIDTH), [0] * _WIDTH))


def _first(b, t, candidates, holds: Callable) -> None:
    """Return the first place whose element `holds`; there is one."""
    before, loop, done = b.block, b.append_basic_block(), b.append_basic_block()
    b.branch(loop)
    b.position_at_end(loop)
    k = b.phi(I64)
    bits = b.bitcast(holds(_load(b, t, candidates, k, 1)), I16)
    following = b.add(k, ir.Constant(I64, _WIDTH))
    k.add_incoming(ir.Constant(I64, 0), before)
    k.add_incoming(following, loop)
    b.cbranch(b.icmp_unsigned("==", bits, ir.Constant(I16, 0)), loop, done)
    b.position_at_end(done)
    lane = call(b, "llvm.cttz.i16", I16, bits, ir.Constant(I1, 1))
    b.ret(b.add(k, b.zext(lane, I64)))


def _best(b, op: str, t, candidates, count) -> tuple:
    """The best value, in one lane of a vector at least; and bits that are not 0 where there is a NaN."""
    element, floats = stored_type(t), kind(t) == "float"
    bits = ir.VectorType(ir.IntType(t.bitwidth if floats else 8), _WIDTH)
    nothing = identity(op, t.name)
    worst = ir.Constant(ir.VectorType(element, _WIDTH), [int(nothing) if kind(t) == "bool" else nothing] * _WIDTH)
    for number in range(_VECTORS):
        place = b.gep(candidates, [b.add(count, ir.Constant(I64, _WIDTH * number))], source_etype=element)
        b.store(worst, b.bitcast(place, worst.type.as_pointer()), align=1)
    before, loop, done = b.block, b.append_basic_block(), b.append_basic_block()
    b.branch(loop)
    b.position_at_end(loop)
    k, nan = b.phi(I64), b.phi(bits)
    best = [b.phi(worst.type) for _ in range(_VECTORS)]
    found = [
        _load(b, t, candidates, b.add(k, ir.Constant(I64, _WIDTH * number)), 1)
        for number in range(_VECTORS)
    ]
    better = [b.select(_beats(b, op, t, x, m), x, m) for x, m in zip(found, best)]
    some = nan
    if floats:
        for x, y in zip(found[::2], found[1::2]):
            some = b.or_(some, b.sext(b.fcmp_unordered("uno", x, y), bits))
    following = b.add(k, ir.Constant(I64, PADDING))
    for phi, first, then in ((k, ir.Constant(I64, 0), following), (nan, ir.Constant(bits, None), some),
                             *((m, worst, x) for m, x in zip(best, better))):  # fmt: skip
        phi.add_incoming(first, before)
        phi.add_incoming(then, loop)
    b.cbranch(b.icmp_unsigned("<", following, count), loop, done)
    b.position_at_end(done)
    while len(better) > 1:
        better = [b.select(_beats(b, op, t, x, y), x, y) for x, y in zip(better[::2], better[1::2])]
    (best_vector,), width = better, _WIDTH
    while width > 1:
        width //= 2
        low, high = (
            b.shuffle_vector(best_vector, best_vector,
                             ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(first, first + width))))
            for first in (0, width)
        )  # fmt: skip
        best_vector = b.select(_beats(b, op, t, low, high), low, high)
    return b.extract_element(best_vector, ir.Constant(I64, 0)), some


@cache
def _search(op: str, t) -> ir.Function:
    """`(candidates, count, best, place) → the first of the candidates that are better than `best`, which was found at
    `place`, and than which none is better; -1 if there is none`. place: -1 where nothing was found."""
    module = ir.Module()
    arguments = [ir.PointerType(), I64, llvm_type(t), I64]
    function = ir.Function(module, ir.FunctionType(I64, arguments), f"search_{op}_{t.name}")
    function.linkage = "weak_odr"  # linked although nothing refers to it yet
    function.attributes.add("noinline")
    b = ir.IRBuilder(function.append_basic_block())
    candidates, count, best, place = function.args
    none = ir.Constant(I64, -1)
    with b.if_then(b.icmp_signed("<=", count, ir.Constant(I64, 0))):
        b.ret(none)
    value, nan = _best(b, op, t, candidates, count)
    old = b.icmp_signed(">=", place, ir.Constant(I64, 0))
    nowhere, ordered, some = (b.append_basic_block() for _ in range(3))
    if kind(t) == "float":
        whole = ir.IntType(_WIDTH * t.bitwidth)
        unordered, first_nan = b.append_basic_block(), b.append_basic_block()
        b.cbranch(b.icmp_unsigned("!=", b.bitcast(nan, whole), ir.Constant(whole, 0)), unordered, ordered)
        b.position_at_end(unordered)
        b.cbranch(b.and_(old, _is_nan(b, best)), nowhere, first_nan)
        b.position_at_end(first_nan)
        _first(b, t, candidates, lambda x: _is_nan(b, x))
    else:
        b.branch(ordered)
    b.position_at_end(ordered)
    before = b.zext(best, value.type) if kind(t) == "bool" else best
    b.cbranch(b.and_(old, b.not_(_beats(b, op, t, value, before))), nowhere, some)
    b.position_at_end(some)
    equal = (lambda x, y: b.fcmp_ordered("==", x, y)) if kind(t) == "float" else lambda x, y: b.icmp_signed("==", x, y)
    wanted = _splat(b, value)
    _first(b, t, candidates, lambda x: equal(x, wanted))
    b.position_at_end(nowhere)
    b.ret(none)
    return function


def _intrinsic(op: str) -> Callable:
    @intrinsic
    def search(typing_context, candidates, count, best, place):
        t = candidates.dtype if isinstance(candidates, types.CPointer) else None
        if kind(t) not in ("bool", "int", "uint", "float") or best != t:
            return None

        def emit(context, b, signature, values):
            return call_linked(context, b, _search(op, t), values)

        return types.int64(candidates, types.int64, t, types.int64), emit

    return search


FUNCTIONS: dict[str, Callable] = {f"search_{op}": _intrinsic(op) for op in SEARCHES}
