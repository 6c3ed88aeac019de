"""The OpenCL backend: its arrays, its memory, what it refuses, and how it finds compiled kernels again."""

import os
import subprocess
import sys

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest
from tests.targets.built import same
from tests.targets.device_support import CACHE, artifact_of
from tests.targets.opencl.opencl_support import backend, load, loop
from tests.targets.references import PROJECT

import pydotcompute
from pydotcompute.artifact import identity
from pydotcompute.cache.files import sha256
from pydotcompute.cli import main
from pydotcompute.devices import registry
from pydotcompute.backends.opencl import OpenCLBackend, programs
from pydotcompute.backends.opencl.devices import lacking
from pydotcompute.errors import AllocationError, KernelNotBuiltError
from pydotcompute.calls import arguments
from pydotcompute.runtime import transfer


def test_too_large_an_array_is_an_allocation_error():
    size = backend().device.max_mem_alloc_size + 1
    with pytest.raises(AllocationError, match=f"{size} bytes .*has {backend().device.global_mem_size} in all"):
        backend().allocate(size, np.uint8)


def test_what_is_not_an_array_is_refused():
    with pytest.raises(TypeError, match="pyopencl arrays, got ndarray"):
        backend().to_host(np.zeros(3))
    with pytest.raises(TypeError, match="not numbers"):
        backend().to_device(np.array(["a"]))


def test_devices_and_memory():
    devices = backend().devices()
    assert devices and devices[0].name == backend().device_name and devices[0].total_memory > 0
    free, total = backend().get_memory_info()
    assert 0 < free <= total == devices[0].total_memory
    with pytest.raises(ValueError, match=f"device_id must be 0 to {len(devices) - 1}"):
        OpenCLBackend(device_id=len(devices))
    assert backend().supports_feature("float64") == ("cl_khr_fp64" in backend().device.extensions)
    assert backend().supports_feature("shared_memory") and not backend().supports_feature("tensor_cores")


AXPY = "for i in grid(size):\n    out[i] = a * x[i] + y[i]"
SIGNATURE = "(a: T, x: T[...], y: T[...]) -> (out: T[...])"
TYPES = "types: {T: [float32]}"


class Library:
    """A kernel as the run half calls it with this backend's arrays."""

    def __init__(self, built):
        self.built, self.record = built, built.record

    def __call__(self, *args, **kwargs):
        given, chosen = arguments.assign(
            self.record.name, self.record.signature, self.record.params, args, kwargs
        )
        owner = next((v for v in given.values() if isinstance(v, cl_array.Array)), None)
        here = backend().of_array(owner) if owner is not None else backend()
        call = arguments.check(self.record, given, chosen, here.arrays)
        return here.load_kernel(artifact_of(self.built))(call)


def test_calls_with_arrays_that_are_there():
    kernel = Library(loop(SIGNATURE, AXPY, TYPES))
    x, y = np.random.default_rng(1).normal(size=(2, 1000)).astype("f4")
    there = [backend().to_device(v) for v in (x, y)]
    out = kernel(2.0, *there)
    same(backend().to_host(out), np.float32(2) * x + y, "out")  # a product by two is exact
    given = backend().allocate(1000)
    assert kernel(2.0, *there, out=given) is given
    same(backend().to_host(given), backend().to_host(out), "given")
    one = there[0].reshape(1, 1000)[:, 3:4]  # an axis of one element has any stride
    same(backend().to_host(kernel(2.0, one, one)), 3 * x[3:4].reshape(1, 1), "one")
    same(backend().to_host(kernel(2.0, there[0], there[1], out=there[1])), backend().to_host(out), "in place")


def test_arrays_in_a_context_and_queue_of_the_users():
    kernel = Library(loop(SIGNATURE, AXPY, TYPES))
    context = cl.Context([backend().device])
    queue = cl.CommandQueue(context)
    x = cl_array.to_device(queue, np.arange(100, dtype="f4"))
    out = kernel(2.0, x, x[::1])
    assert out.context == context
    same(out.get(), 3 * np.arange(100, dtype="f4"), "out")
    with pytest.raises(ValueError, match="another context"):
        kernel(2.0, backend().to_device(np.zeros(100, "f4")), x)


