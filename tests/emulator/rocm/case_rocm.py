"""The ROCm backend on emulated devices: which artifact it runs, calls, faults, memory, what it refuses."""

import os

import cupy
import numpy as np
import pytest
from cupy import _machine

import pydotcompute
from pydotcompute import AllocationError, KernelNotBuiltError
from pydotcompute.backends import discover_backends, get_backend
from pydotcompute.backends.cuda import arrays, copies
from pydotcompute.backends.cuda.launch_cache import LaunchCache
from pydotcompute.backends.launch import Launch
from pydotcompute.backends.rocm.backend import ROCmBackend
from pydotcompute.backends.rocm.kernel import ROCmKernel
from pydotcompute.errors import CompilationError


@pytest.fixture(autouse=True)
def fresh():
    _machine.reset()
    yield
    assert cupy.cuda.runtime.getDevice() == 0, "the current device is another one"


@pytest.fixture
def library():
    return pydotcompute.load(os.environ["EMULATED_PROJECT"])


@pytest.fixture
def backend():
    return ROCmBackend()


def draw(*shape, dtype="f4"):
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def test_it_is_found_and_comes_before_what_serves_less(backend):
    (info,) = [found for found in discover_backends() if found.name == "rocm"]
    assert info.available and [d.name for d in info.devices] == ["Emulated device 0", "Emulated device 1"]
    assert get_backend("rocm").name == get_backend("auto").name == backend.name == "rocm"
    assert (backend.architecture, backend.usual_target()) == ("gfx90a", "hip:gfx90a")
    with pytest.raises(ValueError, match=r"device_id must be 0 to 1 \(there are 2 devices\)"):
        ROCmBackend(device_id=2)
    assert backend.supports_feature("shared_atomics") and not backend.supports_feature("tensor_cores")


def test_arrays_are_its_own(backend):
    x = backend.to_device(draw(3, 4))
    assert pydotcompute.backends.backend_of(x).name == "rocm" and arrays.place(x) == "ROCm device 0"
    assert (backend.to_host(x) == draw(3, 4)).all() and (backend.to_host(x[:, ::2]) == draw(3, 4)[:, ::2]).all()
    with pytest.raises(AllocationError, match="no memory on ROCm device 0 for"):
        backend.allocate(1 << 29, "u1")
    with pytest.raises(TypeError, match="the backend 'rocm' has CuPy arrays"):
        backend.to_host([1])


CASES = {
    "axpy": ((np.float32(2), draw(5, 7), draw(5, 7)), lambda a, x, y: a * x + y),
    "sub": ((draw(4, 1, 5), draw(3, 1)), lambda x, y: x - y),
    "sum": ((draw(30000),), lambda x: x.sum(dtype="f8")),
    "softmax": ((draw(2, 3, 40),), lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    "argmax_last": ((draw(6, 40),), lambda x: x.argmax(-1)),
    "histogram": ((draw(500), np.float32(-2), np.float32(2), 8), lambda x, low, high, n: np.histogram(x, n, (low, high))[0]),
    "counted_up": ((draw(40), np.float32(0.5), 3), lambda x, w, k: x + w * (k * (k - 1) // 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_kernels(library, backend, name, monkeypatch):
    """Calls with arrays of the device, thrice: by the rules, remembered, and served without them; then of the host."""
    given, reference = CASES[name]
    served = []
    serve = LaunchCache.__call__
    monkeypatch.setattr(LaunchCache, "__call__", lambda *a: served.append(serve(*a)) or served[-1])
    kernel, moved = library[name], [backend.to_device(v) if isinstance(v, np.ndarray) else v for v in given]
    which = kernel.which(*moved)
    assert which.target == "hip:gfx90a" and any("runs on that alone" in r.reason for r in which.rejected)
    outs = [backend.to_host(kernel(*moved)) for _ in range(3)]
    np.testing.assert_allclose(outs[0], reference(*given), 1e-5, 1e-5)
    assert (outs[1] == outs[0]).all() and (outs[2] == outs[0]).all()
    assert any(one is not NotImplemented for one in served)
    assert (kernel(*given, backend="rocm") == outs[0]).all()


def test_on_the_other_device(library):
    other = ROCmBackend(device_id=1)
    x = other.to_device(draw(50))
    out = library.sum(x)
    assert out.device.id == 1 and [entry for entry, _ in _machine.devices[1].launched] == ["sum", "sum_finish"]
    np.testing.assert_allclose(float(other.to_host(out)), draw(50).sum(dtype="f8"), 1e-6)


def test_an_index_outside_is_told(library, backend):
    table, index = backend.to_device(draw(5, 3)), backend.to_device(np.array([0, 4, 7]))
    library.gather(table, index)
    with pytest.raises(IndexError, match=r"index 7 of axis 0 is outside table, which has 5"):
        backend.synchronize()


def test_a_pinned_target(library, backend):
    pinned = pydotcompute.load(os.environ["EMULATED_PROJECT"], target="hip:gfx90a")
    x = backend.to_device(draw(4))
    assert (backend.to_host(pinned.add(x, x)) == draw(4) + draw(4)).all()
    other = pydotcompute.load(os.environ["EMULATED_PROJECT"], target="hip:gfx1100")
    with pytest.raises(KernelNotBuiltError, match="this device is a gfx90a"):
        other.add(x, x)
    for wrong in ("rocm:gfx90a", "hip:sm_90"):
        with pytest.raises(ValueError, match="one for ROCm is hip:gfxNNN"):
            pydotcompute.load(os.environ["EMULATED_PROJECT"], target=wrong)


def test_a_launch_has_at_most_as_many_threads_as_a_packet_says():
    large = ROCmKernel.fitted(None, Launch("k", (2**31 - 1, 65535, 1), (256, 1, 1)))
    assert large.grid == (2**24 - 1, 65535, 1) and large.block == (256, 1, 1)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex128"])
def test_fills_and_copies_of_any_layout(backend, dtype):
    base = draw(6, 8).astype(dtype)
    for view in (lambda a: a, lambda a: a[::2, 1:], lambda a: a.T, lambda a: a[:, ::-1]):
        for value in (0, 1, -0.0, np.nan)[: 2 if dtype in ("bool", "int8") else 4]:
            there, here = backend.to_device(base), base.copy()
            copies.fill(view(there), value)
            view(here)[...] = value
            assert backend.to_host(there).tobytes() == here.tobytes()
        there = backend.to_device(base)
        np.testing.assert_array_equal(backend.to_host(view(there)), view(base))


def test_plain_functions_are_refused(backend):
    with pytest.raises(CompilationError, match="declare it in kernels.yaml, and build it for hip:gfx"):
        backend.compile_kernel(lambda x: x, ("float32",))
