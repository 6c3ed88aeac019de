"""CUDABackend: devices, memory, faults, functions of numba.cuda's Python."""

import os
import subprocess
import sys
import textwrap

import cupy
import numpy as np
import pytest
from cupy import _machine
from numba import cuda

from pydotcompute import AllocationError
from pydotcompute.backends.cuda.backend import CUDABackend


def test_devices(backend):
    assert backend.is_available and (backend.name, backend.device_id) == ("cuda", 0)
    assert backend.device_name == "Emulated device 0" and backend.compute_capability == (13, 0)
    assert [d.index for d in backend.devices()] == [0, 1]
    assert CUDABackend(device_id=1).device_name == "Emulated device 1"
    for wrong in (2, -1, True):
        with pytest.raises(ValueError, match=r"device_id must be 0 to 1 \(there are 2 devices\)"):
            CUDABackend(device_id=wrong)
    with pytest.raises(TypeError):
        CUDABackend(device_id="0")
    assert backend.supports_feature("tensor_cores") and not backend.supports_feature("telepathy")


def test_memory(backend):
    free, total = backend.get_memory_info()
    zeros = backend.allocate((3, 4))
    assert zeros.dtype == np.float32 and (backend.to_host(zeros) == 0).all()
    assert backend.get_memory_info() == (free - 48, total)
    assert backend.allocate((), "i8").shape == () and backend.allocate(0).shape == (0,)
    with pytest.raises(ValueError, match="negative"):
        backend.allocate((2, -1))
    whole = backend.allocate(total // 2, "u1")
    for size in (total // 2, total * 4):
        text = rf"no memory on CUDA device 0 for {size} bytes \(shape \({size},\), uint8\); \d+ of {total} are free"
        with pytest.raises(AllocationError, match=text):
            backend.allocate(size, "u1")
    with pytest.raises(AllocationError, match="for 201326592 bytes"):
        backend.to_device(np.zeros(3 << 26, "u1"))
    del whole


def test_transfers(backend, draw):
    x = draw(6, 8)
    for values in (x, x[::2, ::-1], x.T, x.astype(">f4"), x[:0], np.float64(3), [[1, 2], [3, 4]], x > 0, x + 1j):
        moved = backend.to_device(values)
        wanted = np.asarray(values)
        assert type(moved) is cupy.ndarray and moved.flags.c_contiguous and moved.shape == wanted.shape
        assert moved.dtype == wanted.dtype.newbyteorder("=")
        np.testing.assert_array_equal(backend.to_host(moved), wanted)
        assert backend.to_device(moved) is moved
    view = backend.to_device(x)[1:, ::3]
    np.testing.assert_array_equal(backend.to_host(view), x[1:, ::3])
    with pytest.raises(TypeError, match="not numbers"):
        backend.to_device(np.array([object()]))
    with pytest.raises(TypeError, match="CuPy arrays"):
        backend.to_host(x)


def test_two_devices_do_not_mix(backend, draw):
    other, x = CUDABackend(device_id=1), draw(40)
    here, there = backend.to_device(x), other.to_device(x)
    assert (here.device.id, there.device.id) == (0, 1)
    assert other.allocate(4).device.id == 1 and other.get_memory_info()[0] < other.get_memory_info()[1]
    across = other.to_device(here)
    assert across.device.id == 1 and across is not here
    np.testing.assert_array_equal(backend.to_host(across), x)  # any device's array
    np.testing.assert_array_equal(other.to_host(here), x)
    with cupy.cuda.Device(1):
        assert backend.allocate(3).device.id == 0 and cupy.cuda.runtime.getDevice() == 1


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.shape[0]:
        c[i] = a[i] + b[i]


@cuda.jit
def beyond(a):
    a[cuda.grid(1)] = 1


def test_functions(backend, draw):
    a, b = draw(70), draw(70)
    c = backend.allocate(70)
    backend.launch_kernel(add, (3,), (32,), backend.to_device(a), backend.to_device(b), c)
    assert _machine.devices[0].launched[-1][1] == 0 and _machine.devices[0].waiting
    np.testing.assert_array_equal(backend.to_host(c), a + b)
    signature = ("float32[::1]",) * 3
    kernel = backend.compile_kernel(add, signature)
    assert backend.compile_kernel(add, signature) is kernel
    plain = CUDABackend(enable_caching=False)
    assert plain.compile_kernel(add, signature) is not plain.compile_kernel(add, signature)
    with pytest.raises(ValueError, match="threads"):
        backend.launch_kernel(kernel, (1,), (64, 32), c, c, c)
    with pytest.raises(TypeError, match="was compiled for 3 arguments"):
        backend.launch_kernel(kernel, (1,), (32,), c)
    with pytest.raises(TypeError, match="not a CUDA kernel"):
        backend.launch_kernel(len, (1,), (32,), c)
    other = CUDABackend(device_id=1)
    with pytest.raises(ValueError, match="this backend has device 1"):
        other.launch_kernel(kernel, (1,), (32,), c, c, c)
    there = [other.to_device(v) for v in (a, b)]
    result = other.allocate(70)
    other.launch_kernel(add, (3,), (32,), *there, result)
    np.testing.assert_array_equal(other.to_host(result), a + b)
    with pytest.raises(ValueError, match="is on CUDA device 1"):
        backend.launch_kernel(kernel, (3,), (32,), *there, result)


@pytest.mark.parametrize("wrong, error, told", [
    (lambda b: b.to_host(b.allocate(70)), TypeError, "argument 1 must be a CuPy array, got numpy.ndarray"),
    (lambda b: 3.0, TypeError, "argument 1 must be a CuPy array, got float"),
    (lambda b: b.allocate(70, "f8"), TypeError, "argument 1 must be float32, 1 dimension; got float64"),
    (lambda b: b.allocate((7, 10)), ValueError, r"argument 1 must be float32, 1 dimension; got shape \(7, 10\)"),
    (lambda b: b.allocate(140)[::2], ValueError, r"argument 1 must be C-contiguous; got strides \(8,\)"),
])  # fmt: skip
def test_arguments_that_a_function_was_not_compiled_for(backend, wrong, error, told):
    kernel = backend.compile_kernel(add, ("float32[::1]",) * 3)
    c = backend.allocate(70)
    launched = len(_machine.devices[0].launched)
    with pytest.raises(error, match=told):
        backend.launch_kernel(kernel, (3,), (32,), c, wrong(backend), c)
    assert len(_machine.devices[0].launched) == launched


def test_a_fault_of_an_earlier_launch_is_raised_where_somebody_waits(backend):
    a = backend.allocate(40)
    backend.launch_kernel(beyond, (2,), (32,), a)
    for wait in (backend.synchronize, lambda: backend.to_host(a)):
        with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="illegal memory access"):
            wait()
    assert "which has 160" in _machine.devices[0].fault[1]
    assert CUDABackend(device_id=1).synchronize() is None


def process(code, **settings):
    """What a new process prints, in which the driver has not started."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env={**os.environ, **settings}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_no_device():
    lines = process("""
        from pydotcompute.backends.cuda import CUDABackend
        print(CUDABackend.check_available())
        try:
            CUDABackend()
        except RuntimeError as error:
            print(type(error).__name__, error)
    """, EMULATED_DEVICES="0")  # fmt: skip
    assert lines[0] == "False" and lines[1].startswith("BackendNotAvailableError ")
    assert lines[1].endswith("not available: the NVIDIA driver does not start (CUDA_ERROR_NO_DEVICE)")


def test_a_driver_that_is_older_than_cupy(tmp_path):
    (tmp_path / "cupy" / ".data").mkdir(parents=True)
    (tmp_path / "cupy" / "__init__.py").touch()
    (tmp_path / "cupy" / ".data" / "_wheel.json").write_text('{"cuda": "13.x", "packaging": "pip"}')
    lines = process("""
        from pydotcompute.backends.cuda import CUDABackend
        print(CUDABackend.check_available())
        try:
            CUDABackend()
        except RuntimeError as error:
            print(error)
    """, PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]]))  # fmt: skip
    assert lines == ["False", "the backend 'cuda' is not available: the installed CuPy is for CUDA 13, this driver for "
                     "CUDA 12.9; update it, or install cupy-cuda12x instead"]  # fmt: skip


def test_asking_does_not_start_the_driver():
    """Or children that were forked later could not use CUDA."""
    lines = process("""
        import ctypes
        from pydotcompute.backends.cuda import CUDABackend
        print(CUDABackend.check_available())
        driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
        print(driver.cuDeviceGetCount(ctypes.byref(count)))
        backend = CUDABackend(device_id=1)
        print(backend.is_available, driver.cuDeviceGetCount(ctypes.byref(count)))
    """)
    assert lines == ["True", "3", "True 0"]
