"""Memory for lowered Python: loads, stores and atomics through bare pointers, arrays on the stack, and the words that
`run` is called with.

A pointer is a Numba `CPointer(dtype)`; offsets are int64, in elements (`load`, `store`) or in bytes (`load_bytes`,
`store_bytes`, for arrays with strides). An index is in range, so its arithmetic carries `nsw` and nothing wraps.
A bool is a byte. Ordinary accesses belong to the access group ACCESS: inside a loop that calls `independent()`, no
two iterations touch the same element (targets/cpu/independence.py tells LLVM so).
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..llvm.intrinsics import INTRINSICS, NUMBA_TYPES, kind, llvm_type, named, parts

ACCESS, INDEPENDENT, LOCK = "pydotcompute.access", "pydotcompute.independent", "pydotcompute.lock"
STACK_ALIGNMENT = 64
_I8, _I64 = ir.IntType(8), ir.IntType(64)


def _stored_type(dtype) -> ir.Type:
    return _I8 if kind(dtype) == "bool" else llvm_type(dtype)


def _alignment(dtype) -> int:
    return max(1, dtype.bitwidth // 8 // (2 if kind(dtype) == "complex" else 1)) if kind(dtype) != "bool" else 1


def _grouped(b, instruction):
    """Put a load or store into the access group of this module."""
    node = b.module.namedmetadata.get(ACCESS)
    group = node.operands[0] if node else b.module.add_metadata([ir.MetaDataString(b.module, ACCESS)])
    if not node:
        b.module.add_named_metadata(ACCESS, group)
    instruction.set_metadata("llvm.access.group", group)
    return instruction


def _address(b, dtype, pointer, offset, in_bytes):
    return b.gep(pointer, [offset], inbounds=True, source_etype=_I8 if in_bytes else _stored_type(dtype))


def _load(b, dtype, address, align, grouped=True):
    value = b.load(address, align=align, typ=_stored_type(dtype))
    if grouped:
        _grouped(b, value)
    return b.icmp_unsigned("!=", value, ir.Constant(_I8, 0)) if kind(dtype) == "bool" else value


def _store(b, dtype, value, address, align, grouped=True):
    value = b.zext(value, _I8) if kind(dtype) == "bool" else value
    instruction = b.store(value, b.bitcast(address, value.type.as_pointer()), align=align)
    if grouped:
        _grouped(b, instruction)


def _is_pointer(type_) -> bool:
    return isinstance(type_, types.CPointer)


def _accesses(suffix: str, in_bytes: bool, grouped: bool) -> None:
    @intrinsic
    def load(typing_context, pointer, offset):
        if not _is_pointer(pointer) or types.unliteral(offset) != types.int64:
            return None
        dtype = pointer.dtype
        align = 1 if in_bytes else _alignment(dtype)

        def emit(context, b, signature, values):
            return _load(b, dtype, _address(b, dtype, *values, in_bytes), align, grouped)

        return dtype(pointer, types.int64), emit

    @intrinsic
    def store(typing_context, pointer, offset, value):
        if not _is_pointer(pointer) or types.unliteral(value) != pointer.dtype:
            return None
        dtype = pointer.dtype
        align = 1 if in_bytes else _alignment(dtype)

        def emit(context, b, signature, values):
            _store(b, dtype, values[2], _address(b, dtype, *values[:2], in_bytes), align, grouped)

        return types.void(pointer, types.int64, dtype), emit

    INTRINSICS[f"load{suffix}"], INTRINSICS[f"store{suffix}"] = load, store


_accesses("", in_bytes=False, grouped=True)
_accesses("_bytes", in_bytes=True, grouped=True)
_accesses("_local", in_bytes=False, grouped=False)  # of an array that every iteration uses anew


@named("at")
@intrinsic
def at(typing_context, outer, extent, inner):
    """outer * extent + inner, for an index in range."""

    def emit(context, b, signature, values):
        return b.add(b.mul(values[0], values[1], flags=("nsw",)), values[2], flags=("nsw",))

    return types.int64(types.int64, types.int64, types.int64), emit


@named("advance")
@intrinsic
def advance(typing_context, pointer, offset):
    """The pointer moved by so many bytes."""

    def emit(context, b, signature, values):
        return b.bitcast(b.gep(values[0], [values[1]], inbounds=True, source_etype=_I8), values[0].type)

    return pointer(pointer, types.int64), emit


@named("independent")
@intrinsic
def independent(typing_context):
    """At the head of a loop's body: no element that one iteration touches is touched by another."""

    def emit(context, b, signature, values):
        module = b.module
        marker = module.globals.get(INDEPENDENT)
        b.call(marker or ir.Function(module, ir.FunctionType(ir.VoidType(), []), INDEPENDENT), [])

    return types.void(), emit


