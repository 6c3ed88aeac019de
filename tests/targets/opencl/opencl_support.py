"""Kernels for OpenCL from a few lines of text, as tests/targets/built.py has them, and how they are called on the first
device."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from pydotcompute.backends.opencl import OpenCLBackend
from pydotcompute.targets.opencl.compiler import TARGET
from tests.targets import built
from tests.targets.device_support import Device


class OpenCL(Device):
    target = TARGET

    def send(self, data: np.ndarray) -> cl.Buffer:
        buffer = cl.Buffer(backend().context, cl.mem_flags.READ_WRITE, data.size)
        cl.enqueue_copy(backend().queue, buffer, data, is_blocking=True)
        return buffer

    def receive(self, buffer: cl.Buffer) -> np.ndarray:
        data = np.empty(buffer.size, np.uint8)
        cl.enqueue_copy(backend().queue, data, buffer, is_blocking=True)
        return data

    def array(self, like: np.ndarray, buffer: Any = None, offset: int = 0) -> cl_array.Array:
        return cl_array.Array(
            backend().queue, like.shape, like.dtype, data=buffer, offset=offset, strides=like.strides
        )  # fmt: skip


device = OpenCL(OpenCLBackend)
backend, load = device.backend, device.load
build, loop, compiled = (partial(make, TARGET) for make in (built.build, built.loop, built.compiled))
