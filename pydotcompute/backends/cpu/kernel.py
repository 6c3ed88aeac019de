"""A built kernel in this process's memory: its shared object, the call with words, the native entry point."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, Callable, Mapping, NoReturn, Sequence

from ...artifact import abi
from ...artifact.identity import title
from ...cache.manifest import Artifact
from ...errors import KernelNotBuiltError
from . import native, pool
from .loaded import Loaded, box

_RUN = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)  # with the GIL, and raises what a handler of a signal does

if TYPE_CHECKING:
    from ...cache.manifest import KernelRecord, SpecialisationRecord
    from ...calls.arguments import Call


class CPUKernel:
    """Calls `run` of a loaded artifact. Raises KernelNotBuiltError if the artifact is damaged or no such object."""

    def __init__(self, artifact: Artifact, threads: int):
        self.artifact = artifact
        self.loaded = box(Loaded(artifact))
        try:
            self.run = _RUN(self.loaded[0].address("run_unlocked"))
            ctypes.c_int32.in_dll(self.library, "threads").value = threads
            native.give_python(self.library)
            if threads > 1:
                pool.join(self.loaded)
        except ValueError as error:
            raise KernelNotBuiltError(
                f"{artifact}: {artifact.path} is not a kernel ({error}); {artifact.remedy}"
            ) from None
        if (folder := os.environ.get("PYDOTCOMPUTE_JITDUMP")) and not artifact.meta.get("debug_info"):
            from . import jitdump

            name = f"{title(artifact.kernel, artifact.specialisation)}@{artifact.target}"
            jitdump.note(name, self.loaded[0].address("run_unlocked"), folder)

    @property
    def library(self) -> ctypes.CDLL:
        """The shared object, as long as this kernel lives."""
        library: ctypes.CDLL = self.loaded[0].library
        return library

    def __call__(self, call: Call) -> Any:
        """Run a checked call and return its results. Raises IndexError where the artifact looks for that."""
        from ...calls import arrays, words

        native.admit(arrays.plain_types)
        native.find_bfloat16()
        values, finish = call.complete()
        parameters = self.artifact.parameters
        layout, total = abi.slots(parameters, self.artifact.symbols)
        block, kept = words.fill(layout, total, parameters, values, call.dims, call.leading)
        if self.run(block):
            self.raise_fault(ctypes.addressof(block) + 8 * total)
        return finish()

    def bind(
        self, entry: native.Entry | None, record: KernelRecord, specialisation: SpecialisationRecord,
        fallback: Callable, vendor: Callable | None = None, tuned: Sequence[Mapping[str, Any]] = (),
    ) -> native.Entry | None:  # fmt: skip
        """Join the native entry point of a kernel, which the first of its specialisations brings; None where this
        interpreter or artifact has none.

        What it does not serve, it gives to `fallback`; to `vendor` the calls that are faster there. tuned: the params
        of calls that name none of those that are tuned, by size class.
        """
        if native.problem():
            return entry
        native.find_bfloat16()
        entry = entry or native.Entry(record)
        fault = self.raise_fault if "sites" in self.artifact.meta else None
        entry.add(self.loaded, specialisation, fallback, vendor, fault, tuned)
        return entry

    def raise_fault(self, address: int) -> NoReturn:
        """Raise what the fault words there say. IndexError, in the interpreter's words; AllocationError."""
        from ..faults import fault

        site, call, extent, index = (ctypes.c_int64 * abi.TOLD_WORDS).from_address(address)
        raise fault(self.artifact, site, call, extent, index)
