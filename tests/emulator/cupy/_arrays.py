"""Arrays in emulated memory. Copies and fills wait on the current stream as kernels do; copies to the host run it."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np

from cupy import _machine
from cupy.cuda import Device, Event, get_current_stream, runtime
from cupy.cuda.memory import Memory, MemoryPointer, UnownedMemory


class ndarray:
    __module__ = "cupy"

    def __init__(self, shape, dtype=float, memptr=None, strides=None, order="C"):
        self.shape = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)
        self.dtype = np.dtype(dtype)
        outline = np.lib.stride_tricks.as_strided(np.zeros(1, self.dtype), self.shape, (0,) * len(self.shape))
        self.strides = np.empty_like(outline, order=order, subok=False).strides if strides is None else tuple(strides)
        self.data = MemoryPointer(Memory(self.nbytes), 0) if memptr is None else memptr
        self.base = None

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape, dtype=np.int64)))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.dtype.itemsize)
    device = property(lambda self: Device(self.data.device_id))
    T = property(lambda self: self._like(self._outline().T))

    @property
    def flags(self) -> SimpleNamespace:
        flags = self._outline().flags
        return SimpleNamespace(c_contiguous=flags.c_contiguous, f_contiguous=flags.f_contiguous, owndata=not self.base)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        strides = None if self.flags.c_contiguous else self.strides
        return {
            "version": 3, "shape": self.shape, "typestr": self.dtype.str, "descr": self.dtype.descr,
            "strides": strides, "data": (self.data.ptr, False), "stream": 1,
        }  # fmt: skip

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None) -> Any:
        """No capsule, but the array itself; and what comes on the caller's stream comes after the current one."""
        if stream != -1:
            with self.device:
                _order(get_current_stream().ptr, stream)
        return SimpleNamespace(array=self)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 10 if _machine.HIP else 2, self.data.device_id

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array "
            "explicitly."
        )

    def _outline(self) -> np.ndarray:
        """An array of this layout, whose elements are never touched."""
        return self._elements() if self.size else np.empty(self.shape, self.dtype)

    def _elements(self) -> np.ndarray:
        """The memory itself, as the device sees it."""
        if not self.size:
            return np.empty(self.shape, self.dtype)
        steps = [(n - 1) * s for n, s in zip(self.shape, self.strides)]
        low, high = sum(s for s in steps if s < 0), sum(s for s in steps if s > 0) + self.itemsize
        raw = (ctypes.c_uint8 * (high - low)).from_address(self.data.ptr + low)
        return np.ndarray(self.shape, self.dtype, np.frombuffer(raw, np.uint8), -low, self.strides)

    def _like(self, outline: np.ndarray) -> ndarray:
        """A view: an outline that NumPy has made of this array's."""
        moved = outline.__array_interface__["data"][0] - self.data.ptr if outline.size and self.size else 0
        result = ndarray(outline.shape, outline.dtype, self.data + moved, outline.strides)
        result.base = self if self.base is None else self.base
        return result

    def view(self, dtype=None) -> Any:
        if isinstance(dtype, type) and issubclass(dtype, ndarray):
            result = self._like(self._outline())
            result.__class__ = dtype
            return result
        return self._like(self._outline().view(dtype or self.dtype))

    def reshape(self, *shape) -> ndarray:
        outline = self._outline().reshape(*shape)
        if self.size and not np.shares_memory(outline, self._outline()):
            return self.copy().reshape(*shape)
        return self._like(outline)

    def __getitem__(self, index) -> ndarray:
        outline = self._outline()[index]
        return self._like(outline if isinstance(outline, np.ndarray) else self._outline()[(*_tuple(index), ...)])

    def __setitem__(self, index, value) -> None:
        part = self[index]
        if not isinstance(value, ndarray) and np.ndim(value):
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        if not isinstance(value, ndarray):
            part.fill(value)
        elif part.flags.c_contiguous and value.flags.c_contiguous and part.shape == value.shape:
            _machine.start(lambda: np.copyto(part._elements(), value._elements()))
        else:
            compiles("an assignment")
            copyto(part, value)

    def fill(self, value) -> None:
        if self.data.device_id != _machine.number():
            raise AssertionError(f"device {self.data.device_id}'s array filled from device {_machine.number()}")
        number = np.asarray(value).astype(self.dtype)
        if number or not self.flags.c_contiguous:
            compiles("a fill")
        _machine.start(lambda: self._elements().fill(number if number else 0))  # of -0.0 too, as CuPy does

    def copy(self, order="C") -> ndarray:
        if not self.flags.c_contiguous or order != "C":
            compiles("a copy")
        result = ndarray(self.shape, self.dtype, order=order)
        _machine.start(lambda: np.copyto(result._elements(), self._elements()))
        return result

    def get(self, stream=None, order="C", out=None, blocking=True) -> np.ndarray:
        if not self.flags.c_contiguous:
            compiles("a copy to the host")
        if not self.size:
            return np.empty(self.shape, self.dtype)
        with self.device:
            runtime.streamSynchronize((stream or get_current_stream()).ptr)
            return np.array(self._elements(), order=order)

    def item(self) -> Any:
        return self.get().item()

    def __len__(self) -> int:
        return self.shape[0]

    def __float__(self) -> float:
        return float(self.get())

    def __int__(self) -> int:
        return int(self.get())


