"""A built kernel on a WebGPU device: its pipelines, and its calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import wgpu

from ...cache.manifest import Artifact
from ...cache.objects import read as read_object
from ...calls.arguments import Call
from ...errors import KernelNotBuiltError
from ..buffers import span
from ..faults import number_of
from ..launch import FAULT_BYTES, Launch, prepared, put_copies, scalar_names, scratch_sizes, steps, tells_launches, unit
from . import devices
from .arrays import WebGPUArray, new_buffer, read as to_host, words as words_of, write
from .launch import arguments, check_array, check_limits, packed

LOG_LINES = 12
_UNIFORM = {"binding": 0, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": {"type": "uniform"}}


class WebGPUKernel:
    """Runs checked calls on its device, without waiting. Raises KernelNotBuiltError if the artifact is damaged, or wgpu
    refuses it."""

    def __init__(self, artifact: Artifact, backend: Any):
        devices.usable()
        self.artifact, self.backend, self.device = artifact, backend, backend.device
        self.checks, self.number = "sites" in artifact.meta, number_of(artifact)
        if not {"arguments", "scratch", "bindings", "words", "launches"} <= artifact.meta.keys():
            raise KernelNotBuiltError(f"{artifact}: the manifest does not say how it is launched; {artifact.remedy}")
        self.meta = prepared(artifact.meta)
        source = read_object(artifact).decode()
        try:
            self.module = self.device.create_shader_module(code=source)
            self.layouts = {entry: self._layout(numbers) for entry, numbers in artifact.meta["bindings"].items()}
        except wgpu.GPUError as error:
            raise self._refused(error) from error
        self.pipelines: dict[tuple, Any] = {}

    def _refused(self, error: Exception) -> KernelNotBuiltError:
        log = "\n".join(str(error).splitlines()[:LOG_LINES])
        artifact, device = self.artifact, devices.name(self.device.adapter)
        return KernelNotBuiltError(f"{artifact}: wgpu refused {artifact.path} for {device}: {log}")

    def _layout(self, numbers: list[list[Any]]) -> Any:
        entries = [
            {
                "binding": number, "visibility": wgpu.ShaderStage.COMPUTE,
                "buffer": {"type": "storage" if written else "read-only-storage"},
            }
            for number, written in numbers
        ]  # fmt: skip
        return self.device.create_bind_group_layout(entries=[_UNIFORM, *entries])

    def pipeline(self, launch: Launch) -> Any:
        """Of an entry for blocks of one shape."""
        key = launch.entry, launch.block
        if key not in self.pipelines:
            layout = self.device.create_pipeline_layout(bind_group_layouts=[self.layouts[launch.entry]])
            sizes = dict(zip(("_width", "_height", "_depth"), launch.block, strict=True))
            stage = {"module": self.module, "entry_point": launch.entry, "constants": sizes}
            try:
                self.pipelines[key] = self.device.create_compute_pipeline(layout=layout, compute=stage)
            except wgpu.GPUError as error:
                raise self._refused(error) from error
        return self.pipelines[key]

    def __call__(self, call: Call) -> Any:
        """Launch a checked call and return its results."""
        with self.backend.running(self.artifact.kernel):
            values, finish = call.complete()
            self.launch(call, values)
            return finish()

    def launch(self, call: Call, values: dict[str, Any]) -> None:
        artifact, device = self.artifact, self.device
        copied = put_copies(
            artifact.parameters, values, call.leading,
            lambda a, shape: self.backend.to_device(np.broadcast_to(to_host(a), shape)),
        )  # fmt: skip
        present = {p.name: values[p.name] for p in artifact.parameters if p.in_memory}
        for name, array in present.items():
            if array.size:
                check_array(artifact.kernel, name, *span(array), unit(array.dtype))
        present |= self._apart(present)
        names = {**call.dims, **scalar_names(artifact.parameters, values)}
        scratch = [new_buffer(device, size) for size in scratch_sizes(self.meta, names)]
        nothing = self.backend.nothing

        def memory(name: str) -> Any:
            return present[name].buffer or nothing(name)

        def decided(place: int, dtype: str) -> bool | int:
            """What decides about the launches that follow."""
            if self.checks:  # what comes from a skipped access might keep the host going for ever
                self.backend.faults.asked = True
                self.backend.faults.look()
            raw = device.queue.read_buffer(scratch[place])
            return np.frombuffer(raw, dtype, 1)[0].item()

        fault: list[Any] = [self.backend.faults.buffer, self.number]
        if tells_launches(artifact.meta):
            fault.append(new_buffer(device, FAULT_BYTES))
        items = {item["entry"]: item for item in self.meta["launches"]}
        for launch, meta, known in steps(self.meta, names, decided):
            check_limits(artifact.kernel, items[launch.entry], launch, known)
            buffers, words = arguments(
                meta, artifact.parameters, values | present, known, call.leading, scratch, fault, memory
            )  # fmt: skip
            self._submit(launch, buffers, packed([0, *words], artifact.meta["words"]))
            self.backend.faults.asked |= self.checks
        for p, array, whole in copied:
            if p.writable:
                write(array, to_host(whole).reshape(array.shape))

    def _apart(self, present: dict[str, WebGPUArray]) -> dict[str, WebGPUArray]:
        """Copies of arrays that are only read, where their buffer is also written: a launch takes a buffer either way,
        never both."""
        written = {id(present[p.name].buffer) for p in self.artifact.parameters if p.in_memory and p.writable}
        found: dict[str, WebGPUArray] = {}
        encoder = None
        for p in self.artifact.parameters:
            array = present.get(p.name)
            if array is None or p.writable or array.buffer is None or id(array.buffer) not in written:
                continue
            first, last = words_of(array)
            buffer = new_buffer(self.device, last - first)
            encoder = encoder or self.device.create_command_encoder()
            encoder.copy_buffer_to_buffer(array.buffer, first, buffer, 0, last - first)
            found[p.name] = WebGPUArray(
                self.device, array.shape, array.dtype, buffer, array.offset - first, array.strides
            )  # fmt: skip
        if encoder:
            self.device.queue.submit([encoder.finish()])
        return found

    def _submit(self, launch: Launch, buffers: list[Any], words: np.ndarray) -> None:
        device = self.device
        uniform = device.create_buffer_with_data(data=words, usage=wgpu.BufferUsage.UNIFORM)
        numbers = [number for number, _ in self.artifact.meta["bindings"][launch.entry]]
        entries = [
            {"binding": number, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}}
            for number, buffer in zip((0, *numbers), (uniform, *buffers), strict=True)
        ]
        group = device.create_bind_group(layout=self.layouts[launch.entry], entries=entries)
        most = device.limits["max-compute-workgroups-per-dimension"]
        encoder = device.create_command_encoder()
        work = encoder.begin_compute_pass()
        work.set_pipeline(self.pipeline(launch))
        work.set_bind_group(0, group)
        work.dispatch_workgroups(*(min(count, most) for count in launch.grid))
        work.end()
        device.queue.submit([encoder.finish()])
