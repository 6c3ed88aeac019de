"""What goes wrong on a device, and is not the call's: earlier faults, foreign contexts, code that does not load,
drivers that do not answer, finalisers that run in the middle of a call."""

import gc
import os
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cupy
import numpy as np
import pytest
from cupy import _machine
from cupy.cuda import driver, runtime

import pydotcompute
from pydotcompute import ArtifactFallbackWarning, KernelNotBuiltError
from pydotcompute.backends.cuda import backend as cuda, context as cuda_context, driver as cuda_driver
from pydotcompute.backends.cuda.backend import CUDABackend
from pydotcompute.cache.contents import Cache
from tests.backends.cuda.refused_cubins import FLAGS, with_refused_cubins


@pytest.fixture
def afresh(project, monkeypatch):
    """Libraries whose kernels nobody has called."""

    def load(target=None):
        monkeypatch.setattr("pydotcompute.runtime.library._open", {})
        return pydotcompute.load(project, target=target)

    return load


@pytest.fixture
def ones(backend):
    return backend.to_device(np.ones(40, "f4"))


# --------------------------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize("status", [700, 716])
@pytest.mark.parametrize("calls", [0, 1, 2, 3])
def test_an_earlier_fault_is_not_the_artifacts(afresh, ones, status, calls):
    """At a first call, which loads, at one by the rules, and at one from the launch cache."""
    lib = afresh()
    for _ in range(calls):
        lib.silu(ones), lib.histogram(ones, 0.0, 1.0, 3)
    _machine.devices[0].fault = status, "before"
    for call in (lambda: lib.silu(ones), lambda: lib.histogram(ones, 0.0, 1.0, 3)):
        text = r"(silu|histogram): CUDA device 0 is of no more use to this process, because a kernel or a copy that was"
        with pytest.raises(RuntimeError, match=text) as caught:
            call()
        assert caught.value.__cause__.status == status
        assert "build" not in str(caught.value) and not isinstance(caught.value, LookupError)


@pytest.mark.parametrize("calls", [0, 2, 3])
def test_a_fault_of_a_real_kernel(afresh, backend, calls):
    """A store outside of an array, by a kernel of somebody else, seen by the next call of ours."""
    lib, x = afresh(), backend.to_device(np.ones(40, "f4"))
    for _ in range(calls):
        lib.silu(x)
    outside = cupy.ndarray((400,), "f4", cupy.empty(10, "f4").data)
    runtime.memsetAsync(outside.data.ptr, 1, 1600, 0)
    _machine.devices[0].run()
    with pytest.raises(RuntimeError, match="of no more use to this process.*illegal memory access"):
        lib.silu(x)
    other = CUDABackend(device_id=1)
    assert other.to_host(lib.silu(other.allocate(3))).tolist() == [0, 0, 0]


# ------------------------------------------------------------------------------------------------ code that does not load


def refusing(monkeypatch, status, *markers):
    """A driver that does not load code with these bytes."""
    load = driver.moduleLoadData

    def refuse(image):
        if any(marker in image for marker in markers):
            raise driver.CUDADriverError(status)
        return load(image)

    monkeypatch.setattr(driver, "moduleLoadData", refuse)


@pytest.fixture
def nine(monkeypatch):
    """Devices that run cubins for 9.0."""
    monkeypatch.setattr(_machine, "CAPABILITIES", [(9, 0)])
    monkeypatch.setattr("pydotcompute.devices.registry._instances", {})
    cuda.on_device.cache_clear()
    yield
    cuda.on_device.cache_clear()


