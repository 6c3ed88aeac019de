"""Opening libraries, verified loading, and what happens to files under a running process."""

import copy
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from support import elementwise, kernel_entry, scalar, array, shared_object, write_project, write_saxpy

import pydotcompute
from pydotcompute import KernelNotBuiltError, StaleArtifactWarning
from pydotcompute.cache import objects
from pydotcompute.compile.entry import entry_ir
from pydotcompute.runtime import levels

X = np.arange(5, dtype="f4")


def manifest_of(root) -> Path:
    return Path(root, "build", "cache", "manifest.json")


def object_of(root, label="T=float32") -> Path:
    artifact = json.loads(manifest_of(root).read_text())["kernels"]["saxpy"]["specializations"][label]["artifacts"]
    digest = artifact["cpu:x86-64"]["object"]
    return Path(root, "build", "cache", "objects", digest[:2], f"{digest}.so")


def edit_manifest(root, change) -> None:
    data = json.loads(manifest_of(root).read_text())
    change(data)
    replacement = manifest_of(root).with_suffix(".new")
    replacement.write_text(json.dumps(data))
    os.replace(replacement, manifest_of(root))


def artifact_of(data, label="T=float32"):
    return data["kernels"]["saxpy"]["specializations"][label]["artifacts"]["cpu:x86-64"]


def fails(root, text, call=lambda lib: lib.saxpy(2.0, X, X), **options) -> None:
    with pytest.raises(KernelNotBuiltError) as caught:
        call(pydotcompute.load(root, **options))
    assert str(caught.value) == text


# ------------------------------------------------------------------------------------------------- libraries


def test_a_library(tmp_path):
    lib = pydotcompute.load(write_saxpy(tmp_path))
    assert list(lib) == ["saxpy"] == dir(lib) and len(lib) == 1 and "saxpy" in lib and "other" not in lib
    assert lib.saxpy is lib["saxpy"]
    assert repr(lib) == f"<1 kernels of {tmp_path}: saxpy>"
    assert pydotcompute.load(tmp_path) is lib and pydotcompute.load(str(tmp_path) + "/") is lib
    with pytest.raises(AttributeError) as caught:
        lib.saxpi
    assert str(caught.value) == f"{tmp_path} has no kernel 'saxpi'; did you mean 'saxpy'?"
    with pytest.raises(KeyError) as caught:
        lib["gelu"]
    assert caught.value.args == (f"{tmp_path} has no kernel 'gelu'; there are: saxpy",)
    assert not hasattr(lib, "_nothing") and not hasattr(lib, "__wrapped__")


def test_a_kernel_knows_itself(tmp_path):
    import inspect

    saxpy = pydotcompute.load(write_saxpy(tmp_path)).saxpy
    for _ in range(2):
        assert saxpy.signature == "(a: T, x: T[...], y: T[...]) -> (out: T[...])"
        assert saxpy.doc == "a * x + y" and saxpy.__name__ == "saxpy"
        assert saxpy.__doc__ == "a * x + y\n\nsaxpy(a: T, x: T[...], y: T[...]) -> (out: T[...])"
        assert repr(saxpy) == "<kernel saxpy(a: T, x: T[...], y: T[...]) -> (out: T[...])>"
        assert [str(s) for s in saxpy.specializations] == ["T=float32", "T=float64"]
        assert saxpy.specializations[0].targets == ("cpu:x86-64",) and saxpy.specializations[0].types == {"T": "float32"}
        assert str(inspect.signature(saxpy)) == "(a, x, y, out=None)"
        saxpy(1.0, X, X)

    class Holder:
        method = saxpy

    assert Holder().method is saxpy


def test_kernels_and_libraries_travel_to_other_processes(tmp_path):
    lib = pydotcompute.load(write_saxpy(tmp_path))
    assert pickle.loads(pickle.dumps(lib.saxpy)) is lib.saxpy and copy.deepcopy(lib.saxpy) is lib.saxpy
    assert pickle.loads(pickle.dumps(lib)) is lib


def test_a_bundle_and_a_cache_are_opened_like_a_project(tmp_path):
    project = Path(write_saxpy(tmp_path / "project"))
    bundle = tmp_path / "bundle"
    shutil.copytree(project / "build" / "cache", bundle)
    bundle.chmod(0o500)
    for path in (bundle, project / "build" / "cache"):
        np.testing.assert_array_equal(pydotcompute.load(path).saxpy(1.0, X, X), 2 * X)
    bundle.chmod(0o700)


