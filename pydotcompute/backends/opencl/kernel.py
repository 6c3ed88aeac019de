"""A built kernel on an OpenCL device: its program, and its calls."""

from __future__ import annotations

from _thread import allocate_lock
from typing import Any

import numpy as np
import pyopencl as cl

from ...cache.manifest import Artifact
from ...cache.objects import read
from ...calls.arguments import Call
from ...errors import AllocationError, KernelNotBuiltError
from ..faults import number_of
from ..launch import FAULT_BYTES, prepared, put_copies, scalar_names, scratch_sizes, steps, tells_launches
from . import devices, programs
from .arrays import read as to_host, write
from .launch import arguments

LOG_LINES = 12


class OpenCLKernel:
    """Runs checked calls on the queue of their arrays, without waiting. Raises KernelNotBuiltError if the artifact is
    damaged, or the driver refuses it, AllocationError where it has no memory for the code."""

    def __init__(self, artifact: Artifact, backend: Any, source: bytes | None = None):
        """source: of an artifact that is in no cache."""
        self.artifact, self.backend = artifact, backend
        self.checks, self.number = "sites" in artifact.meta, number_of(artifact)
        source = read(artifact) if source is None else source
        entries = [launch.get("entry") for launch in artifact.meta.get("launches", ())]
        if not entries or not {"arguments", "scratch"} <= artifact.meta.keys():
            raise KernelNotBuiltError(
                f"{artifact}: the manifest does not say how it is launched; {artifact.remedy}"
            )
        self.meta = prepared(artifact.meta)
        try:
            program = programs.load(backend.context, backend.device, source, artifact.folder or None, artifact.owned)
            self.functions = {entry: cl.Kernel(program, entry) for entry in entries}
        except cl.MemoryError as error:
            told = f"{artifact}: no memory on {devices.name(backend.device)} for its code ({error})"
            raise AllocationError(told) from error
        except cl.Error as error:
            log = "\n".join(str(error).splitlines()[:LOG_LINES])
            raise KernelNotBuiltError(
                f"{artifact}: the driver of {devices.name(backend.device)} refused {artifact.path}: {log}"
            ) from error
        self.lock = allocate_lock()  # a kernel object holds the arguments of one launch

    def __call__(self, call: Call) -> Any:
        """Launch a checked call and return its results."""
        with self.backend.running(self.artifact.kernel):
            values, finish = call.complete()
            self.launch(call, values)
            return finish()

    def launch(self, call: Call, values: dict[str, Any]) -> None:
        artifact = self.artifact
        copied = put_copies(
            artifact.parameters, values, call.leading,
            lambda a, shape: self.backend.to_device(np.broadcast_to(to_host(a, self.backend.queue), shape)),
        )  # fmt: skip
        present = {p.name: values[p.name] for p in artifact.parameters if p.in_memory}
        queue = self.backend.queue_of(present.values())
        names = {**call.dims, **scalar_names(artifact.parameters, values)}
        sizes = scratch_sizes(self.meta, names)
        scratch = [cl.Buffer(self.backend.context, cl.mem_flags.READ_WRITE, size) for size in sizes]
        events = [event for array in present.values() for event in array.events]

        def read(place: int, dtype: str) -> bool | int:
            """What decides about the launches that follow."""
            found = np.empty(1, dtype)
            if self.checks:  # what comes from a skipped access might keep the host going for ever
                self.backend.faults.ask(queue, events)
                self.backend.faults.look(wait=True)
            cl.enqueue_copy(queue, found, scratch[place], is_blocking=True, wait_for=events)
            return found[0].item()

        fault = [self.backend.faults.buffer, np.int64(self.number)]
        if tells_launches(artifact.meta):
            fault.append(cl.Buffer(self.backend.context, cl.mem_flags.READ_WRITE, FAULT_BYTES))
            events.append(cl.enqueue_fill_buffer(queue, fault[-1], np.zeros((), np.int64), 0, FAULT_BYTES))
        phases = "program" in artifact.meta
        for launch, meta, known in steps(self.meta, names, read):
            if phases and self.checks:
                self.backend.faults.look()
            given = arguments(
                meta, artifact.parameters, values, known, call.leading,
                lambda array: array.base_data if array.base_data is not None else self.backend.nothing,
                lambda array: array.offset if array.base_data is not None else 0, scratch, fault,
            )  # fmt: skip
            whole_grid = tuple(g * b for g, b in zip(launch.grid, launch.block, strict=True))
            with self.lock:
                function = self.functions[launch.entry]
                function.set_args(*given)
                done = cl.enqueue_nd_range_kernel(queue, function, whole_grid, launch.block, wait_for=events)
            events = [done]
            if phases and self.checks:
                self.backend.faults.ask(queue, events)
        if self.checks and events and not phases:
            self.backend.faults.ask(queue, events)
        for p in artifact.parameters:
            if p.writable and p.name in present and events and present[p.name].base_data is not None:
                present[p.name].add_event(events[-1])
        for p, array, whole in copied:
            if p.writable:
                write(array, to_host(whole, queue).reshape(array.shape), queue)
