"""Which specialisation serves a call that names no value for what is tuned: that of the call's size class."""

from __future__ import annotations

from typing import Sequence

from ...artifact import size_classes
from ...artifact.signature import DTYPE_BYTES, Parameter
from .entry_arguments import is_countable
from .entry_code import I32, I64, PTR, Code, Value, i64
from .entry_front import SERVE
from .entry_types import require_array


def write_serve_by_size(code: Code, parameters: Sequence[Parameter]) -> None:
    """`serve_by_size`: counts the bytes of the arrays among the inputs, and goes on to the `serve` that `by_size` has
    for so many. parameters: with concrete dtypes."""
    code.begin("serve_by_size", SERVE)
    b, call = code.b, code.function.args
    total = i64(0)
    for k, p in enumerate(p for p in parameters if p.is_input):
        if p.is_array:
            total = b.add(total, b.mul(_elements(code, code.element(call[0], k, PTR)), i64(DTYPE_BYTES[p.dtype])))
    number = i64(0)
    for most in size_classes.MOST:
        number = b.add(number, b.zext(b.icmp_unsigned(">", total, i64(most)), I64))
    serve = code.element(code.variable("by_size"), number, PTR)
    code.require(b.icmp_unsigned("!=", serve, code.null))
    b.ret(code.call_address(serve, PTR, *call))
    code.end(lambda: code.call("PyObject_Vectorcall", PTR, code.variable("fallback"), *call[2:]))


def _elements(code: Code, array: Value) -> Value:
    """How many an array has. The call is refused where it is none, or has more than memory could."""
    require_array(code, array)
    rank, dims, product = code.b.sext(code.at(array, 24, I32), I64), code.at(array, 32, PTR), code.stack(I64)
    code.require(is_countable(code, rank, dims))
    code.put(i64(1), product)
    code.loop(rank, lambda i: code.put(code.b.mul(code.get(product), code.element(dims, i, I64)), product))
    return code.get(product)