def test_a_new_manifest_is_a_new_library_and_old_ones_go_on(tmp_path):
    old = pydotcompute.load(write_saxpy(tmp_path)).saxpy
    np.testing.assert_array_equal(old(2.0, X, X), 3 * X)
    parameters = [scalar("a", "float32"), *(array(n, "float32", ...) for n in "xy"), array("out", "float32", ..., role="out")]
    data = shared_object(entry_ir(parameters, ["size"]), elementwise().replace("fadd", "fsub"))
    write_project(tmp_path, {"saxpy": kernel_entry("saxpy", parameters, {"-": ({}, {}, (), {"cpu:x86-64": data})})}, [data])
    new = pydotcompute.load(tmp_path).saxpy
    np.testing.assert_array_equal(new(2.0, X, X), X)
    np.testing.assert_array_equal(old(2.0, X, X), 3 * X)


def test_every_load_of_an_object_has_variables_of_its_own(tmp_path):
    write_saxpy(tmp_path / "one"), write_saxpy(tmp_path / "two")
    one, two = (pydotcompute.load(tmp_path / name).saxpy for name in ("one", "two"))
    one(2.0, X, X), two(2.0, X, X)
    libraries = [kernel._dispatcher.first.library for kernel in (one, two)]
    import ctypes

    assert len({ctypes.addressof(ctypes.c_void_p.in_dll(library, "fallback")) for library in libraries}) == 2


# ------------------------------------------------------------------------------------------ nothing is built


def test_no_build(tmp_path):
    fails(tmp_path, f"no kernels are built in {tmp_path}: there is no {manifest_of(tmp_path)}; "
                    f"run: pydotcompute build -C {tmp_path}")  # fmt: skip
    missing = tmp_path / "nowhere"
    fails(missing, f"no kernels are built in {missing}: there is no {manifest_of(missing)}; "
                   f"run: pydotcompute build -C {missing}")  # fmt: skip


def test_a_specialisation_without_an_artifact(tmp_path):
    write_saxpy(tmp_path)
    edit_manifest(tmp_path, lambda d: d["kernels"]["saxpy"]["specializations"]["T=float32"].update(artifacts={}))
    fails(tmp_path, f"saxpy[T=float32] is not built for cpu:{levels.level()} (nothing is built); "
                    f"run: pydotcompute build saxpy -t cpu:{levels.level()} -C {tmp_path}")  # fmt: skip
    assert pydotcompute.load(tmp_path).saxpy(2.0, X.astype("f8"), X.astype("f8")).dtype == "f8"


def test_a_pinned_target(tmp_path, monkeypatch):
    write_saxpy(tmp_path)
    told = (f"saxpy[T=float32] is not built for cpu:x86-64-v3 (cpu:x86-64: the target cpu:x86-64-v3 is pinned); "
            f"run: pydotcompute build saxpy -t cpu:x86-64-v3 -C {tmp_path}")  # fmt: skip
    fails(tmp_path, told, target="cpu:x86-64-v3")
    monkeypatch.setenv("PYDOTCOMPUTE_TARGET", "cpu:x86-64-v3")
    fails(tmp_path, told)
    np.testing.assert_array_equal(pydotcompute.load(tmp_path, target="cpu:x86-64").saxpy(1.0, X, X), 2 * X)
    monkeypatch.setenv("PYDOTCOMPUTE_TARGET", "x86-64-v3")
    with pytest.raises(ValueError) as caught:
        pydotcompute.load(tmp_path)
    assert str(caught.value) == (
        "PYDOTCOMPUTE_TARGET='x86-64-v3' is no target; write one such as cpu:x86-64-v3 or cuda:sm_90"
    )


def test_a_target_that_this_processor_lacks(tmp_path, monkeypatch):
    write_saxpy(tmp_path, target="cpu:x86-64-v4")
    monkeypatch.setattr(levels, "level", lambda: "x86-64-v2")
    fails(tmp_path, f"saxpy[T=float32] is not built for cpu:x86-64-v2 (cpu:x86-64-v4: this processor has the level "
                    f"x86-64-v2); run: pydotcompute build saxpy -t cpu:x86-64-v2 -C {tmp_path}")  # fmt: skip


