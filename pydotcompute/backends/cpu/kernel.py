"""A built kernel in this process's memory: its shared object, the call with words, the native entry point."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, NoReturn, Sequence

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
            self.raise_fault(ctypes.addressof(block) + 8 * total)
        return finish()

    def bind(
        self, name: str, doc: str, fallback: Callable, outputs: Sequence[str], vendor: Callable | None = None
    ) -> Callable | None:
        """The native entry point as a builtin function, or None where this interpreter or artifact has none.

        What it does not serve, it gives to `fallback`; to `vendor` the calls that are faster there.
        """
        if native.problem() or not hasattr(self.library, "entry"):
            return None
        fault = self.raise_fault if "sites" in self.artifact.meta else None
        return native.bind(self.library, name, doc, fallback, outputs, vendor, fault)

    def chain(self, following: CPUKernel) -> None:
        """Let the native entry point of this one hand on to that of another specialisation."""
        native.chain(self.library, following.library)

    def raise_fault(self, address: int) -> NoReturn:
        """Raise what the fault words there say. IndexError, in the interpreter's words."""
        from ..faults import told

        site, call, extent, index = (ctypes.c_int64 * abi.FAULT_WORDS).from_address(address)
        raise IndexError(told(self.artifact, site, call, extent, index))
