"""Arrays of a CUDA kernel's own and pointers into others, as intrinsics: what is not in targets/llvm/memory.py."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from ..llvm.dialect import of_types
from ..llvm.memory import new_array, on_stack
from ..llvm.values import DTYPES, kind

SHARED = 3  # NVVM's address space of shared memory
ALIGNMENT = 16


def _of_block(b, array: ir.ArrayType):
    """Memory that the threads of a block share."""
    variable = ir.GlobalVariable(b.module, array, b.module.get_unique_name("shared"), SHARED)
    variable.linkage, variable.align = "internal", ALIGNMENT
    variable.initializer = ir.Constant(array, ir.Undefined)
    return b.addrspacecast(variable, array.as_pointer(), "generic")


def _moved(pointer, offset):
    """The pointer so many elements on."""
    if not isinstance(pointer, types.CPointer) or not kind(pointer.dtype):
        return None
    return pointer(pointer, types.int64), lambda context, b, s, v: b.gep(v[0], [v[1]], inbounds=True)


def arrays() -> dict[str, Callable]:
    """The intrinsics, by name."""
    made = {"moved": of_types(2, _moved)}
    for dtype, t in DTYPES.items():
        made[f"shared_{dtype}"] = new_array(t, _of_block)
        made[f"local_{dtype}"] = new_array(t, on_stack(ALIGNMENT))
    return made
