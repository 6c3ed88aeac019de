"""A built kernel in this process's memory: its shared object, the call with words, the native entry point."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Sequence

from ...artifact import abi
from ...cache.manifest import Artifact
from ...cache.objects import open_library
from ...errors import KernelNotBuiltError
from . import native

if TYPE_CHECKING:
    from ...calls.arguments import Call


class CPUKernel:
    """Calls `run` of a loaded artifact. Raises KernelNotBuiltError if the artifact is damaged or no such object."""

    def __init__(self, artifact: Artifact, threads: int):
        self.artifact = artifact
        self.library = open_library(artifact)
        try:
            self.run = self.library.run
            ctypes.c_int32.in_dll(self.library, "threads").value = threads
        except (AttributeError, ValueError) as error:
            raise KernelNotBuiltError(
                f"{artifact}: {artifact.path} is not a kernel ({error}); {artifact.remedy}"
            ) from None
        self.run.argtypes, self.run.restype = (ctypes.c_void_p,), ctypes.c_int32

    def __call__(self, call: Call) -> Any:
        """Run a checked call and return its results. Raises IndexError where the artifact looks for that."""
        from ...calls import words

        values, finish = call.complete()
        parameters = self.artifact.parameters
        layout, total = abi.slots(parameters, self.artifact.symbols)
        block, kept = words.fill(layout, total, parameters, values, call.dims, call.leading)
        if self.run(block):
            raise IndexError(self._fault(block[total:]))
        return finish()

    def bind(
        self, name: str, doc: str, fallback: Callable, outputs: Sequence[str], vendor: Callable | None = None
    ) -> Callable | None:
        """The native entry point as a builtin function, or None where this interpreter or artifact has none.

        What it does not serve, it gives to `fallback`; to `vendor` the calls that are faster there.
        """
        checks_bounds = self.artifact.target.endswith("+bounds")  # faults are words that an entry does not read
        if checks_bounds or native.problem() or not hasattr(self.library, "entry"):
            return None
        return native.bind(self.library, name, doc, fallback, outputs, vendor)

    def chain(self, following: CPUKernel) -> None:
        """Let the native entry point of this one hand on to that of another specialisation."""
        native.chain(self.library, following.library)

    def _fault(self, fault: Sequence[int]) -> str:
        """What the fault words say, in the interpreter's words."""
        row, column, number, place, index = fault[:5]
        axis, extent = place >> 32, place & 0xFFFFFFFF
        if number >= 0:
            name, rank = self.artifact.parameters[number].name, self.artifact.parameters[number].rank
        else:
            name, rank = self.artifact.meta["arrays"][-1 - number]
        of_axis = f" of axis {axis}" if rank > 1 else ""
        path = f"{self.artifact.root}/{self.artifact.meta['files'][row >> 32]}"
        return f"{path}:{row & 0xFFFFFFFF}:{column}: index {index}{of_axis} is outside {name}, which has {extent}"
