"""What AMD's HIP runtime says, asked directly without CuPy: whether there is a device, and which version it has."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

LIBRARIES = ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so")
NO_DEVICE = 100  # hipErrorNoDevice
Version = tuple[int, int]


def problem(start: bool = True) -> str:
    """Why ROCm cannot be used here, as far as its runtime knows; empty if it can. Never raises.

    start: start it in this process; otherwise a process of its own asks, as for CUDA."""
    library = _library()
    if library is None:
        return f"there is no HIP runtime ({LIBRARIES[-1]} cannot be loaded): install AMD's ROCm"
    if not start and sys.executable and not getattr(sys, "frozen", False):
        from ..cuda.driver import asked_elsewhere  # here: the process of its own runs this file alone

        return asked_elsewhere(__file__, "AMD's HIP runtime")
    count = ctypes.c_int(0)
    try:
        status = library.hipGetDeviceCount(ctypes.byref(count))
    except AttributeError as error:
        return f"{library._name} is no HIP runtime ({error})"
    if status and status != NO_DEVICE:
        return f"AMD's HIP runtime counts no devices ({_error(library, status)})"
    return "" if count.value else "AMD's HIP runtime has no device for this process"


def device_count() -> int:
    """How many devices this process sees; 0 without a runtime."""
    library, count = _library(), ctypes.c_int(0)
    if library is None or library.hipGetDeviceCount(ctypes.byref(count)):
        return 0
    return count.value


def version() -> Version:
    """Of the runtime: 60443484 is 6.4. (0, 0) without one."""
    library, number = _library(), ctypes.c_int(0)
    if library is not None:
        library.hipRuntimeGetVersion(ctypes.byref(number))
    return number.value // 10_000_000, number.value // 100_000 % 100


def _library() -> Any:
    for name in LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _error(library: Any, status: int) -> str:
    library.hipGetErrorName.restype = ctypes.c_char_p
    name = library.hipGetErrorName(status)
    return name.decode() if name else f"error {status}"


if __name__ == "__main__":  # the process of its own
    print(problem())