def test_parts_of_arrays_and_rows_whose_length_is_an_expression():
    body = "for i, j in grid(m, n):\n    out[i, j + 1] = x[i, j] + y[i, j + 1]\nfor i in grid(m):\n    out[i, 0] = y[i, 0]"
    kernel = Library(loop("(x: strided T[m, n], y: T[m, n + 1]) -> (out: T[m, n + 1])", body, TYPES))
    x, y = np.arange(60, dtype="f4").reshape(6, 10), np.arange(12, dtype="f4").reshape(3, 4) / 8
    out = kernel(backend().to_device(x)[1:6:2, 3:9:2], backend().to_device(y))
    same(backend().to_host(out), np.concatenate([y[:, :1], x[1:6:2, 3:9:2] + y[:, 1:]], axis=1), "out")


def test_a_fault_in_a_loop_that_the_host_runs_is_told():
    body = "for t in range(2):\n    for i in grid(n):\n        scatter(out, k[i], x[i])"
    kernel = Library(loop("(k: int64[n], x: T[n]) -> (out: T[n] = 0)", body, TYPES))
    with pytest.raises(IndexError, match="index 9 is outside out, which has 3"):
        kernel(backend().to_device(np.array([0, 1, 9])), backend().to_device(np.ones(3, "f4")))
        backend().synchronize()


def test_what_a_call_refuses():
    kernel = Library(loop(SIGNATURE, AXPY, TYPES))
    x = backend().to_device(np.arange(100, dtype="f4"))
    with pytest.raises(ValueError, match="share memory"):
        kernel(2.0, x[1:], x[1:], out=x[:-1])
    with pytest.raises(ValueError, match="C-contiguous"):
        kernel(2.0, x[::2], x[::2])
    with pytest.raises(TypeError, match="must be a pyopencl array, got numpy.ndarray"):
        kernel(2.0, x, np.zeros(100, "f4"))
    with pytest.raises(TypeError, match="must be float32, got float64"):
        kernel(2.0, x, backend().to_device(np.zeros(100)))


def test_host_arrays_are_moved(monkeypatch):
    monkeypatch.setitem(registry._registered, "opencl", registry.Registered(backend, 70, "registered"))
    monkeypatch.delitem(registry._instances, "opencl", raising=False)
    built = loop("(x: inout T[n], w: T[n]) -> (total: T = 0)", "for i in grid(n):\n    x[i] = x[i] * w[i]", TYPES)
    kernel, x, w = Library(built), np.arange(5, dtype="f4"), np.full(5, 2, "f4")
    given, chosen = arguments.assign("k", built.record.signature, {}, (x, w), {})
    total = transfer.run_on(transfer.backend_named(built.record, "opencl"), built.record, given, chosen, kernel)
    same(x, 2 * np.arange(5, dtype="f4"), "x")
    assert total == 0 and isinstance(total, np.float32)


# ------------------------------------------------------------------------------------------------- binary cache


def files():
    folder = os.path.join(CACHE, "devices")
    return {f for f in os.listdir(folder)} if os.path.isdir(folder) else set()


def test_a_compiled_kernel_is_found_again_and_a_damaged_one_is_not_believed():
    before = files()
    built = loop(SIGNATURE, AXPY.replace("a * x[i]", "a * x[i] * 7"), TYPES)
    load(built)
    with open(artifact_of(built).path, "rb") as file:
        source = file.read()
    (new,) = files() - before
    path = os.path.join(CACHE, "devices", new)
    assert new == programs.identity(backend().device, source) + ".bin"
    with open(path, "rb") as file:
        kept = file.read()
    x = backend().to_device(np.ones(3, "f4"))

    def result():
        return backend().to_host(Library(built)(2.0, x, x)).tolist()

    assert result() == [15, 15, 15]
    for damaged in (b"", kept[:-1], kept[:100], kept[:64] + b"\0" + kept[65:], b"garbage" * 100, sha256(b"").encode()):
        with open(path, "wb") as file:
            file.write(damaged)
        assert result() == [15, 15, 15]
        with open(path, "rb") as file:
            assert programs._read(CACHE, f"devices/{new}", None)  # made anew
    with open(path, "wb") as file:  # whole, but nothing that a driver reads
        file.write(sha256(b"nonsense").encode() + b"nonsense")
    assert result() == [15, 15, 15]


def test_a_cache_that_cannot_be_written_is_no_hindrance(tmp_path):
    source = b"kernel void f(global float *x) { x[get_global_id(0)] += 1; }"
    blocked = tmp_path / "file"
    blocked.write_text("")
    program = programs.load(backend().context, backend().device, source, str(blocked))
    assert cl.Kernel(program, "f").num_args == 1


