"""Memory of a device, and pointers into it."""

from __future__ import annotations

from cupy import _machine


class OutOfMemoryError(MemoryError):
    def __init__(self, size: int, total: int, limit: int = 0):
        text = f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes)."
        super().__init__(text)


class BaseMemory:
    """`ptr`, `size` in bytes, `device_id`."""


class Memory(BaseMemory):
    def __init__(self, size: int):
        device = _machine.here()
        if size > _machine.TOTAL - device.used:
            raise OutOfMemoryError(size, device.used)
        self.size, self.device_id, self.ptr = size, device.number, 0
        if size:
            self.ptr = device.allocate(size, self)


class UnownedMemory(BaseMemory):
    def __init__(self, ptr: int, size: int, owner: object, device_id: int = -1):
        self.ptr, self.size, self._owner = ptr, size, owner
        self.device_id = _machine.number() if device_id < 0 else device_id


class MemoryPointer:
    def __init__(self, mem: BaseMemory, offset: int):
        self.mem, self.device_id = mem, mem.device_id
        self.ptr = mem.ptr + offset

    @property
    def device(self):
        from cupy.cuda import Device

        return Device(self.device_id)

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)
