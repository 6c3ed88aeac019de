"""A backend with arrays and artifacts of its own, added from outside: calls, errors and transfers as on the CPU.

Its device is the host, its artifacts are the CPU's; that nothing else knows so is what is tested.
"""

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("runtime", "packages")]
from abacus.backend import Arrays as AbacusArrays, Beads as Buffer  # noqa: E402

sys.path.pop(1)  # where its entry points would be found by all tests of this process
from support import array, bound, elementwise, entry_ir, kernel_entry, scalar, shared_object, write_project  # noqa: E402

import pydotcompute  # noqa: E402
from pydotcompute.backends import Backend, register_backend, unregister_backend  # noqa: E402
from pydotcompute.backends.base import Verdict  # noqa: E402
from pydotcompute.artifact import abi  # noqa: E402
from pydotcompute.cache.objects import open_library  # noqa: E402


class Arrays(AbacusArrays):
    noun = "a device buffer"

    def place(self, array):
        return "device 0"


class Device(Backend):
    name = "device"
    is_available = True
    arrays = Arrays()
    moved = 0

    def compile_kernel(self, func, signature):
        raise NotImplementedError

    def allocate(self, shape, dtype=np.float32):
        return Buffer(np.zeros(shape, dtype))

    def to_device(self, data):
        Device.moved += 1
        return Buffer(data.copy())

    def to_host(self, data):
        return data.data.copy()

    def synchronize(self):
        pass

    def judge(self, artifact):
        return (
            Verdict(rank=int(artifact.target[-1])) if artifact.target != "device:v9" else Verdict(reason="not made yet")
        )

    def load_kernel(self, artifact):
        library = open_library(artifact)

        def run(call):
            values, finish = call.complete()
            scalar_word = int.from_bytes(values["a"].tobytes(), "little")
            addresses = [self.arrays.address(values[name]) for name in ("x", "y", "out")]
            words = (ctypes.c_int64 * (5 + abi.FAULT_WORDS))(scalar_word, *addresses, call.dims["size"])
            library.run(words)
            return finish()

        return run


@pytest.fixture
def lib(tmp_path):
    register_backend("device", Device)
    parameters = [
        scalar("a", "float32"),
        *(array(n, "float32", ...) for n in "xy"),
        array("out", "float32", ..., role="out"),
    ]
    data = shared_object(entry_ir(parameters, ["size"]), elementwise())
    names = ("cpu:x86-64", "device:v1", "device:v2", "device:v9")
    targets = {name: bound(data, "axpy", parameters, target=name) for name in names}
    entry = kernel_entry("axpy", parameters, {"-": ({}, {}, [("out", "y")], targets)})
    yield pydotcompute.load(write_project(tmp_path, {"axpy": entry}, targets.values()))
    unregister_backend("device")


X = np.arange(6, dtype="f4").reshape(2, 3)


def test_its_arrays_run_its_artifacts(lib):
    backend = pydotcompute.get_backend("device")
    x = backend.to_device(X)
    for _ in range(2):
        made = lib.axpy(2.0, x, x)
        assert type(made) is Buffer and made.shape == (2, 3)
        np.testing.assert_array_equal(backend.to_host(made), 3 * X)
        np.testing.assert_array_equal(lib.axpy(2.0, X, X), 3 * X)
    out = backend.allocate((2, 3))
    assert lib.axpy(1.0, x, x, out) is out
    which = lib.axpy.which(1.0, x, x)
    assert (which.backend, which.target) == ("device", "device:v2")
    assert {r.target: r.reason for r in which.rejected} == {
        "device:v1": "device:v2 comes first", "device:v9": "not made yet",
        "cpu:x86-64": "this call runs on the backend 'device'",
    }  # fmt: skip


def test_its_errors_are_those_of_every_backend(lib):
    backend = pydotcompute.get_backend("device")
    x = backend.to_device(X)
    for args, kind, text in [
        ((2.0, x, backend.to_device(X[:1])), ValueError, "axpy: 'y' has shape (1, 3) for '...', but 'x' has (2, 3)"),
        ((2.0, x, backend.to_device(X.astype("f8"))), TypeError, "axpy: 'y' must be float32, got float64"),
        ((2.0, x, x, x), ValueError,
         "axpy: 'x' and 'out' share memory, 'out' is written, and the kernel does not work in place there"),
        ((2.0, x, X), ValueError, "axpy: 'y' is an array of the backend 'cpu', but 'x' of 'device'"),
        ((2.0, x, [1.0]), TypeError, "axpy: argument 'y' must be a device buffer, got list"),
    ]:  # fmt: skip
        with pytest.raises(kind) as caught:
            lib.axpy(*args)
        assert str(caught.value) == text


def test_host_arrays_are_moved_where_that_is_asked_for(lib):
    before = Device.moved
    for _ in range(2):
        made = lib.axpy(2.0, X, X, backend="device")
        assert type(made) is np.ndarray
        np.testing.assert_array_equal(made, 3 * X)
    assert Device.moved - before == 4
    out = np.zeros((2, 3), "f4")
    assert lib.axpy(2.0, X, X, out, backend="device") is out
    np.testing.assert_array_equal(out, 3 * X)
    np.testing.assert_array_equal(lib.axpy(2.0, X, X, backend="cpu"), 3 * X)
    assert lib.axpy.which(2.0, X, X, backend="device").target == "device:v2"
    assert lib.axpy.which(2.0, X, X, backend="cpu").target == "cpu:x86-64"
    x = pydotcompute.get_backend("device").to_device(X)
    assert type(lib.axpy(2.0, x, x, backend="device")) is Buffer
    with pytest.raises(ValueError, match="axpy: backend='cpu', but there are arrays of the backend 'device'"):
        lib.axpy(2.0, x, x, backend="cpu")
    with pytest.raises(ValueError, match="'y' has shape"):
        lib.axpy(2.0, X, X[:1], backend="device")
    with pytest.raises(ValueError, match="there is no backend 'elsewhere'"):
        lib.axpy(2.0, X, X, backend="elsewhere")
    with pytest.raises(TypeError, match="backend must be a name such as 'cpu' or 'cuda', got int"):
        lib.axpy(2.0, X, X, backend=3)


def test_a_pinned_target_of_another_backend(lib, tmp_path):
    pinned = pydotcompute.load(tmp_path, target="device:v1").axpy
    x = pydotcompute.get_backend("device").to_device(X)
    assert pinned.which(1.0, x, x).target == "device:v1"
    np.testing.assert_array_equal(pinned(2.0, X, X, backend="device"), 3 * X)
    with pytest.raises(ValueError) as caught:
        pinned(2.0, X, X)
    assert str(caught.value) == (
        "axpy: 'x' is an array of the backend 'cpu', but the target device:v1 is pinned; "
        "backend='device' moves it there"
    )
    with pytest.raises(pydotcompute.KernelNotBuiltError, match="axpy is not built for device:v7"):
        pydotcompute.load(tmp_path, target="device:v7").axpy(2.0, x, x)
