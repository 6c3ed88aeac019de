"""Kernels for NVVM: entry points around the functions that lowered Python has become, by numba-cuda's types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llvmlite import ir
from numba.core.compiler_lock import global_compiler_lock
from numba.cuda import cgutils, types, utils
from numba.cuda.core.targetconfig import ConfigStack
from numba.cuda.cudadrv import nvvm
from numba.cuda.descriptor import cuda_target
from numba.cuda.flags import CUDAFlags

from .dialect import Capability
from .entry_point import EntryPoint

if TYPE_CHECKING:
    from ..llvm.written import Written


def new_module(name: str) -> ir.Module:
    """A module for NVVM, without functions."""
    return cuda_target.target_context.codegen()._create_empty_module(name)


@global_compiler_lock
def write_kernels(
    written: Written, entries: Sequence[tuple[EntryPoint, list[types.Type]]], capability: Capability
) -> None:
    """In the module of the written functions, the kernel of each entry, which calls its function; with the types of its
    arguments."""
    # Not refreshed: to load what numba-cuda has for Python's own functions takes as long as several kernels, and what
    # is written here calls none of them.
    context, flags = cuda_target.target_context, CUDAFlags()
    flags.compute_capability = capability
    kernels = []
    for entry, given in entries:  # they stand first
        packer = context.get_arg_packer(given)
        kernel = ir.Function(written.module, ir.FunctionType(ir.VoidType(), packer.argument_types), entry.name)
        packer.assign_names(kernel.args, written.parameters(entry.function))
        for argument, free in zip(kernel.args, entry.noalias):
            if free:
                argument.add_attribute("noalias")
        nvvm.set_launch_bounds(kernel, entry.block or None)
        kernels.append((kernel, entry, given, packer))
    with utils.numba_target_override(), ConfigStack().enter(flags):
        for kernel, entry, given, packer in kernels:
            b = ir.IRBuilder(kernel.append_basic_block("entry"))
            with written.located(context, kernel, b, entry.function):
                called = written.define(context, entry.function, given)
                b.call(called, packer.from_arguments(b, tuple(kernel.args)))
                b.ret_void()
    _mark([kernel for kernel, *_ in kernels])


def _mark(kernels: Sequence[ir.Function]) -> None:
    """As numba-cuda marks the one of a module: as kernels, not to be discarded."""
    module = kernels[0].module
    annotations = cgutils.get_or_insert_named_metadata(module, "nvvm.annotations")
    for kernel in kernels:
        one = ir.Constant(ir.IntType(32), 1)
        annotations.add(module.add_metadata((kernel, ir.MetaDataString(module, "kernel"), one)))
    pointer = ir.IntType(8).as_pointer()
    used = ir.GlobalVariable(module, ir.ArrayType(pointer, len(kernels)), "llvm.used")
    used.linkage, used.section = "appending", "llvm.metadata"
    used.initializer = ir.Constant(used.value_type, [kernel.bitcast(pointer) for kernel in kernels])
