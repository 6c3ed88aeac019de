"""Choosing a backend: preferences, order, memory; and moving arrays between backends."""

import gc
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from pydotcompute import AllocationError, BackendFallbackWarning, BackendNotAvailableError, get_backend
from pydotcompute.backends import (
    Backend, BackendPreference, backend_names, backend_of, best_available_backend, estimate_inference_memory,
    register_backend, set_backend_priority, to_backend, unregister_backend,
)  # fmt: skip
from pydotcompute.devices import preference, registry
from pydotcompute.devices.registry import all_names, preferred_names


def quiet(name="auto", size=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BackendFallbackWarning)
        return get_backend(name, size).name


def test_every_preference_is_accepted_everywhere():
    assert [str(p) for p in BackendPreference] == ["auto", "cpu", "cuda", "metal", "rocm", "opencl", "webgpu"]
    assert quiet(BackendPreference.AUTO) == quiet(BackendPreference.CPU) == "cpu"
    for wish in (BackendPreference.CUDA, BackendPreference.METAL, BackendPreference("rocm")):
        with pytest.raises(BackendNotAvailableError):
            get_backend(wish)
    with pytest.raises(ValueError, match="there is no backend 'tpu'"):
        get_backend("tpu")


def test_the_order_of_auto_and_the_places_that_are_kept_in_it(pool):
    assert all_names() == ["cuda", "rocm", "metal", "opencl", "webgpu", "pool", "cpu"]
    assert quiet() == "pool"
    register_backend("metal", type("Card", (type(pool),), {"name": "metal"}))
    try:
        assert quiet() == quiet(BackendPreference.METAL) == best_available_backend() == "metal"
        assert all_names() == ["cuda", "rocm", "metal", "opencl", "webgpu", "pool", "cpu"]
    finally:
        unregister_backend("metal")


def test_a_priority_holds_for_the_process_and_with_a_block(pool):
    with set_backend_priority(["cpu", "pool"]):
        assert quiet() == best_available_backend() == "cpu"
        with set_backend_priority([BackendPreference.CUDA, "pool"]):
            told = "is 'pool', because others are not available \\(cuda: there is no driver"
            with pytest.warns(BackendFallbackWarning, match=told):
                assert get_backend().name == "pool"
            seen = []
            thread = threading.Thread(target=lambda: seen.append(best_available_backend()))
            thread.start()
            thread.join()
            assert seen == ["pool"]
        assert quiet() == "cpu"
        with set_backend_priority(["webgpu"]):  # the CPU when none of them is there
            assert quiet() == best_available_backend() == "cpu"
        assert get_backend("pool") is pool
    assert quiet() == "pool"
    try:
        set_backend_priority(["cpu"])
        assert quiet() == "cpu"
        with pytest.raises(ZeroDivisionError), set_backend_priority(None):
            assert quiet() == "pool"
            raise ZeroDivisionError
        assert quiet() == "cpu"
        wrongs = [
            ([], "names no backend"), (["cpu", "cpu"], "stands twice"), (["gpu"], "no backend 'gpu'"),
            (["auto"], "no backend 'auto'"),
        ]  # fmt: skip
        for wrong, error in wrongs:
            with pytest.raises(ValueError, match=error):
                set_backend_priority(wrong)
        with pytest.raises(TypeError, match=r"write \['cpu'\]"):
            set_backend_priority("cpu")
        assert quiet() == "cpu"
    finally:
        set_backend_priority(None)
    assert quiet() == "pool"


def test_blocks_of_several_threads_take_back_their_own_priority(pool):
    names = []

    def enter(order):
        block = ExitStack()
        block.enter_context(set_backend_priority(order))
        names.append(quiet())
        return block

    def in_a_thread(function, *given):
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(function, *given).result()

    one = in_a_thread(enter, ["cpu"])
    other = in_a_thread(enter, ["cuda", "pool"])
    in_a_thread(one.close)
    names.append(quiet())  # the other block's still
    in_a_thread(other.close)
    names.append(quiet())
    assert names == ["cpu", "pool", "pool", "pool"]
    one, other = in_a_thread(enter, ["cuda", "pool"]), in_a_thread(enter, ["cpu"])
    in_a_thread(one.close)
    names.append(quiet())
    in_a_thread(other.close)
    names.append(quiet())
    assert names[4:] == ["pool", "cpu", "cpu", "pool"]


