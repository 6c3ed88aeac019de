"""Memory, threads and their synchronisation, as intrinsics for lowered CUDA Python.

A pointer is a Numba `CPointer(dtype)`; offsets are int64, in elements or (`_bytes`) in bytes. An index is in range, so
nothing here looks for negative ones, and its arithmetic carries `nsw`. A bool is a byte in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .intrinsics import (
    DTYPES, I1, I32, I64, INTRINSICS, PARTS, REAL_LLVM, call, device, enter, from_half, join, kind, llvm_type,
    of_types, parts, to_half,
)  # fmt: skip


I8 = ir.IntType(8)
SHARED = 3  # NVVM's address space of shared memory
Capability = tuple[int, int]
# The capabilities from which on something here is done by other instructions, latest first: before 6.0 there is no
# atomic addition of float64, before 7.0 no swap of 16 bits.
GENERATIONS: tuple[Capability, ...] = ((7, 0), (6, 0), (0, 0))


def generation(capability: Capability) -> Capability:
    """The first capability for which the same instructions are made: all that the front end is told of one, so that
    what it makes is the same for all of a generation."""
    return next(first for first in GENERATIONS if capability >= first)


def stored_type(t) -> ir.Type:
    return I8 if kind(t) == "bool" else llvm_type(t)


def _at(b, t, pointer, offset, in_bytes: bool):
    """The address of an element, as a pointer to the type in memory."""
    to = stored_type(t).as_pointer()
    if in_bytes:
        return b.bitcast(b.gep(b.bitcast(pointer, I8.as_pointer()), [offset], inbounds=True), to)
    return b.gep(b.bitcast(pointer, to), [offset], inbounds=True)


def _load(b, t, address):
    if kind(t) == "complex":
        return join(b, *(b.load(_part(b, address, k)) for k in (0, 1)))
    value = b.load(address)
    return b.icmp_unsigned("!=", value, ir.Constant(I8, 0)) if kind(t) == "bool" else value


def _store(b, t, value, address) -> None:
    if kind(t) == "complex":
        for k, part in enumerate(parts(b, value)):
            b.store(part, _part(b, address, k))
    else:
        b.store(b.zext(value, I8) if kind(t) == "bool" else value, address)


def _part(b, address, k: int):
    return b.gep(address, [ir.Constant(I32, 0), ir.Constant(I32, k)], inbounds=True)


def _is_pointer(t) -> bool:
    return isinstance(t, types.CPointer) and bool(kind(t.dtype))


def _accesses(suffix: str, in_bytes: bool) -> None:
    def load(pointer, offset):
        if not _is_pointer(pointer) or types.unliteral(offset) != types.int64:
            return None
        t = pointer.dtype
        return t(pointer, types.int64), lambda context, b, s, v: _load(b, t, _at(b, t, *v, in_bytes))

    def store(pointer, offset, value):
        if not _is_pointer(pointer) or types.unliteral(value) != pointer.dtype:
            return None
        t = pointer.dtype

        def emit(context, b, signature, values):
            _store(b, t, values[2], _at(b, t, *values[:2], in_bytes))

        return types.void(pointer, types.int64, t), emit

    enter(f"load{suffix}", 2, load)
    enter(f"store{suffix}", 3, store)


def _scatter(in_bytes: bool) -> Callable:
    def typed(pointer, offset, value):
        """Store one element where other threads may store too: whole, of complex128 each part."""
        if not _is_pointer(pointer) or types.unliteral(value) != pointer.dtype:
            return None
        t = pointer.dtype

        def emit(context, b, signature, values):
            address = _at(b, t, *values[:2], in_bytes)
            if kind(t) == "complex" and t.bitwidth == 64:
                _store_pair(b, t, values[2], address)
            else:
                _store(b, t, values[2], address)

        return types.void(pointer, types.int64, t), emit

    return typed


def _store_pair(b, t, value, address) -> None:
    """A complex64 by one store of 8 bytes, where they are aligned: arrays are to its parts only."""
    low, high = (b.zext(b.bitcast(part, I32), I64) for part in parts(b, value))
    place = b.ptrtoint(address, I64)
    aligned = b.icmp_unsigned("==", b.and_(place, ir.Constant(I64, 7)), ir.Constant(I64, 0))
    with b.if_else(aligned) as (whole, apart):
        with whole:
            store = b.store(b.or_(low, b.shl(high, ir.Constant(I64, 32))), b.inttoptr(place, I64.as_pointer()))
            store.align = 8
        with apart:
            _store(b, t, value, address)


enter("scatter", 3, _scatter(False))
enter("scatter_bytes", 3, _scatter(True))


def load_element(b, t, pointer, offset):
    """The element at an offset in elements."""
    return _load(b, t, _at(b, t, pointer, offset, False))


_accesses("", in_bytes=False)
_accesses("_bytes", in_bytes=True)


def _at_index(outer, extent, inner):
    """outer * extent + inner, for an index in range."""
    return types.int64(types.int64, types.int64, types.int64), lambda context, b, s, v: b.add(
        b.mul(v[0], v[1], flags=("nsw",)), v[2], flags=("nsw",)
    )


enter("at", 3, _at_index)


def _moved(pointer, offset):
    """The pointer so many elements on."""
    if not _is_pointer(pointer):
        return None
    return pointer(pointer, types.int64), lambda context, b, s, v: b.gep(v[0], [v[1]], inbounds=True)


enter("moved", 2, _moved)

# ------------------------------------------------------------------------------------------- kernel arrays


def _new_array(t, shared: bool) -> Callable:
    def typed(count):
        if not isinstance(count, types.IntegerLiteral):
            return None
        array = ir.ArrayType(stored_type(t), max(1, count.literal_value))

        def emit(context, b, signature, values):
            if shared:
                variable = ir.GlobalVariable(b.module, array, b.module.get_unique_name("shared"), SHARED)
                variable.linkage, variable.align = "internal", 16
                variable.initializer = ir.Constant(array, ir.Undefined)
                memory = b.addrspacecast(variable, array.as_pointer(), "generic")
            else:
                with b.goto_entry_block():
                    memory = b.alloca(array)
                memory.align = 16
            return b.bitcast(memory, context.get_value_type(signature.return_type))

        return types.CPointer(t)(count), emit

    return typed


for _dtype, _type in DTYPES.items():
    enter(f"shared_{_dtype}", 1, _new_array(_type, True))
    enter(f"local_{_dtype}", 1, _new_array(_type, False))

# ------------------------------------------------------------------------------ threads and synchronisation


def _register(name: str) -> None:
    """`NAME()`: a special register, not negative, as int64."""

    @intrinsic
    def read(typing_context):
        def emit(context, b, signature, values):
            return b.zext(call(b, f"llvm.nvvm.read.ptx.sreg.{name}", I32), I64)

        return types.int64(), emit

    INTRINSICS[name.replace(".", "_")] = read


for _name in ("tid", "ctaid", "ntid", "nctaid"):
    for _axis in "xyz":
        _register(f"{_name}.{_axis}")


def _thread_below(size):
    """The number of the thread in its block, which has so many."""
    if not isinstance(size, types.IntegerLiteral):
        return None

    def emit(context, b, signature, values):
        read = call(b, "llvm.nvvm.read.ptx.sreg.tid.x", I32)
        read.set_metadata("range", b.module.add_metadata([ir.Constant(I32, 0), ir.Constant(I32, size.literal_value)]))
        return b.zext(read, I64)

    return types.int64(size), emit


enter("thread_below", 1, _thread_below)


@intrinsic
def _barrier(typing_context):
    """Every thread of the block waits for all others here; what they wrote before is seen after."""

    def emit(context, b, signature, values):
        call(b, "llvm.nvvm.barrier0", ir.VoidType())

    return types.void(), emit


INTRINSICS["barrier"] = _barrier


def _words(b, t, value) -> list:
    """A value as 32-bit words."""
    if kind(t) == "complex":
        return [w for part in parts(b, value) for w in _words(b, PARTS[t], part)]
    if kind(t) == "float":
        value = b.bitcast(value, ir.IntType(t.bitwidth))
    if value.type.width == 64:
        return [b.trunc(value, I32), b.trunc(b.lshr(value, ir.Constant(I64, 32)), I32)]
    return [value if value.type.width == 32 else b.zext(value, I32)]


def _of_words(b, t, words: list):
    if kind(t) == "complex":
        half = len(words) // 2
        return join(b, *(_of_words(b, PARTS[t], w) for w in (words[:half], words[half:])))
    value = words[0]
    if len(words) == 2:
        high = b.shl(b.zext(words[1], I64), ir.Constant(I64, 32))
        value = b.or_(high, b.zext(value, I64))
    if kind(t) == "float":
        return b.bitcast(value, REAL_LLVM[t])
    target = llvm_type(t)
    return value if target == value.type else b.trunc(value, target)


def shuffled(b, t, value, lane, members):
    """`value` of the thread `lane` of the warp; `members` says which lanes take part, that one among them."""
    return _exchanged(b, t, value, members, 0, lane)


def shuffled_down(b, t, value, distance):
    """`value` of the thread so many lanes on in a whole warp; past its end, one's own."""
    return _exchanged(b, t, value, ir.Constant(I32, -1), 2, distance)


