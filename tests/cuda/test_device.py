"""CUDABackend and built kernels on a device. Skipped, with the reason, where there is none."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import pydotcompute
from pydotcompute.backends.cuda import CUDABackend, unavailable
from pydotcompute import declare
from pydotcompute.check import draw, measure, sizes
from pydotcompute.check.expected import Expected

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not CUDABackend.check_available(), reason=unavailable() or "-")]


@pytest.fixture(scope="module")
def backend():
    return CUDABackend()


def test_members(backend):
    assert backend.name == "cuda" and backend.is_available and backend.device_id == 0
    assert isinstance(backend.device_name, str) and backend.compute_capability >= (5, 0)
    free, total = backend.get_memory_info()
    assert 0 <= free <= total and isinstance(free, int)
    assert backend.supports_feature("streams") and not backend.supports_feature("telepathy")
    with pytest.raises(ValueError, match="device_id must be 0 to"):
        CUDABackend(device_id=999)


def test_memory(backend):
    zeros = backend.allocate((3, 4))
    assert zeros.dtype == np.float32 and (backend.to_host(zeros) == 0).all()
    x = np.arange(24.0).reshape(4, 6)[:, ::2]
    moved = backend.to_device(x)
    assert moved.flags.c_contiguous and backend.to_device(moved) is moved and (backend.to_host(moved) == x).all()
    assert backend.allocate(0).shape == (0,)
    with pytest.raises(ValueError, match="negative"):
        backend.allocate((2, -1))
    with pytest.raises(pydotcompute.AllocationError, match=r"for \d+ bytes"):
        backend.allocate(backend.get_memory_info()[1])
    with pytest.raises(TypeError, match="no numbers"):
        backend.to_device(np.array([object()]))
    with pytest.raises(TypeError, match="CuPy arrays"):
        backend.to_host(x)


def test_functions(backend):
    from numba import cuda

    @cuda.jit
    def vector_add(a, b, c):
        i = cuda.grid(1)
        if i < c.shape[0]:
            c[i] = a[i] + b[i]

    a, b = np.random.default_rng(0).normal(size=(2, 1000)).astype("f4")
    c = backend.allocate(1000)
    backend.launch_kernel(vector_add, (4,), (256,), backend.to_device(a), backend.to_device(b), c)
    backend.synchronize()
    assert (backend.to_host(c) == a + b).all()
    kernel = backend.compile_kernel(vector_add, ("float32[::1]",) * 3)
    assert kernel is backend.compile_kernel(vector_add, ("float32[::1]",) * 3)
    with pytest.raises(ValueError, match="threads"):
        backend.launch_kernel(kernel, (1,), (64, 32), c, c, c)
    with pytest.raises(TypeError, match="was compiled for 3 arguments"):
        backend.launch_kernel(kernel, (1,), (32,), c)


def test_every_built_kernel(project, backend):
    library = pydotcompute.load(project)
    declaration = declare.load(project)
    for name in library:
        kernel = declaration.kernels[name]
        for specialisation in kernel.specialisations:
            for number, dims in enumerate(sizes.cases(kernel, specialisation, 0)):
                rng = np.random.default_rng(number)
                case = draw.draw(kernel, specialisation, dims, rng, project)
                wanted = Expected(declaration, kernel, specialisation, case, None).reference
                library[name](**case.arguments, **case.outputs, **dict(specialisation.params), backend="cuda")
                written = [p.name for p in kernel.signature.parameters if p.writable]
                for n, w in zip(written, wanted, strict=True):
                    got = {**case.arguments, **case.outputs}[n]
                    worst = measure.difference(got, np.broadcast_to(w, got.shape) if np.ndim(w) == 0 else w)
                    allowed = measure.tolerance(kernel.tolerance, got.dtype)
                    assert worst is None or worst.error <= allowed, (name, specialisation, dims, worst)


def test_calls_take_and_return_device_arrays_on_the_current_stream(project):
    import cupy

    library = pydotcompute.load(project)
    x = cupy.arange(1000, dtype="f4")
    with cupy.cuda.Stream(non_blocking=True) as stream:
        out = library.axpy(2.0, x, x)
        stream.synchronize()
    assert isinstance(out, cupy.ndarray) and (cupy.asnumpy(out) == 3 * np.arange(1000)).all()
    total = library.sum(x)
    assert total.shape == () and float(total) == 499500
    with pytest.raises(ValueError, match="share memory"):
        library.sum_last(x.reshape(10, 100), out=x[:10])
    assert library.axpy(2.0, np.ones(3, "f4"), np.ones(3, "f4"), backend="cuda").tolist() == [3, 3, 3]


@pytest.mark.parametrize("n", [10**6 + 1, 10**8])
def test_large_arrays(project, n):
    import cupy

    library = pydotcompute.load(project)
    x, y = (cupy.random.default_rng(seed).random(n, dtype="float32") for seed in (1, 2))
    out = cupy.full(n, cupy.nan, "float32")
    for _ in range(3):  # the last one by the short way
        out[...] = cupy.nan
        library.axpy(2.0, x, y, out)
    assert (abs(out - (2 * x.astype("f8") + y)) < 1e-6).all()
    allowed = (8 + np.log2(n)) * np.finfo("f4").eps * float(x.sum(dtype="f8"))
    totals = [library.sum(x) for _ in range(3)]
    assert abs(float(totals[0]) - float(x.sum(dtype="f8"))) <= allowed and len({float(t) for t in totals}) == 1
    rows = x[: n // 1000 * 1000].reshape(-1, 1000)
    assert (abs(library.softmax(rows).sum(-1, dtype="f8") - 1) < 1e-4).all()


def test_memory_that_runs_out(project):
    import cupy

    library = pydotcompute.load(project)
    cupy.get_default_memory_pool().free_all_blocks()
    free, _ = cupy.cuda.runtime.memGetInfo()
    x = cupy.empty(free // 5 * 3 // 4, "float32")
    with pytest.raises(pydotcompute.AllocationError, match=r"no memory on CUDA device 0 .* bytes are free"):
        library.axpy(2.0, x, x)
    del x
    cupy.get_default_memory_pool().free_all_blocks()
    small = cupy.ones(10, "float32")
    assert library.axpy(2.0, small, small).tolist() == [3] * 10


def test_memory_accesses_by_the_sanitizer(project):
    """compute-sanitizer sees every access of every kernel that `check` calls at small sizes."""
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.path.exists(tool):
        pytest.skip("compute-sanitizer is not installed")
    command = [sys.executable, "-m", "pydotcompute", "check", "axpy", "softmax", "sum", "transpose", "attention"]
    done = subprocess.run(
        [tool, "--error-exitcode", "9", *command, "-C", project, "-t", "cuda:compute_80"],
        capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
