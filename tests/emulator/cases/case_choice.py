"""What a process with devices chooses, says and refuses."""

import os
import subprocess
import sys

import cupy
import numpy as np
import pytest
from cupy import _machine

import pydotcompute
from pydotcompute import KernelNotBuiltError, get_backend
from pydotcompute.backends import backend_of
from pydotcompute.backends.cuda.backend import CUDABackend
from pydotcompute.devices.registry import backend_names
from tests.targets.opencl import run as opencl
from tests.targets.webgpu import run as webgpu


def run(*args, **environment):
    return subprocess.run(
        [sys.executable, "-m", "pydotcompute", *args], capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_discovery():
    found = {info.name: info for info in pydotcompute.discover_backends()}
    names = [device.name for device in found["cuda"].devices]
    assert found["cuda"].available and names == ["Emulated device 0", "Emulated device 1"]
    assert pydotcompute.best_available_backend() == "cuda" and "cuda" in backend_names()
    assert get_backend("cuda") is get_backend("auto") is get_backend("cuda")


def test_bytes_that_a_backend_must_have():
    total = get_backend("cuda").get_memory_info()[1]
    assert get_backend("auto", require_bytes=total // 2).name == "cuda"
    with pytest.warns(pydotcompute.BackendFallbackWarning):
        assert get_backend("auto", require_bytes=total + 1).name == "cpu"
    with pytest.raises(pydotcompute.AllocationError, match="are required"):
        get_backend("cuda", require_bytes=total + 1)


def test_the_command_backends():
    done = run("backends")
    assert done.returncode == 0 and "Emulated device 1" in done.stdout, done.stdout + done.stderr
    none = run("backends", EMULATED_DEVICES="0")
    assert none.returncode == 0 and "CUDA_ERROR_NO_DEVICE" in none.stdout, none.stdout + none.stderr


def test_the_command_check(project):
    done = run("check", "-C", project, "-t", "cuda:compute_80", "silu")
    assert done.returncode == 0 and "2 artifacts, 0 failed, 0 not run" in done.stderr, done.stdout + done.stderr
    none = run("check", "-C", project, "-t", "cuda:compute_80", "silu", EMULATED_DEVICES="0")
    assert none.returncode == 1 and none.stdout.count("not run  silu") == 2, none.stdout + none.stderr
    assert "the NVIDIA driver does not start (CUDA_ERROR_NO_DEVICE)" in none.stdout


def test_a_driver_that_is_too_old(project):
    code = f"""
import cupy, pydotcompute
lib = pydotcompute.load({project!r})
try:
    lib.silu(cupy.zeros(4, 'f4'))
except pydotcompute.KernelNotBuiltError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "EMULATED_DRIVER": "10020"}
    )
    assert "needs a driver for CUDA" in done.stdout and "this one is for CUDA 10.2" in done.stdout, done
    assert "is not built" not in done.stdout and "is built, but not so that it runs here (" in done.stdout, done
    major, minor = get_backend("cuda").compute_capability
    assert f" -t cuda:sm_{major}{minor} -C " in done.stdout, done


def test_nothing_built_for_a_device(tmp_path, backend):
    (tmp_path / "kernels.yaml").write_text(
        'version: 1\nkernels:\n  twice:\n    signature: "(x: float32[n]) -> (out: float32[n])"\n'
        "    body: |\n      for i in grid(n):\n          out[i] = 2 * x[i]\n"
    )
    assert run("build", "-C", str(tmp_path)).returncode == 0
    library = pydotcompute.load(tmp_path)
    assert library.twice(np.ones(3, "f4")).tolist() == [2, 2, 2]
    with pytest.raises(KernelNotBuiltError, match="cuda"):
        library.twice(cupy.zeros(3, "f4"))
    with pytest.raises(KernelNotBuiltError, match="cuda"):
        library.twice(np.ones(3, "f4"), backend="cuda")
    assert not _machine.devices[0].launched


def test_devices_of_different_kinds_run_different_artifacts(tmp_path):
    (tmp_path / "kernels.yaml").write_text(
        'version: 1\nkernels:\n  twice:\n    signature: "(x: float32[n]) -> (out: float32[n])"\n'
        "    body: |\n      for i in grid(n):\n          out[i] = 2 * x[i]\n"
    )
    assert run("build", "-C", str(tmp_path), "-t", "cuda:compute_80", "-t", "cuda:compute_90").returncode == 0
    code = f"""
import cupy, numpy, pydotcompute
from pydotcompute.backends.cuda import CUDABackend
twice = pydotcompute.load({str(tmp_path)!r}).twice
for number in (0, 1, 0, 1, 0, 1, 0):
    backend = CUDABackend(device_id=number)
    x = backend.to_device(numpy.arange(3, dtype="f4"))
    out = twice(x)
    print(out.device.id, backend.to_host(out).tolist(), twice.which(x).target)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "EMULATED_CAPABILITY": "9.0,8.0"}
    )
    targets = ["cuda:compute_90", "cuda:compute_80"]
    assert done.stdout.splitlines() == [f"{k % 2} [0.0, 2.0, 4.0] {targets[k % 2]}" for k in range(7)], done.stderr


def test_operations(library, backend, draw, monkeypatch):
    from pydotcompute import kernels, operations

    monkeypatch.setattr(kernels, "_library", library)
    x, y = draw(6, 7), draw(6, 7)
    out = operations.sub(backend.to_device(x), y)
    assert type(out) is cupy.ndarray
    np.testing.assert_array_equal(backend.to_host(out), x - y)
    assert (backend.to_host(operations.ones((3, 2), backend="cuda")) == 1).all()
    there = CUDABackend(device_id=1).to_device(x)
    for right, wanted in ((2.0, x - 2), (y, x - y), (backend.to_device(y), x - y)):
        out = operations.sub(there, right)  # where its first array is
        assert out.device.id == 1
        np.testing.assert_array_equal(backend.to_host(out), wanted)
    turned = operations.matmul(there.T, there)  # of views, without a compiler
    np.testing.assert_allclose(backend.to_host(turned), x.T @ x, 1e-5, 1e-5)
    total = operations.sum(there)
    assert total.shape == () and operations.div(there, total).device.id == 1
    assert pydotcompute.to_backend(there, "cuda") is there
    assert pydotcompute.to_backend(there, backend).device.id == 0


def test_arrays_go_to_the_devices_of_others_and_come_back(backend, draw):
    x = draw(6, 7)
    for name in [n for n, missing in (("opencl", opencl.missing), ("webgpu", webgpu.missing)) if not missing()]:
        there = pydotcompute.to_backend(backend.to_device(x), name)
        assert backend_of(there).name == name
        back = pydotcompute.to_backend(there, backend)
        assert type(back) is cupy.ndarray
        np.testing.assert_array_equal(backend.to_host(back), x)