def _exchanged(b, t, value, members, mode: int, operand):
    pair, fixed = ir.LiteralStructType([I32, I1]), (ir.Constant(I32, mode), ir.Constant(I32, 31))
    words = [
        b.extract_value(call(b, "llvm.nvvm.shfl.sync.i32", pair, members, fixed[0], word, operand, fixed[1]), 0)
        for word in _words(b, t, value)
    ]
    return _of_words(b, t, words)


# -------------------------------------------------------------------------------------------------- atomics


@cache
def atomics(capability: Capability) -> dict[str, Callable]:
    """The intrinsics `atomic_OP` and `atomic_OP_bytes` for a generation."""
    return {
        f"atomic_{op}{suffix}": of_types(3, _atomic(op, suffix == "_bytes", capability))
        for op in ("add", "min", "max")
        for suffix in ("", "_bytes")
    }


def _atomic(op: str, in_bytes: bool, capability: Capability) -> Callable:
    def typed(pointer, offset, value):
        """Update one element for every thread to see."""
        if not _is_pointer(pointer) or types.unliteral(value) != pointer.dtype:
            return None
        t = pointer.dtype
        if kind(t) in ("bool", "complex"):
            return None

        def emit(context, b, signature, values):
            _update(b, t, op, _at(b, t, *values[:2], in_bytes), values[2], capability)

        return types.void(pointer, types.int64, t), emit

    return typed


