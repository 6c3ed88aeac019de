"""What an entry point does with outputs: makes those that were not given, fills them, and returns them."""

from __future__ import annotations

from typing import Sequence

import numpy as np
from llvmlite import ir

from ...artifact.dtypes import STORED, bfloat16_bits
from ...artifact.signature import Parameter, fill_value
from ...ir.storage import BITS
from .entry_arguments import MOST_DIMS, Shapes, is_countable
from .entry_code import I8, I32, I64, PTR, VOID, Code, Value, i64

_LINE = 64  # bytes that are filled in one turn
ARRAY_NEW, ARRAY_SCALAR, DESCR_FROM_TYPE = 93, 60, 45  # numbers in PyArray_API


def new_array(code: Code, p: Parameter, shapes: Shapes, made: Sequence[Value]) -> Value:
    """A new output. Where NumPy makes none the call is handed on, to fail with the right words."""
    b, size = code.b, code.stack(I64, MOST_DIMS)
    dims = p.dims or ()
    nd, before = i64(len(dims)), i64(0)

    def give_up() -> None:
        code.call("PyErr_Clear", VOID)
        for other in made:
            code.call("Py_DecRef", VOID, other)
        b.branch(code.refuse)

    if p.ellipsis:
        assert shapes.leading is not None
        before, sizes = shapes.leading
        nd = b.add(before, nd)
        code.branch(b.icmp_signed(">", nd, i64(MOST_DIMS)), give_up)
    for axis, dim in enumerate(dims):
        code.put(i64(dim) if isinstance(dim, int) else shapes.values[dim], size, b.add(before, i64(axis)))
    if p.ellipsis:
        code.loop(before, lambda i: code.put(code.element(sizes, i, I64), size, i))
    code.branch(code.b.not_(is_countable(code, nd, size)), give_up)
    stored = BITS if p.role == "temp" and p.dtype in STORED else p.dtype  # nobody else sees it
    array = code.numpy(
        ARRAY_NEW, PTR, code.variable("ndarray_type"), b.trunc(nd, I32), size,
        code.type_number(stored), code.null, code.null, ir.Constant(I32, 0), ir.Constant(I32, 0),
        code.null,
    )  # fmt: skip

    code.branch(code.equal(array, code.null), give_up)
    return array


def fill(code: Code, p: Parameter, text: str, shapes: Shapes, address: Value) -> None:
    """Give every element of an output its value before the kernel runs, as the signature's literal says it."""
    value = fill_value(text, p.dtype)
    bits = (bfloat16_bits(value) if p.dtype == "bfloat16" else np.array(value, p.dtype)).tobytes()
    size = len(bits)
    count = shapes.count if p.ellipsis else i64(1)
    for dim in p.dims or ():
        count = code.b.mul(count, i64(dim) if isinstance(dim, int) else shapes.values[dim])
    b, base = code.b, code.b.inttoptr(address, PTR)

    def stores(first: Value, number: Value, turn: bytes, part: int) -> None:
        """So many times the bytes of a turn, one behind the other, by stores of `part` bytes."""
        type_ = ir.IntType(8 * part) if part <= 8 else ir.VectorType(I64, part // 8)

        def store(i: Value) -> None:
            here = b.gep(first, [b.mul(i, i64(len(turn)))], source_etype=I8)
            for at in range(0, len(turn), part):
                words = [turn[k : k + 8] for k in range(at, at + part, min(part, 8))]
                numbers = [int.from_bytes(word, "little") for word in words]
                value = ir.Constant(type_, numbers if part > 8 else numbers[0])
                b.store(value, b.gep(here, [i64(at)], source_etype=I8), align=1)

        code.loop(number, store)

    together = _LINE // size  # nothing makes vectors of a loop here
    lines = b.sdiv(count, i64(together))
    stores(base, lines, bits * together, 16)
    done = b.mul(lines, i64(together))
    stores(b.gep(base, [b.mul(done, i64(size))], source_etype=I8), b.sub(count, done), bits, min(size, 8))


def return_outputs(
    code: Code, outputs: Sequence[Parameter], results: Sequence[Value], scratch: Sequence[Value], given: Value
) -> None:
    """Return None, the output, or a tuple of them; where one is trimmed, what `trim` makes of that. An output that is a
    scalar lies in `scratch`, where the caller gave no place for it."""
    b = code.b
    if not outputs:
        none = code.python("_Py_NoneStruct")
        code.call("Py_IncRef", VOID, none)
        b.ret(none)
        return

    def make_scalars() -> None:
        for k, p in enumerate(outputs):
            if p.is_array:
                continue
            descr = code.numpy(DESCR_FROM_TYPE, PTR, code.type_number(p.dtype))
            code.put(code.numpy(ARRAY_SCALAR, PTR, scratch[k], descr, code.null), results[k])
            code.call("Py_DecRef", VOID, descr)

    if any(not p.is_array for p in outputs):
        code.branch(given, lambda: None, make_scalars)
    values = [code.get(result, PTR) for result in results]
    if len(outputs) == 1:
        b.ret(values[0])
        return
    # PyTuple_SetItem takes the references; a tuple or scalar that could not be made has set its MemoryError.
    pack = code.call("PyTuple_New", PTR, i64(len(outputs)))
    whole = b.icmp_unsigned("!=", pack, code.null)
    for value in values:
        whole = b.and_(whole, b.icmp_unsigned("!=", value, code.null))

    def fail() -> None:
        for value in (*values, pack):

            def release(value: Value = value) -> None:
                code.call("Py_DecRef", VOID, value)

            code.branch(b.icmp_unsigned("!=", value, code.null), release)
        b.ret(code.null)

    def succeed() -> None:
        for k, value in enumerate(values):
            code.call("PyTuple_SetItem", I32, pack, i64(k), value)
        if not any(p.length for p in outputs):
            b.ret(pack)
            return
        argument = code.stack(PTR)
        code.put(pack, argument)
        made = code.call("PyObject_Vectorcall", PTR, code.variable("trim"), argument, i64(1), code.null)
        code.call("Py_DecRef", VOID, pack)
        b.ret(made)

    code.branch(whole, succeed, fail)
    b.unreachable()
