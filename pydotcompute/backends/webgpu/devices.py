"""Which devices wgpu finds, and what they can do. Importing this imports wgpu."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from typing import Any

import wgpu

from ...artifact.machine import at_fork
from ...errors import BackendNotAvailableError
from ..cpu.host_memory import host_memory
from ..device_info import DeviceInfo

ORDER = ("DiscreteGPU", "IntegratedGPU", "VirtualGPU", "Unknown", "CPU")
EMULATED = "OpenGL"  # a way to a device that others reach directly
NEEDED = (  # what a device is asked for: as much as it has
    "max-buffer-size", "max-storage-buffer-binding-size", "max-storage-buffers-per-shader-stage",
    "max-compute-workgroup-storage-size", "max-compute-invocations-per-workgroup", "max-compute-workgroup-size-x",
    "max-compute-workgroup-size-y", "max-compute-workgroups-per-dimension", "max-uniform-buffer-binding-size",
)  # fmt: skip
_PLACE = "XDG_RUNTIME_DIR"
_FORKED = (
    "the process that this one was forked from has used wgpu, whose threads are not here; start processes by "
    "multiprocessing's 'spawn' or 'forkserver', or fork before wgpu is first used"
)
_is_used = _is_child = False  # whether this process, or one that it was forked from, has asked for devices


def _after_fork() -> None:
    global _is_child
    _is_child = _is_used


at_fork(after_in_child=_after_fork)


def inherited() -> str:
    """Why wgpu cannot be used in this process, where it was forked from one that has used it; else empty."""
    return _FORKED if _is_child else ""


def usable() -> None:
    """Raise BackendNotAvailableError in such a process: whatever is asked of wgpu there would never be answered."""
    if _is_child:
        raise BackendNotAvailableError(f"the backend 'webgpu' is not available: {_FORKED}")


@cache
def all_adapters() -> tuple[Any, ...]:
    """Every adapter: GPUs first, then processors; each device once."""
    global _is_used
    usable()
    _is_used = True
    missing = _PLACE not in os.environ
    if missing:  # a library of window systems, which drivers load, complains where there is none
        os.environ[_PLACE] = tempfile.gettempdir()
    try:
        found = wgpu.gpu.enumerate_adapters_sync()
    finally:
        if missing:
            del os.environ[_PLACE]
    direct = [a for a in found if a.info["backend_type"] != EMULATED]
    return tuple(sorted(direct or found, key=lambda a: ORDER.index(kind(a))))


def kind(adapter: Any) -> str:
    """One of ORDER."""
    said = str(adapter.info["adapter_type"])
    return said if said in ORDER else "Unknown"


def name(adapter: Any) -> str:
    return " ".join((adapter.info["device"] or adapter.info["description"]).split())


@cache
def device_of(adapter: Any) -> Any:
    """The device of an adapter that all backends of this process share."""
    return adapter.request_device_sync(
        label="pydotcompute", required_limits={limit: adapter.limits[limit] for limit in NEEDED}
    )


def memory(adapter: Any) -> tuple[int, int] | None:
    """(free, total) bytes of a processor's; no other tells."""
    return host_memory() if kind(adapter) == "CPU" else None


def described(adapters: tuple[Any, ...]) -> tuple[DeviceInfo, ...]:
    found = []
    for k, adapter in enumerate(adapters):
        free, total = memory(adapter) or (None, None)
        unified = kind(adapter) in ("CPU", "IntegratedGPU")
        found.append(DeviceInfo(k, name(adapter), total, free, unified_memory=unified))
    return tuple(found)


def lacking(device: Any, meta: dict[str, Any]) -> str:
    """Why a device does not run a built kernel; empty if it does. `meta` is the artifact's."""
    limits, device_name = device.limits, name(device.adapter)
    largest = max((launch["block"] for launch in meta["launches"]), default=1)
    most = min(limits["max-compute-invocations-per-workgroup"], limits["max-compute-workgroup-size-x"])
    if largest > most:
        return (
            f"{device_name} runs at most {most} threads a block, and this has {largest}: "
            f"declare launch: {{block: {most}}}"
        )
    if meta.get("shared", 0) > limits["max-compute-workgroup-storage-size"]:
        found = f"{limits['max-compute-workgroup-storage-size']} bytes of shared memory a block"
        return f"{device_name} has {found}, and this takes {meta['shared']}"
    buffers = max(map(len, meta["bindings"].values()), default=0)
    if buffers > limits["max-storage-buffers-per-shader-stage"]:
        found = limits["max-storage-buffers-per-shader-stage"]
        return f"{device_name} gives a kernel at most {found} arrays, and this takes {buffers}"
    return ""
