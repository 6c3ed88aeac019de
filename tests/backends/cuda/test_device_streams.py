"""What only a device shows of streams, graphs, contexts and faults. Skipped, with the reason, where there is none."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from tests.backends.cuda.refused_cubins import with_refused_cubins
from tests.targets.cuda.cuda_support import ROOT

import pydotcompute
from pydotcompute.backends.cuda.backend import CUDABackend, unavailable

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not CUDABackend.check_available(), reason=unavailable() or "-")]


@pytest.fixture(scope="module")
def backend():
    return CUDABackend()


@pytest.fixture(scope="module")
def library(project):
    return pydotcompute.load(project)


@pytest.fixture(scope="module")
def busy():
    """A kernel that takes so many cycles; nvrtc compiles it, for the test alone."""
    import cupy

    text = 'extern "C" __global__ void busy(long long n) {long long s = clock64(); while (clock64() - s < n);}'
    kernel = cupy.RawKernel(text, "busy")
    try:
        kernel((1,), (1,), (np.int64(1),))
    except Exception as error:
        pytest.skip(f"NVRTC compiles nothing here: {error}")
    return lambda cycles: kernel((1,), (1,), (np.int64(cycles),))


def in_process(project, code, **settings):
    """What a process of its own prints, whose context may be lost."""
    head = f"import numpy as np, cupy, pydotcompute as p\nL = p.load({project!r})\n"
    return subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(code)], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": ROOT, **settings},
    )  # fmt: skip


@pytest.mark.parametrize("given", [lambda stream: stream, lambda stream: stream.ptr], ids=["stream", "pointer"])
def test_a_call_is_given_a_stream(library, busy, given):
    """It is ordered there, and the current stream waits for nothing."""
    import cupy

    side = cupy.cuda.Stream(non_blocking=True)
    x = cupy.zeros(1000, "f4")
    cupy.cuda.Device().synchronize()
    # First in short: what CuPy compiles and the driver loads at its first use takes longer than the stream is busy.
    for cycles in (1, 1, 400_000_000):
        with side:
            busy(cycles)
            x += 1
        start = time.time()
        out = library.axpy(1.0, x, x, stream=given(side))
        library.axpy(1.0, x[:0], x[:0])
        cupy.cuda.Stream.null.synchronize()
        took, waits = time.time() - start, not side.done
        side.synchronize()
        assert (out == 2 * x).all()
    assert waits and took < 0.1, took


def test_tensors_of_torch_on_a_side_stream(library):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    import cupy

    ones = cupy.ones(1 << 24, "f4")
    a, out = (torch.zeros(1 << 24, device="cuda") for _ in range(2))
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    for value in range(1, 6):
        with torch.cuda.stream(side):
            torch.cuda._sleep(50_000_000)
            a.fill_(value)
            got = library.axpy(1.0, a, a)
            assert library.axpy(1.0, a, ones, out) is out
            after = out.clone()
            assert float((after - value - 1).abs().max()) == 0
        assert (cupy.asnumpy(got) == 2 * value).all()
    with pytest.raises(TypeError, match="'x' is not an array that can be passed on"):
        library.silu(torch.ones(3, device="cuda", requires_grad=True))
    with torch.cuda.stream(side):
        assert library.axpy(1.0, a, a, stream=side) is not None


@pytest.mark.parametrize("calls", [0, 3])
def test_graphs_may_be_launched_again(project, calls):
    """After which nobody else's memory has changed, and the results are those of the inputs at that time."""
    import cupy

    kernel = {name: getattr(pydotcompute.load(project), name) for name in ("sum", "axpy", "histogram")}
    x, side = cupy.arange(100_000, dtype="f4"), cupy.cuda.Stream(non_blocking=True)
    total, out, counts = cupy.zeros((), "f4"), cupy.zeros_like(x), cupy.zeros(4, "i8")
    cupy.cuda.Device().synchronize()

    def work():
        kernel["sum"](x, total)
        kernel["axpy"](2.0, x, x, out)
        kernel["histogram"](x, 0.0, 100_000.0, 4, counts)

    with side:
        for _ in range(calls):
            work()
        side.synchronize()
        side.begin_capture()
        work()
        graph = side.end_capture()
        held = [cupy.zeros(4096, "f4") for _ in range(64)]
        for _ in range(2):
            for array in (total, out, counts):
                array.fill(0)
            graph.launch(side)
            side.synchronize()
            np.testing.assert_allclose(float(total), 4999950000.0, 1e-5)
            assert (out == 3 * x).all() and counts.tolist() == [25000] * 4
    assert not any(int(cupy.count_nonzero(h)) for h in held)


def test_a_context_that_is_not_the_primary_one(library):
    import cupy
    from cupy.cuda import driver

    x, primary = cupy.ones(1000, "f4"), driver.ctxGetCurrent()
    for calls in range(4):
        foreign = driver.ctxCreate(0)
        try:
            out, total = library.axpy(2.0, x, x), library.sum(x)
            assert driver.ctxGetCurrent() == foreign, calls
        finally:
            driver.ctxSetCurrent(primary)
            driver.ctxDestroy(foreign)
        assert (out == 3).all() and float(total) == 1000


