"""float16 from and to float32 for CPUs: the instruction from x86-64-v3 on, below it the function of ir/math.

A kernel's code, which names no processor, calls what is declared here; each target links its own."""

from __future__ import annotations

from llvmlite import ir

from ...ir.math.storage import STORAGE
from ..llvm.mathematics import defined
from ..llvm.numba_frontend import Unflagged
from ..llvm.values import F32, I16, I32
from .dialect import CPU

PREFIX = "float16."
_TYPES = {"of_float16_bits": ("int32", F32, I32), "float16_bits": ("float32", I32, F32)}
NAMES = tuple(_TYPES)


def call(b: ir.IRBuilder, name: str, value):
    """A call of one of NAMES."""
    function = _declared(b.module, name)
    made = b.call(function, [value])
    made.fastmath = Unflagged()
    return made


def converted(d, b: ir.IRBuilder, name: str, x):
    """The value of a function of ir/math/storage.py, of float16 and of bfloat16."""
    return call(b, name, x) if name in NAMES else b.call(defined(d, b.module, name, STORAGE[name][0]), [x])


def float16_ir(instructions: bool) -> str:
    """LLVM IR that defines them. instructions: the processor converts (F16C)."""
    module = ir.Module("float16")
    for name, (dtype, _, _) in _TYPES.items():
        function = _declared(module, name)
        function.attributes.add("alwaysinline")
        b, (x,) = ir.IRBuilder(function.append_basic_block()), function.args
        if not instructions:
            b.ret(b.call(defined(CPU, module, name, dtype), [x]))
        elif name == "float16_bits":
            b.ret(b.zext(b.bitcast(b.fptrunc(x, ir.HalfType()), I16), I32))
        else:
            b.ret(b.fpext(b.bitcast(b.trunc(x, I16), ir.HalfType()), F32))
    return str(module)


def _declared(module: ir.Module, name: str) -> ir.Function:
    _, result, argument = _TYPES[name]
    known = module.globals.get(PREFIX + name)
    return known or ir.Function(module, ir.FunctionType(result, [argument]), PREFIX + name)
