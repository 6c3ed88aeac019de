"""What there is to run on, and what is said of what there is not."""

import io
import json
import re

import pytest

from pydotcompute import BackendNotAvailableError, get_backend
from pydotcompute.backends import (
    DeviceInfo, best_available_backend, discover_backends, print_backend_summary, register_backend, unregister_backend,
)
from pydotcompute.backends.devices import processor_name
from pydotcompute.backends.memory import host_memory
from pydotcompute.cli import main

NAMES = ["cuda", "rocm", "metal", "opencl", "webgpu", "cpu"]


@pytest.fixture
def register():
    names = []

    def one(name, factory, *priority):
        register_backend(name, factory, *priority)
        names.append(name)

    yield one
    for name in names:
        unregister_backend(name)


def test_every_backend_is_listed_with_its_devices_or_the_reason():
    found = {info.name: info for info in discover_backends()}
    assert list(found) == NAMES
    cpu = found.pop("cpu")
    (device,) = cpu.devices
    free, total = host_memory()
    assert cpu.available and cpu.error == "" and (device.index, device.name) == (0, processor_name())
    assert device.total_memory == total and abs(device.free_memory - free) < total / 10
    assert device.compute_capability is None and device.unified_memory is False
    assert found.pop("cuda").error == "there is no driver"
    for name, info in found.items():
        assert not info.available and info.devices == ()
        assert info.error.startswith(f"this version of pydotcompute has no {info.title} backend")
        with pytest.raises(BackendNotAvailableError) as caught:
            get_backend(name)
        assert str(caught.value) == info.error


def test_nothing_that_a_backend_does_stops_the_discovery(register, pool):
    class Broken(type(pool)):
        def devices(self):
            raise OSError("the driver\nis gone")

    class Empty(type(pool)):
        def devices(self):
            return ()

    def silent():
        raise SystemError

    register("broken", Broken)
    register("empty", Empty, 70)
    register("silent", silent)
    found = {info.name: info for info in discover_backends()}
    assert found["broken"][3:] == (False, (), "the driver is gone")
    assert found["empty"][3:] == (False, (), "it has no device")
    assert found["silent"].error == "the backend 'silent' cannot be made: SystemError:"
    assert found["pool"].available and best_available_backend() == "pool"


def test_the_summary(pool):
    text = io.StringIO()
    print_backend_summary(text)
    lines = text.getvalue().splitlines()
    assert lines[0] == "=== Available Backends ==="
    assert lines[1:3] == ["✗ CUDA (CUDA)", "    Error: there is no driver"]
    at = lines.index("✓ pool (registered)")
    assert lines[at + 1] == "    [0] a pool of bytes: 0.00 GB (0.00 GB free, unified memory)"
    at = lines.index("✓ CPU (CPU)")
    name = re.escape(processor_name())
    assert re.fullmatch(rf"    \[0\] {name}: [0-9]+\.[0-9]{{2}} GB \([0-9]+\.[0-9]{{2}} GB free\)", lines[at + 1])
    assert lines[-2:] == ["", "Recommended backend: pool"]


def test_the_command(capsys, tmp_path):
    assert main(["backends"]) == 0
    assert capsys.readouterr().out.endswith("\n\nRecommended backend: CPU\n")
    assert main(["backends", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["recommended"] == "cpu" and [b["name"] for b in printed["backends"]] == NAMES
    assert printed["backends"][-1]["devices"][0]["total_memory"] == host_memory()[1]
    assert printed["backends"][0] == {
        "name": "cuda", "title": "CUDA", "kind": "CUDA", "available": False, "error": "there is no driver",
        "devices": [],
    }  # fmt: skip
    assert main(["backends", "-C", str(tmp_path / "nowhere")]) == 2


def test_a_device_says_what_fits():
    device = DeviceInfo(1, "card", 8 * 2**30, 3 * 2**30, (9, 0))
    assert (device.total_gb(), device.free_gb()) == (8.0, 3.0)
    assert device.can_fit(3 * 2**30) and not device.can_fit(3 * 2**30 + 1)
    assert str(device) == "[1] card: 8.00 GB (3.00 GB free)"
    unknown = DeviceInfo(0, "card", 1000)
    assert unknown.free_gb() is None and unknown.can_fit(800) and not unknown.can_fit(801)
    assert str(DeviceInfo(0, "card", 2**30, unified_memory=True)) == "[0] card: 1.00 GB (unified memory)"
    nothing = DeviceInfo(0, "card", None)
    assert nothing.total_gb() is None and not nothing.can_fit(1) and str(nothing) == "[0] card: memory unknown"


def test_memory_within_limits_of_version_1(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 1000 kB\nMemAvailable: 800 kB\n")
    (tmp_path / "membership").write_text("5:cpu,cpuacct:/other\n4:memory:/box/inner\n1:name=systemd:/x\n")
    top = tmp_path / "cgroup" / "memory"
    inner = top / "box" / "inner"
    inner.mkdir(parents=True)

    def seen():
        return host_memory(str(tmp_path / "meminfo"), str(tmp_path / "cgroup"), str(tmp_path / "membership"))

    (inner / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    (inner / "memory.usage_in_bytes").write_text("5000\n")
    (inner / "memory.stat").write_text("cache 1\ninactive_file 0\n")
    assert seen() == (800 * 1024, 1000 * 1024)
    (inner / "memory.limit_in_bytes").write_text("100000\n")
    assert seen() == (95_000, 100_000)
    (inner / "memory.stat").write_text("total_inactive_file 3000\n")
    assert seen() == (98_000, 100_000)
    (top / "memory.limit_in_bytes").write_text("50000\n")
    (top / "memory.usage_in_bytes").write_text("49000\n")
    assert seen() == (1000, 50_000)
    (tmp_path / "membership").write_text("4:memory:/of/the/host/not/here\n")
    assert seen() == (1000, 50_000)