def _stack(dtype):
    @intrinsic
    def stack(typing_context, count):
        if not isinstance(count, types.IntegerLiteral):
            return None
        array = ir.ArrayType(_stored_type(dtype), max(1, count.literal_value))

        def emit(context, b, signature, values):
            with b.goto_entry_block():
                memory = b.alloca(array)
            memory.align = STACK_ALIGNMENT
            return b.bitcast(memory, _stored_type(dtype).as_pointer())

        return types.CPointer(dtype)(count), emit

    return stack


def _word(dtype):
    """`word_float32(words, k)`: the scalar in word k. `words` is a CPointer(int64)."""

    @intrinsic
    def word(typing_context, words, index):
        def emit(context, b, signature, values):
            address = b.gep(values[0], [values[1]], inbounds=True, source_etype=_I64)
            return _load(b, dtype, address, 8, grouped=False)

        return dtype(words, types.int64), emit

    @intrinsic
    def set_word(typing_context, words, index, value):
        if types.unliteral(value) != dtype:
            return None

        def emit(context, b, signature, values):
            address = b.gep(values[0], [values[1]], inbounds=True, source_etype=_I64)
            _store(b, dtype, values[2], address, 8, grouped=False)

        return types.void(words, types.int64, dtype), emit

    @intrinsic
    def pointer(typing_context, words, index):
        def emit(context, b, signature, values):
            address = b.gep(values[0], [values[1]], inbounds=True, source_etype=_I64)
            return b.load(address, align=8, typ=_stored_type(dtype).as_pointer())

        return types.CPointer(dtype)(words, types.int64), emit

    return word, set_word, pointer


for _dtype, _type in NUMBA_TYPES.items():
    INTRINSICS[f"stack_{_dtype}"] = _stack(_type)
    INTRINSICS[f"word_{_dtype}"], INTRINSICS[f"set_word_{_dtype}"], INTRINSICS[f"pointer_{_dtype}"] = _word(_type)


# ---------------------------------------------------------------------------------------------------- atomics


def _rmw_operations(which: str, op: str) -> str:
    if op == "add":
        return "fadd" if which == "float" else "or" if which == "bool" else "add"
    if which == "float":
        return "fminimum" if op == "min" else "fmaximum"
    return ("u" if which in ("uint", "bool") else "") + op


def _atomic(op: str):
    @intrinsic
    def atomic(typing_context, pointer, offset, value):
        """Update one element for every thread to see; `offset` in elements."""
        if not _is_pointer(pointer) or types.unliteral(value) != pointer.dtype:
            return None
        dtype = pointer.dtype
        which = kind(dtype)
        if which == "complex" and op != "add":
            return None

        def emit(context, b, signature, values):
            address = _address(b, dtype, *values[:2], False)
            name = _rmw_operations("float" if which == "complex" else which, op)
            if which == "complex":
                for number, part in enumerate(parts(b, values[2])):
                    place = b.gep(address, [ir.Constant(_I64, number)], source_etype=part.type)
                    b.atomic_rmw(name, place, part, "monotonic")
            else:
                value = b.zext(values[2], _I8) if which == "bool" else values[2]
                b.atomic_rmw(name, address, value, "monotonic")

        return types.void(pointer, types.int64, dtype), emit

    return atomic


