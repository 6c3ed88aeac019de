"""Every listed function in a loop over arrays, compiled to one shared object a level by the product's tools."""

import ctypes
import functools
import tempfile

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types

from pydotcompute.targets.llvm.numba_frontend import compile_written
from pydotcompute.targets.llvm.written import Written
from pydotcompute.targets.cpu.fused import fused_ir
from pydotcompute.targets.cpu.link import link
from pydotcompute.ir.math import FUNCTIONS
from pydotcompute.targets.cpu.namespace import namespace

LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
DTYPES = ("float32", "float64")
BINARY = ("atan2", "hypot", "pow")
CASES = [(name, dtype) for name in sorted(FUNCTIONS) for dtype in DTYPES]
_NEEDED = {"x86-64-v2": "sse4.2", "x86-64-v3": "fma", "x86-64-v4": "avx512dq"}
RUNNABLE = [level for level in LEVELS if llvm.get_host_cpu_features().get(_NEEDED[level])]


_LOOP = """
def loop_{function}({arguments}, out, n):
    for i in range(int64(0), n):
        store(out, i, {function}({loads}))
    return int64(0)
"""


@functools.cache
def module_text():
    """LLVM IR of `loop_exp_float32` and so on."""
    text, loops = "", {}
    for name, dtype in CASES:
        arguments = ("x", "y") if name in BINARY else ("x",)
        loads = ", ".join(f"load({argument}, i)" for argument in arguments)
        text += _LOOP.format(function=f"{name}_{dtype}", arguments=", ".join(arguments), loads=loads)
        pointers = [types.CPointer(getattr(types, dtype))] * (len(arguments) + 1)
        loops[f"loop_{name}_{dtype}"] = types.int64(*pointers, types.int64)

    def inlined(name, function):
        function.attributes.add("alwaysinline")

    results = dict.fromkeys(loops, ("int64",))
    return compile_written(Written(text, "loops.py", ir.Module("written"), namespace(), results, inlined), loops, ())


@functools.cache
def compiled(level, fused=True):
    """(assembly, shared object) of all loops for a level. Not fused: of what is computed where nobody knows whether a
    product and its sum are rounded once."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(module_text())
    machine = llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(
        cpu=level, features="-prefer-256-bit" if level == "x86-64-v4" else "", opt=3, reloc="pic", codemodel="small"
    )
    module.link_in(llvm.parse_assembly(fused_ir(module_text(), fused and level != "x86-64-v2")))
    module.triple, module.data_layout = "x86_64-unknown-linux-gnu", str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_assembly(module), link("the functions", module.triple, machine.emit_object(module))


@functools.cache
def library(level, fused=True):
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(compiled(level, fused)[1])
        file.flush()
        return ctypes.CDLL(file.name)


def call(level, name, *arrays, fused=True):
    """The function of each element of arrays of one dtype and length."""
    arrays = [np.ascontiguousarray(array) for array in arrays]
    (dtype,) = {array.dtype for array in arrays}
    out = np.empty_like(arrays[0])
    result, raised = ctypes.c_void_p(), ctypes.c_void_p()
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, out)]
    loop = library(level, fused)[f"loop_{name}_{dtype}"]
    assert loop(ctypes.byref(result), ctypes.byref(raised), *pointers, ctypes.c_int64(out.size)) == 0
    return out
