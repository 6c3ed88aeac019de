"""What a backend runs on: one DeviceInfo for each processor, with real figures or none."""

from __future__ import annotations

from numbers import Real
from typing import Any, Iterable, NamedTuple

from ..artifact.cpu_levels import machine

GIB = 2**30
SHARE_OF_UNKNOWN = 0.8  # of the total that counts as free where nobody can say how much is
ADDRESSABLE = 2**64


class DeviceInfo(NamedTuple):
    """One device of a backend. Sizes in bytes; None where they cannot be known."""

    index: int  # type: ignore[assignment]  # hides tuple's method
    name: str
    total_memory: int | None
    free_memory: int | None = None
    compute_capability: tuple[int, int] | None = None  # (major, minor), of CUDA devices
    unified_memory: bool = False  # shared with the processor

    def total_gb(self) -> float | None:
        """Total memory in units of 2^30 bytes."""
        return None if self.total_memory is None else self.total_memory / GIB

    def free_gb(self) -> float | None:
        """Free memory in units of 2^30 bytes."""
        return None if self.free_memory is None else self.free_memory / GIB

    def can_fit(self, size: int) -> bool:
        """Whether `size` bytes are free; where that is unknown, whether they are at most 0.8 of the total."""
        if self.free_memory is not None:
            return size <= self.free_memory
        return self.total_memory is not None and size <= SHARE_OF_UNKNOWN * self.total_memory

    def __str__(self) -> str:
        if self.total_memory is None:
            return f"[{self.index}] {self.name}: memory unknown"
        notes = [] if self.free_memory is None else [f"{self.free_gb():.2f} GB free"]
        notes += ["unified memory"] * self.unified_memory
        noted = f" ({', '.join(notes)})" if notes else ""
        return f"[{self.index}] {self.name}: {self.total_gb():.2f} GB{noted}"


def checked(devices: Iterable[Any]) -> tuple[DeviceInfo, ...]:
    """What a backend tells of its devices, sizes as int. Raises TypeError for what is no DeviceInfo, ValueError for
    memory that is not a number of bytes."""
    found = tuple(devices)
    for device in found:
        if not isinstance(device, DeviceInfo):
            raise TypeError(f"its devices must be DeviceInfo, got {type(device).__name__}")
    return tuple(d._replace(total_memory=_size(d.total_memory), free_memory=_size(d.free_memory)) for d in found)


def processor_name(cpuinfo: str = "/proc/cpuinfo") -> str:
    """What the processor calls itself."""
    try:
        with open(cpuinfo) as file:
            for line in file:
                key, _, value = line.partition(":")
                if key.strip() == "model name" and value.strip():
                    return value.strip()
    except OSError:
        pass
    return machine()


def memory_text(size: int) -> str:
    """`27.98 GB (30040932352 bytes)`."""
    if size >= ADDRESSABLE:
        return "more bytes than an address can count"
    return f"{size / GIB:.2f} GB ({size} bytes)"


def _size(value: Any) -> int | None:
    if value is None:
        return None
    number = isinstance(value, Real)
    if not number or not 0 <= value < ADDRESSABLE:
        raise ValueError(f"its memory must be numbers of bytes, got {value!r}")
    return int(value)