def test_which_says_what_would_run_and_why_nothing_else_would(tmp_path, monkeypatch):
    write_saxpy(tmp_path)

    def add(data):
        artifacts = data["kernels"]["saxpy"]["specializations"]["T=float32"]["artifacts"]
        for target in ("cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:x86-64-v2+bounds", "cuda:sm_90"):
            artifacts[target] = dict(artifacts["cpu:x86-64"])
        artifacts["cpu:native"] = {**artifacts["cpu:x86-64"], "meta": {"features": ["avx2", "no-such-thing"]}}

    edit_manifest(tmp_path, add)
    monkeypatch.setattr(levels, "level", lambda: "x86-64-v3")
    saxpy = pydotcompute.load(tmp_path).saxpy
    which = saxpy.which(2.0, X, X)
    assert (which.kernel, which.specialization, which.backend, which.target) == ("saxpy", "T=float32", "cpu", "cpu:x86-64-v3")
    assert {str(r) for r in which.rejected} == {
        "[T=float32] for cpu:x86-64-v2: cpu:x86-64-v3 comes first",
        "[T=float32] for cpu:x86-64: cpu:x86-64-v3 comes first",
        "[T=float32] for cpu:x86-64-v4: this processor has the level x86-64-v3",
        "[T=float32] for cpu:x86-64-v2+bounds: a build with checked bounds runs only where it is pinned",
        "[T=float32] for cuda:sm_90: the arrays of this call belong to the backend 'cpu'",
        "[T=float32] for cpu:native: this processor lacks no-such-thing"
        + ("" if "avx2" in levels.linux_flags() else ", avx2"),
        "[T=float64] for cpu:x86-64: the call has T=float32",
    }
    assert str(which).startswith(f"saxpy[T=float32] runs as cpu:x86-64-v3: {object_of(tmp_path)}\n  not [T=float32] for ")
    pinned = pydotcompute.load(tmp_path, target="cpu:x86-64-v2+bounds").saxpy
    assert pinned.which(2.0, X, X).target == "cpu:x86-64-v2+bounds"
    hole = pydotcompute.load(tmp_path, target="cpu:x86-64-v4").saxpy.which(2.0, X, X)
    assert hole.artifact is None and hole.target is None and str(hole).startswith(hole.missing)
    assert hole.missing.endswith(f"run: pydotcompute build saxpy -t cpu:x86-64-v4 -C {tmp_path}")


# --------------------------------------------------------------------------------------- damage and planting


def test_damaged_objects(tmp_path):
    write_saxpy(tmp_path)
    path, command = object_of(tmp_path), f"run: pydotcompute build saxpy -t cpu:x86-64 -C {tmp_path}"
    whole = path.read_bytes()
    for damaged in (whole[:100], whole[:-1], whole + b"\0", b"", whole[:500] + b"?" + whole[501:]):
        path.unlink()
        path.write_bytes(damaged)
        fails(tmp_path, f"saxpy[T=float32] for cpu:x86-64: {path} is damaged: {len(damaged)} bytes with SHA-256 "
                        f"{objects.sha256(damaged)}, expected {len(whole)} bytes with {path.stem}; {command}")  # fmt: skip
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
    digest = objects.sha256(planted)
    edit_manifest(tmp_path, lambda d: artifact_of(d).update(object=digest, size=len(planted)))
    path = manifest_of(tmp_path).parent / "objects" / digest[:2] / f"{digest}.so"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(planted)
    with pytest.raises(KernelNotBuiltError, match="cannot be loaded") as caught:
        pydotcompute.load(tmp_path).saxpy(1.0, X, X)
    assert str(path) in str(caught.value) and "run: pydotcompute build saxpy" in str(caught.value)


def test_a_library_that_is_no_kernel(tmp_path):
    write_saxpy(tmp_path)
    data = shared_object("define i32 @other() {\n  ret i32 0\n}")
    digest = objects.sha256(data)
    edit_manifest(tmp_path, lambda d: artifact_of(d).update(object=digest, size=len(data)))
    path = manifest_of(tmp_path).parent / "objects" / digest[:2] / f"{digest}.so"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    with pytest.raises(KernelNotBuiltError, match="is no kernel"):
        pydotcompute.load(tmp_path).saxpy(1.0, X, X)