def compiles(what: str) -> None:
    """Where CuPy would call NVRTC, which takes seconds at first, and may not be installed; with ROCm its like is."""
    if _machine.HIP:
        return
    raise AssertionError(f"{what} that CuPy compiles a kernel for")


def _tuple(index) -> tuple:
    return index if isinstance(index, tuple) else (index,)


def empty(shape, dtype=float, order="C") -> ndarray:
    return ndarray(shape, dtype, order=order)


def zeros(shape, dtype=float, order="C") -> ndarray:
    result = ndarray(shape, dtype, order=order)
    result.fill(0)
    return result


def array(obj, dtype=None, copy=True, order="K", subok=False, ndmin=0, *, blocking=False) -> ndarray:
    """On the current device. Values of the host are taken here and now."""
    if not isinstance(obj, ndarray) and hasattr(obj, "__cuda_array_interface__"):
        obj = _of_interface(obj)
    if isinstance(obj, ndarray):
        if not copy and obj.data.device_id == _machine.number() and dtype in (None, obj.dtype):
            return obj
        if not obj.flags.c_contiguous or (dtype or obj.dtype) != obj.dtype:
            compiles("a copy")
        result = ndarray(obj.shape, dtype or obj.dtype)
        _machine.devices[obj.data.device_id].run()  # copies between devices wait for what has been started
        _machine.start(lambda: np.copyto(result._elements(), obj._elements(), "unsafe"))
        return result
    values = np.asarray(obj, dtype)
    if values.dtype.kind not in "biufc" and values.dtype.name != "bfloat16":
        raise ValueError(f"Unsupported dtype {values.dtype}")
    if not values.ndim and values:
        compiles("a value without dimensions")
    result = ndarray(values.shape, values.dtype)
    _machine.here().run(get_current_stream().ptr)
    runtime.check(_machine.here())
    np.copyto(result._elements(), values)
    return result


def asarray(a, dtype=None, order=None, *, copy=None, blocking=False) -> ndarray:
    return array(a, dtype, bool(copy), order)


def copyto(dst, src, casting="same_kind", where=None) -> None:
    compiles("a copy")
    _machine.start(lambda: np.copyto(dst._elements(), src._elements(), casting))


def asnumpy(a, stream=None, order="C", out=None, *, blocking=True) -> np.ndarray:
    return a.get(stream, order) if isinstance(a, ndarray) else np.asarray(a)


def arange(start, stop=None, step=1, dtype=None) -> ndarray:
    return array(np.arange(*((start,) if stop is None else (start, stop, step)), dtype=dtype))


def broadcast_to(array, shape) -> ndarray:
    return array._like(np.broadcast_to(array._outline(), shape))


def _of_interface(obj) -> ndarray:
    interface = obj.__cuda_array_interface__
    pointer, dtype = interface["data"][0], np.dtype(interface["typestr"])
    device = runtime.pointerGetAttributes(pointer).device if pointer else _machine.number()
    memory = UnownedMemory(pointer, 0, obj, device)
    return ndarray(interface["shape"], dtype, MemoryPointer(memory, 0), interface.get("strides"))


def from_dlpack(array, *, device=None, copy=None) -> ndarray:
    """Of what `__dlpack__` gives."""
    return array.array


def _order(first: int, then: int) -> None:
    if (first or 1) != (then or 1):
        event = Event()
        runtime.eventRecord(event.ptr, first)
        runtime.streamWaitEvent(then, event.ptr)


def matmul(x1, x2, out) -> ndarray:
    """Another package's function, which a call may go to: on the current stream, without a launch that is counted."""
    if out.size == 1 or not (x1.flags.c_contiguous and x2.flags.c_contiguous and out.flags.c_contiguous):
        compiles("a product")
    _machine.start(lambda: np.matmul(x1._elements(), x2._elements(), out=out._elements()))
    return out


def get_default_memory_pool() -> SimpleNamespace:
    return SimpleNamespace(free_all_blocks=lambda: None)
