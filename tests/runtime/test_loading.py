"""Verified loading: damaged and planted files, and what happens to files under a running process."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from support import X, artifact_of, edit_manifest, fails, manifest_of, object_of, record_of, shared_object, write_saxpy

import pydotcompute
from pydotcompute import KernelNotBuiltError
from pydotcompute.artifact import identity
from pydotcompute.artifact.identity import bind
from pydotcompute.cache import manifest
from pydotcompute.cache.files import sha256
from pydotcompute.cache.layout import VERSION
from pydotcompute.cache.sealed import seal
from pydotcompute.cache.writer import read_manifest


def test_damaged_objects(tmp_path):
    write_saxpy(tmp_path)
    path, command = object_of(tmp_path), f"run: pydotcompute build saxpy -t cpu:x86-64 -C {tmp_path}"
    whole = path.read_bytes()
    path.unlink()
    path.write_bytes(whole + b"\0")
    fails(tmp_path, f"saxpy[T=float32] for cpu:x86-64: {path} is damaged: {len(whole) + 1} bytes, more than "
                    f"{len(whole)}; {command}")  # fmt: skip
    for damaged in (whole[:100], whole[:-1], b"", whole[:500] + b"?" + whole[501:]):
        path.unlink()
        path.write_bytes(damaged)
        fails(tmp_path, f"saxpy[T=float32] for cpu:x86-64: {path} is damaged: {len(damaged)} bytes with SHA-256 "
                        f"{sha256(damaged)}, expected {len(whole)} bytes with {path.stem}; "
                        f"{command}")  # fmt: skip
    path.unlink()
    fails(tmp_path, f"saxpy[T=float32] for cpu:x86-64: its object {path} is missing; {command}")
    path.mkdir()
    fails(tmp_path, f"saxpy[T=float32] for cpu:x86-64: {path} cannot be read (Is a directory); {command}")
    path.rmdir()
    path.write_bytes(whole)
    np.testing.assert_array_equal(pydotcompute.load(tmp_path).saxpy(1.0, X, X), 2 * X)


@pytest.mark.parametrize("planted", [b"", b"not an ELF file" * 50, b"\x7fELF" + bytes(500)])
def test_an_object_with_the_right_digest_that_is_no_library(tmp_path, planted):
    write_saxpy(tmp_path)
    planted = bind(planted, identity.of(object_of(tmp_path).read_bytes())[0], "")
    digest = sha256(planted)
    edit_manifest(tmp_path, lambda d: artifact_of(d).update(object=digest, size=len(planted)))
    path = manifest_of(tmp_path).parent / "objects" / digest[:2] / f"{digest}.so"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(planted)
    with pytest.raises(KernelNotBuiltError, match="cannot be loaded") as caught:
        pydotcompute.load(tmp_path).saxpy(1.0, X, X)
    assert str(path) in str(caught.value) and "run: pydotcompute build saxpy" in str(caught.value)


def test_a_library_that_is_no_kernel(tmp_path):
    write_saxpy(tmp_path)
    said = identity.of(object_of(tmp_path).read_bytes())[0]
    data = bind(shared_object("define i32 @other() {\n  ret i32 0\n}"), said, "")
    digest = sha256(data)
    edit_manifest(tmp_path, lambda d: artifact_of(d).update(object=digest, size=len(data)))
    path = manifest_of(tmp_path).parent / "objects" / digest[:2] / f"{digest}.so"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    with pytest.raises(KernelNotBuiltError, match="is not a kernel"):
        pydotcompute.load(tmp_path).saxpy(1.0, X, X)


WITHOUT_JSON = """
import sys
from pydotcompute import KernelNotBuiltError
from pydotcompute.cache import manifest

path, folder = f"{sys.argv[1]}/manifest.json", sys.argv[1]
whole = open(path).read()
damages = [damage(whole, k) for k in range(0, len(whole), 7) for damage in (
    lambda text, k: text[:k], lambda text, k: text[:k] + text[k + 1:], lambda text, k: text[:k] + '"' + text[k:],
    lambda text, k: text[:k] + "\\0" + text[k + 1:],
)]
refused = 0
for text in damages:
    with open(path, "w") as file:
        file.write(text)
    for name in [name for name in sys.modules if name.partition(".")[0] == "json"]:
        del sys.modules[name]
    try:
        manifest.read(folder, folder)
    except KernelNotBuiltError as error:
        refused += "is damaged (" in str(error)
