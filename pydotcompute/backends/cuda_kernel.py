"""A built kernel on CUDA devices: its module, loaded from verified bytes on each device it is used on; its calls."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import cupy
from cupy.cuda import function

from ..cache.manifest import Artifact
from ..cache.objects import read
from ..errors import AllocationError, KernelNotBuiltError
from ..runtime.arguments import Call
from . import cuda_arrays, cuda_launch
from .cuda_again import Again

Keep = Callable[[Mapping[str, Any], int, list, list], None]


class CUDAKernel:
    """Runs checked calls on the current stream of the device that their arrays lie on, without waiting.

    Raises KernelNotBuiltError if the artifact is damaged, or no such code.
    """

    def __init__(self, artifact: Artifact, device: int):
        self.artifact, self.device = artifact, device
        data = read(artifact)
        self.code = data if artifact.suffix == ".cubin" else data + b"\0"
        self.functions: dict[int, dict[str, Any]] = {}
        entries = [launch.get("entry") for launch in artifact.meta.get("launches", ())]
        if not entries or not {"arguments", "scratch"} <= artifact.meta.keys():
            raise KernelNotBuiltError(
                f"{artifact}: the manifest does not say how it is launched; run: {artifact.command}"
            )
        self.entries = list(dict.fromkeys(entries))
        with cupy.cuda.Device(device):
            self.load(device)

    def load(self, device: int) -> dict[str, Any]:
        """The functions on a device, which is the current one."""
        module = function.Module()
        try:
            module.load(self.code)
            self.functions[device] = {entry: module.get_function(entry) for entry in self.entries}
        except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error:
            raise KernelNotBuiltError(
                f"{self.artifact}: device {device} cannot load {self.artifact.path} ({error}); "
                f"run: {self.artifact.command}"
            ) from error
        return self.functions[device]

    again = Again  # what serves the calls of a kernel that are like an earlier one

    def __call__(self, call: Call, keep: Keep | None = None) -> Any:
        """Launch a checked call and return its results. `keep` is told what `Again.remember` wants to know."""
        arrays = [v for v in call.values.values() if isinstance(v, cupy.ndarray)]
        device = arrays[0].device.id if arrays else self.device
        with cupy.cuda.Device(device):
            try:
                values, finish = call.complete()
                functions = self.functions.get(device) or self.load(device)
                launches, arguments, copied = self._launch(functions, call, values)
            except cupy.cuda.memory.OutOfMemoryError as error:
                free, total = cupy.cuda.runtime.memGetInfo()
                raise AllocationError(
                    f"{self.artifact.kernel}: no memory on CUDA device {device} for what it returns ({error}); "
                    f"{free} of {total} bytes are free"
                ) from error
            if keep and not copied:
                keep(self.artifact.meta, device, [(functions[one.entry].ptr, one) for one in launches], arguments)
            return finish()

    def _launch(self, functions: dict[str, Any], call: Call, values: dict[str, Any]) -> tuple[list, list, list]:
        """The launches, their arguments, and arrays that had to be copied."""
        artifact, copied = self.artifact, []
        for p in artifact.parameters:
            if p.is_array and p.ellipsis and p.layout != "C":
                array = values[p.name]
                own = array.ndim - len(p.dims)
                if not cuda_launch.fits(array.shape, array.strides, own, call.leading):
                    whole = cupy.broadcast_to(array, (*call.leading, *array.shape[own:])).copy()
                    copied.append((p, array, whole))
                    values[p.name] = whole
        scratch = [cupy.empty(size, cupy.uint8) for size in artifact.meta["scratch"]]
        names = {**call.dims, **cuda_launch.scalar_names(artifact.parameters, values)}
        arguments = cuda_launch.arguments(
            artifact.meta, artifact.parameters, values, call.dims, call.leading, cuda_arrays.address,
            [cuda_arrays.address(s) for s in scratch],
        )  # fmt: skip
        launches = cuda_launch.launches(artifact.meta, names)
        for launch in launches:
            functions[launch.entry](launch.grid, launch.block, tuple(arguments))
        for p, array, whole in copied:
            if p.writable:
                array[...] = whole
        return launches, arguments, copied