def test_the_next_verdict_serves_where_a_cubin_does_not_load(nine, afresh, ones):
    """The emulated devices load no cubins at all."""
    lib = afresh()
    assert lib.silu.which(ones).target == "cuda:sm_90"
    with pytest.warns(ArtifactFallbackWarning) as told:
        out = lib.silu(ones)
    text = str(told[0].message)
    assert len(told) == 1 and told[0].filename == __file__
    assert "for cuda:sm_90: device 0 cannot load" in text and "cuda:compute_80 serves in its place" in text
    np.testing.assert_allclose(CUDABackend().to_host(out), 1 / (1 + np.exp(-1)), 1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            lib.silu(ones)
    which = lib.silu.which(ones)
    assert which.target == "cuda:compute_80"
    reason = next(r.reason for r in which.rejected if r.target == "cuda:sm_90" and "float32" in r.specialization)
    assert reason.startswith("it cannot be loaded (CUDA_ERROR_NO_BINARY_FOR_GPU")


def test_cubins_of_another_architecture_are_refused_by_the_driver_alone(nine, project, ones, tmp_path):
    """The cache finds no fault with a project that is made so, on whatever machine: tests on devices use one."""
    lib = pydotcompute.load(with_refused_cubins(project, tmp_path / "project", "axpy", 75))
    assert lib.axpy.which(2.0, ones, ones).target == "cuda:sm_90"
    with pytest.warns(ArtifactFallbackWarning, match="CUDA_ERROR_NO_BINARY_FOR_GPU.*\n.*compute_80 serves in its place"):
        out = lib.axpy(2.0, ones, ones)
    assert CUDABackend().to_host(out).tolist() == [3] * 40
    loaded = [r for r in Cache(tmp_path / "project").records(["axpy"]) if r.suffix == ".cubin"]
    assert len(loaded) >= 2 and all(75 in Path(r.path).read_bytes()[FLAGS] and not r.fault for r in loaded)


def test_a_pinned_target_that_does_not_load_is_an_error(nine, afresh, ones):
    lib = afresh("cuda:sm_90")
    for _ in range(2):
        with pytest.raises(KernelNotBuiltError, match="cannot load|cannot be loaded"):
            lib.silu(ones)


def test_what_the_drivers_compiler_says(afresh, ones, monkeypatch):
    refusing(monkeypatch, 218, b".version")
    with pytest.raises(KernelNotBuiltError, match="INVALID_PTX") as caught:
        afresh().silu(ones)
    assert "the driver's compiler says: ptxas application ptx input, line 1; fatal : " in str(caught.value)


@pytest.mark.parametrize("status", sorted(cuda_context.LOST))
def test_losses_while_loading_are_no_errors_of_loading(afresh, ones, monkeypatch, status):
    class Lost(driver.CUDADriverError):
        def __init__(self):
            self.status = status
            RuntimeError.__init__(self, f"error {status}")

    def fail(image):
        raise Lost

    monkeypatch.setattr(driver, "moduleLoadData", fail)
    with pytest.raises(RuntimeError, match="of no more use") as caught:
        afresh().silu(ones)
    assert not isinstance(caught.value, LookupError) and "build" not in str(caught.value)


# ------------------------------------------------------------------------------------------------------- contexts


@pytest.mark.parametrize("calls", [0, 1, 2, 3])
def test_a_context_of_somebody_else_is_current(afresh, backend, ones, calls):
    lib = afresh()
    for _ in range(calls):
        lib.axpy(2.0, ones, ones), lib.sum(ones)
    foreign = driver.ctxCreate(0)
    out, total = lib.axpy(2.0, ones, ones), lib.sum(ones)
    assert driver.ctxGetCurrent() == foreign
    assert backend.to_host(out).tolist() == [3] * 40 and backend.to_host(total) == 40
    assert backend.to_host(backend.to_device(np.ones(3))).tolist() == [1] * 3
    assert backend.allocate(3).device.id == 0 and driver.ctxGetCurrent() == foreign
    with pytest.raises(ValueError):
        lib.axpy(2.0, ones, ones[:3])
    assert driver.ctxGetCurrent() == foreign


@pytest.mark.parametrize("calls", [0, 1, 2, 3])
def test_a_context_that_is_destroyed_is_current(afresh, backend, ones, calls):
    lib = afresh()
    for _ in range(calls):
        lib.axpy(2.0, ones, ones)
    driver.ctxDestroy(driver.ctxCreate(0))
    for _ in range(3):
        assert backend.to_host(lib.axpy(2.0, ones, ones)).tolist() == [3] * 40


def test_a_call_leaves_the_context_that_was_current(afresh, ones):
    lib, there = afresh(), CUDABackend(device_id=1).to_device(np.ones(40, "f4"))
    foreign = driver.ctxCreate(1)
    for context in (_machine.PRIMARY, _machine.PRIMARY + 1, foreign):
        for _ in range(3):
            for x in (ones, there):
                driver.ctxSetCurrent(context)
                lib.axpy(2.0, x, x)
                assert driver.ctxGetCurrent() == context
    runtime.setDevice(0)


def test_a_thread_without_a_context(afresh, ones):
    lib, there, seen = afresh(), CUDABackend(device_id=1).to_device(np.ones(40, "f4")), []

    def work():
        seen.append(driver.ctxGetCurrent())
        lib.axpy(2.0, there, there)
        seen.append(runtime.getDevice())
        lib.axpy(2.0, ones, ones)
        seen.append(runtime.getDevice())

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == [0, 0, 0] * 3


def test_handles_of_another_context_are_called_so(afresh, ones, monkeypatch):
    lib = afresh()

    def fail(*_):
        raise driver.CUDADriverError(400)

    for _ in range(3):
        lib.silu(ones)
    monkeypatch.setattr(driver, "launch", fail)
    with pytest.raises(RuntimeError, match="silu: a stream or an array of the call is not of the primary context"):
        lib.silu(ones, stream=0x77)


# ---------------------------------------------------------------------------------------------- drivers that hang


def test_a_driver_that_does_not_answer():
    code = """
import time
from pydotcompute.backends.cuda import driver as cuda_driver
from pydotcompute.backends.cuda.backend import CUDABackend, unavailable
cuda_driver.PATIENCE = 1
start = time.time()
print(CUDABackend.check_available(), unavailable(start=False))
print(time.time() - start < 15)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "EMULATED_HANG": "100"},
        timeout=60,
    )  # fmt: skip
    reason = "the NVIDIA driver does not answer: a process that asked it was still waiting after 1 s"
    assert done.stdout.splitlines() == [f"False {reason}", "True"], done.stderr
    assert 10 <= cuda_driver.PATIENCE <= 60


# ----------------------------------------------------------------------------------------------------- finalisers


class Calls:
    """Something in a circle, whose end calls a kernel."""

    def __init__(self, call):
        self.call, self.circle = call, self

    def __del__(self):
        self.call()


@pytest.mark.parametrize("where", ["fill", "launch", "stream"])
def test_a_finaliser_calls_the_kernel_whose_plan_is_being_run(afresh, backend, where, monkeypatch, served):
    """At each place of a call from which other code may be reached, and without an end it would wait for itself."""
    lib, inner, running = afresh(), [], []
    one, two = (backend.to_device(np.full(n, v, "f4")) for n, v in ((50, 0.5), (50, 2.5)))
    def collected(*args, function):
        if running and not inner:
            inner.append(None)
            Calls(lambda: inner.append(lib.histogram(two, 0.0, 3.0, 3)))
            gc.collect()
        return function(*args)

    place, name = {
        "fill": (runtime, "memsetAsync"), "launch": (driver, "launchKernel"), "stream": (cupy.cuda, "get_current_stream"),
    }[where]  # fmt: skip
    function = getattr(place, name)
    patched = lambda *args: collected(*args, function=function)  # noqa: E731
    monkeypatch.setattr(place, name, patched)
    for module in ("launch_code", "copies"):
        if where == "stream":
            monkeypatch.setattr(f"pydotcompute.backends.cuda.{module}.get_current_stream", patched)
    for _ in range(2):
        wanted = [lib.histogram(x, 0.0, 3.0, 3) for x in (one, two)]
    running.append(True)
    served.count = 0
    done, out = threading.Event(), []

    def work():
        runtime.setDevice(0)
        out.append(lib.histogram(one, 0.0, 3.0, 3))
        done.set()

    threading.Thread(target=work, daemon=True).start()
    assert done.wait(20), "the call waits for itself"
    assert len(inner) == 2 and served.count >= 2
    for got, want in zip((out[0], inner[1]), wanted):
        np.testing.assert_array_equal(backend.to_host(got), backend.to_host(want))


def test_many_threads_share_a_plan(afresh, backend):
    lib, wrong = afresh(), []

    def work(value):
        x, out = backend.to_device(np.full(20, value, "f4")), backend.allocate(20)
        for k in range(60):
            lib.axpy(float(k), x, x, out)
            if (backend.to_host(out) != k * value + value).any():
                wrong.append((value, k))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(1, 5)))
    assert not wrong
