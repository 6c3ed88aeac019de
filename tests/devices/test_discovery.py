"""What there is to run on, and what is said of what there is not."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pydotcompute import BackendNotAvailableError, get_backend
from pydotcompute.backends import (
    Backend, DeviceInfo, best_available_backend, discover_backends, print_backend_summary, register_backend,
    unregister_backend,
)
from pydotcompute.backends.device_info import processor_name
from pydotcompute.backends.cpu.host_memory import host_memory
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
    for name in ("rocm", "opencl", "webgpu"):  # as the machine has a driver, or not
        info = found.pop(name)
        assert info.available == bool(info.devices) == (not info.error)
    for name, info in found.items():
        assert not info.available and info.devices == ()
        assert info.error.startswith(f"this version of pydotcompute has no {info.title} backend")
        with pytest.raises(BackendNotAvailableError) as caught:
            get_backend(name)
        assert str(caught.value) == info.error


def test_nothing_that_a_backend_does_stops_the_discovery(pool):
    answer = None

    class Listing(type(pool)):
        name = "odd"

        def devices(self):
            return answer()

    class Measuring(type(pool)):
        name = "odd"
        devices = Backend.devices

        def get_memory_info(self):
            return answer()

    def gone():
        raise OSError("the driver\nis gone")

    def silent():
        raise SystemError

    def look(factory):
        register_backend("odd", factory)
        try:
            assert main(["backends"]) == main(["backends", "--json"]) == 0
            found = {info.name: info for info in discover_backends()}
        finally:
            unregister_backend("odd")
        assert found["pool"].available
        return found["odd"]

    for factory, answer, error in (
        (Listing, gone, "OSError: the driver is gone"),
        (Listing, lambda: sys.exit(3), "SystemExit: 3"),
        (Listing, lambda: (), "it has no device"),
        (Listing, lambda: ["card"], "TypeError: its devices must be DeviceInfo, got str"),
        (Listing, lambda: [DeviceInfo(0, "", 2**64)], f"ValueError: its memory must be numbers of bytes, got {2**64}"),
        (Measuring, lambda: ("much", "more"), "ValueError: its memory must be numbers of bytes, got 'more'"),
        (Measuring, lambda: 3, "TypeError: cannot unpack non-iterable int object"),
        (silent, None, "the backend 'odd' cannot be made: SystemError:"),
        (lambda: sys.exit(7), None, "the backend 'odd' cannot be made: SystemExit: 7"),
    ):
        assert look(factory)[3:] == (False, (), error)
        assert best_available_backend() == "pool"
    for answer, total, free in (
        (lambda: (np.int64(5), 1.5e9), 1_500_000_000, 5),
        (lambda: (None, None), None, None),
    ):
        assert look(Measuring).devices == (DeviceInfo(0, "odd", total, free),)


def test_an_interruption_ends_the_discovery(register):
    def interrupted():
        raise KeyboardInterrupt

    register("interrupted", interrupted)
    with pytest.raises(KeyboardInterrupt):
        discover_backends()


def test_what_installed_packages_bring_and_cannot_be_used(tmp_path):
    program = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from pydotcompute.backends import discover_backends, get_backend, print_backend_summary\nfrom pydotcompute.devices import registry\n"
        "first = discover_backends()\n"
        "print_backend_summary()\n"
        "print(len(first), len(discover_backends()), [info.name for info in first[7:]])\n"
        "print(type(get_backend('pool')).__module__)\n"
    )
    code = (Path(__file__).parent / "pool.py").read_text()
    for package, lines in (
        ("broken", "pool = pool:PoolBackend\nfoo"),
        ("other", "[unrelated]\nfoo"),
        ("first", "pool = pool_of_first:PoolBackend"),
        ("second", "pool = leaving\ncpu = leaving\nauto = leaving\nBad-Name = leaving\nleaving = leaving"),
    ):
        info = tmp_path / package / f"{package}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        group = "" if lines.startswith("[") else "[pydotcompute.backends]\n"
        (info / "entry_points.txt").write_text(f"{group}{lines}\n")
    (tmp_path / "first" / "pool_of_first.py").write_text(code)
    (tmp_path / "second" / "leaving.py").write_text("import sys\nsys.exit(7)\n")
    folders = [str(tmp_path / package) for package in ("broken", "other", "first", "second")]
    done = subprocess.run([sys.executable, "-c", program, *folders, folders[2]], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    *summary, found, module = done.stdout.splitlines()
    assert "✓ pool (from first)" in summary and module == "pool_of_first"
    rest = summary[summary.index("✓ CPU (CPU)") + 2 :]
    shape = "a backend's name is of lower-case letters, digits and underscores, and not 'auto'; got"
    at = rest.index("✗ broken (package)")
    assert rest[at + 1].startswith("    Error: its entry_points.txt cannot be read (TypeError: ")
    assert rest[:at] + rest[at + 2 :] == [
        "✗ pool (from second)", "    Error: a backend 'pool' is registered already (from first)",
        "✗ cpu (from second)", "    Error: a backend 'cpu' is registered already (built in)",
        "✗ auto (from second)", f"    Error: {shape} 'auto'",
        "✗ Bad-Name (from second)", f"    Error: {shape} 'Bad-Name'",
        "", "Recommended backend: pool",
    ]  # fmt: skip
    assert "    Error: the backend 'leaving' cannot be made: SystemExit: 7" in summary
    assert found == "13 13 ['cpu', '', '', '', '', '']"


def test_a_backend_that_calls_itself_otherwise_is_told(register, pool):
    register("other", type(pool))
    with pytest.warns(UserWarning, match="the backend registered as 'other' calls itself 'pool'"):
        assert get_backend("other").name == "pool"


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


def test_the_summary_on_a_stream_that_has_no_marks(pool):
    file = io.TextIOWrapper(io.BytesIO(), "ascii")
    print_backend_summary(file)
    file.seek(0)
    lines = file.read().splitlines()
    assert lines[1:3] == ["- CUDA (CUDA)", "    Error: there is no driver"] and "+ pool (registered)" in lines
    assert any(line.endswith("register_backend('metal', ?)") for line in lines)
    command = [sys.executable, "-m", "pydotcompute", "backends"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "") and "+ CPU (CPU)" in done.stdout


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
