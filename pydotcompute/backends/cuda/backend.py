"""The CUDA backend: CuPy's arrays, built kernels as cubins or PTX, plain numba.cuda functions on demand."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from functools import cache
from operator import index
from typing import TYPE_CHECKING, Any, Callable, Iterator

import numpy as np

from ...artifact.remedies import install
from ...errors import AllocationError, BackendNotAvailableError
from ..base import Backend, Verdict, check_device, check_launch
from ..cpu.backend import checked_shape, native
from . import driver as cuda_driver
from .choice import judged
from .limits import check_limits, minimum_capability

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ...cache.manifest import Artifact
    from ..device_info import DeviceInfo
    from .kernel import CUDAKernel

_captured: dict[int, list] = {}  # by device, what graphs write besides what their callers know


class CUDABackend(Backend):
    """One NVIDIA device. Every call works on it, in its primary context, and leaves the current device and context as
    they were, so that several backends on several devices do not mix. Raises BackendNotAvailableError (a RuntimeError)
    with the reason where CUDA cannot be used, TypeError or ValueError for a device that there is not.

    Everything is put on CuPy's current stream of the device, or on the one that `stream=` names: the handle of a CUDA
    stream (an int), a stream of CuPy or torch, or an object with `__cuda_stream__`. Arrays of other packages (by DLPack
    or `__cuda_array_interface__`) are waited for on the device, as far as those tell their streams.

    device_id: as CUDA counts the devices that this process sees. enable_caching: whether `compile_kernel` looks for
    what was compiled before, here and on the disk, and keeps what it compiles.
    """

    title = "CUDA"  # as messages call its devices
    vendor = "cupy"
    driver: Any = cuda_driver  # a module that says whether there are devices
    vendor_least = 2  # CuPy has no library for a product of one element: it would compile a sum

    def __init__(self, *, device_id: int = 0, enable_caching: bool = True):
        number = index(device_id)
        if reason := self.why_unavailable():
            raise BackendNotAvailableError(f"the backend '{self.name}' is not available: {reason}")
        check_device(device_id, self.driver.device_count())
        try:
            import cupy

            self._driver = self.driver.version()
            self._properties = cupy.cuda.runtime.getDeviceProperties(number)
        except (ImportError, RuntimeError) as error:
            raise BackendNotAvailableError(
                f"the backend '{self.name}' is not available: CuPy does not work: {error}"
            ) from error
        self._cupy, self._number, self._caching = cupy, number, bool(enable_caching)

    @classmethod
    def check_available(cls) -> bool:
        """Whether a backend could be made. Never raises; imports no CuPy, creates no context on a device, and does
        not start the driver in this process: where nothing else has, another process asks it, which takes its time."""
        return not cls.why_unavailable(start=False)

    @staticmethod
    def why_unavailable(start: bool = True) -> str:
        """Why none can be made here; empty if one can. start: see the driver's `problem`."""
        return unavailable(start)

    @property
    def name(self) -> str:
        return "cuda"

    @property
    def is_available(self) -> bool:
        return self.check_available()

    @property
    def device_id(self) -> int:
        return self._number

    @property
    def device_name(self) -> str:
        """What the driver calls the device."""
        name = self._properties["name"]
        return name.decode() if isinstance(name, bytes) else str(name)

    @property
    def compute_capability(self) -> tuple[int, int]:
        return int(self._properties["major"]), int(self._properties["minor"])

    @property
    def arrays(self) -> Any:
        from . import arrays as cuda_arrays

        return cuda_arrays

    def on_stream(self, stream: Any = None) -> AbstractContextManager:
        """This device, and a stream as CuPy's current one of it; None: the stream that it has.

        Raises TypeError for what is no stream, ValueError for a stream of another device."""
        from . import context as cuda_context, streams as cuda_streams

        return cuda_context.on(self._number) if stream is None else cuda_streams.current(stream, self._number)

    # -------------------------------------------------------------------------------------------------- memory

    def allocate(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> Any:
        """A CuPy array of zeros. Raises ValueError for a negative size, AllocationError when memory is out."""
        sizes, kind = checked_shape(shape), np.dtype(dtype)
        wanted = kind.itemsize
        for size in sizes:
            wanted *= size
        free, total = self.get_memory_info()
        try:
            if wanted > total:
                raise self._cupy.cuda.memory.OutOfMemoryError(wanted, total - free)
            with self.on_stream():
                return self._cupy.zeros(sizes, kind)
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise self._lacks(wanted, sizes, kind) from error

    def to_device(self, data: Any, stream: Any = None) -> Any:
        """A CuPy array on this device: `data` itself, or its memory, if it lies here already; else a C-contiguous copy.

        Raises TypeError for objects and other dtypes without numbers, AllocationError when memory is out.
        """
        if self.arrays.owns(data):
            with self.on_stream(stream):
                array = self.arrays.plain(data)
                return array if array.device.id == self._number else self._from_device(array)
        array = native(data)
        try:
            with self.on_stream(stream):  # of a value without dimensions CuPy would compile a fill
                return self._cupy.array(array.reshape(-1), order="C").reshape(array.shape)
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise self._lacks(array.nbytes, array.shape, array.dtype) from error

    def _from_device(self, array: Any) -> Any:
        """A copy of another device's array, complete when this returns: no stream of this device waits for that one's.
        """
        from . import context as cuda_context, copies as cuda_copies

        runtime, other = self._cupy.cuda.runtime, array.device.id
        with cuda_context.on(other):
            array = cuda_copies.contiguous(array)
            self._cupy.cuda.get_current_stream().synchronize()
        try:
            result = self._cupy.empty(array.shape, array.dtype)
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise self._lacks(array.nbytes, array.shape, array.dtype) from error
        stream = self._cupy.cuda.get_current_stream()
        if array.size:
            size = array.size * array.itemsize
            runtime.memcpyPeerAsync(result.data.ptr, self._number, array.data.ptr, other, size, stream.ptr)
            stream.synchronize()
        return result

    def _lacks(self, size: int, shape: tuple[int, ...], dtype: np.dtype) -> AllocationError:
        """Of so many bytes, for an array that was asked for."""
        free, total = self.get_memory_info()
        return AllocationError(
            f"no memory on {self.title} device {self._number} for {size} bytes (shape {shape}, {dtype.name}); "
            f"{free} of {total} are free"
        )

    def to_host(self, data: Any, stream: Any = None) -> np.ndarray:
        """A copy, once the work is done that was given to the array's stream: CuPy's current one of its device, or the
        one that `stream` names; for an array of another package, that package's too. Raises what went wrong in it.

        What other streams have still to do on the array is not waited for: name the stream that a call was given, or
        `synchronize()` first. Raises TypeError if `data` is no array on a CUDA device.
        """
        from . import arrays as cuda_arrays, copies as cuda_copies

        if not cuda_arrays.owns(data):
            raise TypeError(f"the backend '{self.name}' has CuPy arrays, got {type(data).__name__}")
        with self.on_device(cuda_arrays.device(data)).on_stream(stream):
            array = cuda_copies.contiguous(cuda_arrays.plain(data))
            result = array.get()
            self._cupy.cuda.get_current_stream().synchronize()  # of nothing CuPy waits for nothing
        self._look(array.device.id)
        return result

    def synchronize(self) -> None:
        """Wait for everything that was started on this device. Raises IndexError for an index that a kernel has met
        outside of its array; CuPy's CUDARuntimeError for a launch that went
        wrong, an access outside of an array by a raw kernel for one; the device is of no more use to the process then.
        """
        with self.on_stream():
            self._cupy.cuda.runtime.deviceSynchronize()
        self._look(self._number)

    def raise_faults(self) -> None:
        """Wait for all devices on which kernels of ours have run, unless the current stream there captures a graph, and
        raise the first index outside of its array that one has told of. IndexError, with the kernel's line."""
        from . import context as cuda_context, fault_slot, streams as cuda_streams

        for device in fault_slot.devices():
            with cuda_context.on(device):
                if not cuda_streams.captures(self._cupy.cuda.get_current_stream().ptr):
                    self._cupy.cuda.runtime.deviceSynchronize()
            fault_slot.look(device)

    def _look(self, device: int) -> None:
        """Raise what a kernel has told there until now."""
        from . import fault_slot

        fault_slot.look(device)

    def get_memory_info(self) -> tuple[int, int]:
        """(free, total) bytes of the device. What CuPy's pool keeps for later arrays counts as used:
        `cupy.get_default_memory_pool().free_all_blocks()` gives it back."""
        with self.on_stream():
            free, total = self._cupy.cuda.runtime.memGetInfo()
        return int(free), int(total)

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Every device that this process sees, with its memory and compute capability."""
        from .devices import cuda_devices

        return cuda_devices(self._cupy)

    # ------------------------------------------------------------------------------------------------- kernels

    def supports_feature(self, feature: str) -> bool:
        """ "async", "atomics", "float64", "streams", "shared_memory" on every device; "fp16" from compute capability
        5.3, "shared_atomics" from 6.0, "tensor_cores" from 7.0."""
        needed = minimum_capability(feature)
        return needed is not None and self.compute_capability >= needed

    def compile_kernel(self, func: Callable, signature: tuple[Any, ...]) -> Callable:
        """Compile a function of numba.cuda's Python, or one that is jitted already, by the installed build half.

        signature: one type an argument: a NumPy scalar type or dtype (a scalar), a string such as "float32[:, ::1]",
        or a Numba type. The same request gives the same object, and comes from the disk in a new process; with
        `enable_caching=False` nothing is looked up or kept. Raises TypeError for a signature that does not fit,
        CompilationError, CompilerNotInstalledError without the build half.
        """
        from .function import compile_function

        return compile_function(func, signature, self._number, self.compute_capability, self._caching)

    def launch_kernel(
        self, kernel: Callable, grid: tuple[int, ...], block: tuple[int, ...], *args: Any, stream: Any = None
    ) -> None:
        """Launch what `compile_kernel` gave, a function jitted by numba.cuda, or a CuPy RawKernel, on the current
        stream of this device, without waiting. Arguments are CuPy arrays (or what has DLPack or
        `__cuda_array_interface__`) and numbers.

        Raises ValueError for sizes that no device runs, TypeError and ValueError for arguments that do not fit.
        """
        sizes = check_limits(*check_launch(grid, block))
        self._look(self._number)
        from .function import launchable

        with self.on_stream(stream):
            launchable(self, kernel, args)(*sizes, args)

    @staticmethod
    def on_device(number: int) -> CUDABackend:
        """That of another device."""
        return on_device(number)

    def of_array(self, array: Any) -> CUDABackend:
        """That of the device which the array lies on: devices of one machine may run different artifacts."""
        number = self.arrays.device(array)
        return self if number == self._number else self.on_device(number)

    @contextmanager
    def running(self, kernel: str) -> Iterator[None]:
        """On this device, once what kernels have told there is raised; memory that runs out is an AllocationError with
        what is free, and an error that is not this call's says whose it is."""
        from cupy.cuda import driver, runtime

        from . import context as cuda_context

        self._look(self._number)
        try:
            with self.on_stream():
                yield
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            free, total = self.get_memory_info()
            raise AllocationError(
                f"{kernel}: no memory on {self.title} device {self._number} for its outputs and scratch ({error}); "
                f"{free} of {total} bytes are free"
            ) from error
        except (driver.CUDADriverError, runtime.CUDARuntimeError) as error:
            told = cuda_context.explained(error, kernel, self._number)
            if told is error:
                raise
            raise told from error

    def keep_captured(self, arrays: Any) -> None:
        """Keep what a call that a stream captures has for itself, the scratch of a reduction for one: its graph may be
        launched again at any time, and writes there."""
        _captured.setdefault(self._number, []).append(arrays)

    def release_captured(self) -> None:
        """Give back what calls that streams of this device captured had for themselves: it is kept as long as the
        process lives, or until this is called, after which no graph that was captured before may be launched."""
        _captured.pop(self._number, None)

    def vendor_lacks(self) -> str:
        return "" if has_cublas() else "cuBLAS"

    @classmethod
    def unknown(cls, target: str) -> str:
        known = re.fullmatch(r"cuda:(compute|sm)_[1-9][0-9]{1,2}[af]?", target)
        return "" if known else "one for CUDA is cuda:compute_NN (PTX) or cuda:sm_NN (cubin)"

    def usual_target(self) -> str:
        major, minor = min((8, 0), self.compute_capability)
        return f"cuda:compute_{major}{minor}"

    def own_target(self) -> str:
        major, minor = self.compute_capability
        return f"cuda:sm_{major}{minor}"

    def judge(self, artifact: Artifact) -> Verdict:
        """Cubins of this device's compute capability come first, then PTX that its driver reads."""
        return judged(artifact.target, artifact.meta, self.compute_capability, self._driver)

    def load_kernel(self, artifact: Artifact) -> CUDAKernel:
        """Load a cubin or PTX. Raises KernelNotBuiltError if it is damaged, ArtifactRefusedError, which is one, if the
        device does not load it."""
        from .kernel import CUDAKernel

        return CUDAKernel(artifact, self)


@cache
def has_cublas() -> bool:
    """Whether CuPy finds cuBLAS, which it does not bring along."""
    try:
        from cupy_backends.cuda.libs import cublas  # noqa: F401
    except ImportError:
        return False
    return True


@cache
def on_device(number: int) -> CUDABackend:
    """The backend that calls with arrays on this device run on."""
    return CUDABackend(device_id=number)


def unavailable(start: bool = True) -> str:
    """Why no CUDA backend can be made here; empty if one can. Imports no CuPy. start: see cuda_driver.problem."""
    from importlib.util import find_spec

    spec = find_spec("cupy")
    if spec is None:
        return f"CuPy is not installed; {install('cuda', 'cupy-cuda12x')}"
    if problem := cuda_driver.problem(start=start):
        return problem
    driver, wanted = cuda_driver.version(), _toolkit(spec)
    if driver[0] < wanted:
        return (
            f"the installed CuPy is for CUDA {wanted}, this driver for CUDA {driver[0]}.{driver[1]}; update it, or "
            f"install cupy-cuda{driver[0]}x instead"
        )
    return ""


def _toolkit(spec: Any) -> int:
    """The major release of CUDA that a wheel of CuPy is made for, as the wheel says; 0 where it is none."""
    for folder in spec.submodule_search_locations or ():
        try:
            with open(f"{folder}/.data/_wheel.json") as file:
                return int(json.load(file)["cuda"].partition(".")[0])
        except (OSError, ValueError, KeyError):
            continue
    return 0
