"""The OpenCL backend: one device, its context and queue."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator

import numpy as np

from ...artifact.remedies import install
from ...errors import AllocationError, BackendNotAvailableError
from ..base import Backend, Verdict, check_device, check_launch
from ..cpu.backend import checked_shape, native

if TYPE_CHECKING:
    from ...cache.manifest import Artifact
    from ..device_info import DeviceInfo
    from .kernel import OpenCLKernel


class OpenCLBackend(Backend):
    """One OpenCL device. Raises BackendNotAvailableError (a RuntimeError) with the reason where there is none,
    ValueError for a device that there is not.

    device_id: counts the devices of all platforms, GPUs first, then accelerators, then processors, as `devices()` shows
    them. context: a pyopencl context to work in, in place of one of its own; its first device is taken then.
    """

    def __init__(self, *, device_id: int = 0, context: Any = None):
        if reason := unavailable():
            raise BackendNotAvailableError(f"the backend 'opencl' is not available: {reason}")
        import pyopencl as cl

        from . import arrays, devices
        from .fault_slot import FaultSlot

        if context is None:
            found = devices.all_devices()
            self.device = found[check_device(device_id, len(found))]
            self.context = cl.Context([self.device])
        else:
            self.context, self.device = context, context.devices[0]
        self.queue = cl.CommandQueue(self.context, self.device)
        self.on_processor = bool(self.device.type & cl.device_type.CPU)
        self.arrays = arrays.OpenCLArrays(self.queue)
        self.nothing = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 16)  # stands for arrays without elements
        self.faults = FaultSlot(self.queue)
        self._functions: dict[tuple, Any] = {}  # what compile_kernel gave
        self._used: dict[int, Any] = {}  # queues of others' arrays with work of ours

    @classmethod
    def check_available(cls) -> bool:
        """Whether a backend could be made. Never raises."""
        return not unavailable()

    @property
    def name(self) -> str:
        return "opencl"

    @property
    def is_available(self) -> bool:
        return self.check_available()

    @property
    def device_name(self) -> str:
        """What the driver calls the device."""
        from . import devices

        return devices.name(self.device)

    # -------------------------------------------------------------------------------------------------- memory

    def allocate(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> Any:
        """A pyopencl array of zeros. Raises ValueError for a negative size, AllocationError when memory is out."""
        sizes, kind = checked_shape(shape), np.dtype(dtype)
        array = self._made(sizes, kind)
        self.arrays.fill(array, np.zeros((), kind))
        return array

    def _made(self, shape: tuple[int, ...], kind: np.dtype) -> Any:
        import pyopencl as cl

        try:
            return self.arrays.empty(shape, kind)
        except cl.MemoryError as error:
            size = kind.itemsize * int(np.prod(shape, dtype=object))
            raise AllocationError(
                f"no memory on {self.device_name} for {size} bytes (shape {shape}, {kind.name}); it has "
                f"{self.device.global_mem_size} in all, {self.device.max_mem_alloc_size} for one array"
            ) from error

    def to_device(self, data: Any) -> Any:
        """A pyopencl array on this device: `data` itself if it is one in this context, else a C-contiguous copy.

        Raises TypeError for objects and other dtypes without numbers, AllocationError when memory is out.
        """
        from .arrays import read, write

        if self.arrays.owns(data):
            if data.context == self.context:
                return data
            data = read(data, data.queue)
        array = native(data)
        made = self._made(array.shape, array.dtype)
        write(made, array, self.queue)
        return made

    def to_host(self, data: Any) -> np.ndarray:
        """A copy, once all work on the array is done. Raises TypeError if `data` is not a pyopencl array,
        IndexError for an index that a kernel has met outside of its array."""
        if not self.arrays.owns(data):
            raise TypeError(f"the backend 'opencl' has pyopencl arrays, got {type(data).__name__}")
        from .arrays import read

        values = read(data, self.queue)
        self.of_array(data).faults.look(wait=True)
        return values

    def synchronize(self) -> None:
        """Wait for everything that was started on this device through this backend. Raises IndexError for an index that
        a kernel has met outside of its array."""
        used, self._used = list(self._used.values()), {}
        for queue in (self.queue, *used):
            queue.finish()
        self.faults.look(wait=True)

    def raise_faults(self) -> None:
        """Wait for what kernels have to tell, and raise the first index outside of its array. IndexError, with the
        kernel's line."""
        for backend in (self, *_contexts.values()):
            backend.faults.look(wait=True)

    def get_memory_info(self) -> tuple[int, int]:
        """(free, total) bytes of the device. Raises NotImplementedError where the driver does not say what is free."""
        from .devices import free_memory

        free = free_memory(self.device)
        if free is None:
            raise NotImplementedError(f"the driver of {self.device_name} does not say how much memory is free")
        return free, int(self.device.global_mem_size)

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Every OpenCL device that this process sees."""
        from . import devices

        return devices.described(devices.all_devices())

    # ------------------------------------------------------------------------------------------------- kernels

    def supports_feature(self, feature: str) -> bool:
        """ "async", "atomics", "shared_memory" and "queues" everywhere; "float64", "fp16" and "int64_atomics" where the
        device has them."""
        if feature in ("async", "atomics", "shared_memory", "queues"):
            return True
        from .devices import features

        has_half = feature == "fp16" and "cl_khr_fp16" in self.device.extensions.split()
        return has_half or feature in features(self.device)

    def compile_kernel(self, func: Callable, signature: tuple[Any, ...]) -> Callable:
        """Compile a function that begins with `i = cuda.grid(1)` (or `i, j = cuda.grid(2)`, …), as numba.cuda's do, and
        then does what one thread does, by the installed build half.

        signature: one type an argument: a NumPy scalar type or dtype (a scalar), a string such as "float32[:, ::1]",
        or a Numba type. The same request gives the same object. Raises TypeError for a signature that does not fit,
        CompilationError for what a kernel cannot have, CompilerNotInstalledError without the build half.
        """
        from .function import compile_function

        return compile_function(func, signature, self, self._functions)

    def launch_kernel(self, kernel: Any, grid: tuple[int, ...], block: tuple[int, ...], *args: Any) -> None:
        """Launch what `compile_kernel` gave, or a pyopencl kernel, over a grid of blocks, without waiting. Arguments
        are pyopencl arrays and numbers; of a pyopencl kernel buffers and NumPy scalars.

        Raises ValueError for impossible sizes, TypeError and ValueError for arguments that do not fit.
        """
        import pyopencl as cl

        grid, block = check_launch(grid, block)
        if not isinstance(kernel, cl.Kernel):
            from .function import launchable

            launchable(self, kernel).launch(grid, block, args)
            return
        dims = max(len(grid), len(block))
        grid, block = ((*sizes, 1, 1)[:dims] for sizes in (grid, block))
        arrays = [a for a in args if self.arrays.owns(a)]
        queue = self.queue_of(arrays)
        kernel.set_args(*(a.data if self.arrays.owns(a) else a for a in args))
        events = [event for array in arrays for event in array.events]
        done = cl.enqueue_nd_range_kernel(
            queue, kernel, tuple(g * b for g, b in zip(grid, block, strict=True)), block, wait_for=events
        )
        for array in arrays:
            array.add_event(done)

    def queue_of(self, arrays: Iterable[Any]) -> Any:
        """The queue that work on these arrays goes to: theirs, so that it keeps its place in their order."""
        for array in arrays:
            if array.queue is not None and array.queue != self.queue:
                self._used[array.queue.int_ptr] = array.queue
                return array.queue
        return self.queue

    def of_array(self, array: Any) -> OpenCLBackend:
        """That of the context which the array is in."""
        context = array.context
        return self if context is None or context == self.context else in_context(context)

    @contextmanager
    def running(self, kernel: str) -> Iterator[None]:
        """What kernels have told is raised before; memory that runs out is an AllocationError."""
        import pyopencl as cl

        self.faults.look()
        try:
            yield
        except cl.MemoryError as error:
            raise AllocationError(f"{kernel}: no memory on {self.device_name} for what it needs ({error})") from error

    @classmethod
    def unknown(cls, target: str) -> str:
        return "" if target == "opencl:1.2" else "there is opencl:1.2"

    def usual_target(self) -> str:
        return "opencl:1.2"

    def judge(self, artifact: Artifact) -> Verdict:
        """Whether the device has what the kernel needs."""
        from .devices import lacking

        return Verdict(reason=lacking(self.device, artifact.meta))

    def load_kernel(self, artifact: Artifact) -> OpenCLKernel:
        """Compile the source for this device, or load what was compiled before. Raises KernelNotBuiltError."""
        from .kernel import OpenCLKernel

        return OpenCLKernel(artifact, self)


_contexts: dict[Any, OpenCLBackend] = {}


def in_context(context: Any) -> OpenCLBackend:
    """The backend of arrays that a program has made in a context of its own."""
    if context not in _contexts:
        _contexts.setdefault(context, OpenCLBackend(context=context))
    return _contexts[context]


def unavailable() -> str:
    """Why no OpenCL backend can be made here; empty if one can."""
    from importlib.util import find_spec

    if find_spec("pyopencl") is None:
        return f"pyopencl is not installed; {install('opencl', 'pyopencl')}"
    try:
        from .devices import all_devices

        found = all_devices()
    except Exception as error:  # whatever a driver says when it is asked for the first time
        return f"pyopencl does not work: {type(error).__name__}: {error}"
    if not found:
        return "no driver offers an OpenCL device; for processors there is PoCL (Debian: apt install pocl-opencl-icd)"
    return ""