for _op in ("add", "min", "max"):
    INTRINSICS[f"atomic_{_op}"] = _atomic(_op)


# ---------------------------------------------------------------------------------------------------- scatter


def _scatter(in_bytes: bool):
    @intrinsic
    def scatter(typing_context, pointer, offset, value):
        """Store one element where other threads may store too: whole, of complex128 each part."""
        if not _is_pointer(pointer) or types.unliteral(value) != pointer.dtype:
            return None
        dtype = pointer.dtype

        def emit(context, b, signature, values):
            address, value = _address(b, dtype, *values[:2], in_bytes), values[2]
            if kind(dtype) != "complex":
                _whole(b, b.zext(value, _I8) if kind(dtype) == "bool" else value, address)
            elif dtype.bitwidth == 128:
                for number, part in enumerate(parts(b, value)):
                    _whole(b, part, b.gep(address, [ir.Constant(_I64, number)], source_etype=part.type))
            else:
                _whole_pair(b, parts(b, value), address)

        return types.void(pointer, types.int64, dtype), emit

    return scatter


INTRINSICS["scatter"], INTRINSICS["scatter_bytes"] = _scatter(False), _scatter(True)


def _whole(b, value, address) -> None:
    """A store of up to 8 bytes, aligned to as many, that never shows in parts."""
    width = _width(value.type)
    if not isinstance(value.type, ir.IntType):
        value = b.bitcast(value, ir.IntType(width))
    b.store_atomic(value, b.bitcast(address, value.type.as_pointer()), "monotonic", max(width // 8, 1))


def _width(type_: ir.Type) -> int:
    return type_.width if isinstance(type_, ir.IntType) else {"half": 16, "float": 32, "double": 64}[str(type_)]


def _whole_pair(b, pair, address) -> None:
    """A complex64: arrays are aligned to its parts only. In 8 bytes that are not aligned it is stored under a lock."""
    words = [b.zext(b.bitcast(part, ir.IntType(32)), _I64) for part in pair]
    both = b.or_(words[0], b.shl(words[1], ir.Constant(_I64, 32)))
    place = b.ptrtoint(address, _I64)
    aligned = b.icmp_unsigned("==", b.and_(place, ir.Constant(_I64, 7)), ir.Constant(_I64, 0))
    with b.if_else(aligned, likely=True) as (whole, apart):
        with whole:
            _whole(b, both, address)
        with apart:
            lock = b.module.globals.get(LOCK)
            if lock is None:
                lock = ir.GlobalVariable(b.module, _I64, LOCK)
                lock.linkage, lock.initializer, lock.align = "internal", ir.Constant(_I64, 0), 8
            free, taken = ir.Constant(_I64, 0), ir.Constant(_I64, 1)
            again, held = b.append_basic_block("lock"), b.append_basic_block("held")
            b.branch(again)
            b.position_at_end(again)
            result = b.cmpxchg(lock, free, taken, "acquire", "monotonic")
            b.cbranch(b.extract_value(result, 1), held, again)
            b.position_at_end(held)
            parts_at = b.bitcast(address, pair[0].type.as_pointer())
            for number, part in enumerate(pair):
                b.store(part, b.gep(parts_at, [ir.Constant(_I64, number)]), align=4)
            b.store_atomic(free, lock, "release", 8)


@named("claim")
@intrinsic
def claim(typing_context, words, value):
    """Put `value` into the first word if that is 0, atomically; whether it was."""

    def emit(context, b, signature, values):
        result = b.cmpxchg(values[0], ir.Constant(_I64, 0), values[1], "monotonic", "monotonic")
        return b.extract_value(result, 1)

    return types.boolean(words, types.int64), emit
