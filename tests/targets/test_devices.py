"""Arrays on OpenCL's and WebGPU's first devices: there and back, new ones, and those that no launch takes as they lie."""

from importlib import import_module

import numpy as np
import pytest
from tests.targets.built import LACKS, loop, same


@pytest.fixture(params=["opencl", "webgpu"])
def device(request):
    if reason := LACKS[request.param]():
        pytest.skip(reason)
    return import_module(f"tests.targets.{request.param}.{request.param}_support").device


def test_arrays_go_there_and_back(device):
    for shape in ((), (0,), (3,), (2, 0, 4), (5, 7)):
        for dtype in ("bool", "int8", "uint64", "float16", "float32", "complex128"):
            x = (np.random.default_rng(0).normal(size=shape) * 9).astype(dtype)
            there = device.backend().to_device(x)
            assert device.backend().arrays.owns(there) and there.shape == x.shape and there.dtype == x.dtype
            same(np.atleast_1d(device.backend().to_host(there)), np.atleast_1d(x), str((shape, dtype)))


def test_strided_arrays_come_back_as_they_are_seen(device):
    backend, x = device.backend(), np.arange(60, dtype="f4").reshape(6, 10)
    for view in (x[::2, ::-3], x.T, x[1:4, 2:5], np.asfortranarray(x)):
        same(backend.to_host(backend.to_device(view)), view, str(view.strides))
    same(backend.to_host(backend.to_device(x)[1:4, 2:5]), x[1:4, 2:5], "a part of what is there")


def test_new_arrays_are_zeros(device):
    for dtype in ("float32", "complex64", "bool"):
        assert not device.backend().to_host(device.backend().allocate((3, 5), dtype)).any()
    assert device.backend().allocate(4).dtype == np.float32
    with pytest.raises(ValueError, match="-1"):
        device.backend().allocate((-1,))


@pytest.mark.slow
def test_more_dimensions_than_a_launch_takes(device):
    kernel = loop(device.target, "(x: inout strided float32[...], y: broadcast float32[...])", """
        for i in grid(size):
            x[i] += y[i]
    """)  # fmt: skip
    x = np.arange(3**10, dtype="f4").reshape((3,) * 10)[(slice(2),) * 10]
    y = np.arange(8, dtype="f4").reshape(2, 1, 2, 1, 1, 2)
    wanted = x + y
    kernel.call(x, y)
    same(x, wanted, "x")
