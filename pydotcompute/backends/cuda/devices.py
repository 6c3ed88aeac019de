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
        found.append(DeviceInfo(
            number, properties["name"].decode(), int(total), int(free),
            (int(properties["major"]), int(properties["minor"])), bool(properties["integrated"]),
        ))  # fmt: skip
    return tuple(found)
