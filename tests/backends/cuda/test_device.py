"""CUDABackend and built kernels on a device. Skipped, with the reason, where there is none."""

import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
from tests.targets.cuda.cuda_support import ROOT
from tests.backends.cuda.device_calls import call_every_kernel, call_large, targets

import pydotcompute
from pydotcompute import declare
from pydotcompute.backends.cuda.backend import CUDABackend, has_cublas, unavailable
from pydotcompute.targets.cuda import toolchain as cuda_toolchain

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
    with pytest.raises(TypeError, match="not numbers"):
        backend.to_device(np.array([object()]))
    with pytest.raises(TypeError, match="CuPy arrays"):
        backend.to_host(x)


def test_functions(backend):
    try:
        cuda_toolchain.require()
    except pydotcompute.CompilerNotInstalledError as error:  # kernels may have been built on another machine
        pytest.skip(str(error))
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


def test_every_built_kernel(project):
    """As calls come, and with the cubins and the PTX each."""
    assert call_every_kernel(project, [None, *targets(project)]) > 2000


@pytest.mark.parametrize("name", sorted(declare.load(ROOT).kernels))
def test_every_kernel_on_large_arrays(project, name):
    import cupy

    try:
        assert call_large(project, [None, *targets(project)], name, 10**8)
    finally:
        cupy.get_default_memory_pool().free_all_blocks()  # other workers of a run want some


def test_calls_take_and_return_device_arrays_on_the_current_stream(project):
    import cupy

    library = pydotcompute.load(project)
    x = cupy.arange(1000, dtype="f4")
    cupy.cuda.Device().synchronize()  # the new stream waits for no other
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


PRODUCTS = [
    ("matmul", (512, 512), (512, 512)), ("matmul", (130, 170), (170, 190)), ("matmul", (1, 1024), (1024, 1000)),
    ("matmul", (1024, 1000), (1000, 1)), ("matmul", (4100, 1), (1, 1000)), ("matmul_vec", (300, 40000), (40000,)),
    ("weighted_sum_rows", (1024,), (1024, 1000)), ("matmul_batched", (3, 200, 150), (3, 150, 170)),
    ("matmul_batched", (2, 5, 1, 99), (2, 5, 99, 50)),
]  # fmt: skip


@pytest.mark.skipif(not has_cublas(), reason="cuBLAS is not installed")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_products_have_the_bits_of_cupys(project, dtype):
    """From the first call on, also of those that go straight to cuBLAS, and as exact as CuPy is told to be now."""
    import cupy
    from cupy._core import _routines_linalg as settings

    library, random = pydotcompute.load(project), cupy.random.default_rng(1)
    for name, *shapes in PRODUCTS:
        a, b = (random.standard_normal(shape, dtype=dtype) for shape in shapes)
        assert library[name].which(a, b).vendor == "cupy.matmul"
        for setting in ("DEFAULT", "PEDANTIC", "TF32", "DEFAULT"):
            settings.set_compute_type(dtype, getattr(settings, f"COMPUTE_TYPE_{setting}"))
            wanted = cupy.matmul(a, b)
            for _ in range(3):
                assert (library[name](a, b) == wanted).all(), (name, shapes, setting)


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
    """compute-sanitizer sees every access of every kernel at small sizes, in arrays that no pool has rounded up."""
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.path.exists(tool):
        pytest.skip("compute-sanitizer is not installed")
    program = [sys.executable, os.path.join(os.path.dirname(__file__), "device_calls.py"), project, "300"]
    done = subprocess.run(
        [tool, "--report-api-errors", "no", "--launch-timeout", "0", "--error-exitcode", "9", *program],
        capture_output=True, text=True, timeout=900, env={**os.environ, "PYTHONPATH": ROOT},
    )  # fmt: skip
    if "Device not supported" in done.stdout:
        pytest.skip("compute-sanitizer does not support this device here")
    said = done.stdout[-3000:] + done.stderr[-3000:]
    assert done.returncode == 0 and "ERROR SUMMARY: 0 errors" in done.stdout and "calls were right" in done.stdout, said


def test_a_thread_that_has_done_nothing_on_the_device(project):
    import cupy

    axpy, seen = pydotcompute.load(project).axpy, []
    x, out = cupy.arange(5, dtype="f4"), cupy.empty(5, "f4")
    for _ in range(3):
        axpy(2.0, x, x, out=out)
    thread = threading.Thread(target=lambda: seen.extend(axpy(2.0, x, x, out=out) for _ in range(3)))
    thread.start()
    thread.join()
    assert len(seen) == 3 and out.tolist() == [0, 3, 6, 9, 12]


def test_asking_leaves_children_free_to_use_the_device(project):
    code = f"""
import os
from pydotcompute.backends.cuda import CUDABackend
assert CUDABackend.check_available()
child = os.fork()
if not child:
    import cupy, pydotcompute
    x = cupy.ones(3, "f4")
    os._exit(pydotcompute.load({project!r}).axpy(2.0, x, x).tolist() != [3, 3, 3])
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": ROOT})
