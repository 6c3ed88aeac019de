"""What the NVIDIA driver says, asked directly: whether there is a device, and which version the driver has.

No CuPy is imported and no context created. Versions are (major, minor).
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from functools import cache
from typing import Any

LIBRARY = "libcuda.so.1"
PATIENCE = 30.0  # seconds that another process has for its answer; a driver that starts many devices takes ten
NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED
Version = tuple[int, int]

# The CUDA release whose driver first reads a version of PTX: "Release notes" of the PTX ISA.
_CUDA_OF_PTX: dict[Version, Version] = {
    (6, 0): (9, 0), (6, 1): (9, 1), (6, 2): (9, 2), (6, 3): (10, 0), (6, 4): (10, 1), (6, 5): (10, 2),
    **{(7, k): (11, k) for k in range(9)}, **{(8, k): (12, k) for k in range(6)},
    (8, 6): (12, 7), (8, 7): (12, 8), (8, 8): (12, 9), (9, 0): (13, 0), (9, 1): (13, 1), (9, 2): (13, 2),
}  # fmt: skip


def problem(library: str = LIBRARY, start: bool = True) -> str:
    """Why CUDA cannot be used here, as far as the driver knows; empty if it can. Never raises.

    start: start the driver in this process. That is for those who go on to use it: a process in which it has started
    forks no more children that can use CUDA. Otherwise a process of its own asks, where there is a Python to run it.
    """
    try:
        driver = ctypes.CDLL(library)
    except OSError:
        return f"there is no NVIDIA driver ({library} cannot be loaded)"
    count = ctypes.c_int(0)
    try:
        status = driver.cuDeviceGetCount(ctypes.byref(count))
        if status == NOT_INITIALIZED:
            if not start and sys.executable and not getattr(sys, "frozen", False):
                return asked_elsewhere(__file__, "the NVIDIA driver", library)
            if status := driver.cuInit(0):
                forked = "; a process cannot use CUDA that was forked from one which did" * (status == NOT_INITIALIZED)
                return f"the NVIDIA driver does not start ({_error(driver, status)}{forked})"
            status = driver.cuDeviceGetCount(ctypes.byref(count))
        if status:
            return f"the NVIDIA driver counts no devices ({_error(driver, status)})"
    except AttributeError as error:
        return f"{library} is not a CUDA driver ({error})"
    return "" if count.value else "the NVIDIA driver has no device for this process"


def asked_elsewhere(file: str, what: str, *arguments: str) -> str:
    """What a process of its own says that runs such a file; what: whom it asks."""
    try:
        asked = subprocess.Popen(
            [sys.executable, "-I", "-S", file, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
    except OSError as error:
        return f"no process can be started to ask {what} ({error})"
    try:
        told, _ = asked.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        asked.kill()
        try:
            asked.communicate(timeout=1)
        except subprocess.TimeoutExpired:  # not even a kill reaches a process that hangs in the driver: leave it there
            pass
        return f"{what} does not answer: a process that asked it was still waiting after {PATIENCE:g} s"
    if asked.returncode:
        return f"the process that asked {what} ended with status {asked.returncode}"
    return told.strip()


def device_count() -> int:
    """How many devices this process sees; 0 without a driver."""
    if problem():
        return 0
    count = ctypes.c_int(0)
    ctypes.CDLL(LIBRARY).cuDeviceGetCount(ctypes.byref(count))
    return count.value


def version() -> Version:
    """The CUDA release that the driver is for: 12090 is 12.9. (0, 0) without a driver."""
    number = ctypes.c_int(0)
    try:
        ctypes.CDLL(LIBRARY).cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        pass
    return number.value // 1000, number.value % 1000 // 10


@cache
def primary_context(device: int) -> int:
    """The handle of a device's primary context, which CuPy and everything that uses the runtime work in; retained as
    long as the process lives. Raises RuntimeError where the driver makes none."""
    library, handle, context = ctypes.CDLL(LIBRARY), ctypes.c_int(), ctypes.c_void_p()
    status = library.cuDeviceGet(ctypes.byref(handle), device)
    status = status or library.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle)
    if status or not context.value:
        raise RuntimeError(f"CUDA device {device} has no primary context ({_error(library, status)})")
    return context.value


def jit_log(code: bytes) -> str:
    """What the driver's compiler says about PTX that does not load, in the current context; empty if it says nothing.
    """
    size = 8192
    log = ctypes.create_string_buffer(size)
    options = (ctypes.c_int * 2)(5, 6)  # CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), size)
    library, module = ctypes.CDLL(LIBRARY), ctypes.c_void_p()
    if not library.cuModuleLoadDataEx(ctypes.byref(module), code, 2, options, values):
        library.cuModuleUnload(module)
    return log.value.decode(errors="replace").strip()


def compiled(ptx: bytes) -> tuple[int, bytes]:
    """The cubin that the driver's compiler makes of PTX for the device of the current context, with the table of its
    lines, which it drops where PTX is merely loaded; and the driver's error, 0 for none."""
    library, state, code, size = ctypes.CDLL(LIBRARY), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
    options = (ctypes.c_int * 1)(13)  # CU_JIT_GENERATE_LINE_INFO
    values = (ctypes.c_void_p * 1)(1)
    if status := library.cuLinkCreate_v2(1, options, values, ctypes.byref(state)):
        return status, b""
    try:
        text = ctypes.c_char_p(ptx)
        status = library.cuLinkAddData_v2(state, 1, text, ctypes.c_size_t(len(ptx)), None, 0, None, None)  # 1: PTX
        status = status or library.cuLinkComplete(state, ctypes.byref(code), ctypes.byref(size))
        return status, b"" if status else ctypes.string_at(code.value or 0, size.value)
    finally:
        library.cuLinkDestroy(state)


def cuda_for_ptx(version: str) -> Version | None:
    """The CUDA release that a driver must be of to read PTX of this version ("7.0"); None for an unknown one."""
    return _CUDA_OF_PTX.get(as_version(version), (9, 0) if as_version(version) < (6, 0) else None)


def as_version(text: str) -> Version:
    major, _, minor = text.partition(".")
    return int(major), int(minor or 0)


def _error(driver: Any, status: int) -> str:
    name = ctypes.c_char_p()
    if driver.cuGetErrorName(status, ctypes.byref(name)) or not name.value:
        return f"error {status}"
    return name.value.decode()


if __name__ == "__main__":  # the process of its own
    print(problem(sys.argv[1]))
