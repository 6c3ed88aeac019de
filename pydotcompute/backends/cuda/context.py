"""Working in a device's primary context, whichever is current; and what the driver's errors mean for a call.

CuPy's Device does not do: it leaves a context that is not the device's primary one in its place, where arrays and
kernels of the primary one are of no use, and makes the primary one current when it ends, whatever was before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cupy.cuda import driver, runtime

from .driver import primary_context
from .platform import PLATFORM

# Errors that speak of the code that is loaded, not of the device or of what ran before: "CUresult" in the manual of
# the driver's API, from INVALID_IMAGE to NOT_FOUND.
LOADING = frozenset({200, 209, 218, 221, 222, 223, 225, 300, 302, 303, 500})
# A handle of another context, or one that is destroyed: INVALID_CONTEXT, INVALID_HANDLE, CONTEXT_IS_DESTROYED.
CONTEXT = frozenset({201, 400, 709})
# What an earlier launch or copy did, told by every call that follows: the context is lost. ECC_UNCORRECTABLE,
# NVLINK_UNCORRECTABLE, CONTAINED, ILLEGAL_ADDRESS, LAUNCH_TIMEOUT, ASSERT, from HARDWARE_STACK_ERROR to LAUNCH_FAILED,
# TENSOR_MEMORY_LEAK, EXTERNAL_DEVICE.
LOST = frozenset({214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 911})

_SHOWS = "CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer" if PLATFORM.has_contexts else "AMD_SERIALIZE_KERNEL=3"
_devices: dict[int, int] = {}  # of the primary contexts that have been used


class _OnContext:
    """`with on(device):` the device's primary context is current, then again what was before. A thread that had no
    context keeps that of a device which was current already: there was nothing to go back to."""

    __slots__ = ("device", "context", "before", "outer")

    def __init__(self, device: int):
        self.device = device

    def __enter__(self) -> None:
        self.before = driver.ctxGetCurrent()
        self.context = primary_context(self.device)
        if self.before == self.context:
            return
        self.outer = self.device if self.before else runtime.getDevice()
        runtime.setDevice(self.device)
        if driver.ctxGetCurrent() != self.context:  # releases of CUDA before 12 bind it later
            driver.ctxSetCurrent(self.context)
        _devices[self.context] = self.device

    def __exit__(self, *_: Any) -> None:
        if self.before == self.context:
            return
        if not self.before:
            if self.outer != self.device:
                runtime.setDevice(self.outer)
        elif self.before in _devices:
            runtime.setDevice(_devices[self.before])
        else:
            try:
                driver.ctxSetCurrent(self.before)
            except driver.CUDADriverError as error:
                if error.status not in CONTEXT:  # destroyed meanwhile: nobody can go back to it
                    raise


class _OnDevice:
    """The same where there are no contexts: the device is the current one."""

    __slots__ = ("device", "before")

    def __init__(self, device: int):
        self.device = device

    def __enter__(self) -> None:
        self.before = runtime.getDevice()
        if self.before != self.device:
            runtime.setDevice(self.device)

    def __exit__(self, *_: Any) -> None:
        if self.before != self.device:
            runtime.setDevice(self.before)


# The context manager, and what tells where a call is that has no other sign of it: a context, or a device.
on: Any = _OnContext if PLATFORM.has_contexts else _OnDevice
here: Callable[[], int] = driver.ctxGetCurrent if PLATFORM.has_contexts else runtime.getDevice


def explained(error: Any, what: str, device: int) -> Exception:
    """An error of the driver or the runtime that came up in `what`, as one that says whose it is; itself where it says
    so."""
    if error.status in LOST:
        return RuntimeError(
            f"{what}: {PLATFORM.title} device {device} is of no more use to this process, because a kernel or a copy "
            f"that was started earlier has failed ({error}); {_SHOWS} shows which"
        )
    if error.status in CONTEXT:
        return RuntimeError(
            f"{what}: a stream or an array of the call is not of the primary context of {PLATFORM.title} device "
            f"{device}, or no longer exists ({error})"
        )
    return error
