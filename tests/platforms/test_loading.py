"""Loading where a system has no memfd, no locks, no users, as Windows and macOS: a bundle in place, private copies."""

import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import pydotcompute
from pydotcompute.cache import objects

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "tests/packaging/released/0.1.0"
# What Linux has and another system may not; a kernel is called by its native entry point nevertheless.
BARE = """
import os, sys
for name in ("memfd_create", "geteuid", "getuid", "register_at_fork", "sched_getaffinity", "O_NOFOLLOW",
             "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_DIRECTORY", "O_PATH"):
    if hasattr(os, name):
        delattr(os, name)
os.supports_dir_fd.clear()
for name in ("fcntl", "grp", "pwd", "resource"):
    sys.modules[name] = None
import numpy as np
import pydotcompute

lib = pydotcompute.load(sys.argv[1])
x = np.arange(7, dtype="f4")
assert (lib.saxpy(2.0, x, x) == 3 * x).all()
assert lib.saxpy._dispatcher.entry is not None
print(lib.saxpy.which(2.0, x, x).target)
"""


def artifacts():
    lib = pydotcompute.load(BUNDLE)
    return [a for s in lib.saxpy._record.specialisations.values() for a in s.artifacts if a.target == "cpu:x86-64-v2"]


def test_a_bundle_serves_where_nothing_of_posix_is():
    done = subprocess.run([sys.executable, "-c", BARE, str(BUNDLE)], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "cpu:x86-64-v2\n", done.stderr


def test_a_build_says_that_it_cannot_be(tmp_path):
    program = "import sys; sys.modules['fcntl'] = None; from pydotcompute.cache import lock"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert "CompilerNotInstalledError: nothing is built on this system" in done.stderr


def mapped(library):
    """The file that a library's code comes from."""
    address = ctypes.addressof(ctypes.c_char.in_dll(library, "run"))
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if start <= address < end:
            return line.split(None, 5)[5]
    raise AssertionError(address)


def test_copies_are_private_and_removed(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    one, other = (objects.open_library(artifacts()[0]) for _ in range(2))
    assert mapped(one).startswith(f"{tmp_path}/pydotcompute-") and mapped(one) != mapped(other)
    ctypes.c_int32.in_dll(one, "threads").value = 7
    assert ctypes.c_int32.in_dll(other, "threads").value == 1
    assert not list(tmp_path.iterdir())
    for library in (one, other):
        objects.close_library(library)


@pytest.fixture
def as_on_windows(monkeypatch, tmp_path):
    """What is loaded cannot be removed there; and another function unloads it, which is asked for by name."""
    monkeypatch.setattr(objects, "system", lambda: "windows")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delattr(os, "memfd_create")
    loaded, unlink, plain = set(), os.unlink, ctypes.PyDLL

    def refused(path, **more):
        if path in loaded:
            raise PermissionError(13, "it is loaded", path)
        unlink(path, **more)

    def load(path):
        loaded.add(path)
        return real(path)

    class Kernel32:
        def __init__(self, name):
            assert name == "kernel32"

        def FreeLibrary(self, handle):
            freed.append(handle.value)
            loaded.clear()
            return plain(None).dlclose(handle)

    real, freed = ctypes.CDLL, []
    monkeypatch.setattr(os, "unlink", refused)
    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setattr(ctypes, "PyDLL", Kernel32)
    return freed


def test_on_windows_a_file_is_loaded_where_it_stands_once_and_copies_go_when_they_can(as_on_windows, tmp_path):
    artifact = artifacts()[0]
    old, young = tmp_path / "pydotcompute-old.so", tmp_path / "pydotcompute-young.so"
    for path in (old, young):
        path.write_bytes(b"")
    os.utime(old, (1, 1))
    first, second = objects.open_library(artifact), objects.open_library(artifact)
    assert Path(mapped(first)) == Path(artifact.path).resolve()
    copies = [path for path in tmp_path.iterdir() if path != young]
    assert [str(path) for path in copies] == [mapped(second)]  # and the old one is gone
    objects.close_library(second)
    assert len(as_on_windows) == 1 and list(tmp_path.iterdir()) == [young]
    objects.close_library(first)
    assert Path(artifact.path).exists()
