"""A built kernel on a CUDA device: its module, loaded from verified bytes; its calls."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import cupy
from cupy.cuda import function

from ...cache.manifest import Artifact
from ...cache.objects import read
from ...calls.arguments import Call
from ...errors import AllocationError, ArtifactRefusedError, KernelNotBuiltError
from ..faults import number_of
from ..launch import (
    FAULT_BYTES,
    Device,
    Launch,
    arguments as arguments_of,
    decided_by,
    prepared,
    put_copies,
    scalar_names,
    scratch_sizes,
    steps,
    tells_launches,
)  # fmt: skip
from . import (
    arrays as cuda_arrays,
    context as cuda_context,
    copies as cuda_copies,
    driver as cuda_driver,
    fault_slot,
    ranges,
    streams as cuda_streams,
)  # fmt: skip
from .launch_cache import MOST_LAUNCHES, LaunchCache
from .launch_code import Launched, Step
from .platform import PLATFORM

OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation
Keep = Callable[[Device, Launched], None]


class CUDAKernel:
    """Runs checked calls on the current stream of its device, where their arrays lie, without waiting.

    Raises KernelNotBuiltError if the artifact is damaged, ArtifactRefusedError if the device does not load it,
    AllocationError if it does not fit, RuntimeError for what failed before.
    """

    def __init__(self, artifact: Artifact, backend: Device):
        self.artifact, self.backend = artifact, backend
        self.ranges = ranges.asked()
        data = read(artifact)
        entries = [launch.get("entry") for launch in artifact.meta.get("launches", ())]
        if not entries or not {"arguments", "scratch"} <= artifact.meta.keys():
            raise KernelNotBuiltError(
                f"{artifact}: the manifest does not say how it is launched; {artifact.remedy}"
            )
        module, device = function.Module(), backend.device_id
        self.tells_launches, self.number = tells_launches(artifact.meta), number_of(artifact)
        self.meta = prepared(artifact.meta)
        self.decided_by = decided_by(self.meta)
        try:
            with cuda_context.on(device):
                self.slot, _ = fault_slot.slot(device)
                try:
                    module.load(self.image(data))
                    self.functions: dict[str, Any] = {entry: module.get_function(entry) for entry in entries}
                except cupy.cuda.driver.CUDADriverError as error:
                    if error.status not in cuda_context.LOADING:
                        raise
                    log = self.log(data)
                    raise ArtifactRefusedError(
                        f"{artifact}: device {device} cannot load {artifact.path} ({error}); {artifact.remedy}"
                        + (f"\n  the driver's compiler says: {log}" if log else "")
                    ) from error
        except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error:
            if error.status == OUT_OF_MEMORY:
                told = f"{artifact}: no memory on {PLATFORM.title} device {device} for its code ({error})"
                raise AllocationError(told) from error
            raised = cuda_context.explained(error, artifact.kernel, device)
            if raised is error:
                raise
            raise raised from error

    launch_cache = LaunchCache  # what serves the calls of a kernel that are like an earlier one

    def image(self, data: bytes) -> bytes:
        """What the driver loads of the bytes of the artifact; the context is current. Raises CUDADriverError."""
        if self.artifact.suffix == ".cubin":
            return data
        if not self.artifact.meta.get("debug_info"):
            return data + b"\0"
        status, image = cuda_driver.compiled(data + b"\0")
        if status:
            raise cupy.cuda.driver.CUDADriverError(status)
        return image

    def log(self, data: bytes) -> str:
        """What the driver's compiler says about an artifact that does not load."""
        return cuda_driver.jit_log(data + b"\0") if self.artifact.suffix != ".cubin" else ""

    def arguments(
        self, meta: Mapping[str, Any], call: Call, values: Mapping[str, Any], dims: Mapping[str, int],
        scratch: Sequence[int], fault: Sequence[int],
    ) -> list:  # fmt: skip
        """Those of the launches that have this metadata."""
        return arguments_of(
            meta, self.artifact.parameters, values, dims, call.leading, cuda_arrays.address, scratch, fault
        )  # fmt: skip

    def fitted(self, launch: Launch) -> Launch:
        """A launch as a device takes it."""
        return launch

    def __call__(self, call: Call, keep: Keep | None = None) -> Any:
        """Launch a checked call and return its results. `keep` is told what `LaunchCache.remember` wants to know,
        unless calls have ranges."""
        if self.ranges:
            with ranges.around(self.artifact.kernel):
                return self._call(call, None)
        return self._call(call, keep)

    def _call(self, call: Call, keep: Keep | None) -> Any:
        trimmed = any(p.length for p in self.artifact.parameters)
        with self.backend.running(self.artifact.kernel):
            if trimmed:
                self._refuse_capture("how long its outputs are")
            values, finish = call.complete()
            launched = self._launch(call, values)
            if keep and launched and not trimmed:
                keep(self.backend, launched)
            return finish()

    def _read(self, scratch: Any, dtype: str) -> bool | int:
        """What decides about the launches that follow. Raises RuntimeError while the stream captures: a graph cannot
        wait."""
        self._refuse_capture("what to launch next")
        value = scratch.get().view(dtype)[0].item()
        fault_slot.look(self.backend.device_id)  # what comes from a skipped access might keep the host going for ever
        return value

    def _refuse_capture(self, why: str) -> None:
        if cuda_streams.captures(cupy.cuda.get_current_stream().ptr):
            raise RuntimeError(
                f"{self.artifact.kernel} waits for what it computes to know {why}, and the current stream is capturing "
                "a graph, which cannot wait: call it outside of the capture"
            )

    def _launch(self, call: Call, values: dict[str, Any]) -> Launched | None:
        """What was launched; None where that is not for calls like this one: what was read from the device has decided,
        arrays had to be copied, or launches are too many."""
        artifact = self.artifact
        copied = put_copies(
            artifact.parameters, values, call.leading,
            lambda a, shape: cuda_copies.contiguous(cupy.broadcast_to(a, shape)),
        )  # fmt: skip
        names = {**call.dims, **scalar_names(artifact.parameters, values)}
        sizes = scratch_sizes(self.meta, names)
        scratch = [cupy.empty(size, cupy.uint8) for size in sizes]
        addresses = [cuda_arrays.address(s) for s in scratch]
        fault = [self.slot, self.number]
        if self.tells_launches:
            scratch.append(cupy.empty(FAULT_BYTES, cupy.uint8))
            cuda_copies.fill(scratch[-1], 0)
            fault.append(cuda_arrays.address(scratch[-1]))
        again = not copied

        def read(place: int, dtype: str) -> bool | int:
            nonlocal again
            again = False
            return self._read(scratch[place], dtype)

        done: list[Step] = []
        words: list[Any] = []
        for launch, meta, known in steps(self.meta, names, read):
            if meta is not self.meta:  # of a program, where each has its own
                fault_slot.look(self.backend.device_id)
            if meta is not self.meta or not words:
                words = self.arguments(meta, call, values, known, addresses, fault)
            fit = self.fitted(launch)
            function = self.functions[fit.entry]
            function(fit.grid, fit.block, tuple(words))
            again = again and len(done) < MOST_LAUNCHES
            if again:
                done.append(Step(function.ptr, fit, meta["arguments"], words))
        for p, array, whole in copied:
            if p.writable:
                cuda_copies.copy(array, whole)
        temporary = [values[p.name] for p in artifact.parameters if p.role == "temp"]
        if (scratch or temporary or copied) and cuda_streams.captures(cupy.cuda.get_current_stream().ptr):
            self.backend.keep_captured((scratch, temporary, copied))
        return Launched(self.decided_by, done, sizes) if again else None