print(refused, len(damages))
"""


@pytest.mark.slow
def test_damages_where_nobody_has_imported_json(tmp_path):
    """The interpreter's scanner, of which the manifest is read, says by that package what is wrong with a text."""
    write_saxpy(tmp_path)
    command = [sys.executable, "-c", WITHOUT_JSON, str(manifest_of(tmp_path).parent)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    refused, tried = map(int, done.stdout.split())
    assert refused > tried / 2 > 50


def test_damaged_manifests(tmp_path):
    write_saxpy(tmp_path)
    path, whole = manifest_of(tmp_path), manifest_of(tmp_path).read_text()
    remedy, reads = f"run: pydotcompute build -C {tmp_path}", f"this program reads {VERSION}"
    other = whole.replace("saxpy", "saxpz")
    for text, problem in [
        (whole[:100], "is damaged ("), ("", "is damaged ("), ("[]", "is damaged ("),
        (other, "is damaged (its digest is not that of what follows)"),
        (whole.replace(f'"version":{VERSION}', f'"version": {VERSION}'), "is damaged (its digest"),
        ("{}", "is damaged (no 'version')"),
        (f'{{"version": {VERSION}}}', "is damaged (no 'kernels')"),
        (f'{{"version": {VERSION}, "kernels": 3}}', "is damaged (its digest"),
        (f'{{"version": {VERSION + 1}, "kernels": {{}}}}', f"has format version {VERSION + 1}, {reads}; a newer"),
        ('{"version": 0, "kernels": {}}', f"has format version 0, {reads}; run"),
        ('{"version": "x", "kernels": {}}', f"has format version 'x', {reads}; run"),
        ('{"version": true, "kernels": {}}', f"has format version True, {reads}; run"),
        ('{"version": 1, "version": Infinity, "kernels": {}}', f"has format version inf, {reads}; run"),
        ("[" * 100_000, "is damaged ("),
        ("\xff", "is damaged ("),
        # what has the right digest and was written by others than us
        (seal("{}}").decode(), "is damaged ("), (seal("{'version': 1}").decode(), "is damaged ("),
        (seal(f'{{"version": {VERSION}, "kernels": 3}}').decode(), "is damaged ('kernels' is not a mapping)"),
        (seal(f'{{"version": {VERSION}, "kernels": {{}}, "stale": 3}}').decode(), "is damaged ('stale' is not"),
    ]:  # fmt: skip
        path.unlink()
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(KernelNotBuiltError) as caught:
            pydotcompute.load(tmp_path)
        assert str(caught.value).startswith(f"{path} {problem}") and str(caught.value).endswith(remedy)


def test_every_flipped_bit_of_a_manifest_is_told(tmp_path):
    """Of every byte, each of its bits in turn: in text, numbers, names, the digest itself."""
    write_saxpy(tmp_path)
    folder, whole = str(manifest_of(tmp_path).parent), manifest_of(tmp_path).read_bytes()
    assert manifest.read(folder, str(tmp_path))
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        manifest_of(tmp_path).write_bytes(damaged)
        with pytest.raises(KernelNotBuiltError, match="is damaged|has format version"):
            manifest.read(folder, str(tmp_path))
        assert read_manifest(folder) != (json.loads(whole), "")


def test_every_flipped_bit_of_a_record_is_told(tmp_path):
    write_saxpy(tmp_path)
    path, folder = record_of(tmp_path), str(manifest_of(tmp_path).parent)
    whole, kernels = path.read_bytes(), manifest.read(folder, str(tmp_path))
    told = f"{path} is damaged (kernel 'saxpy': its digest is not its name); run: pydotcompute build saxpy -C {tmp_path}"
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(KernelNotBuiltError) as caught:
            kernels["saxpy"]
        assert str(caught.value) == told
    problem = f"{path}: damaged (kernel 'saxpy': its digest is not its name)"
    assert read_manifest(folder) == ({"version": VERSION, "kernels": {}}, problem)


def test_a_library_reads_the_records_that_it_is_asked_for(tmp_path, monkeypatch):
    write_saxpy(tmp_path)
    edit_manifest(tmp_path, lambda d: d["kernels"].update(other={**d["kernels"]["saxpy"], "doc": "another"}))
    records = record_of(tmp_path), record_of(tmp_path, "other")
    read, opened = manifest.files.read, []
    monkeypatch.setattr(manifest.files, "read", lambda folder, name, *rest: opened.append(name) or read(folder, name, *rest))
    library = pydotcompute.load(tmp_path)
    assert opened == ["manifest.json"] and list(library) == ["other", "saxpy"] and len(library) == 2
    assert "other" in library and "none" not in library
    assert library.other.doc == "another"
    assert opened[1:] == [f"records/{records[1].name}"]
    records[0].unlink()
    with pytest.raises(KernelNotBuiltError) as caught:
        library.saxpy
    assert str(caught.value) == (
        f"{records[0]} is missing: if 'saxpy' was built again, load the library anew; otherwise "
        f"run: pydotcompute build saxpy -C {tmp_path}"
    )
    assert library.other.doc == "another" and len(opened) == 3


def test_a_manifest_is_damaged_the_same_with_and_without_the_json_package(tmp_path):
    """The bare scanner makes its errors by that package, which a program that only calls kernels never imports."""
    write_saxpy(tmp_path)
    program = r"""
import sys
from pydotcompute.cache import manifest, sealed
from pydotcompute.errors import KernelNotBuiltError
assert "json" not in sys.modules
for text in ('{"kernels": tru}', '{"kernels"}', '{"a": "\n"}', '{"a": 1,}', '{"a": [1,', '{"a": "\\x"}', '{"a" 1}'):
    with open(sys.argv[1] + "/build/cache/manifest.json", "wb") as file:
        file.write(sealed.seal(text))
    try:
        manifest.read(sys.argv[1] + "/build/cache", sys.argv[1])
    except KernelNotBuiltError as error:
        assert "is damaged" in str(error), error
    else:
        raise SystemExit(text)
    for name in [name for name in sys.modules if name.partition(".")[0] == "json"]:
        del sys.modules[name]
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "change",
    [
        lambda k: k.pop("parameters"), lambda k: k.update(parameters=7), lambda k: k["parameters"][0].update(dtype=3),
        lambda k: k["parameters"][0].update(role="x"), lambda k: k.update(symbols=[1]),
        lambda k: k.update(specializations=[]),
        lambda k: k["specializations"]["T=float32"].update(types={"T": "float31"}),
        lambda k: k["specializations"]["T=float32"]["artifacts"]["cpu:x86-64"].update(object="../../../etc/passwd"),
        lambda k: k["specializations"]["T=float32"]["artifacts"]["cpu:x86-64"].update(suffix="/../x"),
        lambda k: k["specializations"]["T=float32"].update(aliases=[["x"]]),
        lambda k: k.update(parameters=[]), lambda k: k["parameters"].append(k["parameters"][0]),
        lambda k: k["parameters"][1].update(ellipsis="no"), lambda k: k["parameters"][1].update(dims=[float("inf")]),
        *(lambda k, size=size: k["specializations"]["T=float32"]["artifacts"]["cpu:x86-64"].update(size=size)
          for size in (float("inf"), float("nan"), True, -1, "10", 1 << 62, 2.0)),
    ],
)  # fmt: skip
def test_a_manifest_whose_kernel_makes_no_sense(tmp_path, change):
    write_saxpy(tmp_path)
    edit_manifest(tmp_path, lambda d: change(d["kernels"]["saxpy"]))
    with pytest.raises(KernelNotBuiltError) as caught:
        pydotcompute.load(tmp_path).saxpy
    assert str(caught.value).startswith(f"{record_of(tmp_path)} is damaged (kernel 'saxpy': ")
    assert str(caught.value).endswith(f"run: pydotcompute build saxpy -C {tmp_path}")


def test_expressions_in_a_manifest_are_arithmetic_or_nothing(tmp_path):
    write_saxpy(tmp_path)
    deep = "size"
    for _ in range(200):
        deep = ["neg", deep]
    for expression in (
        "().__class__", "size.real", "__import__('os')", "", None, [], ["size"], ["+", "size"], ["+", 1, 2, 3],
        ["getattr", "size", "real"], [["+"], 1, 2], ["neg", {"a": 1}], ["<", "size", None], deep,
    ):  # fmt: skip
        edit_manifest(tmp_path, lambda d, e=expression: d["kernels"]["saxpy"].update(requires=[e]))
        with pytest.raises(KernelNotBuiltError, match="is damaged .kernel 'saxpy'"):
            pydotcompute.load(tmp_path).saxpy


def test_files_may_vanish_and_change_under_a_running_process(tmp_path):
    saxpy = pydotcompute.load(write_saxpy(tmp_path)).saxpy
    saxpy(1.0, X, X)
    path = object_of(tmp_path)
    with open(path, "r+b") as file:  # in place: what mapped this file would now crash
        file.write(bytes(path.stat().st_size))
        file.truncate(10)
    shutil.rmtree(tmp_path)
    for _ in range(3):
        np.testing.assert_array_equal(saxpy(1.0, X, X), 2 * X)
        np.testing.assert_array_equal(saxpy(1.0, X, y=X), 2 * X)
    with pytest.raises(KernelNotBuiltError, match="is missing"):
        saxpy(1.0, X.astype("f8"), X.astype("f8"))


def test_without_memfds_a_temporary_file_serves(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    one, two = (pydotcompute.load(write_saxpy(tmp_path / name)).saxpy for name in ("one", "two"))
    for kernel in (one, two, one):
        np.testing.assert_array_equal(kernel(1.0, X, X), 2 * X)
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]


def test_the_loaded_bytes_are_sealed(tmp_path):
    saxpy = pydotcompute.load(write_saxpy(tmp_path)).saxpy
    saxpy(1.0, X, X)
    with open("/proc/self/maps") as file:
        assert any("memfd:pydotcompute-saxpy" in line for line in file)
    assert not [fd for fd in os.listdir("/proc/self/fd") if "pydotcompute" in _target(fd)], "no descriptor stays open"


def _target(fd: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""


def test_first_calls_from_many_threads(tmp_path):
    saxpy = pydotcompute.load(write_saxpy(tmp_path)).saxpy
    barrier, results = threading.Barrier(8), []

    def work(dtype):
        x = np.arange(1000, dtype=dtype)
        barrier.wait()
        for _ in range(50):
            results.append(bool((saxpy(2.0, x, x) == 3 * x).all()))

    threads = [threading.Thread(target=work, args=(d,)) for d in ("f4", "f8") * 4]
    [t.start() for t in threads], [t.join() for t in threads]
    assert len(results) == 400 and all(results)
    assert len(saxpy._dispatcher.loaded) == 2


def test_kernels_work_in_a_forked_child(tmp_path):
    program = """
import os, sys, threading
import numpy as np, pydotcompute
from pydotcompute.runtime import dispatch
lib = pydotcompute.load(sys.argv[1])
x = np.arange(5, dtype="f4")
held, done = threading.Event(), threading.Event()
def hold():
    with dispatch._lock:
        held.set(); done.wait()
thread = threading.Thread(target=hold); thread.start(); held.wait()
child = os.fork()
if child == 0:
    ok = (lib.saxpy(2.0, x, x) == 3 * x).all() and (lib.saxpy(2.0, x, x) == 3 * x).all()
    os._exit(0 if ok else 1)
done.set(); thread.join()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert (lib.saxpy(2.0, x, x) == 3 * x).all()
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, write_saxpy(tmp_path)],
        timeout=60,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_other_python_threads_run_during_a_large_call(tmp_path):
    saxpy = pydotcompute.load(write_saxpy(tmp_path)).saxpy
    x = np.ones(10_000_000, "f4")
    out = np.empty_like(x)
    saxpy(1.0, x, x, out)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0)  # gives the lock back

    thread = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # seconds: what holds the lock is not asked for it
    try:
        thread.start()
        before = len(ticks)
        for _ in range(1000):  # the system may leave the other thread waiting during one of them
            saxpy(1.0, x, x, out)
            if len(ticks) > before:
                break
        assert len(ticks) > before
    finally:
        sys.setswitchinterval(interval)
        done.set(), thread.join()
