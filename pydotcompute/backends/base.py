"""What a backend is: seven members that each one must have, and what the others do unless it says otherwise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import nullcontext
from operator import index
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence

from ..artifact.targets import backend_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import numpy as np

    from ..cache.manifest import Artifact
    from ..calls.arguments import Call
    from .device_info import DeviceInfo


class Verdict(NamedTuple):
    """Whether a backend would run an artifact: the one with the highest rank does. A reason means it cannot."""

    rank: int = 0
    reason: str = ""


class Backend(ABC):
    """A way to compile and run kernels, with memory of its own.

    A backend owns the targets that begin with its name: `cpu:x86-64-v3` is one of the backend "cpu";
    "rocm" owns those of HIP.
    """

    # The module whose functions a kernel may be declared to be served by where it pins no target; empty: none.
    vendor: str = ""
    vendor_least: int = 0  # elements of the result from which on those functions are to serve
    # Whether its device is the processor itself: "auto" passes it over, as the backend of the host serves that.
    on_processor: bool = False
    # How calls look at this backend's arrays (see calls/arrays.py); None: it takes no part in `lib.kernel(…)`.
    arrays: Any = None

    @property
    @abstractmethod
    def name(self) -> str:
        """The lower-case name under which it is registered."""

    @property
    @abstractmethod
    def is_available(self) -> bool:
        """Whether allocating and launching work here. Cheap; never raises."""

    @abstractmethod
    def compile_kernel(self, func: Callable, signature: tuple[Any, ...]) -> Callable:
        """Compile a Python function for arguments of these types, now.

        signature: one type an argument. Mistakes and refusals of the compiler are raised here, not at the call.
        """

    @abstractmethod
    def allocate(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """A new C-contiguous array of this backend's.

        Raises ValueError for a negative size, AllocationError when memory is out.
        """

    @abstractmethod
    def to_device(self, data: np.ndarray) -> Any:
        """An array of this backend's with the shape, dtype and values of `data`."""

    @abstractmethod
    def to_host(self, data: Any) -> np.ndarray:
        """A NumPy array with the values of `data`, once pending work on it is done.

        Raises TypeError if `data` is not an array of this backend's.
        """

    @abstractmethod
    def synchronize(self) -> None:
        """Return when everything that was started has finished; raise what went wrong in it."""

    def raise_faults(self) -> None:
        """Wait for what runs on its devices, and raise the first index outside of its array that a built kernel has met
        there: IndexError, with the kernel's line. Unless overridden nothing: what is wrong in a call, the call raises.
        """
        return

    def launch_kernel(self, kernel: Callable, grid: tuple[int, ...], block: tuple[int, ...], *args: Any) -> None:
        """Run a compiled kernel over a grid of blocks: one to three sizes each. Unless overridden, `kernel(*args)`.

        Raises ValueError for impossible sizes, and whatever the kernel raises.
        """
        check_launch(grid, block)
        kernel(*args)

    def get_memory_info(self) -> tuple[int, int]:
        """(free, total) memory in bytes. Raises NotImplementedError unless overridden."""
        raise NotImplementedError(f"the backend '{self.name}' does not know its memory")

    def devices(self) -> Sequence[DeviceInfo]:
        """The devices it could run on. Unless overridden one, of which `get_memory_info` tells the memory."""
        from .device_info import DeviceInfo

        try:
            free, total = self.get_memory_info()
        except NotImplementedError:
            return (DeviceInfo(0, self.name, None),)
        return (DeviceInfo(0, self.name, total, free),)

    @property
    def device_name(self) -> str:
        """What its device is called: what was measured there is kept by this name. Unless overridden, that of the first
        of `devices`."""
        return self.devices()[0].name

    def supports_feature(self, feature: str) -> bool:
        """Whether it has a feature such as "async", "streams" or "shared_memory"; none unless overridden."""
        return False

    def of_array(self, array: Any) -> Backend:
        """The backend of the device that one of its arrays lies on: unless overridden, itself."""
        return self

    def on_stream(self, stream: Any) -> AbstractContextManager:
        """What a call with `stream=` runs within: on its device, and on that stream of it.

        Raises ValueError unless overridden; TypeError for what is no stream."""
        raise ValueError(f"stream= is for calls on a device; this one is for the backend '{self.name}'")

    def running(self, kernel: str) -> AbstractContextManager:
        """What a call runs within: on its device, and where memory that runs out is an AllocationError."""
        return nullcontext()

    def owns(self, target: str) -> bool:
        """Whether this is the name of one of its targets (artifact/targets.py), and not `unknown`."""
        return backend_of(target) == self.name and not self.unknown(target)

    @classmethod
    def unknown(cls, target: str) -> str:
        """Of a target that begins with its name: why there is no such target, and which was meant. Empty unless
        overridden: only those who build for it know."""
        return ""

    def unfit(self, target: str) -> str:
        """Why nothing built for one of its targets could run here; empty where that is the artifact's to say."""
        return ""

    def made_for_this_machine(self, target: str) -> bool:
        """Whether a build of this target makes code for the machine that builds."""
        return False

    def usual_target(self) -> str:
        """The target that a user of this machine would build."""
        return f"{self.name}:…"

    def own_target(self) -> str:
        """The target that asks least of what is installed here: code for just this device."""
        return self.usual_target()

    def vendor_lacks(self) -> str:
        """The library that the vendor's functions need and that is not installed; empty if all is there."""
        return ""

    def judge(self, artifact: Artifact) -> Verdict:
        """Whether `load_kernel` would run this artifact of one of its targets, and before which others."""
        return Verdict(reason=f"the backend '{self.name}' does not run built artifacts")

    def load_kernel(self, artifact: Artifact) -> Callable[[Call], Any]:
        """Make an artifact callable: what comes back takes a checked call, runs it and returns its results.

        Raises NotImplementedError unless overridden; KernelNotBuiltError if the artifact is damaged;
        ArtifactRefusedError if it is whole and cannot be loaded here: then the next verdict is tried.
        """
        raise NotImplementedError(f"the backend '{self.name}' does not run built artifacts")


def check_launch(grid: Any, block: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Both as tuples of one to three positive sizes. Raises ValueError if one is not."""
    return _sizes("grid", grid), _sizes("block", block)


def check_device(device_id: Any, count: int) -> int:
    """Which of so many devices is meant. TypeError for what is no integer, ValueError for one that is not there."""
    number = index(device_id)
    if isinstance(device_id, bool) or not 0 <= number < count:
        there = "there is 1 device" if count == 1 else f"there are {count} devices"
        raise ValueError(f"device_id must be 0 to {count - 1} ({there}), got {device_id!r}")
    return number


def _sizes(what: str, value: Any) -> tuple[int, ...]:
    try:
        sizes = tuple(index(size) for size in (value if isinstance(value, (tuple, list)) else (value,)))
    except TypeError:
        sizes = ()
    if not 1 <= len(sizes) <= 3 or min(sizes) < 1:
        raise ValueError(f"{what} must be one to three sizes of at least 1, got {value!r}")
    return sizes
