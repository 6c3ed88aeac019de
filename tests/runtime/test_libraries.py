"""Opening libraries, what they and kernels say of themselves, which artifact is chosen, what is stale."""

import copy
import pickle
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from support import (
    X,
    array,
    artifact_of,
    bound,
    edit_manifest,
    elementwise,
    fails,
    kernel_entry,
    manifest_of,
    object_of,
    scalar,
    shared_object,
    write_project,
    write_saxpy,
)

import pydotcompute
from pydotcompute import StaleArtifactWarning
from pydotcompute.targets.cpu.entry import entry_ir
from pydotcompute.backends.cpu import features, levels


def test_a_library(tmp_path):
    lib = pydotcompute.load(write_saxpy(tmp_path))
    assert list(lib) == ["saxpy"] == dir(lib) and len(lib) == 1 and "saxpy" in lib and "other" not in lib
    assert lib.saxpy is lib["saxpy"]
    assert repr(lib) == f"<1 kernel of {tmp_path}: saxpy>"
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
        assert saxpy.__doc__ == (
            "a * x + y\n\nsaxpy(a: T, x: T[...], y: T[...]) -> (out: T[...])\n  T: float32, float64\n\n"
            "Outputs that are not given are allocated; what is returned are the outputs."
        )
        assert repr(saxpy) == "<kernel saxpy(a: T, x: T[...], y: T[...]) -> (out: T[...])>"
        assert [str(s) for s in saxpy.specializations] == ["T=float32", "T=float64"]
        assert saxpy.specializations[0].targets == ("cpu:x86-64",) and saxpy.specializations[0].types == {
            "T": "float32"
        }
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
    parameters = [
        scalar("a", "float32"),
        *(array(n, "float32", ...) for n in "xy"),
        array("out", "float32", ..., role="out"),
    ]
    code = shared_object(entry_ir(parameters, ["size"]), elementwise().replace("fadd", "fsub"))
    data = bound(code, "saxpy", parameters)
    write_project(
        tmp_path, {"saxpy": kernel_entry("saxpy", parameters, {"-": ({}, {}, (), {"cpu:x86-64": data})})}, [data]
    )
    new = pydotcompute.load(tmp_path).saxpy
    np.testing.assert_array_equal(new(2.0, X, X), X)
    np.testing.assert_array_equal(old(2.0, X, X), 3 * X)


def test_every_load_of_an_object_has_variables_of_its_own(tmp_path):
    write_saxpy(tmp_path / "one"), write_saxpy(tmp_path / "two")
    one, two = (pydotcompute.load(tmp_path / name).saxpy for name in ("one", "two"))
    one(2.0, X, X), two(2.0, X, X)
    libraries = [next(iter(kernel._dispatcher.loaded.values())).library for kernel in (one, two)]
    import ctypes

    assert len({ctypes.addressof(ctypes.c_void_p.in_dll(library, "fallback")) for library in libraries}) == 2


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
    monkeypatch.setattr(levels, "level", lambda: "x86-64-v3")
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
        "PYDOTCOMPUTE_TARGET='x86-64-v3' is not a target; write one such as cpu:x86-64-v3 or cuda:sm_90"
    )


def test_a_target_that_this_processor_lacks(tmp_path, monkeypatch):
    write_saxpy(tmp_path, target="cpu:x86-64-v4")
    monkeypatch.setattr(levels, "level", lambda: "x86-64-v2")
    fails(tmp_path, f"saxpy[T=float32] is not built for cpu:x86-64-v2 (cpu:x86-64-v4: this processor has the level "
                    f"x86-64-v2); run: pydotcompute build saxpy -t cpu:x86-64-v2 -C {tmp_path}")  # fmt: skip


def test_a_pinned_target_that_cannot_run_here(tmp_path, monkeypatch):
    write_saxpy(tmp_path, target="cpu:x86-64-v4")
    monkeypatch.setattr(levels, "level", lambda: "x86-64-v3")
    lacks = "this processor has the level x86-64-v3; pin another target, or none (built besides: "
    fails(tmp_path, f"saxpy[T=float32] cannot run as cpu:x86-64-v4 here: {lacks}nothing)", target="cpu:x86-64-v4")
    fails(tmp_path, f"saxpy[T=float32] cannot run as cpu:x86-64-v4+bounds here: {lacks}cpu:x86-64-v4)",
          target="cpu:x86-64-v4+bounds")  # fmt: skip
    with pytest.raises(ValueError, match="target='cpu:x86-64-v9' is not a target: did you mean"):
        pydotcompute.load(tmp_path, target="cpu:x86-64-v9")
    fails(tmp_path, f"saxpy[T=float32] is not built for cpu:native (cpu:x86-64-v4: the target cpu:native is pinned); "
                    f"run: pydotcompute build saxpy -t cpu:native -C {tmp_path}", target="cpu:native")  # fmt: skip

    def add(data):
        artifacts = data["kernels"]["saxpy"]["specializations"]["T=float32"]["artifacts"]
        artifacts["cpu:native"] = {**artifacts.pop("cpu:x86-64-v4"), "meta": {"features": ["no-such-thing"]}}

    edit_manifest(tmp_path, add)
    fails(tmp_path, f"saxpy[T=float32] is built for cpu:native of another processor (cpu:native: this processor lacks "
                    f"no-such-thing); run: pydotcompute build saxpy -t cpu:native -C {tmp_path}",
          target="cpu:native")  # fmt: skip


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
    assert (which.kernel, which.specialization, which.backend, which.target) == (
        "saxpy",
        "T=float32",
        "cpu",
        "cpu:x86-64-v3",
    )
    assert {str(r) for r in which.rejected} == {
        "[T=float32] for cpu:x86-64-v2: cpu:x86-64-v3 comes first",
        "[T=float32] for cpu:x86-64: cpu:x86-64-v3 comes first",
        "[T=float32] for cpu:x86-64-v4: this processor has the level x86-64-v3",
        "[T=float32] for cpu:x86-64-v2+bounds: a build with checked bounds runs only where it is pinned",
        "[T=float32] for cuda:sm_90: this call runs on the backend 'cpu'; backend='cuda' moves it there",
        "[T=float32] for cpu:native: this processor lacks no-such-thing"
        + ("" if "avx2" in features.linux_flags() else ", avx2"),
        "[T=float64] for cpu:x86-64: the call has T=float32",
    }
    assert str(which).startswith(
        f"saxpy[T=float32] runs as cpu:x86-64-v3: {object_of(tmp_path)}\n  not [T=float32] for "
    )
    pinned = pydotcompute.load(tmp_path, target="cpu:x86-64-v2+bounds").saxpy
    assert pinned.which(2.0, X, X).target == "cpu:x86-64-v2+bounds"
    hole = pydotcompute.load(tmp_path, target="cpu:x86-64-v4").saxpy.which(2.0, X, X)
    assert hole.artifact is None and hole.target is None and str(hole).startswith(hole.missing)
    assert hole.missing.startswith("saxpy[T=float32] cannot run as cpu:x86-64-v4 here: this processor has the level")


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
