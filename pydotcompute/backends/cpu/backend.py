"""The CPU backend: NumPy's arrays, kernels of the levels that this processor has."""

from __future__ import annotations

import sys
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any, Callable, Iterable, SupportsIndex, cast

import numpy as np

from ...artifact import cpu_levels, dtypes
from ...calls import arrays, settings
from ...errors import AllocationError
from ..base import Backend, Verdict
from . import levels

if TYPE_CHECKING:
    from ...cache.manifest import Artifact
    from ..device_info import DeviceInfo
    from .kernel import CPUKernel

NATIVE_RANK = len(cpu_levels.LEVELS)
_LEVELS = frozenset(name for name in cpu_levels.NAMES if name != "cpu:native")


class CPUBackend(Backend):
    """Always available. Its memory is the process's own, so `to_device` hands back arrays that are fit as they are."""

    arrays = arrays
    vendor = "numpy"

    @property
    def name(self) -> str:
        return "cpu"

    @property
    def is_available(self) -> bool:
        return True

    def compile_kernel(self, func: Callable, signature: tuple[Any, ...]) -> Callable:
        """Compile a function of Numba's Python, by the installed build half.

        signature: one type an argument: a NumPy scalar type or dtype (a scalar), a string such as
        "float32[:, ::1]", or a Numba type. The same request gives the same object, and comes from the disk in a new
        process. Raises TypeError for a signature that does not fit, CompilationError,
        CompilerNotInstalledError without the build half.
        """
        from ..compiled import compile_function

        return compile_function(func, signature)

    def allocate(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
        """An array of zeros. Raises ValueError for a negative size and for too many dimensions, AllocationError when
        memory is out."""
        sizes = checked_shape(shape)
        try:
            return np.zeros(sizes, dtype)
        except (MemoryError, ValueError) as error:  # ValueError: more bytes than an address can count
            wanted = np.dtype(dtype).itemsize * prod(sizes)
            if isinstance(error, ValueError) and wanted <= sys.maxsize:  # too many dimensions
                raise
            free, total = self.get_memory_info()
            raise AllocationError(
                f"no memory for {wanted} bytes (shape {sizes}, {np.dtype(dtype).name}); {free} of {total} are free"
            ) from error

    def to_device(self, data: np.ndarray) -> np.ndarray:
        """`data` itself if it is a native, C-contiguous, aligned array; a copy that is, if not.

        Raises TypeError for objects and other dtypes without numbers, and for arrays that mean more than their numbers,
        as masked ones.
        """
        return native(data)

    def to_host(self, data: Any) -> np.ndarray:
        """A copy. Raises TypeError if `data` is no NumPy array."""
        if not isinstance(data, (np.ndarray, np.generic)):
            raise TypeError(f"the backend 'cpu' has NumPy arrays, got {type(data).__name__}")
        return np.array(data)

    def synchronize(self) -> None:
        """Calls return when they are done, so there is nothing to wait for."""

    def get_memory_info(self) -> tuple[int, int]:
        """(free, total) bytes for this process: the machine's, or what is left of the tightest cgroup limit."""
        from .host_memory import host_memory

        return host_memory()

    def devices(self) -> tuple[DeviceInfo, ...]:
        """The processor, with the memory that this process may use."""
        from ..device_info import DeviceInfo, processor_name

        free, total = self.get_memory_info()
        return (DeviceInfo(0, processor_name(), total, free),)

    def supports_feature(self, feature: str) -> bool:
        """"atomics", "float64" and "threads"; nothing of a GPU's."""
        return feature in ("atomics", "float64", "threads")

    @classmethod
    def unknown(cls, target: str) -> str:
        name = target.removesuffix("+bounds")
        known = cpu_levels.NAMES
        if name in known:
            return ""
        from difflib import get_close_matches

        close = [*filter(None, [cpu_levels.meant(name)]), *get_close_matches(name, known, 1, 0.75)]
        return f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}"

    def unfit(self, target: str) -> str:
        return levels.unfit(target) if target.removesuffix("+bounds") in _LEVELS else ""

    def made_for_this_machine(self, target: str) -> bool:
        return target.removesuffix("+bounds") == "cpu:native"

    def usual_target(self) -> str:
        return levels.usual_target()

    def judge(self, artifact: Artifact) -> Verdict:
        """The highest level that this processor has comes first; `native` code, if it has all it needs, before it."""
        name = artifact.target.removesuffix("+bounds")
        if name == "cpu:native":
            features = artifact.meta.get("features")
            if artifact.suffix != cpu_levels.SUFFIXES.get(cpu_levels.system()):
                return Verdict(reason="it was built on another system")
            if not isinstance(features, (list, tuple)):
                return Verdict(reason="the manifest does not say which features it needs")
            missing = levels.missing_features(features)
            if missing:
                return Verdict(reason=f"this processor lacks {', '.join(missing)}")
            return Verdict(NATIVE_RANK)
        if name not in _LEVELS:
            return Verdict(reason=f"the backend 'cpu' knows no level {name.partition(':')[2]!r}")
        return Verdict(cpu_levels.LEVELS.index(cpu_levels.parts(name)[0]), levels.unfit(name))

    def load_kernel(self, artifact: Artifact) -> CPUKernel:
        """Load a shared object. Raises KernelNotBuiltError if it is damaged."""
        from .kernel import CPUKernel

        return CPUKernel(artifact, settings.threads())


def native(data: Any) -> np.ndarray:
    """See CPUBackend.to_device."""
    try:
        array = arrays.plain(data) if isinstance(data, np.ndarray) else np.asarray(data)
    except TypeError as error:
        raise TypeError(f"what to copy {error}") from error
    if dtypes.kind(array.dtype) not in "biufc":
        raise TypeError(f"an array of {array.dtype} cannot be a kernel's; its elements are not numbers")
    if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
        return array
    return np.array(array, array.dtype.newbyteorder("="), order="C")


def checked_shape(shape: SupportsIndex | Iterable[SupportsIndex]) -> tuple[int, ...]:
    """A shape as a tuple. Raises TypeError for no integers, ValueError for a negative one."""
    try:
        sizes: tuple[int, ...] = (index(cast(SupportsIndex, shape)),)  # an array may be one of both
    except TypeError:
        sizes = tuple(index(size) for size in cast(Iterable[SupportsIndex], shape))
    if any(size < 0 for size in sizes):
        raise ValueError(f"shape {sizes} has a negative size")
    return sizes
