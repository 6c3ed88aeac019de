"""Which OpenCL devices there are, and what they can do. Importing this imports pyopencl."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyopencl as cl

from ..cpu.host_memory import host_memory
from ..device_info import DeviceInfo

NEEDED = {  # feature of a built kernel → extensions, any of which will do
    "float64": ("cl_khr_fp64", "cl_amd_fp64"),
    "int64_atomics": ("cl_khr_int64_base_atomics",),
}
NO_PLATFORM = -1001  # CL_PLATFORM_NOT_FOUND_KHR


@cache
def all_devices() -> tuple[Any, ...]:
    """Every device of every platform: GPUs first, then accelerators, then processors."""
    found = []
    try:
        platforms = cl.get_platforms()
    except cl.LogicError as error:
        if error.code == NO_PLATFORM:
            return ()
        raise
    for platform in platforms:
        try:
            found += platform.get_devices()
        except cl.Error:
            continue  # a platform without a device it can name
    order = (cl.device_type.GPU, cl.device_type.ACCELERATOR, cl.device_type.CPU)
    return tuple(sorted(found, key=lambda d: next((k for k, kind in enumerate(order) if d.type & kind), len(order))))


def name(device: Any) -> str:
    return " ".join(device.name.split())


def version(device: Any) -> tuple[int, int]:
    """The OpenCL that the device speaks: (1, 2)."""
    major, _, minor = device.version.split()[1].partition(".")
    return int(major), int(minor)


def features(device: Any) -> set[str]:
    """Those of NEEDED that the device has."""
    extensions = set(device.extensions.split())
    return {feature for feature, names in NEEDED.items() if extensions & set(names)}


def free_memory(device: Any) -> int | None:
    """Bytes; None where the driver does not say. That of a processor is the host's."""
    if device.type & cl.device_type.CPU:
        return min(host_memory()[0], device.global_mem_size)
    if "cl_amd_device_attribute_query" in device.extensions:
        return int(device.global_free_memory_amd[0]) * 1024
    return None


def described(devices: tuple[Any, ...]) -> tuple[DeviceInfo, ...]:
    return tuple(
        DeviceInfo(k, name(d), int(d.global_mem_size), free_memory(d), unified_memory=bool(d.host_unified_memory))
        for k, d in enumerate(devices)
    )


def lacking(device: Any, meta: dict[str, Any]) -> str:
    """Why a device does not run a built kernel; empty if it does. `meta` is the artifact's."""
    if version(device) < (1, 2):
        return f"{name(device)} has OpenCL {'.'.join(map(str, version(device)))}, and this is for 1.2"
    if missing := set(meta.get("features", ())) - features(device):
        return f"{name(device)} has no {', '.join(sorted(missing)).replace('_', ' ')}"
    device_name = name(device)
    largest = max((launch["block"] for launch in meta["launches"]), default=1)
    if largest > device.max_work_group_size:
        return (
            f"{device_name} runs at most {device.max_work_group_size} threads a block, and this has {largest}: "
            f"declare launch: {{block: {device.max_work_group_size}}}"
        )
    if meta.get("shared", 0) > device.local_mem_size:
        found = f"{device.local_mem_size} bytes of shared memory a block"
        return f"{device_name} has {found}, and this takes {meta['shared']}"
    config = device.single_fp_config
    if not config & cl.device_fp_config.INF_NAN or not config & cl.device_fp_config.ROUND_TO_NEAREST:
        return f"the float32 of {name(device)} has no infinities, no NaN or another rounding"
    if not config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT:
        return f"{name(device)} does not divide float32 with one rounding"
    return "" if device.endian_little else f"{name(device)} is big-endian"
