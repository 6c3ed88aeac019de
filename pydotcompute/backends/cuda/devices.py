"""The CUDA devices that this process sees, as the driver describes them."""

from __future__ import annotations

from typing import Any

from ..device_info import DeviceInfo


def cuda_devices(cupy: Any) -> tuple[DeviceInfo, ...]:
    """All of them; asking for free memory makes a context on each. Raises CuPy's CUDARuntimeError."""
    from .context import on

    runtime, found = cupy.cuda.runtime, []
    for number in range(runtime.getDeviceCount()):
        properties = runtime.getDeviceProperties(number)
        with on(number):
            free, total = runtime.memGetInfo()
        name = properties["name"]
        found.append(DeviceInfo(
            number, name.decode() if isinstance(name, bytes) else str(name), int(total), int(free),
            (int(properties["major"]), int(properties["minor"])), bool(properties["integrated"]),
        ))  # fmt: skip
    return tuple(found)