def test_many_threads_leave_the_priority_as_it_was(pool):
    def work(k):
        for _ in range(200):
            with set_backend_priority(["cpu"]), set_backend_priority(["pool", "cuda"] if k % 2 else ["cuda"]):
                get_backend("cpu")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    set_backend_priority(["webgpu", "cpu"])
    try:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(work, range(4)))
        assert preferred_names() == ["webgpu", "cpu"]
    finally:
        sys.setswitchinterval(interval)
        set_backend_priority(None)
    assert preferred_names() == backend_names()


def test_a_priority_that_is_kept_can_be_entered_again():
    with set_backend_priority(None):
        kept = set_backend_priority(["metal"])
        set_backend_priority(["rocm"])
        for _ in range(2):
            with kept:
                assert preferred_names() == ["metal", "cpu"]
                with set_backend_priority(["opencl"]), kept:
                    assert preferred_names() == ["metal", "cpu"]
                assert preferred_names() == ["metal", "cpu"]
                with set_backend_priority(["opencl"]):
                    with kept:
                        pass
                    assert preferred_names() == ["opencl", "cpu"]
            assert preferred_names() == ["rocm", "cpu"]
        set_backend_priority(["webgpu"])
    assert preferred_names() == ["webgpu", "cpu"]  # a plain call outlives the block
    for _ in range(100):
        set_backend_priority(None)
    assert preferred_names() == backend_names() and len(preference._wishes) < 5  # and keeps nothing from before


