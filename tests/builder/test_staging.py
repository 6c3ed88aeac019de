"""Where a bundle is made on another file system than the cache's: killed at any moment, side by side, beside others."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pydotcompute.builder import staging
from pydotcompute.builder.bundle import write_bundle
from pydotcompute.cache.inspection import verify

from .project import build_project, manifest

EVENTS = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "fcntl.flock", "ctypes.dlsym", "open"}


@pytest.fixture
def other(tmp_path):
    """A folder on another file system."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has one file system")
    folder = Path(tempfile.mkdtemp(dir=memory))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def made(built):
    """Writes the bundle of the project's cache to a folder."""
    wanted = {item.name for item in build_project(built)[0].wanted}
    found = manifest(built)
    return lambda folder: write_bundle(str(built / "build" / "cache"), found, wanted, str(folder), lambda line: None)


def in_child(work, killed_at=0):
    """The exit status of a process that does this, killed before its operation on files of that number."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    count = 0

    def hook(event, arguments):
        nonlocal count
        if event in EVENTS:
            count += 1
            if count == killed_at:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.addaudithook(hook)
        work()
        os._exit(0)
    finally:
        os._exit(1)


def is_bundle(folder):
    return [finding for finding in verify(str(folder)) if finding.fault] == []


@pytest.mark.parametrize("package", [False, True])
def test_what_is_killed_leaves_nothing_in_a_package(made, other, package):
    """Nor anything at all once the next one is made."""
    parent = other / "src" / "pkg" / "inner"
    parent.mkdir(parents=True)
    if package:
        for folder in (parent, parent.parent):
            (folder / "__init__.py").touch()
    stays, ends = ["__init__.py"] * package, []
    for number in range(1, 10_000, 3):
        ends.append(in_child(lambda: made(parent / "kernels"), number))
        assert sorted(os.listdir(parent)) in (stays, [*stays, "kernels"])
        assert package <= (sorted(os.listdir(parent.parent)) == ["__init__.py", "inner"])
        if (parent / "kernels").exists():
            assert is_bundle(parent / "kernels")
            if number % 2:  # half of them make one where none is
                shutil.rmtree(parent / "kernels")
        if not ends[-1]:
            break
    assert len(ends) > 40 and set(ends) == {0, signal.SIGKILL}
    assert [path for path in other.rglob("*") if path.name.startswith(staging.NAME)] == []


def test_where_all_is_one_package_wheels_leave_out_what_is_left(made, other, monkeypatch):
    monkeypatch.setattr(staging, "_file_system", lambda folder: folder == str(other))
    (other / "__init__.py").touch()
    for number in range(1, 130, 16):
        assert in_child(lambda: made(other / "kernels"), number) == signal.SIGKILL
        left = [path.relative_to(other).parts for path in other.rglob("*") if path.is_file()]
        assert all(len(part) == 1 or part[1] == "__pycache__" for part in left if part[0] != "kernels"), left
        assert len([name for name in os.listdir(other) if name.startswith(".new-")]) <= 1, "each sweeps the one before"
    made(other / "kernels")
    assert sorted(os.listdir(other)) == ["__init__.py", "kernels"] and is_bundle(other / "kernels")


@pytest.mark.parametrize("writable", [True, False])
def test_many_at_once(made, other, writable, monkeypatch):
    """Of one cache that may be written, and of one that may only be read, which locks nobody out."""
    if not writable:
        access = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("cache") and access(path, mode))
    children = []
    for _ in range(6):
        if not (child := os.fork()):
            try:
                for _ in range(6):
                    made(other / "wheel" / "kernels")
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6
    assert is_bundle(other / "wheel" / "kernels")
    assert os.listdir(other) == ["wheel"] and os.listdir(other / "wheel") == ["kernels"]


def test_one_device_mounted_twice_is_two_file_systems(made, built, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "disk").mkdir()
    mount = ["mount", "--bind", str(tmp_path / "disk"), str(out)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this user may not mount anything")
    try:
        made(out / "wheel" / "kernels")
        assert is_bundle(out / "wheel" / "kernels") and os.listdir(out) == ["wheel"]
    finally:
        subprocess.run(["umount", "-l", str(out)], check=True)


def test_what_another_one_still_writes_is_not_swept(made, other):
    (other / "wheel").mkdir()
    with staging.staging(str(other / "nowhere"), str(other / "wheel" / "kernels")) as fresh:
        made(other / "wheel" / "kernels")
        assert os.path.isdir(fresh)
    assert os.listdir(other) == ["wheel"]
