"""Kernels for WebGPU from a few lines of text, as tests/targets/built.py has them, and how they are called on the first
device."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pydotcompute.backends.webgpu import WebGPUBackend
from pydotcompute.backends.webgpu.arrays import WebGPUArray, new_buffer
from pydotcompute.targets.webgpu.compiler import TARGET
from tests.targets import built
from tests.targets.device_support import Device


class WebGPU(Device):
    target = TARGET

    def send(self, data: np.ndarray) -> Any:
        buffer = new_buffer(backend().device, data.size)
        backend().device.queue.write_buffer(buffer, 0, data)
        return buffer

    def receive(self, buffer: Any) -> np.ndarray:
        return np.frombuffer(backend().device.queue.read_buffer(buffer), np.uint8).copy()

    def array(self, like: np.ndarray, buffer: Any = None, offset: int = 0) -> WebGPUArray:
        return WebGPUArray(backend().device, like.shape, like.dtype, buffer, offset, like.strides)


device = WebGPU(WebGPUBackend)
backend = device.backend
loop = partial(built.loop, TARGET)