def test_memory_that_must_be_free(pool):
    free, total = get_backend("cpu").get_memory_info()
    assert quiet("auto", 1 << 20) == "pool"
    told = r"too small \(.*pool: has 0.00 GB \(1048576 bytes\) free, 0.00 GB \(1048577 bytes\) are required"
    with pytest.warns(BackendFallbackWarning, match=told):
        assert get_backend("auto", require_bytes=(1 << 20) + 1).name == "cpu"
    with pytest.raises(AllocationError) as caught:
        get_backend("pool", require_bytes=2**31)
    assert str(caught.value) == (
        "the backend 'pool' has 0.00 GB (1048576 bytes) free, 2.00 GB (2147483648 bytes) are required"
    )
    told = rf"no backend has the memory: .*pool: .*; cpu: has .* free, .*\({2**60} bytes\) are required"
    with pytest.raises(AllocationError, match=told):
        get_backend(require_bytes=2**60)
    assert quiet("cpu", 0) == quiet("cpu", np.int64(free // 2)) == "cpu"
    with pytest.raises(BackendNotAvailableError):
        get_backend("cuda", require_bytes=1)
    for wrong, error in [(-1, ValueError), (1.5, TypeError), ("1", TypeError)]:
        with pytest.raises(error, match="require_bytes must be"):
            get_backend("cpu", require_bytes=wrong)


def test_a_backend_that_does_not_know_its_memory_does_not_fit_by_guessing(pool):
    class Unknown(type(pool)):
        name = "unknown"

        def get_memory_info(self):
            raise NotImplementedError

        devices = pool.__class__.__mro__[1].devices

    class Total(Unknown):
        name = "total"

        def devices(self):
            from pydotcompute.backends import DeviceInfo

            return (DeviceInfo(0, "card", 1000),)

    register_backend("unknown", Unknown)
    register_backend("total", Total)
    try:
        with pytest.raises(AllocationError, match="'unknown' does not know its memory, .*100 bytes"):
            get_backend("unknown", require_bytes=100)
        assert get_backend("total", require_bytes=800).name == "total"
        with pytest.raises(AllocationError, match=r"has 0.00 GB \(1000 bytes\) in all, of which 0.8 may be used"):
            get_backend("total", require_bytes=801)
    finally:
        unregister_backend("unknown")
        unregister_backend("total")


def test_a_backend_that_cannot_tell_its_memory_is_passed_over_with_the_reason(pool):
    class Stuck(type(pool)):
        name = "stuck"

        def get_memory_info(self):
            raise self.answer

    class Odd(Stuck):
        def get_memory_info(self):
            return self.answer

    class Lost(type(pool)):
        name = "stuck"
        get_memory_info = Backend.get_memory_info

        def devices(self):
            return [self.answer]

    cases = [
        (Stuck, RuntimeError("no context"), "cannot tell its memory (RuntimeError: no context), "),
        (Stuck, SystemExit(3), "cannot tell its memory (SystemExit: 3), "),
        (Odd, 3, "cannot tell its memory (TypeError: cannot unpack non-iterable int object), "),
        (Odd, ("a", "b"), "cannot tell its memory (ValueError: its memory must be numbers of bytes, got 'b'), "),
        (Odd, (-1, 9), "cannot tell its memory (ValueError: its memory must be numbers of bytes, got -1), "),
        (Odd, (float("nan"), 9), "cannot tell its memory (ValueError: its memory must be numbers of bytes, got nan), "),
        (Odd, (None, None), "does not know its memory, "),
        (Lost, "card", "cannot tell its memory (TypeError: its devices must be DeviceInfo, got str), "),
    ]  # fmt: skip
    for kind, answer, why in cases:
        kind.answer = answer
        register_backend("stuck", kind, 200)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                registry._told.clear()
                assert get_backend(require_bytes=5) is pool
            assert [f"(stuck: {why}0.00 GB (5 bytes) are required; cuda: " in str(w.message) for w in caught] == [True]
            with pytest.raises(AllocationError) as raised:
                get_backend("stuck", require_bytes=5)
            assert str(raised.value) == f"the backend 'stuck' {why}0.00 GB (5 bytes) are required"
            assert isinstance(answer, BaseException) is (raised.value.__cause__ is answer)
            with pytest.raises(AllocationError, match="no backend has the memory: stuck: ") as raised:
                quiet("auto", 2**60)
            assert isinstance(answer, BaseException) is (raised.value.__cause__ is answer)
        finally:
            unregister_backend("stuck")
    Stuck.answer = KeyboardInterrupt()
    register_backend("stuck", Stuck, 200)
    try:
        with pytest.raises(KeyboardInterrupt):
            get_backend(require_bytes=5)
    finally:
        unregister_backend("stuck")


def test_memory_beyond_what_an_address_can_count(pool):
    for size in (2**64, 10**400, 10**5000):
        with pytest.raises(AllocationError, match="free, more bytes than an address can count are required"):
            get_backend("pool", require_bytes=size)
        with pytest.raises(AllocationError, match="no backend has the memory: .*pool: .*cpu: "):
            get_backend(require_bytes=size)


def test_each_new_way_to_fall_back_is_told_once(pool):
    def told(*names, size=None):
        with warnings.catch_warnings(record=True) as caught, set_backend_priority(names or None):
            warnings.simplefilter("always")
            chosen = get_backend(require_bytes=size).name
        return [chosen, *(str(w.message).partition(" (")[0] for w in caught)]

    missing = "because others are not available"
    small = "because others are not available or too small"
    assert told("rocm", "metal") == ["cpu", f"the backend 'auto' is 'cpu', {missing}"]
    assert told("rocm", "metal") == ["cpu"]
    assert told("metal") == ["cpu", f"the backend 'auto' is 'cpu', {missing}"]
    assert told("cuda", "pool") == ["pool", f"the backend 'auto' is 'pool', {missing}"]
    assert told("cuda", "pool", size=1 << 21) == ["cpu", f"the backend 'auto' is 'cpu', {small}"]
    block = pool.allocate(1000)
    assert told("cuda", "pool", size=1 << 21) == ["cpu"]  # with other figures
    assert told("cpu", "cuda") == ["cpu"]
    del block
    no_metal = r"\(metal: this version of pydotcompute has no Metal backend"
    with pytest.warns(BackendFallbackWarning, match=no_metal), set_backend_priority(["metal", "cuda"]):
        get_backend()
    with set_backend_priority(["pool"]):
        unregister_backend("pool")
        with pytest.warns(BackendFallbackWarning, match="pool: there is no backend 'pool' any more"):
            assert get_backend().name == "cpu"


def test_an_estimate():
    estimate = estimate_inference_memory(4096, 14336, 32, 32000, 32, 8, 4096, 4)
    assert estimate.total_bytes == 30_040_932_352 == sum(estimate)
    assert round(estimate.total_gb(), 2) == 27.98
    assert estimate_inference_memory(10, 7, 1, 3, 4, 1, 0, 1) == (200 + 40 + 210 + 20 + 60 + 10, 0, 48)  # d = 10 // 4
    wrong = [
        (dict(hidden=0), ValueError), (dict(heads=0), ValueError), (dict(sequence=-1), ValueError),
        (dict(kv_heads=9), ValueError), (dict(hidden=4), ValueError), (dict(layers=1.0), TypeError),
        (dict(bytes=True), ValueError),
    ]  # fmt: skip
    for change, error in wrong:
        sizes = dict(hidden=64, intermediate=8, layers=2, vocab=9, heads=8, kv_heads=2, sequence=5, bytes=2) | change
        with pytest.raises(error, match=next(iter(change))):
            estimate_inference_memory(**sizes)


def test_arrays_go_to_a_backend_and_back(pool):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert to_backend(x, "cpu") is x and to_backend(x) is x
    there = to_backend(x[:, ::2], "pool")
    assert backend_of(there) is pool and there.shape == (3, 2) and pool.used == 24
    assert to_backend(there, "pool") is there and to_backend(there, pool) is there
    back = to_backend(there, BackendPreference.CPU)
    np.testing.assert_array_equal(back, x[:, ::2])
    back[...] = -1
    np.testing.assert_array_equal(to_backend(there, "cpu"), x[:, ::2])  # the source is as it was
    assert quiet() == "pool" and to_backend(there, "auto") is there
    del there
    gc.collect()
    assert pool.used == 0
    with pytest.raises(BackendNotAvailableError, match="no driver"):
        to_backend(x, "cuda")
    with pytest.raises(TypeError, match="list is not an array of any backend in use"):
        to_backend([1.0], "cpu")


def test_memory_that_is_out_keeps_its_cause_and_moves_nothing(pool):
    x = np.zeros(1 << 20, np.float32)
    for make in (lambda: to_backend(x, "pool"), lambda: pool.allocate(x.shape), lambda: pool.to_device(x)):
        with pytest.raises(AllocationError, match="no memory for 4194304 bytes") as caught:
            make()
        assert "1048576 of 1048576" in str(caught.value.__cause__) and pool.used == 0
    with pytest.raises(AllocationError) as caught:
        get_backend("cpu").allocate(1 << 60)
    assert isinstance(caught.value.__cause__, (MemoryError, ValueError))


def test_a_registered_backend_does_everything_that_ours_do(pool):
    assert get_backend("pool") is pool

    def double(x, out):
        out[:] = 2 * x

    x, out = pool.to_device(np.arange(5.0)), pool.allocate(5, np.float64)
    kernel = pool.compile_kernel(double, ("float64[:]", "float64[:]"))
    pool.launch_kernel(kernel, (1,), (5,), x, out)
    pool.synchronize()
    np.testing.assert_array_equal(pool.to_host(out), 2 * np.arange(5.0))
    assert pool.get_memory_info() == ((1 << 20) - 80, 1 << 20) and not pool.supports_feature("streams")
    with pytest.raises(TypeError, match="2 arguments, got 1"):
        pool.launch_kernel(kernel, (1,), (5,), x)


def test_the_same_backend_brought_by_an_installed_package(tmp_path):
    (tmp_path / "pool.py").write_text((Path(__file__).parent / "pool.py").read_text())
    info = tmp_path / "pool-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pool\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pydotcompute.backends]\npool = pool:PoolBackend\n")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np\n"
        "from pydotcompute.backends import *\n"
        "x = np.arange(3.0)\n"
        "assert (to_backend(to_backend(x, 'pool'), 'cpu') == x).all()\n"
        "assert get_backend('pool', require_bytes=100).total == 1 << 20\n"
        "with set_backend_priority(['pool', 'cuda']):\n    print(best_available_backend())\n"
        "print(*(str(info).splitlines()[0] for info in discover_backends() if info.name == 'pool'))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "pool\n✓ pool (from pool)\n"
