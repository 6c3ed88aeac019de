"""The WebGPU backend: one device of wgpu's and its queue."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Iterator

import numpy as np

from ...artifact.remedies import install
from ...errors import AllocationError, BackendNotAvailableError, CompilationError
from ..base import Backend, Verdict, check_device
from ..cpu.backend import checked_shape, native

if TYPE_CHECKING:
    from ...cache.manifest import Artifact
    from ..device_info import DeviceInfo
    from .arrays import WebGPUArray
    from .kernel import WebGPUKernel

FEATURES = ("async", "atomics", "shared_memory")


class WebGPUBackend(Backend):
    """One WebGPU device. Raises BackendNotAvailableError (a RuntimeError) with the reason where there is none,
    ValueError for a device that there is not.

    device_id: counts the devices, GPUs first, then processors, as `devices()` shows them. device: a wgpu.GPUDevice to
    work on, in place of one of its own.
    """

    def __init__(self, *, device_id: int = 0, device: Any = None):
        if reason := unavailable():
            raise BackendNotAvailableError(f"the backend 'webgpu' is not available: {reason}")
        from . import arrays, devices
        from .fault_slot import FaultSlot

        if device is None:
            found = devices.all_adapters()
            device = devices.device_of(found[check_device(device_id, len(found))])
        self.device = device
        self.on_processor = devices.kind(device.adapter) == "CPU"
        self.arrays = arrays.WebGPUArrays(device)
        self.faults = FaultSlot(device)
        self._nothing: dict[str, Any] = {}  # by argument, what stands for an array without elements

    @classmethod
    def check_available(cls) -> bool:
        """Whether a backend could be made. Never raises."""
        return not unavailable()

    @property
    def name(self) -> str:
        return "webgpu"

    @property
    def is_available(self) -> bool:
        return self.check_available()

    @property
    def device_name(self) -> str:
        """What the driver calls the device."""
        from . import devices

        return devices.name(self.device.adapter)

    # -------------------------------------------------------------------------------------------------- memory

    def allocate(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> WebGPUArray:
        """An array of zeros. Raises ValueError for a negative size, AllocationError when memory is out."""
        return self._made(checked_shape(shape), np.dtype(dtype))

    def _made(self, shape: tuple[int, ...], kind: np.dtype) -> WebGPUArray:
        try:
            return self.arrays.empty(shape, kind)
        except MemoryError as error:
            size = kind.itemsize * int(np.prod(shape, dtype=object))
            raise AllocationError(
                f"no memory on {self.device_name} for {size} bytes (shape {shape}, {kind.name}): {error}"
            ) from error

    def nothing(self, name: str) -> Any:
        """A buffer for an argument without elements."""
        from .arrays import new_buffer

        if name not in self._nothing:
            self._nothing[name] = new_buffer(self.device, 16)
        return self._nothing[name]

    def to_device(self, data: Any) -> WebGPUArray:
        """An array on this device: `data` itself if it is one, else a C-contiguous copy.

        Raises TypeError for objects and other dtypes without numbers, AllocationError when memory is out.
        """
        from .arrays import read, write

        if self.arrays.owns(data):
            if data.device is self.device:
                return data
            data = read(data)
        array = native(data)
        made = self._made(array.shape, array.dtype)
        write(made, array)
        return made

    def to_host(self, data: Any) -> np.ndarray:
        """A copy, once all work on the array is done. Raises TypeError if `data` is not an array of this backend's,
        IndexError for an index that a kernel has met outside of its array."""
        if not self.arrays.owns(data):
            raise TypeError(f"the backend 'webgpu' has arrays of its own, got {type(data).__name__}")
        from .arrays import read

        values = read(data)
        self.of_array(data).faults.look()
        return values

    def synchronize(self) -> None:
        """Wait for everything that was started on this device. Raises IndexError for an index that a kernel has met
        outside of its array."""
        self.faults.look(wait=True)

    def raise_faults(self) -> None:
        """Wait for what kernels have to tell, and raise the first index outside of its array. IndexError, with the
        kernel's line."""
        for backend in (self, *_devices.values()):
            backend.faults.look()

    def get_memory_info(self) -> tuple[int, int]:
        """(free, total) bytes, where the device is the processor. Raises NotImplementedError for any other: WebGPU does
        not say it."""
        from .devices import memory

        found = memory(self.device.adapter)
        if found is None:
            raise NotImplementedError(f"WebGPU does not say how much memory {self.device_name} has")
        return found

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Every device that wgpu finds."""
        from . import devices

        return devices.described(devices.all_adapters())

    # ------------------------------------------------------------------------------------------------- kernels

    def supports_feature(self, feature: str) -> bool:
        """ "async", "atomics" and "shared_memory"; no other."""
        return feature in FEATURES

    def compile_kernel(self, func: Callable, signature: tuple[Any, ...]) -> Callable:
        """Raises CompilationError: kernels for WebGPU are declared."""
        raise CompilationError("the backend 'webgpu' compiles no functions; it runs kernels declared in kernels.yaml")

    def of_array(self, array: Any) -> WebGPUBackend:
        """That of the device which the array lies on."""
        return self if array.device is self.device else on_device(array.device)

    @contextmanager
    def running(self, kernel: str) -> Iterator[None]:
        """What kernels have told is raised before; memory that runs out is an AllocationError."""
        self.faults.look()
        try:
            yield
        except MemoryError as error:
            raise AllocationError(f"{kernel}: no memory on {self.device_name} for what it needs: {error}") from error

    @classmethod
    def unknown(cls, target: str) -> str:
        return "" if target == "webgpu" else "there is webgpu"

    def usual_target(self) -> str:
        return "webgpu"

    def judge(self, artifact: Artifact) -> Verdict:
        """Whether the device has what the kernel needs."""
        from .devices import lacking

        return Verdict(reason=lacking(self.device, artifact.meta))

    def load_kernel(self, artifact: Artifact) -> WebGPUKernel:
        """Compile the source for this device. Raises KernelNotBuiltError."""
        from .kernel import WebGPUKernel

        return WebGPUKernel(artifact, self)


_devices: dict[int, WebGPUBackend] = {}


def on_device(device: Any) -> WebGPUBackend:
    """The backend of arrays that a program has made on a device of its own."""
    if id(device) not in _devices:
        _devices.setdefault(id(device), WebGPUBackend(device=device))
    return _devices[id(device)]


def unavailable() -> str:
    """Why no WebGPU backend can be made here; empty if one can."""
    from importlib.util import find_spec

    if find_spec("wgpu") is None:
        return f"wgpu is not installed; {install('webgpu', 'wgpu')}"
    try:
        from .devices import all_adapters, inherited

        if reason := inherited():
            return reason
        found = all_adapters()
    except Exception as error:  # whatever a driver says when it is asked for the first time
        return f"wgpu does not work: {type(error).__name__}: {error}"
    if not found:
        return "wgpu finds no device; for processors there is Mesa's lavapipe (Debian: apt install mesa-vulkan-drivers)"
    return ""
