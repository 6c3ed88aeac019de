"""A CUDA device that is none, under CuPy's own arrays: launches run in the PTX interpreter.

What stands in for something else is what CuPy asks the driver: devices, memory, modules, launches. Arrays are CuPy's,
kernels those that were built, and all that is between them is the product. It shows that calls arrive as they should;
of a GPU, its driver, streams and time it says nothing.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import cupy
import numpy as np

from pydotcompute.backends.cuda import (
    context as cuda_context, copies as cuda_copies, driver as cuda_driver, fault_slot, launch_cache, launch_code,
)  # fmt: skip
from pydotcompute.devices import registry
from tests.ptx import Memory, Module
from tests.ptx.memory import OFFSET, SHIFT
from tests.ptx.parse import TYPE_BYTES

POISON, PRIMARY = 0xA5, 0x100


class Emulated:
    """Takes the driver's place until `monkeypatch` ends. `launched` counts the launches of each entry."""

    def __init__(self, monkeypatch, devices: int = 1, capability: tuple[int, int] = (9, 0), driver: int = 13000):
        self.memory, self.current, self.launched = Memory(), 0, {}
        self.modules: list[tuple[Module, str]] = []
        self.out_of_memory = False
        self.kept: list = []
        emulated = self

        class Device:
            def __init__(self, number=None):
                self.id = emulated.current if number is None else int(number)

            def __enter__(self):
                self.outer, emulated.current = emulated.current, self.id
                return self

            def __exit__(self, *_):
                emulated.current = self.outer

        class Loaded:
            def load(self, code):
                assert isinstance(code, bytes) and code.endswith(b"\0")
                self.module = Module(code[:-1].decode())

            def get_function(self, name):
                emulated.modules.append((self.module, name))
                return Function(len(emulated.modules))

        class Function:
            def __init__(self, handle):
                self.ptr = handle

            def __call__(self, grid, block, arguments):
                emulated.launch(self.ptr, grid, block, arguments)

        runtime = cupy.cuda.runtime
        properties = {"name": b"Emulated", "major": capability[0], "minor": capability[1], "integrated": 0}
        for place, name, value in (
            (cupy.cuda, "Device", Device), (cupy.cuda.function, "Module", Loaded),
            (runtime, "getDevice", lambda: self.current), (runtime, "getDeviceCount", lambda: devices),
            (runtime, "getDeviceProperties", lambda number: properties),
            (cuda_driver, "version", lambda: (driver // 1000, driver % 1000 // 10)),
            (runtime, "memGetInfo", lambda: (1 << 30, 1 << 31)),
            (cupy.cuda.driver, "launchKernel", self.launch_packed),
            (launch_code, "get_current_stream", lambda: SimpleNamespace(ptr=0)),
            (cupy.cuda.driver, "ctxGetCurrent", lambda: PRIMARY + self.current),
            (launch_cache, "here", lambda: PRIMARY + self.current),
            (cupy.cuda.driver, "ctxSetCurrent", lambda context: setattr(self, "current", context - PRIMARY)),
            (cuda_context, "primary_context", lambda number: PRIMARY + number),
            (runtime, "setDevice", lambda number: setattr(self, "current", number)),
            (runtime, "hostAlloc", self.host_memory), (fault_slot, "_slots", {}),
            (runtime, "memsetAsync", self.memset), (runtime, "memcpyAsync", self.memcpy),
            (runtime, "streamIsCapturing", lambda stream: False),
            (cuda_copies, "get_current_stream", lambda: SimpleNamespace(ptr=0)),
            (cupy.cuda, "get_current_stream", lambda device_id=-1: SimpleNamespace(ptr=0)),
            (cupy.cuda.compiler, "compile_using_nvrtc", self.compiles),
            (cupy.cuda.compiler, "_compile_with_cache_cuda", self.compiles),
            (cuda_driver, "problem", lambda **_: ""), (cuda_driver, "device_count", lambda: devices),
            (registry, "_instances", {}),
        ):  # fmt: skip
            monkeypatch.setattr(place, name, value)
        cuda_copies._function.cache_clear()  # what another test's device has loaded
        cupy.cuda.set_allocator(self.allocate)

    @staticmethod
    def compiles(*_, **__):
        raise AssertionError("CuPy compiles a kernel")

    def bytes(self, address: int, size: int) -> np.ndarray:
        space, offset = self.memory.spaces[(address >> SHIFT) - 1], address & int(OFFSET)
        assert offset + size <= space.size
        return space.data[offset : offset + size]

    def memset(self, address: int, value: int, size: int, stream: int) -> None:
        self.bytes(address, size)[...] = value

    def memcpy(self, target: int, source: int, size: int, kind: int, stream: int) -> None:
        assert kind == 3
        self.bytes(target, size)[...] = self.bytes(source, size)

    def host_memory(self, size: int, flags: int) -> int:
        """At the address that it has in this process; no kernel of these tests has anything to tell there."""
        assert flags == 3
        self.kept.append((ctypes.c_uint8 * size)())
        return ctypes.addressof(self.kept[-1])

    def allocate(self, size: int) -> cupy.cuda.MemoryPointer:
        if self.out_of_memory:
            raise cupy.cuda.memory.OutOfMemoryError(size, 0)
        buffer = np.full(size, POISON, np.uint8)
        memory = cupy.cuda.UnownedMemory(self.memory.add("array", buffer), size, buffer, self.current)
        return cupy.cuda.MemoryPointer(memory, 0)

    def array(self, values, device: int = 0) -> cupy.ndarray:
        """On a device, C-contiguous."""
        values, outer = np.asarray(values), self.current
        self.current = device
        result = cupy.empty(values.shape, values.dtype)
        self.current = outer
        self.host(result)[...] = values
        return result

    def host(self, array: cupy.ndarray) -> np.ndarray:
        """The elements of a device array, in place."""
        if not array.size:
            return np.empty(array.shape, array.dtype)
        address = array.data.ptr
        space, offset = self.memory.spaces[(address >> SHIFT) - 1], address & int(OFFSET)
        return np.ndarray(array.shape, array.dtype, space.data, offset, array.strides)

    def launch(self, handle: int, grid, block, arguments) -> None:
        module, entry = self.modules[handle - 1]
        self.launched[entry] = self.launched.get(entry, 0) + 1
        module.launch(entry, grid, block, arguments, self.memory, seed=self.launched[entry])

    def launch_packed(self, handle, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra) -> None:
        """A launch whose arguments lie in a buffer, each where its type may lie."""
        assert not parameters
        words = (ctypes.c_void_p * 5).from_address(extra)
        assert (words[0], words[2], words[4]) == (1, 2, None)  # buffer, size, end
        size = ctypes.c_size_t.from_address(words[3]).value
        data, arguments, at = ctypes.string_at(words[1], size), [], 0
        module, entry = self.modules[handle - 1]
        for _, kind in module.functions[entry].parameters:
            item = TYPE_BYTES[kind]
            at = -(-at // item) * item
            arguments.append(data[at : at + item])
            at += item
        assert at == size
        self.launch(handle, (gx, gy, gz), (bx, by, bz), arguments)
