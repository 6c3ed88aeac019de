"""numba-cuda as a front end for generated code: a function that calls a lowered one → the LLVM module of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core.compiler_lock import global_compiler_lock
from numba.cuda import compiler, types, utils
from numba.cuda.core import compiler_machinery, typed_passes, untyped_passes
from numba.cuda.core.callconv import CUDACallConv
from numba.cuda.cudadrv import nvvm
from numba.cuda.descriptor import cuda_target
from numba.cuda.flags import CUDAFlags

from .dialect import Capability


class _Pipeline(compiler.CUDACompiler):
    """numba-cuda's passes without those that generated code has no use for: half of them, and half of the time."""

    _PASSES = (
        compiler.CUDATranslateBytecode,
        untyped_passes.FixupArgs,
        untyped_passes.IRProcessing,
        untyped_passes.ReconstructSSA,
        typed_passes.NopythonTypeInference,
        typed_passes.PreLowerStripPhis,
        typed_passes.IRLegalization,
        compiler.CreateLibrary,
        compiler.CUDANativeLowering,
        compiler.CUDABackend,
    )

    def define_pipelines(self) -> list[Any]:
        manager = compiler_machinery.PassManager("cuda")
        for step in self._PASSES:
            manager.add_pass(step, step.__name__)
        manager.finalize()
        return [manager]


def new_module(name: str) -> ir.Module:
    """A module for NVVM, without functions."""
    return cuda_target.target_context.codegen()._create_empty_module(name)


@global_compiler_lock
def compile_kernel(
    function: Callable, arguments: list[types.Type], name: str, block: int, capability: Capability, lines: bool
) -> Any:
    """The library of numba-cuda's with the kernel under this name. block: the most threads of a launch; 0: not said."""
    flags = CUDAFlags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.error_model = "numpy"
    flags.debuginfo = flags.dbg_directives_only = lines
    flags.nvvm_options = {"fastmath": False, "opt": 3}
    flags.compute_capability = capability
    context = cuda_target.target_context
    with utils.numba_target_override():
        done = compiler.compile_extra(
            cuda_target.typing_context, context, function, tuple(arguments), types.void, flags, {},
            pipeline_class=_Pipeline, call_conv=CUDACallConv(context), abi_info={"abi_name": name},
        )  # fmt: skip
    library = done.library
    library.finalize()
    kernel = library.get_function(done.fndesc.llvm_func_name)
    compiler.kernel_fixup(kernel, False)
    nvvm.set_launch_bounds(kernel, block or None)
    return library
