"""Modules of PTX and launches of their functions, run by the PTX interpreter."""

from __future__ import annotations

import ctypes
import itertools
import re

from cupy import _machine
from cupy.cuda import code_objects
from pydotcompute.backends.cuda.driver import cuda_for_ptx
from tests.ptx import Module, PtxError
from tests.ptx.parse import TYPE_BYTES

_NAMES = {
    1: "CUDA_ERROR_INVALID_VALUE: invalid argument",
    201: "CUDA_ERROR_INVALID_CONTEXT: invalid device context",
    209: "CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image is available for execution on the device",
    218: "CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed",
    222: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX was compiled with an unsupported toolchain.",
    400: "CUDA_ERROR_INVALID_HANDLE: invalid resource handle",
    700: "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered",
    709: "CUDA_ERROR_CONTEXT_IS_DESTROYED: context is destroyed",
    716: "CUDA_ERROR_MISALIGNED_ADDRESS: misaligned address",
    500: "CUDA_ERROR_NOT_FOUND: named symbol not found",
    999: "hipErrorUnknown: unknown error",
}
_POINTER, _SIZE = 1, 2  # of a launch's `extra`
_functions: list[tuple[Module, str, int]] = []
_made = itertools.count(0x8000)


class CUDADriverError(RuntimeError):
    def __init__(self, status: int):
        self.status = status
        super().__init__(_NAMES[status])


def ctxGetCurrent() -> int:
    if _machine.HIP:
        raise CUDADriverError(999)  # HIP has none
    return _context()


def _context() -> int:
    return getattr(_machine.current, "context", 0)


def ctxSetCurrent(ctx: int) -> None:
    if _machine.HIP:
        raise CUDADriverError(999)
    if ctx in _machine.destroyed or ctx not in _machine.contexts:
        raise CUDADriverError(201)
    _machine.current.context = ctx


def ctxCreate(dev: int) -> int:
    """Of somebody else: current from now on."""
    handle = next(_made)
    _machine.contexts[handle] = dev
    ctxSetCurrent(handle)
    return handle


def ctxDestroy(ctx: int) -> None:
    _machine.destroyed.add(ctx)


def _check_context(number: int | None = None) -> None:
    """Errors of a call that needs a context: the one in which its functions were loaded."""
    context = _context()
    if not context:
        raise CUDADriverError(201)
    if context in _machine.destroyed:
        raise CUDADriverError(709)
    if number is not None and context != _machine.PRIMARY + number:
        raise CUDADriverError(400)
    if _machine.here().fault:
        raise CUDADriverError(_machine.here().fault[0])


def moduleLoadData(image: bytes) -> tuple[Module, int]:
    """PTX that ends in a zero; no cubins. The module belongs to the current device."""
    _check_context()
    if _machine.HIP:
        return code_objects.Module(image), _machine.number()
    if image[:4] == b"\x7fELF":
        raise CUDADriverError(209)
    if not image.endswith(b"\0"):
        raise AssertionError("the text of PTX must end in a zero: the driver reads on")
    text = image.rstrip(b"\0").decode(errors="replace")
    version, target = re.search(r"\.version\s+([\d.]+)", text), re.search(r"\.target\s+sm_(\d+)(\d)", text)
    if not version or not target:
        raise CUDADriverError(218)
    needed = cuda_for_ptx(version[1])
    if needed is None or needed > (_machine.DRIVER // 1000, _machine.DRIVER % 1000 // 10):
        raise CUDADriverError(222)
    if (int(target[1]), int(target[2])) > _machine.capability(_machine.number()):
        raise CUDADriverError(209)
    try:
        return Module(text), _machine.number()
    except PtxError as error:
        raise CUDADriverError(218) from error


def moduleGetFunction(module: tuple[Module, int], name: str) -> int:
    if name not in module[0].entries:
        raise CUDADriverError(500)
    _functions.append((module[0], name, module[1]))
    return len(_functions)


def launchKernel(f, grid_dim_x, grid_dim_y, grid_dim_z, block_dim_x, block_dim_y, block_dim_z, shared_mem_bytes,
                 stream, kernel_params, extra) -> None:  # fmt: skip
    """Arguments in a buffer that `extra` points to, each where its type may lie; they are copied here and now."""
    if kernel_params or shared_mem_bytes:
        raise CUDADriverError(1)
    words = (ctypes.c_void_p * 5).from_address(extra)
    if (words[0], words[2], words[4]) != (_POINTER, _SIZE, 3 if _machine.HIP else None):
        raise CUDADriverError(1)
    size = ctypes.c_size_t.from_address(words[3]).value
    data, arguments, at = ctypes.string_at(words[1], size), [], 0
    for item in sizes(f):
        at = -(-at // item) * item
        arguments.append(data[at : at + item])
        at += item
    if at != size:
        raise AssertionError(f"{_functions[f - 1][1]} has parameters of {at} bytes, and is given {size}")
    launch(f, (grid_dim_x, grid_dim_y, grid_dim_z), (block_dim_x, block_dim_y, block_dim_z), arguments, stream)


def sizes(f: int) -> list[int]:
    module, entry, _ = _functions[f - 1]
    if _machine.HIP:
        return module.sizes(entry)
    return [TYPE_BYTES[kind] for _, kind in module.functions[entry].parameters]


def launch(f: int, grid, block, arguments: list[bytes], stream: int) -> None:
    module, entry, number = _functions[f - 1]
    _check_context(number)
    if number != _machine.number():
        raise AssertionError(f"{entry} was loaded on device {number}; the current device is {_machine.number()}")
    if _machine.HIP and max(g * b for g, b in zip(grid, block)) >= 2**32:
        raise CUDADriverError(1)
    if min(*grid, *block) < 1 or block[0] * block[1] * block[2] > 1024 or block[2] > 64 or max(grid[1:]) > 65535:
        raise CUDADriverError(1)
    device = _machine.here()
    device.launched.append((entry, stream))
    seed = len(device.launched)
    device.put(stream, lambda: module.launch(entry, grid, block, arguments, device.memory, seed))
