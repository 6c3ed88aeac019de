"""What is stored in 16 bits from and to float32 for NVVM: the instruction for float16, else the function of ir/math."""

from __future__ import annotations

from ...ir.math.storage import STORAGE
from ..llvm.mathematics import defined
from ..llvm.values import F32, I16, I32, call


def converted(d, b, name: str, x):
    """The value of one of ir/math/storage.py."""
    if name == "of_float16_bits":
        return call(b, "llvm.convert.from.fp16.f32", F32, b.trunc(x, I16))
    if name == "float16_bits":
        return b.zext(call(b, "llvm.convert.to.fp16.f32", I16, x), I32)
    return b.call(defined(d, b.module, name, STORAGE[name][0]), [x])
