"""The WebGPU backend: its arrays, its memory, what it refuses, and calls through it."""

import multiprocessing
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.targets.webgpu import run

if reason := run.missing():
    pytest.skip(reason, allow_module_level=True)

from tests.targets.built import same
from tests.targets.device_support import artifact_of
from tests.targets.webgpu.webgpu_support import backend, loop

import pydotcompute
from pydotcompute.backends.webgpu import WebGPUBackend
from pydotcompute.backends.webgpu.arrays import most_bytes
from pydotcompute.backends.webgpu.devices import all_adapters, lacking
from pydotcompute.calls import arguments
from pydotcompute.cli import main
from pydotcompute.devices import registry
from pydotcompute.errors import AllocationError, BackendNotAvailableError, CompilationError, KernelNotBuiltError

FORK = multiprocessing.get_context("fork")


def test_views_are_seen_as_numpy_sees_them():
    x = np.arange(60, dtype="i2").reshape(6, 10)
    there = backend().to_device(x)
    for view in (lambda a: a[1:4, 2:5], lambda a: a[::2, ::-3], lambda a: a.T, lambda a: a[3], lambda a: a[2, 5],
                 lambda a: a[..., 1], lambda a: a[None, 1:2]):  # fmt: skip
        wanted = view(x)
        same(np.atleast_1d(backend().to_host(view(there))), np.atleast_1d(wanted), str(np.shape(wanted)))
        assert view(there).shape == np.shape(wanted)
    with pytest.raises(TypeError, match="integers, slices"):
        there[[1, 2]]
    with pytest.raises(IndexError):
        there[6]


def test_another_shape_is_a_view():
    x = np.arange(24, dtype="f4").reshape(2, 3, 4)
    there = backend().to_device(x)
    for shape in ((6, 4), (-1,), (4, -1, 2), (24,)):
        for seen in (there.reshape(shape), there.reshape(*shape)):
            assert seen.buffer is there.buffer
            same(backend().to_host(seen), x.reshape(shape), str(shape))
    same(backend().to_host(there[1:].reshape(-1)), x[1:].reshape(-1), "a part")
    assert backend().allocate((0, 3)).reshape(3, 0).shape == (3, 0)
    for wrong in (lambda: there.reshape(5, 5), lambda: there.reshape(-1, -1), lambda: there.T.reshape(-1)):
        with pytest.raises(ValueError):
            wrong()


def test_too_large_an_array_is_an_allocation_error():
    size = most_bytes(backend().device) + 1
    with pytest.raises(AllocationError, match=f"for {size} bytes .*: one array may have at most {size - 1} bytes there"):
        backend().allocate(size, np.uint8)


def test_what_is_not_an_array_is_refused():
    with pytest.raises(TypeError, match="has arrays of its own, got ndarray"):
        backend().to_host(np.zeros(3))
    with pytest.raises(TypeError, match="not numbers"):
        backend().to_device(np.array(["a"]))
    with pytest.raises(CompilationError, match="declared in kernels.yaml"):
        backend().compile_kernel(lambda x: x, (np.float32,))


def test_devices_and_memory():
    devices = backend().devices()
    assert devices and devices[0].name == backend().device_name
    if backend().on_processor:
        free, total = backend().get_memory_info()
        assert 0 < free <= total == devices[0].total_memory
    with pytest.raises(ValueError, match=f"device_id must be 0 to {len(devices) - 1}"):
        WebGPUBackend(device_id=len(devices))
    assert backend().supports_feature("shared_memory") and not backend().supports_feature("float64")


def test_wgpu_is_another_name_of_it():
    assert registry.get_backend("wgpu") is registry.get_backend("webgpu")
    with registry_order(["wgpu"]):
        assert registry.preferred_names() == ["webgpu", "cpu"]


def registry_order(names):
    from pydotcompute.backends import set_backend_priority

    return set_backend_priority(names)


