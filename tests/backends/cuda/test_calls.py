"""Built kernels called with CuPy arrays, on an emulated device: first by the rules, then like earlier calls."""

import numpy as np
import pytest
from tests.targets.cuda.cuda_support import ROOT  # noqa: F401

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

from tests.backends.cuda.emulated import Emulated  # noqa: E402

import pydotcompute  # noqa: E402
from pydotcompute.backends.cuda.launch_cache import LaunchCache  # noqa: E402
from pydotcompute.backends.cuda.backend import has_cublas  # noqa: E402


@pytest.fixture
def device(monkeypatch):
    yield Emulated(monkeypatch, devices=2)
    cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)


@pytest.fixture
def library(project):
    pydotcompute.load(project)
    from pydotcompute.runtime import library

    library._open.clear()  # kernels that no call has been made to
    return pydotcompute.load(project, target="cuda:compute_80")


@pytest.fixture
def served(monkeypatch):
    """How all calls but the first went: True for one that was like two earlier ones."""
    seen, call = [], LaunchCache.__call__

    def counted(self, args, kwargs):
        result = call(self, args, kwargs)
        seen.append(result is not NotImplemented)
        return result

    monkeypatch.setattr(LaunchCache, "__call__", counted)
    return seen


def draw(*shape, seed=0, dtype="f4"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def test_scalars_and_addresses_may_change(device, library, served):
    for k, a in enumerate((2.0, 3, np.float32(0.5), 7.0, np.float64(4), -1.5, 9)):
        x, y = draw(2000, seed=k), draw(2000, seed=k + 10)
        out = library.axpy(a, device.array(x), device.array(y))
        assert type(out) is cupy.ndarray and out.device.id == 0
        np.testing.assert_allclose(device.host(out), np.float32(a) * x + y, rtol=1e-6, atol=1e-6)
    assert served == [False, False, False, False, True, False]  # the third of float


def test_outputs_by_position_and_by_name(device, library, served):
    x, y = device.array(draw(50)), device.array(draw(50, seed=1))
    wanted = 2 * draw(50) + draw(50, seed=1)
    for _ in range(3):
        out = device.array(np.zeros(50, "f4"))
        assert library.axpy(2.0, x, y, out) is out
        np.testing.assert_allclose(device.host(out), wanted, rtol=1e-6, atol=1e-6)
        named = device.array(np.zeros(50, "f4"))
        assert library.axpy(2.0, x, y=y, out=named) is named
        np.testing.assert_allclose(device.host(named), wanted, rtol=1e-6, atol=1e-6)
        assert library.axpy(2.0, x, y, None).shape == (50,)
    assert served == [False] * 5 + [True] * 3


def test_other_shapes_types_and_layouts_are_other_calls(device, library, served):
    for _ in range(3):
        for x in (draw(6, 50), draw(300), draw(6, 50, dtype="f8"), draw(0), draw(2, 3, 50)):
            out = library.silu(device.array(x))
            np.testing.assert_allclose(device.host(out), x / (1 + np.exp(-x)), rtol=1e-5)
    assert served == [False] * 9 + [True] * 5


def test_two_launches_and_scratch(device, library, served):
    for n in (5000, 5000, 5000, 0, 0, 0):
        x = draw(n, seed=n)
        total = library.sum(device.array(x))
        assert total.shape == () and device.host(total) == pytest.approx(x.sum(dtype="f8"), abs=1e-3)
    assert served == [False, True, False, False, True]
    assert device.launched["sum"] == device.launched["sum_finish"]


def test_in_place_and_strided(device, library, served):
    for k in range(3):
        whole = device.array(draw(4, 3, 70, seed=k))
        view = whole[:, 1, ::2]
        before = device.host(view).astype("f8")
        assert library.softmax_inplace(view) is None
        e = np.exp(before - before.max(-1, keepdims=True))
        np.testing.assert_allclose(device.host(view), e / e.sum(-1, keepdims=True), rtol=1e-5)
        np.testing.assert_array_equal(device.host(whole)[:, ::2], draw(4, 3, 70, seed=k)[:, ::2])
    assert served == [False, True]


def test_broadcasting(device, library, served):
    for _ in range(3):
        x, y = draw(4, 1, 5), draw(3, 1, seed=1)
        np.testing.assert_array_equal(device.host(library.sub(device.array(x), device.array(y))), x - y)
    assert served == [False, True]


def test_what_depends_on_addresses_is_asked_again(device, library, served):
    whole, y = device.array(draw(100)), device.array(draw(50, seed=1))
    for _ in range(2):
        library.axpy(2.0, whole[:50], y, whole[50:])
    wanted = 2 * draw(100)[:50] + draw(50, seed=1)
    library.axpy(2.0, whole[:50], y, whole[:50])  # the same view: in place
    np.testing.assert_allclose(device.host(whole)[:50], wanted, rtol=1e-6, atol=1e-6)
    assert served == [False, True]
    with pytest.raises(ValueError, match="share memory"):
        library.axpy(2.0, whole[:50], y, whole[10:60])
    raw = device.array(np.zeros(51 * 4, "u1"))
    odd = cupy.ndarray((50,), "f4", raw.data + 1)
    with pytest.raises(ValueError, match="not aligned"):
        library.axpy(2.0, odd, y, whole[50:])
    assert served == [False, True, False, False]


def test_what_does_not_fit_is_refused_in_the_words_of_the_rules(device, library, served):
    x = device.array(draw(50))
    for _ in range(2):
        library.axpy(2.0, x, x)
    with pytest.raises(OverflowError, match="does not fit float32"):
        library.axpy(1e300, x, x)
    with pytest.raises(ValueError, match="shape"):
        library.axpy(1.0, x, device.array(draw(51)))
    with pytest.raises(TypeError, match="list"):
        library.axpy(1.0, x, [1.0])
    with pytest.raises(TypeError, match="no argument 'z'"):
        library.axpy(1.0, x, x, z=x)
    assert served == [False] * 5


def test_arrays_of_another_device(device, library):
    here, there = device.array(draw(50)), device.array(draw(50), device=1)
    for _ in range(3):
        assert library.axpy(2.0, here, here).device.id == 0
        assert library.axpy(2.0, there, there).device.id == 1
        assert device.current == 0
    with pytest.raises(ValueError, match="is on CUDA device 1, but 'x' is on CUDA device 0"):
        library.axpy(2.0, here, there)
    with pytest.raises(ValueError, match="backend 'cpu'"):
        library.axpy(2.0, here, draw(50))


def test_memory_that_is_out(device, library):
    x = device.array(draw(50))
    for _ in range(2):
        library.axpy(2.0, x, x)
    device.out_of_memory = True
    with pytest.raises(pydotcompute.AllocationError, match="no memory on CUDA device 0") as caught:
        library.axpy(2.0, x, x)
    assert isinstance(caught.value.__cause__, cupy.cuda.memory.OutOfMemoryError)


def test_params_and_integers_that_decide_the_shape(device, library, served):
    kernel = library.transpose
    for _ in range(3):
        for x in (draw(40, 70), draw(70, 40)):
            np.testing.assert_array_equal(device.host(kernel(device.array(x))), x.T)
    assert served == [False] * 3 + [True] * 2


RAW = """
version: 1
targets: ["cuda:compute_80"]
kernels:
  twice:
    signature: "(x: float32[m, n], k: int32) -> (out: float32[m, n], last: int64)"
    launch: {block: 64, grid: "(m * n + 63) // 64"}
    body: |
      i = cuda.grid(1)
      if i < x.shape[0] * x.shape[1]:
          out[i // x.shape[1], i % x.shape[1]] = k * x[i // x.shape[1], i % x.shape[1]]
      if i == 0:
          last[0] = k
  counted:
    signature: "(n: int64, a: float64) -> (out: float64[n] = 1)"
    body: |
      for i in grid(n):
          out[i] += a * i
"""


def test_raw_kernels_and_dimensions_that_are_scalars(device, served, tmp_path):
    (tmp_path / "kernels.yaml").write_text(RAW)
    from pydotcompute.cli import main

    assert main(["build", "-C", str(tmp_path)]) == 0
    kernels = pydotcompute.load(tmp_path)
    for k in range(4):
        x = draw(5, 30, seed=k)
        out, last = kernels.twice(device.array(x), 3 + k)
        np.testing.assert_array_equal(device.host(out), np.float32(3 + k) * x)
        assert device.host(last) == 3 + k
    assert served == [False, True, True]
    for n in (7, 7, 7, 8, 300):
        out = device.array(np.empty(n, "f8"))
        assert kernels.counted(n, 0.5, out) is out
        np.testing.assert_array_equal(device.host(out), 1 + 0.5 * np.arange(n))
    assert served[3:] == [False, True, False, False]


def test_a_kernel_serves_where_cublas_is_missing(device, project):
    if has_cublas():
        pytest.skip("cuBLAS is installed")
    kernel = pydotcompute.load(project).matmul
    x, y = draw(150, 140), draw(140, 130, seed=1)
    arrays = device.array(x), device.array(y)
    which = kernel.which(*arrays)
    assert which.target == "cuda:sm_90" and not which.vendor
    assert str(which.rejected[-1]) == "[T=float32,TILE=32] for cupy.matmul: cuBLAS is not installed"


def test_what_dlpack_says_of_writing():
    """Read from capsules that NumPy makes; CuPy does not look."""
    from pydotcompute.backends.cuda.arrays import _is_read_only

    x = np.arange(3)
    assert not _is_read_only(x.__dlpack__(max_version=(1, 0))) and not _is_read_only(x.__dlpack__())
    x.flags.writeable = False
    assert _is_read_only(x.__dlpack__(max_version=(1, 0)))


def test_streams_of_all_kinds_have_handles():
    from pydotcompute.backends.cuda.streams import _Handle, handle

    class Torch:
        cuda_stream = 7

    class Pointer:
        ptr = 9

    class Attribute:
        __cuda_stream__ = (0, 11)

    class Newer:
        __cuda_stream__ = (1, 11)

    given = [5, np.int64(6), Torch(), _Handle(8), Pointer(), cupy.cuda.Stream.null, Attribute()]
    assert [handle(stream) for stream in given] == [5, 6, 7, 8, 9, 0, 11]
    with pytest.raises(TypeError, match="speaks version 1 of the CUDA stream protocol"):
        handle(Newer())


def test_streams_of_others_become_streams_of_cupy():
    from pydotcompute.backends.cuda.streams import LEGACY, _of_cupy

    for given, number in ((77, 77), (0, 0), (LEGACY, 0), (cupy.cuda.Stream.null, 0)):
        made = _of_cupy(given, given if isinstance(given, int) else given.ptr, 0)
        assert isinstance(made, cupy.cuda.Stream) and made.ptr == number


@pytest.mark.parametrize("kind", ["fill", "copy"])
@pytest.mark.parametrize("unit", [1, 2, 4, 8, 16])
def test_kernels_of_our_own_assemble(kind, unit, tmp_path):
    """For as many dimensions as there are, and the oldest and newest devices that the toolchain knows."""
    import subprocess

    from pydotcompute.backends.cuda.copies import ptx
    from pydotcompute.targets.cuda import toolchain as cuda_toolchain

    known = cuda_toolchain.architectures()
    for arch, depth in (("80", 0), ("80", 1), ("80", 32), (known[0], 3), (known[-1].rstrip("af"), 3)):
        capability = int(arch[:-1]), int(arch[-1])
        path = tmp_path / "x.ptx"
        path.write_text(ptx(kind, unit, depth, capability))
        target = f"-arch=sm_{arch}"
        done = subprocess.run([cuda_toolchain.ptxas(), target, path, "-o", tmp_path / "x"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
