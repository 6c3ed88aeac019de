"""Products that a vendor's function serves: once they came twice, straight by cuBLAS, from addresses and sizes alone."""

import threading

import cupy
import numpy as np
import pytest
import torch
from cupy import _machine
from cupy._core import _routines_linalg as settings
from cupy_backends.cuda.libs import cublas

import pydotcompute
from pydotcompute.backends.cuda.backend import CUDABackend
from pydotcompute.backends.cuda.products import product
from pydotcompute.builder.build import Project, Request, build

CASES = [
    ("matmul", (130, 170), (170, 190)), ("matmul", (1, 70), (70, 65)), ("matmul", (90, 91), (91, 1)),
    ("matmul", (4100, 1), (1, 1000)), ("matmul_vec", (2, 40000), (40000,)), ("weighted_sum_rows", (300,), (300, 31)),
    ("matmul_batched", (2, 3, 1, 99), (2, 3, 99, 50)), ("matmul_batched", (1, 130, 170), (1, 170, 190)),
    ("matmul_batched", (70, 65), (65, 1)),
]  # fmt: skip
CAPABILITY = (9, 0)


@pytest.fixture(autouse=True)
def asked():
    cublas.asked.clear()
    return cublas.asked


@pytest.fixture
def library(project, monkeypatch):
    """Of which no kernel has been called."""
    monkeypatch.setattr("pydotcompute.runtime.library._open", {})
    return pydotcompute.load(project)


@pytest.fixture
def factors(backend, draw):
    return lambda dtype="f4": (backend.to_device(draw(1, 70, dtype=dtype)), backend.to_device(draw(70, 65, dtype=dtype)))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name, left, right", CASES)
def test_the_third_call_asks_cublas_itself(library, backend, draw, served, asked, name, left, right, dtype):
    for given in (False, True):
        for call in range(4):
            a, b = draw(*left, dtype=dtype), draw(*right, dtype=dtype)
            arguments, wanted = [backend.to_device(a), backend.to_device(b)], a @ b
            out = backend.to_device(np.full(wanted.shape, np.nan, dtype)) if given else None
            assert library[name].which(*arguments).vendor == "cupy.matmul"
            got = library[name](*arguments, out=out)
            assert got is out or not given
            assert len(asked) == max(call - 1, 0) + 2 * given and served.count == len(asked)
            np.testing.assert_allclose(backend.to_host(got), wanted, rtol=1e-4, atol=1e-3)
    assert not _machine.devices[0].launched


def ways(array):
    """The same values in other layouts."""
    yield "C", array
    yield "F", array.T.copy().T
    yield "steps", np.repeat(array, 2, -1)[..., ::2]
    yield "backwards", array[::-1].copy()[::-1]


def there(backend, host):
    """On the device, as it lies on the host."""
    base = host
    while base.base is not None:
        base = base.base
    moved = backend.to_device(base.reshape(-1, order="A"))
    start = host.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return cupy.ndarray(host.shape, host.dtype, moved.data + start, host.strides)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_factors_of_any_layout(backend, draw, dtype):
    """Those that CuPy would copy are not taken."""
    taken = set()
    for m, k, n in ((3, 4, 5), (1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 7), (6, 1, 1)):
        for left, right in ((draw(m, k), draw(k, n)), (draw(k), draw(k, n)), (draw(m, k), draw(k))):
            for way_a, a in ways(left.astype(dtype)):
                for way_b, b in ways((right * 1j if dtype[0] == "c" else right).astype(dtype)):
                    multiply = product(x := there(backend, a), y := there(backend, b), CAPABILITY)
                    assert bool(multiply) == all(v.flags.c_contiguous or v.flags.f_contiguous for v in (a, b))
                    if multiply:
                        out = cupy.empty((a @ b).shape, dtype)
                        multiply(x.data.ptr, y.data.ptr, out.data.ptr)
                        np.testing.assert_allclose(backend.to_host(out), a @ b, rtol=1e-5, atol=1e-5)
                        taken.add((way_a, way_b))
    assert taken >= {("C", "C"), ("C", "F"), ("F", "C"), ("F", "F")}


def test_what_more_than_cublas_has_to_do(backend, draw):
    def refused(a, b):
        return product(*(there(backend, v) for v in (a, b)), CAPABILITY) is None

    assert refused(draw(2, 3, 4), draw(4, 5)) and refused(draw(2, 3, 4), draw(1, 4, 5))  # CuPy makes lists of addresses
    assert refused(draw(3, 2, 4).transpose(1, 0, 2), draw(2, 4, 5))
    assert refused(draw(3, 4, dtype="f2"), draw(4, 5, dtype="f2")) and refused(draw(3, 4, dtype="i4"), draw(4, 5, dtype="i4"))
    assert product(backend.allocate((3, 0)), backend.allocate((0, 4)), CAPABILITY) is None