def test_the_drivers_refusal_is_told(tmp_path):
    built = loop(SIGNATURE, AXPY.replace("+", "-"), TYPES)
    whole = artifact_of(built)
    text = identity.bind(b"kernel void k(global float *x) { undeclared(x) }", whole.said, "//")
    wrong = whole._replace(digest=sha256(text), size=len(text), folder=str(tmp_path))
    os.makedirs(os.path.dirname(wrong.path))
    with open(wrong.path, "wb") as file:
        file.write(text)
    with pytest.raises(KernelNotBuiltError, match="(?s)the driver of .* refused .*undeclared"):
        backend().load_kernel(wrong)
    with open(wrong.path, "ab") as file:
        file.write(b" ")
    with pytest.raises(KernelNotBuiltError, match="is damaged"):
        backend().load_kernel(wrong)


# ------------------------------------------------------------------------------------------------ availability


class Device:
    """What `lacking` asks a device, with one answer changed."""

    def __init__(self, **changed):
        self.changed = changed

    def __getattr__(self, name):
        return self.changed[name] if name in self.changed else getattr(backend().device, name)


@pytest.mark.parametrize(
    "changed, told",
    [
        ({"version": "OpenCL 1.1 x"}, "has OpenCL 1.1, and this is for 1.2"),
        ({"extensions": ""}, "has no float64, int64 atomics"),
        ({"max_work_group_size": 64}, "at most 64 threads a block, and this has 256"),
        ({"local_mem_size": 100}, "has 100 bytes of shared memory"),
        ({"single_fp_config": 6}, "does not divide float32 with one rounding"),
        ({"single_fp_config": 0}, "no infinities"),
        ({"endian_little": False}, "big-endian"),
    ],
)
def test_a_device_that_lacks_something_says_so(changed, told):
    meta = {"launches": [{"block": 256}], "shared": 1024, "features": ["float64", "int64_atomics"]}
    assert told in lacking(Device(**changed), meta)
    assert lacking(backend().device, meta) == ""


def run(code, **environment):
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_a_platform_there_is_no_backend(tmp_path):
    code = """
from pydotcompute.backends.opencl import OpenCLBackend
from pydotcompute.errors import BackendNotAvailableError
assert not OpenCLBackend.check_available()
try:
    OpenCLBackend()
except BackendNotAvailableError as error:
    print(error)
"""
    told = run(code, OCL_ICD_VENDORS=str(tmp_path))
    assert "no driver offers an OpenCL device" in told and "pocl-opencl-icd" in told


def test_pyopencl_is_imported_only_when_a_backend_is_made():
    run("import sys, pydotcompute.backends.opencl; assert 'pyopencl' not in sys.modules")
    code = "from pydotcompute.backends.opencl.backend import unavailable\nprint(unavailable())"
    told = run(f"import sys; sys.modules['pyopencl'] = None\n{code}")
    assert "pyopencl is not installed; " in told and "pip install " in told


MADE = """
version: 1
targets: ["opencl:1.2"]
kernels:
  full:
    signature: "(n: int64, v: float32) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = v
  counted:
    signature: "(n: int64 = 7) -> (out: float32[n] = 3, s: int64)"
    body: |
      for i in grid(n // 2):
          out[i] = i
      s[()] = n
  few:
    signature: "(n: int64) -> (out: float32[<= n : k], k: int64)"
    body: |
      for i in grid(n):
          out[i] = i
      k[()] = n // 2
"""


def test_kernels_without_arrays_to_read_run_where_the_call_says(tmp_path):
    """They are built for that alone."""
    (tmp_path / "kernels.yaml").write_text(MADE)
    assert main(["build", "-q", "-C", str(tmp_path)]) == 0
    lib = pydotcompute.load(tmp_path)
    np.testing.assert_array_equal(lib.full(3, 2.0, backend="opencl"), np.full(3, 2, "f4"))
    out, count = lib.counted(backend="opencl")
    np.testing.assert_array_equal(out, np.array([0, 1, 2, 3, 3, 3, 3], "f4"))
    assert count == 7 and isinstance(count, np.int64)
    found, count = lib.few(6, backend="opencl")
    assert count == 3 and np.array_equal(found, np.arange(3)) and isinstance(found, np.ndarray)