def test_threads_share_a_plan(library):
    import cupy

    wrong = []

    def work(value):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            a = cupy.full(777, value, "f4")
            out = cupy.empty_like(a)
            for k in range(3000):
                library.axpy(float(k), a, a, out)
            stream.synchronize()
            wrong.extend([1] * int((out != (2999 * value + value)).sum()))

    threads = [threading.Thread(target=work, args=(v,)) for v in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_nothing_is_compiled(project):
    """A process in which NVRTC cannot be reached fills, copies, moves and multiplies."""
    done = in_process(project, """
        import cupy.cuda.compiler as compiler
        def refuse(*_, **__): raise AssertionError("CuPy compiles a kernel")
        compiler.compile_using_nvrtc = compiler._compile_with_cache_cuda = refuse
        from pydotcompute.backends.cuda import arrays as cuda_arrays
        B = p.get_backend("cuda")
        host = np.arange(192, dtype="f8").reshape(6, 8, 4)
        for dtype in ("f8", "f4", "i2", "u1", "c16"):
            x = B.to_device(host.astype(dtype))
            for view, wanted in ((x, host), (x[::2, ::-1, 1:3], host[::2, ::-1, 1:3]), (x.T, host.T)):
                assert (B.to_host(view) == wanted.astype(dtype)).all()
            cuda_arrays.fill(x[::2, 1], 7)
            wanted = host.astype(dtype); wanted[::2, 1] = 7
            assert (B.to_host(x) == wanted).all(), dtype
        assert B.to_host(B.to_device(np.float32(2.5))) == 2.5
        v = B.to_device(np.ones((7, 9), "f4"))
        for n in (1, 7):
            assert B.to_host(L.matmul(v[:n].reshape(n, 9), B.to_device(np.ones((9, n), "f4")))).tolist() == [[9.0] * n] * n
        for _ in range(3): L.histogram(v, 0.0, 2.0, 3)
        print("right")
    """)  # fmt: skip
    assert done.stdout.strip() == "right", done.stderr


def test_our_fills_and_copies_of_much(backend):
    import cupy

    from pydotcompute.backends.cuda import arrays as cuda_arrays, copies as cuda_copies

    for dtype, value in (("f4", 1.5), ("f8", -0.0), ("f8", np.pi), ("i2", 77), ("c16", 1 + 2j)):
        x = cupy.zeros(10**8 + 3, dtype)
        cuda_arrays.fill(x[1:], value)
        assert (x[1:] == value).all() and not x[0]
        if value == 0:
            assert cupy.signbit(x[1:]).all()
    x = cupy.arange(10**8, dtype="f4").reshape(10_000, 10_000)
    assert (cuda_copies.contiguous(x.T) == x.T).all() and (cuda_copies.contiguous(x[::3, ::-7]) == x[::3, ::-7]).all()


def test_a_fault_of_others_is_told_as_theirs(project):
    done = in_process(project, """
        import time
        bad = cupy.RawKernel(r'extern "C" __global__ void bad(int *q) {*q = 1;}', "bad")
        x = cupy.ones(9, "f4")
        for _ in range(3): L.silu(x)
        bad((1,), (1,), (np.int64(8),))
        time.sleep(0.5)
        for kernel in (L.gelu, L.silu):
            try: kernel(x)
            except Exception as error: print(type(error).__name__, "build" in str(error), "of no more use" in str(error))
    """)  # fmt: skip
    assert done.stdout.splitlines() == ["RuntimeError False True"] * 2, done.stdout + done.stderr


def test_a_cubin_that_the_driver_refuses_gives_way_to_ptx(project, library, backend, tmp_path):
    """One of another generation of devices, which is built as this one's."""
    import cupy

    x = cupy.ones(9, "f4")
    if not (target := library.axpy.which(2.0, x, x).target).startswith("cuda:sm_"):
        pytest.skip(f"the project was built without a cubin for this device, which runs {target}")
    other = 75 if backend.compute_capability[0] != 7 else 90
    done = in_process(with_refused_cubins(project, tmp_path / "project", "axpy", other), """
        import warnings
        x = cupy.ones(9, "f4")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            out = L.axpy(2.0, x, x)
        print(cupy.asnumpy(out).tolist() == [3.0] * 9, L.axpy.which(2.0, x, x).target, {w.category.__name__ for w in told})
    """)  # fmt: skip
    assert done.stdout == "True cuda:compute_80 {'ArtifactFallbackWarning'}\n", done.stdout + done.stderr


def test_time_of_calls_with_tensors(library):
    """A tensor costs what its protocols cost, not what the rules of a call do."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    a, out = torch.ones(1000, device="cuda"), torch.empty(1000, device="cuda")
    for _ in range(50):
        library.axpy(2.0, a, a, out)
    start = time.perf_counter()
    for _ in range(2000):
        library.axpy(2.0, a, a, out)
    assert (time.perf_counter() - start) / 2000 < 60e-6
    assert (out == 3).all()
