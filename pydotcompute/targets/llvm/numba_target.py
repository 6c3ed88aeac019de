"""A target of Numba for kernels: code for a CPU that has numbers, conditions and loops.

Numba's own target for CPUs sets itself up with arrays, lists, text, random numbers and more, which takes as long as a
few kernels do, in each process that compiles. What is compiled here calls nothing of that, nor Numba's own library.
"""

from __future__ import annotations

from functools import cached_property, partial

from numba.core import cpu, fastmathpass, registry, typing
from numba.core.decorators import jit
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_registry

NAME = "pydotcompute"


class _Types(typing.Context):
    def load_additional_registries(self):
        pass


class _Code(cpu.CPUContext):
    def load_additional_registries(self):
        from numba.cpython import builtins, numbers, rangeobj, tupleobj  # noqa: F401  # they register what they have

    def post_lowering(self, mod, library):
        if self.fastmath:
            fastmathpass.rewrite_module(mod, self.fastmath)


class _Target(registry.CPUTarget):
    @cached_property
    def _toplevel_target_context(self):
        return _Code(self.typing_context, self._target_name)

    @cached_property
    def _toplevel_typing_context(self):
        return _Types()


class _Kernels(CPU):
    """The class by which Numba's registries know the target."""


class _Dispatcher(registry.CPUDispatcher):
    targetdescr = _Target(NAME)


TARGET = _Dispatcher.targetdescr
target_registry[NAME] = _Kernels
dispatcher_registry[_Kernels] = _Dispatcher
jit_registry[_Kernels] = partial(jit, _target=NAME)
