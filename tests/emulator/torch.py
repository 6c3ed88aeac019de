"""The part of torch that arrays meet pydotcompute by: tensors in emulated memory, on streams of torch's own.

Like torch's, they speak DLPack, which orders the caller's stream after torch's current one, and version 2 of
`__cuda_array_interface__`, which says nothing of streams. `reads` counts who asked for that, `asked` who for DLPack.
"""

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import cupy
import numpy as np
from cupy import _machine
from cupy.cuda import runtime

_current = threading.local()


class Tensor:
    reads = asked = 0

    def __init__(self, values, requires_grad=False, negated=False):
        self.array, self.requires_grad = cupy.asarray(np.asarray(values)), requires_grad
        self.is_neg, self.resolve_neg = lambda: negated, lambda: Tensor(-self.numpy())

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: f"torch.{self.array.dtype}")

    def data_ptr(self):
        return self.array.data.ptr

    def get_device(self):
        return self.array.device.id

    def stride(self):
        return tuple(s // self.array.itemsize for s in self.array.strides)

    def fill_(self, value):
        _put(lambda: self.array._elements().fill(value))
        return self

    def clone(self):
        """As all of torch's work, on its current stream."""
        result = Tensor(np.zeros(self.shape, self.array.dtype))
        _put(lambda: np.copyto(result.array._elements(), self.array._elements()))
        return result

    def numpy(self):
        runtime.streamSynchronize(cuda.current_stream().cuda_stream)
        return self.array._elements().copy()

    @property
    def __cuda_array_interface__(self):
        Tensor.reads += 1
        if self.requires_grad:
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.")
        return {
            "version": 2, "shape": self.shape, "typestr": self.array.dtype.str, "strides": self.array.strides,
            "data": (self.array.data.ptr, False),
        }  # fmt: skip

    def __dlpack_device__(self):
        Tensor.asked += 1
        return 2, self.array.device.id

    def __dlpack__(self, *, stream=-1, max_version=None, dl_device=None, copy=None):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.array.device.id != _machine.number():
            raise BufferError("Can't export tensors on a different CUDA device index.")
        if stream is not None and type(stream) is not int:
            raise TypeError("stream must be ``int`` or ``none``")
        assert stream != 0, "unsupported stream on CUDA: 0."
        if stream == 2:
            raise BufferError("per-thread default stream is not supported.")
        stream = 1 if stream is None else stream
        ours = cuda.current_stream().cuda_stream
        if stream != -1 and stream != (ours or 1):
            event = cupy.cuda.Event()
            runtime.eventRecord(event.ptr, ours)
            runtime.streamWaitEvent(stream, event.ptr)
        return SimpleNamespace(array=self.array)


class OldTensor(Tensor):
    """As torch has them before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        try:
            return super().__dlpack__(stream=stream)
        except BufferError as error:
            raise (RuntimeError if self.requires_grad else BufferError)(str(error)) from None


def _put(action):
    _machine.here().put(cuda.current_stream().cuda_stream, action)


class Stream:
    def __init__(self, null=False):
        self.owner = cupy.cuda.Stream(null=null, non_blocking=not null)
        self.cuda_stream = self.owner.ptr


def current_stream(device=None):
    return getattr(_current, "stream", None) or Stream(null=True)


@contextmanager
def stream(chosen):
    outer, _current.stream = getattr(_current, "stream", None), chosen
    yield
    _current.stream = outer


cuda = SimpleNamespace(Stream=Stream, stream=stream, current_stream=current_stream)