def test_nothing_is_imported_before_it_is_asked_for():
    code = (
        "import sys, numpy, pydotcompute, pydotcompute.backends as b; h = b.get_backend('cpu'); "
        "h.to_host(b.to_backend(numpy.ones(3), 'cpu')); assert 'wgpu' not in sys.modules; print('none')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "none\n", done.stderr


AXPY = "for i in grid(size):\n    out[i] = a * x[i] + y[i]"
SIGNATURE = "(a: T, x: T[...], y: T[...]) -> (out: T[...])"
TYPES = "types: {T: [float32]}"


def test_a_library_that_is_built_for_it(tmp_path, capsys):
    (tmp_path / "kernels.yaml").write_text(
        f'version: 1\ntargets: [webgpu]\nkernels:\n  axpy:\n    signature: "{SIGNATURE}"\n    {TYPES}\n'
        "    reference: a * x + y\n    body: |\n      for i in grid(size):\n          out[i] = a * x[i] + y[i]\n"
    )
    assert main(["build", "-C", str(tmp_path)]) == 0
    command = [sys.executable, "-m", "pydotcompute", "check", "-C", str(tmp_path)]  # its child must find no device
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "axpy T=float32 webgpu" in done.stdout, done.stdout + done.stderr
    lib, here = pydotcompute.load(str(tmp_path)), registry.get_backend("webgpu")
    x, y = np.random.default_rng(1).normal(size=(2, 1000)).astype("f4")
    wanted = np.float32(2) * x + y  # a product by two is exact
    moved = lib.axpy(2.0, x, y, backend="wgpu")
    assert isinstance(moved, np.ndarray)
    same(moved, wanted, "host arrays")
    there = [here.to_device(v) for v in (x, y)]
    out = lib.axpy(2.0, *there)
    same(here.to_host(out), wanted, "out")
    given = here.allocate(1000)
    assert lib.axpy(2.0, *there, out=given) is given
    same(here.to_host(given), wanted, "given")
    same(here.to_host(lib.axpy(2.0, there[0], there[1], out=there[1])), wanted, "in place")
    same(here.to_host(lib.axpy(1.0, there[0][:499], there[0][1:500])), x[:499] + x[1:500], "parts of one buffer")
    lib.axpy(1.0, there[0][:100], there[0][100:200], out=there[0][200:300])
    same(here.to_host(there[0])[200:300], x[:100] + x[100:200], "out is a part of the same buffer")
    with pytest.raises(ValueError, match="share memory"):
        lib.axpy(1.0, there[0][:100], there[0][100:200], out=there[0][50:150])
    with pytest.raises(TypeError, match="float64"):
        lib.axpy(1.0, here.to_device(np.zeros(3)), here.to_device(np.zeros(3)))
    assert lib.axpy.which(2.0, *there).target == "webgpu"
    assert pydotcompute.backends.to_backend(out, "cpu").shape == (1000,)


def test_a_fault_is_raised_by_the_next_call_there():
    kernel = loop("(x: float32[n], k: int32[m]) -> (out: float32[m])", "for i in grid(m):\n    out[i] = x[k[i]]")
    loaded = backend().load_kernel(artifact_of(kernel))

    def call(k):
        values = [backend().to_device(v) for v in (np.arange(5, dtype="f4"), np.array(k, "i4"))]
        given, chosen = arguments.assign(kernel.record.name, kernel.record.signature, {}, values, {})
        return loaded(arguments.check(kernel.record, given, chosen, backend().arrays))

    call([0, 7])  # nobody waits
    with pytest.raises(IndexError, match="k:3:20: index 7 is outside x, which has 5"):
        call([1, 2])
    same(backend().to_host(call([4, 2])), np.array([4, 2], "f4"), "free again")
    call([-1])
    with pytest.raises(IndexError, match="index -1 is outside x"):
        backend().synchronize()


def test_a_child_that_was_forked_is_told(tmp_path):
    """It has none of wgpu's threads, and would wait for them."""
    here = backend()
    there = here.to_device(np.ones(3))
    asked = {
        "another": lambda: WebGPUBackend(), "memory": lambda: here.allocate(3), "read": lambda: here.to_host(there),
        "write": lambda: here.to_device(np.ones(2)), "wait": here.synchronize,
    }  # fmt: skip

    def child(sender):
        said = {"there": WebGPUBackend.check_available()}
        for name, ask in asked.items():
            try:
                said[name] = ask()
            except BackendNotAvailableError as error:
                said[name] = str(error)
        sender.send(said)

    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=child, args=(sender,), daemon=True)
    process.start()
    assert receiver.poll(30), "the child hangs"
    said = receiver.recv()
    process.join(30)
    assert process.exitcode == 0 and said.pop("there") is False and said.keys() == asked.keys()
    for text in said.values():
        assert "'webgpu' is not available: the process that this one was forked from has used wgpu" in text
    same(here.to_host(there), np.ones(3), "and here all goes on")


def test_what_a_device_lacks_is_said():
    meta = {"launches": [{"block": 64}], "bindings": {"k": [[1, True]]}, "shared": 0}
    assert lacking(backend().device, meta) == ""
    assert "threads a block, and this has 4096" in lacking(backend().device, meta | {"launches": [{"block": 4096}]})
    assert "bytes of shared memory" in lacking(backend().device, meta | {"shared": 10**9})
    assert "at most" in lacking(backend().device, meta | {"bindings": {"k": [[1, True]] * 1000}})


def test_a_source_that_wgpu_refuses(tmp_path):
    kernel = loop("(x: float32[n]) -> (out: float32[n])", "for i in grid(n):\n    out[i] = x[i]")
    broken = artifact_of(replace(kernel, data=kernel.data.replace(b"@compute", b"@mesh")))
    with pytest.raises(KernelNotBuiltError, match="wgpu refused"):
        backend().load_kernel(broken)


def test_every_adapter_is_one_device():
    assert len({adapter.info["device"] for adapter in all_adapters()}) == len(all_adapters())


