"""Functions that a CUDA kernel calls, compiled by numba-cuda for a compute capability that is given.

A `@cuda.jit` function compiles itself for the current device, once for each choice of argument types, and stays so in
its process. Here a kernel's callees are taken anew, for the capability that the kernel is compiled for: neither a
driver nor what was compiled before has a say.
"""

from __future__ import annotations

import types as python_types
from typing import Any

from numba.cuda.compiler import compile_cuda
from numba.cuda.dispatcher import CUDADispatcher

from .dialect import Capability

OPTIONS = ("debug", "lineinfo", "forceinline", "inline", "fastmath")


class DeviceFunction(CUDADispatcher):
    """A `cuda.jit(device=True)` function of one compute capability."""

    def __init__(self, function: python_types.FunctionType, options: dict[str, Any], capability: Capability):
        super().__init__(function, targetoptions={**options, "device": True})
        self.capability = capability

    def compile_device(self, args: tuple, return_type: Any = None) -> Any:
        """As numba-cuda's, which asks the current device for the capability."""
        if args not in self.overloads:
            given = self.targetoptions
            with self._compiling_counter:
                done = compile_cuda(
                    self.py_func, return_type, args, cc=self.capability,
                    nvvm_options={"opt": 3, "fastmath": bool(given.get("fastmath"))},
                    **{name: given[name] for name in OPTIONS if given.get(name) is not None},
                )  # fmt: skip
                self.overloads[args] = done
                done.target_context.insert_user_function(done.entry_point, done.fndesc, [done.library])
        return self.overloads[args]


class Callees:
    """The device functions that some functions and their callees name, themselves or as an attribute of a module, for
    one compute capability."""

    def __init__(self, capability: Capability):
        self.capability = capability
        self.made: dict[int, DeviceFunction] = {}  # by the id of the dispatcher in whose place it stands

    def bound(self, function: Any) -> python_types.FunctionType:
        """The function with these in the place of those that it names."""
        names = _names(function.__code__)
        found = {name: self._value(value, names) for name, value in function.__globals__.items() if name in names}
        rest = {name: value for name, value in function.__globals__.items() if name not in found}
        cells = []
        for cell in function.__closure__ or ():
            try:
                cells.append(python_types.CellType(self._value(cell.cell_contents, names)))
            except ValueError:  # not set yet: numba-cuda's to refuse
                cells.append(cell)
        made = python_types.FunctionType(
            function.__code__, {**rest, **found}, function.__name__, function.__defaults__, tuple(cells)
        )
        made.__kwdefaults__, made.__module__, made.__qualname__ = (
            function.__kwdefaults__, function.__module__, function.__qualname__,
        )  # fmt: skip
        return made

    def _value(self, value: Any, names: set[str]) -> Any:
        if isinstance(value, CUDADispatcher):
            return self._dispatcher(value)
        if isinstance(value, python_types.ModuleType):
            found = {n: v for n, v in vars(value).items() if n in names and isinstance(v, CUDADispatcher)}
            if found:
                copy = python_types.ModuleType(value.__name__)
                vars(copy).update({**vars(value), **{name: self._dispatcher(v) for name, v in found.items()}})
                return copy
        return value

    def _dispatcher(self, dispatcher: CUDADispatcher) -> DeviceFunction:
        if id(dispatcher) not in self.made:
            function = dispatcher.py_func
            made = DeviceFunction(function, dict(dispatcher.targetoptions), self.capability)
            self.made[id(dispatcher)] = made  # before its callees: it may call itself
            made.py_func = self.bound(function)
        return self.made[id(dispatcher)]


def _names(code: python_types.CodeType) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            found |= _names(constant)
    return found
