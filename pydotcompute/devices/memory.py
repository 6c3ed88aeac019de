"""Whether what is asked for fits into the memory of a backend."""

from __future__ import annotations

from ..backends.base import Backend
from ..backends.device_info import DeviceInfo, checked, memory_text


def lack(backend: Backend, size: int) -> tuple[str, BaseException | None]:
    """Why `size` bytes do not fit into a backend's memory, with both figures; empty if they do.

    Where the backend cannot tell, also what it raised."""
    required = f"{memory_text(size)} are required"
    try:
        try:
            free, total = backend.get_memory_info()
            devices = checked([DeviceInfo(0, backend.name, total, free)])
        except NotImplementedError:
            devices = checked(backend.devices())
    except (Exception, SystemExit) as error:  # it is somebody else's code, or a driver's
        return f"cannot tell its memory ({type(error).__name__}: {error}), {required}", error
    devices = tuple(d for d in devices if d.total_memory is not None or d.free_memory is not None)
    if not devices:
        return f"does not know its memory, {required}", None
    if any(device.can_fit(size) for device in devices):
        return "", None
    free = max(d.free_memory if d.free_memory is not None else d.total_memory or 0 for d in devices)
    what = "in all, of which 0.8 may be used" if all(d.free_memory is None for d in devices) else "free"
    return f"has {memory_text(free)} {what}, {required}", None
