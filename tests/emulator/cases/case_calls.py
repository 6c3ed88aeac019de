"""Built kernels called with arrays of devices, against NumPy."""

import cupy
import numpy as np
import pytest
from cupy import _machine

import pydotcompute
from pydotcompute.backends.cuda import arrays as cuda_arrays
from pydotcompute.backends.cuda.backend import CUDABackend

close = {"rtol": 1e-5, "atol": 1e-6}


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


CASES = {
    "axpy": (lambda d: (np.float32(2), d(5, 7), d(5, 7)), lambda a, x, y: a * x + y),
    "sub": (lambda d: (d(4, 1, 5), d(3, 1)), lambda x, y: x - y),
    "silu": (lambda d: (d(3, 4),), lambda x: x / (1 + np.exp(-x))),
    "sum": (lambda d: (d(3000),), lambda x: x.sum(dtype="f8")),
    "sum_last": (lambda d: (d(2, 3, 40),), lambda x: x.sum(-1)),
    "softmax": (lambda d: (d(2, 3, 40),), softmax),
    "rmsnorm": (
        lambda d: (d(3, 40), d(40), np.float32(1e-5)),
        lambda x, w, eps: x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w,
    ),
    "transpose": (lambda d: (d(2, 5, 7),), lambda x: x.swapaxes(-1, -2)),
    "argmax_last": (lambda d: (d(6, 40),), lambda x: x.argmax(-1)),
}


@pytest.mark.parametrize("name", CASES)
def test_kernels(library, backend, draw, name):
    make, reference = CASES[name]
    given = make(draw)
    moved = [backend.to_device(v) if np.ndim(v) else v for v in given]
    for _ in range(2):  # the second call is like the first
        out = getattr(library, name)(*moved)
        assert type(out) is cupy.ndarray and out.device.id == 0 and _machine.devices[0].waiting
        np.testing.assert_allclose(backend.to_host(out), reference(*given), 1e-5, 1e-4)
    on_host = getattr(library, name)(*given, backend="cuda")
    np.testing.assert_array_equal(on_host, backend.to_host(out))


def test_reductions_launch_twice(library, backend, draw):
    library.sum(backend.to_device(draw(3000)))
    assert [entry for entry, _ in _machine.devices[0].launched] == ["sum", "sum_finish"]


def test_empty_arrays(library, backend):
    x = backend.allocate((0, 4))
    assert library.axpy(1.0, x, x).shape == (0, 4) and float(library.sum(x)) == 0
    assert library.sum_last(backend.allocate((3, 0))).get().tolist() == [0, 0, 0]


def test_parts_without_elements(library, backend, draw):
    """Rows that lie apart, of no elements: their dims are not merged, and one of them is 0."""
    x = backend.to_device(draw(3, 4))
    for none in (x[:, :0], x[:0], x[:, 1:1, None]):
        for _ in range(3):  # the last by what earlier ones have left
            out = library.sub(none, x[0, 0])
            assert out.shape == none.shape and library.sub(none, none).shape == none.shape


def test_in_place_and_strided(library, backend, draw):
    x = draw(4, 3, 40)
    whole = backend.to_device(x)
    assert library.softmax_inplace(whole[:, 1, ::2]) is None
    wanted = x.copy()
    wanted[:, 1, ::2] = softmax(x[:, 1, ::2])
    np.testing.assert_allclose(backend.to_host(whole), wanted, **close)


def test_outputs_that_are_given(library, backend, draw):
    x, y = draw(50), draw(50)
    out = backend.allocate(50)
    assert library.axpy(2.0, backend.to_device(x), backend.to_device(y), out=out) is out
    np.testing.assert_allclose(backend.to_host(out), 2 * x + y, **close)
    host = np.empty(50, "f4")
    assert library.axpy(2.0, x, y, out=host, backend="cuda") is host
    np.testing.assert_allclose(host, 2 * x + y, **close)


def test_counts_start_at_their_fill(library, backend, draw):
    x = draw(300)
    for _ in range(2):
        counts = library.histogram(backend.to_device(x), -3.0, 3.0, 6)
        np.testing.assert_array_equal(backend.to_host(counts), np.histogram(x, 6, (-3, 3))[0])


def test_streams(library, backend, draw):
    x, machine = draw(50), _machine.devices[0]
    moved = backend.to_device(x)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        for _ in range(2):
            out = library.silu(moved)
        assert machine.launched == [("silu", stream.ptr)] * 2
        stream.synchronize()
    assert not machine.waiting
    np.testing.assert_allclose(out._elements(), x / (1 + np.exp(-x)), **close)


