"""Functions of ir/math that are written in another way for processors with a fused multiply-add, as x86-64-v3.

A kernel's code, which names no processor, calls what is declared here; each target links its own."""

from __future__ import annotations

from llvmlite import ir

from ...ir.functions import FUNCTIONS
from ...ir.math import FUSED
from ..llvm.mathematics import defined
from ..llvm.numba_frontend import Unflagged
from ..llvm.values import DTYPES, llvm_type
from .dialect import CPU

PREFIX = "fused."
NAMES = frozenset((name, dtype) for name, by_dtype in FUSED.items() for dtype in by_dtype)


def call(b: ir.IRBuilder, name: str, dtype: str, *values):
    """A call of one of NAMES."""
    made = b.call(_declared(b.module, name, dtype), values)
    made.fastmath = Unflagged()
    return made


def fused_ir(text: str, instructions: bool) -> str:
    """LLVM IR that defines those of them that a module's text calls. instructions: the processor has them."""
    module = ir.Module("fused")
    for name, dtype in sorted(NAMES):
        function = _declared(module, name, dtype)
        if f"@{function.name}(" not in text and f'@"{function.name}"(' not in text:
            continue
        function.attributes.add("alwaysinline")
        b = ir.IRBuilder(function.append_basic_block())
        b.ret(b.call(defined(CPU, module, name, dtype, instructions), function.args))
    return str(module)


def _declared(module: ir.Module, name: str, dtype: str) -> ir.Function:
    symbol, type_ = f"{PREFIX}{name}_{dtype}", llvm_type(DTYPES[dtype])
    known = module.globals.get(symbol)
    return known or ir.Function(module, ir.FunctionType(type_, [type_] * len(FUNCTIONS[name].arguments)), symbol)