def test_damaged_manifests(tmp_path):
    write_saxpy(tmp_path)
    path, whole = manifest_of(tmp_path), manifest_of(tmp_path).read_text()
    remedy = f"run: pydotcompute build -C {tmp_path}"
    for text, problem in [
        (whole[:200], "is damaged ("), ("", "is damaged ("), ("[]", "is damaged ("), ("{}", "is damaged (no 'version')"),
        ('{"version": 1}', "is damaged (no 'kernels')"), ('{"version": 1, "kernels": 3}', "is damaged ('kernels' is no mapping)"),
        ('{"version": 2, "kernels": {}}', "has format version 2, this program reads 1; install a newer pydotcompute, or "),
        ('{"version": 0, "kernels": {}}', "has format version 0, this program reads 1; run"),
        ('{"version": "x", "kernels": {}}', "has format version 'x', this program reads 1; run"), ("[" * 100_000, "is damaged ("),
        ("\xff", "is damaged ("),
    ]:  # fmt: skip
        path.unlink()
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(KernelNotBuiltError) as caught:
            pydotcompute.load(tmp_path)
        assert str(caught.value).startswith(f"{path} {problem}") and str(caught.value).endswith(remedy)


@pytest.mark.parametrize(
    "change",
    [
        lambda k: k.pop("parameters"), lambda k: k.update(parameters=7), lambda k: k["parameters"][0].update(dtype=3),
        lambda k: k["parameters"][0].update(role="x"), lambda k: k.update(symbols=[1]), lambda k: k.update(specializations=[]),
        lambda k: k["specializations"]["T=float32"].update(types={"T": "float31"}),
        lambda k: k["specializations"]["T=float32"]["artifacts"]["cpu:x86-64"].update(object="../../../etc/passwd"),
        lambda k: k["specializations"]["T=float32"]["artifacts"]["cpu:x86-64"].update(suffix="/../x"),
        lambda k: k["specializations"]["T=float32"].update(aliases=[["x"]]),
    ],
)  # fmt: skip
def test_a_manifest_whose_kernel_makes_no_sense(tmp_path, change):
    write_saxpy(tmp_path)
    edit_manifest(tmp_path, lambda d: change(d["kernels"]["saxpy"]))
    with pytest.raises(KernelNotBuiltError) as caught:
        pydotcompute.load(tmp_path).saxpy
    assert str(caught.value).startswith(f"{manifest_of(tmp_path)} is damaged (kernel 'saxpy': ")
    assert str(caught.value).endswith(f"run: pydotcompute build saxpy -C {tmp_path}")


def test_expressions_in_a_manifest_are_arithmetic_or_nothing(tmp_path):
    write_saxpy(tmp_path)
    for text in ("().__class__", "size.real", "__import__('os')", "[size]", "size if", "'a'", "lambda: 1", "size; size"):
        edit_manifest(tmp_path, lambda d, text=text: d["kernels"]["saxpy"].update(requires=[text]))
        with pytest.raises(ValueError):
            pydotcompute.load(tmp_path).saxpy.which(1.0, X, X)


def test_stale_artifacts_warn_once_or_are_refused(tmp_path):
    write_saxpy(tmp_path)
    for label in ("T=float32", "T=float64"):
        edit_manifest(tmp_path, lambda d, label=label: artifact_of(d, label).update(stale="kernels.yaml:3:1: no"))
    told = (f"saxpy[T=float32] for cpu:x86-64 is stale (kernels.yaml:3:1: no), and 1 more; "
            f"run: pydotcompute build saxpy -C {tmp_path}")  # fmt: skip
    with pytest.warns(StaleArtifactWarning) as caught:
        lib = pydotcompute.load(tmp_path)
    assert [str(w.message) for w in caught] == [told] and caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(pydotcompute.load(tmp_path).saxpy(1.0, X, X), 2 * X)
        assert pydotcompute.load(tmp_path) is lib
        assert pydotcompute.load(tmp_path, target="cpu:x86-64-v3", strict=True), "nothing stale is allowed there"
    fails(tmp_path, told, strict=True)


# ---------------------------------------------------------------------------------------- a running process


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
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program, write_saxpy(tmp_path)], timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_other_python_threads_run_during_a_large_call(tmp_path):
    saxpy = pydotcompute.load(write_saxpy(tmp_path)).saxpy
    x = np.ones(10_000_000, "f4")
    out = np.empty_like(x)
    saxpy(1.0, x, x, out)
    ticks, running = [], threading.Event()

    def tick():
        while not running.is_set():
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    before = len(ticks)
    saxpy(1.0, x, x, out)
    during = len(ticks) - before
    running.set(), thread.join()
    assert during > 20