def test_arrays_that_need_not_be_contiguous(tmp_path, backend, draw, asked, monkeypatch):
    (tmp_path / "kernels.yaml").write_text("""
version: 1
kernels:
  product:
    signature: "(a: strided float32[m, k], b: strided float32[k, n]) -> (out: strided float32[m, n])"
    vendor: {call: matmul}
    body: |
      for i in grid(m):
          for j in range(n):
              out[i, j] = sum(a[i, c] * b[c, j] for c in range(k))
""")
    wanted = Request(("product",), ("cuda:compute_80",), False, 1, True)
    _, outcome = build(Project(str(tmp_path), lambda line: None), wanted, lambda event: None)
    assert not outcome.failed
    kernel, by_cupy = pydotcompute.load(str(tmp_path)).product, []

    def matmul(a, b, out):
        by_cupy.append(out)
        out._elements()[...] = a._elements() @ b._elements()

    monkeypatch.setattr(cupy, "matmul", matmul)
    left, right, memory = draw(3, 4), draw(4, 5), np.zeros((3, 10), "f4")
    for way_a, a in ways(left):
        for way_b, b in ways(right):
            for into in (memory[:, :5].copy(), memory[:, ::2]):
                by_cupy.clear(), asked.clear()
                straight = {way_a, way_b} <= {"C", "F"} and into.flags.c_contiguous
                for _ in range(3):
                    out = there(backend, into)
                    kernel(there(backend, a), there(backend, b), out)
                    np.testing.assert_allclose(backend.to_host(out), left @ right, rtol=1e-5, atol=1e-5)
                assert (len(by_cupy), len(asked)) == ((2, 1) if straight else (3, 0)), (way_a, way_b)


def test_how_exact_cupy_is_told_to_be(library, factors, asked):
    for dtype, default, others in (("f4", 68, ((2, 69), (7, 77))), ("f8", 70, ((2, 71), (7, 70)))):
        for setting, computing in ((1, default), (1, default), *others, (1, default)):
            settings.set_compute_type(dtype, setting)
            for _ in range(2):
                library.matmul(*factors(dtype))
            assert not asked or asked[-1] == ("gemmEx", 0, computing)
        assert len(asked) == 8
        asked.clear()


def test_streams_and_threads(library, factors, backend, asked):
    a, b = factors()
    wanted, side = backend.to_host(library.matmul(a, b)), cupy.cuda.Stream(non_blocking=True)
    library.matmul(a, b)
    for stream in (side, None):
        out = library.matmul(a, b, stream=stream)
        assert asked[-1][1] == (side.ptr if stream else 0)
        np.testing.assert_allclose(backend.to_host(out, stream=stream), wanted, rtol=1e-5)
    thread = threading.Thread(target=lambda: [library.matmul(a, b) for _ in range(2)])
    thread.start()  # where the first call finds no context, and the second asks with a handle of its own
    thread.join()
    assert len(asked) == 3
    side.begin_capture()
    with side, pytest.raises(NotImplementedError, match="during stream capture"):
        library.matmul(a, b)
    side.end_capture()


def test_on_the_other_device(library, draw, asked):
    there, a, b = CUDABackend(device_id=1), draw(1, 70), draw(70, 65)
    with cupy.cuda.Device(1):
        for _ in range(3):
            out = library.matmul(there.to_device(a), there.to_device(b))
        assert len(asked) == 1 and out.device.id == 1
        np.testing.assert_allclose(there.to_host(out), a @ b, rtol=1e-4, atol=1e-5)


def test_what_the_rules_refuse_stays_refused(library, factors, asked):
    a, b = factors()
    memory = cupy.empty(200, "f4")
    for _ in range(3):
        library.matmul(a, b, out=memory[:65].reshape(1, 65))
    assert len(asked) == 1
    for left, right, out, error in (
        (memory[30:100].reshape(1, 70), b, memory[:65].reshape(1, 65), "share memory"),
        (a, b[::-1], memory[:65].reshape(1, 65), "contiguous"), (a, b, memory[:66].reshape(1, 66), "shape"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=error):
            library.matmul(left, right, out=out)
    assert len(asked) == 1


def test_memory_that_is_out(library, factors, backend, asked):
    a, b = factors()
    for _ in range(3):
        library.matmul(a, b)
    full = [cupy.empty(backend.get_memory_info()[0], "u1")]
    with pytest.raises(MemoryError, match="matmul: no memory on CUDA device 0"):
        library.matmul(a, b)
    full.clear()
    library.matmul(a, b)
    assert len(asked) == 2


def test_tensors(library, draw, asked):
    a, b = torch.Tensor(left := draw(1, 70)), torch.Tensor(right := draw(70, 65))
    out, seen = torch.Tensor(np.zeros((1, 65), "f4")), []
    for _ in range(6):
        before = torch.Tensor.asked
        assert library.matmul(a, b, out) is out
        np.testing.assert_allclose(out.numpy(), left @ right, rtol=1e-4, atol=1e-5)
        seen.append((torch.Tensor.asked > before, len(asked)))
        out.fill_(0)
    assert seen[:2] == [(True, 0)] * 2 and seen[3:] == [(False, 1), (False, 2), (False, 3)]  # as all kernels do
    with torch.cuda.stream(torch.cuda.Stream()):  # which CuPy's has to be ordered with
        a.fill_(1)
        library.matmul(a, b, out)
        np.testing.assert_allclose(out.clone().numpy(), right.sum(0, keepdims=True), rtol=1e-4, atol=1e-4)
    assert len(asked) == 3
