"""The CPU backend's own members: memory, copies, features."""

import numpy as np
import pytest

import pydotcompute
from pydotcompute.backends import CPUBackend, get_backend
from pydotcompute.backends.cpu.host_memory import host_memory
from pydotcompute.errors import AllocationError


@pytest.fixture
def cpu():
    return CPUBackend()


def test_it_is_always_there(cpu):
    assert cpu.name == "cpu" and cpu.is_available is True
    assert type(get_backend("cpu")) is CPUBackend and get_backend("cpu") is pydotcompute.get_backend("cpu")


def test_allocate(cpu):
    made = cpu.allocate((2, 3))
    assert made.dtype == np.float32 and made.shape == (2, 3) and made.flags.c_contiguous and not made.any()
    assert cpu.allocate(4, np.int64).shape == (4,) and cpu.allocate(4, "float64").dtype == np.float64
    assert (
        cpu.allocate(()).shape == ()
        and cpu.allocate((0, 3)).size == 0
        and cpu.allocate([2, np.int64(2)]).shape == (2, 2)
    )
    for shape in (-1, (2, -3)):
        with pytest.raises(ValueError, match="negative size"):
            cpu.allocate(shape)
    with pytest.raises(ValueError, match="maximum supported dimension"):
        cpu.allocate((1,) * 65)
    for shape in (1.5, (2.0,), "3"):
        with pytest.raises(TypeError):
            cpu.allocate(shape)
    with pytest.raises(TypeError):
        cpu.allocate(3, "no dtype")
    for shape in (2**50, (2**40, 2**40)):
        with pytest.raises(AllocationError, match="no memory for [0-9]+ bytes .*; [0-9]+ of [0-9]+ are free"):
            cpu.allocate(shape)
    assert issubclass(AllocationError, MemoryError)


def test_copies(cpu):
    fit = np.arange(6.0).reshape(2, 3)
    assert cpu.to_device(fit) is fit
    for unfit in (fit.T, fit[:, ::2], fit.astype(">f8"), np.frombuffer(bytes(49), "u1")[1:].view("f8")):
        made = cpu.to_device(unfit)
        assert made.flags.c_contiguous and made.flags.aligned and made.dtype.isnative
        np.testing.assert_array_equal(made, unfit)
        assert made.dtype.name == unfit.dtype.name and made.shape == unfit.shape
    assert cpu.to_device(np.zeros(())).shape == ()
    with pytest.raises(TypeError, match="object"):
        cpu.to_device(np.array([object()]))
    with pytest.raises(TypeError, match="what to copy is a masked array; kernels know no masks"):
        cpu.to_device(np.ma.array([1.0, 2.0], mask=[0, 1]))
    back = cpu.to_host(fit)
    assert back is not fit and not np.shares_memory(back, fit)
    np.testing.assert_array_equal(back, fit)
    for foreign in ([1.0], 3, object()):
        with pytest.raises(TypeError, match="NumPy arrays"):
            cpu.to_host(foreign)
    assert cpu.synchronize() is None


def test_memory(cpu, tmp_path):
    free, total = cpu.get_memory_info()
    assert type(free) is int and type(total) is int and 0 < free <= total
    (tmp_path / "meminfo").write_text("MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    600 kB\n")
    (tmp_path / "membership").write_text("1:name=systemd:/x\n0::/a/b\n")
    group = tmp_path / "cgroup" / "a" / "b"
    group.mkdir(parents=True)

    def measured():
        return host_memory(str(tmp_path / "meminfo"), str(tmp_path / "cgroup"), str(tmp_path / "membership"))

    assert measured() == (600 * 1024, 1000 * 1024)
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("5000\n")
    assert measured() == (600 * 1024, 1000 * 1024)
    (group / "memory.max").write_text("100000\n")
    assert measured() == (95000, 100000)
    (group / "memory.stat").write_text("anon 7\ninactive_file 3000\n")
    assert measured() == (98000, 100000)
    (group.parent / "memory.max").write_text("50000\n")
    (group.parent / "memory.current").write_text("49000\n")
    assert measured() == (1000, 50000)
    (group / "memory.current").write_text("100001\n")
    assert measured()[0] == 1000


def test_features(cpu):
    assert [cpu.supports_feature(f) for f in ("threads", "atomics", "float64")] == [True] * 3
    assert [cpu.supports_feature(f) for f in ("async", "streams", "shared_memory", "fp16", "")] == [False] * 5
