"""Arrays of a CUDA kernel's own and pointers into others, as intrinsics: what is not in targets/llvm/memory.py."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from ..llvm.dialect import Dialect, of_types
from ..llvm.memory import loading, new_array, on_stack, storing
from ..llvm.values import DTYPES, I64, kind

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


def _address(pointer):
    if not isinstance(pointer, types.CPointer):
        return None
    return types.int64(pointer), lambda context, b, s, v: b.ptrtoint(v[0], I64)


def arrays(d: Dialect) -> dict[str, Callable]:
    """The intrinsics, by name."""
    made = {"moved": of_types(2, _moved), "address": of_types(1, _address)}
    for align in (2, 4, 8, 16):
        made[f"load_at_{align}"], made[f"store_at_{align}"] = loading(d, False, align), storing(d, False, align)
    for dtype, t in DTYPES.items():
        made[f"shared_{dtype}"] = new_array(t, _of_block)
        made[f"local_{dtype}"] = new_array(t, on_stack(ALIGNMENT))
    return made