def test_two_devices(library, backend, draw):
    other, x = CUDABackend(device_id=1), draw(50)
    here, there = backend.to_device(x), other.to_device(x)
    for _ in range(2):
        for array, number in ((here, 0), (there, 1)):
            out = library.axpy(2.0, array, array)
            assert out.device.id == number and cupy.cuda.runtime.getDevice() == 0
            np.testing.assert_allclose(backend.to_host(out), 3 * x, **close)
    with pytest.raises(ValueError, match="is on CUDA device 1, but 'x' is on CUDA device 0"):
        library.axpy(2.0, here, there)
    with pytest.raises(ValueError, match="'y' is an array of the backend 'cpu', but 'x' of 'cuda'"):
        library.axpy(2.0, here, x)
    with pytest.raises(ValueError, match="share memory"):
        library.axpy(2.0, here[:20], here[:20], here[10:30])


class Interface:
    """An array of another package, by `__cuda_array_interface__` alone."""

    def __init__(self, array, readonly=False):
        self.owner = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "data": (array.data.ptr, readonly)}


class Exporter:
    """An array of another package, by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **given):
        return self.array.__dlpack__(**given)


@pytest.mark.parametrize("wrapped", [Interface, Exporter])
def test_arrays_of_other_packages(library, draw, wrapped):
    for number in (0, 1):
        backend, x = CUDABackend(device_id=number), draw(6, 8)
        out = library.silu(wrapped(backend.to_device(x)[:, :]))
        assert out.device.id == number
        np.testing.assert_allclose(backend.to_host(out), x / (1 + np.exp(-x)), **close)


def test_read_only_arrays(library, backend, draw):
    x = backend.to_device(draw(40))
    assert library.silu(Interface(x, True)).shape == (40,)
    assert backend.to_device(Interface(x)).data.ptr == x.data.ptr
    with pytest.raises(ValueError, match="read-only"):
        library.silu(x, Interface(x, True))


def test_fills_keep_the_sign_of_zero(backend):
    for dtype in ("float32", "float64"):
        for shape in ((3,), ()):
            array = cupy.empty(shape, dtype)
            cuda_arrays.fill(array, np.dtype(dtype).type(-0.0))
            assert np.signbit(backend.to_host(array)).all()
    cuda_arrays.fill(array, np.float64(0.0))
    assert not np.signbit(backend.to_host(array))


def test_memory_that_is_out(library, backend):
    total = backend.get_memory_info()[1]
    x = cupy.empty(total // 8, "f4")
    full = cupy.empty(total // 2 - 1000, "u1")
    with pytest.raises(pydotcompute.AllocationError, match="silu: no memory on CUDA device 0"):
        library.silu(x)
    del full


def test_a_pinned_target(project, backend, draw):
    x = draw(30)
    pinned = pydotcompute.load(project, target="cuda:compute_80")
    np.testing.assert_allclose(backend.to_host(pinned.silu(backend.to_device(x))), x / (1 + np.exp(-x)), **close)
    with pytest.raises(ValueError, match="backend='cuda' moves it there"):
        pinned.silu(x)


@pytest.mark.parametrize("lacking", ["", "cuBLAS"])
def test_products_with_and_without_the_library_of_the_vendor(project, backend, draw, monkeypatch, lacking):
    monkeypatch.setattr(type(backend), "vendor_lacks", lambda self: lacking)
    monkeypatch.setattr("pydotcompute.runtime.library._open", {})
    library, a, b = pydotcompute.load(project), draw(1, 70), draw(70, 60)
    for _ in range(3):
        out = library.matmul(backend.to_device(a), backend.to_device(b))
        np.testing.assert_allclose(backend.to_host(out), a @ b, **close)
    assert len(_machine.devices[0].launched) == (3 if lacking else 0)


def test_the_vendors_condition_is_that_of_devices(project, backend, draw, monkeypatch):
    monkeypatch.setattr(type(backend), "vendor_lacks", lambda self: "")
    monkeypatch.setattr("pydotcompute.runtime.library._open", {})
    library = pydotcompute.load(project)
    for n, d, served in ((200, 500, False), (600, 3, True)):  # on the host it would be the other way round
        w, x = draw(n), draw(n, d)
        assert bool(library.weighted_sum_rows.which(*map(backend.to_device, (w, x))).vendor) == served
    got = [backend.to_host(library.weighted_sum_rows(backend.to_device(w), backend.to_device(x))) for _ in range(3)]
    for result in got:  # by the rules, by the rules that remember, and by what they remember
        np.testing.assert_allclose(result, w @ x, rtol=1e-4, atol=1e-4)


def test_products_of_a_pinned_target_take_no_vendor_route(project, backend, draw):
    a, b = draw(7, 9), draw(9, 5)
    out = pydotcompute.load(project, target="cuda:compute_80").matmul(backend.to_device(a), backend.to_device(b))
    np.testing.assert_allclose(backend.to_host(out), a @ b, **close)