def _update(b, t, op: str, address, value, capability: Capability) -> None:
    which, width = kind(t), t.bitwidth
    if which in ("int", "uint") and width >= 32:
        b.atomic_rmw(("u" if which == "uint" and op != "add" else "") + op, address, value, "monotonic")
    elif which == "float" and op == "add" and (t == types.float32 or capability >= (6, 0)):
        call(b, f"llvm.nvvm.atomic.load.add.f{width}.p0f{width}", REAL_LLVM[t], address, value)
    else:
        word = ir.IntType(max(width, 16 if capability >= (7, 0) else 32))
        _swap_until_kept(b, t, address, word, lambda old: _combined(b, t, op, old, value))


def _combined(b, t, op: str, old, value):
    which = kind(t)
    if which == "half":
        return to_half(b, _combined(b, types.float32, op, from_half(b, old), from_half(b, value)))
    if op == "add":
        return (b.fadd if which == "float" else b.add)(old, value)
    if which == "float":
        return b.select(b.fcmp_unordered("uno", old, value), b.fadd(old, value), device(b, f"f{op}", t, old, value))
    compare = b.icmp_signed if which == "int" else b.icmp_unsigned
    return b.select(compare("<" if op == "min" else ">", old, value), old, value)


def _swap_until_kept(b, t, address, word: ir.IntType, combine: Callable) -> None:
    """Compare-and-swap of the aligned word that holds the element, until no one came between."""
    bits = t.bitwidth
    partial = bits < word.width
    place = b.ptrtoint(address, I64)
    start = b.and_(place, ir.Constant(I64, -(word.width // 8))) if partial else place
    shift = b.trunc(b.mul(b.sub(place, start), ir.Constant(I64, 8)), word) if partial else None
    cell = b.inttoptr(start, word.as_pointer())
    first = b.load(cell)  # a guess: the first swap says if it was right
    before, again, done = b.block, b.append_basic_block("swap"), b.append_basic_block("swapped")
    b.branch(again)
    b.position_at_end(again)
    seen = b.phi(word)
    seen.add_incoming(first, before)
    old = b.lshr(seen, shift) if partial else seen
    new = _bits(b, t, combine(_of_bits(b, t, old)), word)
    if partial:
        mask = b.shl(ir.Constant(word, (1 << bits) - 1), shift)
        new = b.or_(b.and_(seen, b.not_(mask)), b.shl(new, shift))
    found = _swapped(b, cell, seen, new)
    seen.add_incoming(found, b.block)
    b.cbranch(b.icmp_unsigned("==", found, seen), done, again)
    b.position_at_end(done)


def _swapped(b, cell, seen, new):
    """What the cell held; it holds `new` now if that was `seen`."""
    if new.type.width > 16:
        return b.extract_value(b.cmpxchg(cell, seen, new, "monotonic", "monotonic"), 0)
    function = ir.FunctionType(new.type, [cell.type, seen.type, new.type])  # NVVM itself swaps 32 and 64 bits alone
    text = "atom.cas.b16 $0, [$1], $2, $3;"
    return b.call(ir.InlineAsm(function, text, "=h,l,h,h,~{memory}", True), [cell, seen, new])


def _of_bits(b, t, value):
    if kind(t) == "float":
        return b.bitcast(value, REAL_LLVM[t])
    target = llvm_type(t)
    return value if target == value.type else b.trunc(value, target)


def _bits(b, t, value, word):
    if kind(t) == "float":
        return b.bitcast(value, word)
    return value if value.type == word else b.zext(value, word)
