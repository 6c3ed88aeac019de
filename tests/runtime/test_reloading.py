"""Libraries whose project is built again: what they say, and what `reload` gives."""

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from support import array, bound, kernel_entry, manifest_of, write_project, write_saxpy
from support import elementwise, scalar, shared_object

import pydotcompute
from pydotcompute import KernelNotBuiltError, StaleArtifactWarning
from pydotcompute.declare.names import OF_LIBRARIES
from pydotcompute.runtime import library
from pydotcompute.targets.cpu.entry import entry_ir

X = np.ones(3, "f4")


@pytest.fixture(autouse=True)
def every_access_looks(monkeypatch):
    monkeypatch.setattr(library, "SECONDS_BETWEEN_LOOKS", 0)


def write_subtraction(root, name="saxpy"):
    parameters = [scalar("a", "float32"), *(array(n, "float32", ...) for n in "xy")]
    parameters.append(array("out", "float32", ..., role="out"))
    code = shared_object(entry_ir(parameters, ["size"]), elementwise().replace("fadd", "fsub"))
    data = bound(code, name, parameters)
    write_project(root, {name: kernel_entry(name, parameters, {"-": ({}, {}, (), {"cpu:x86-64": data})})}, [data])


def test_a_library_says_once_that_it_was_built_again_and_takes_it_when_asked(tmp_path):
    lib = pydotcompute.load(write_saxpy(tmp_path))
    old = lib.saxpy
    assert old(2.0, X, X)[0] == 3
    write_subtraction(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # calls say nothing
        assert old(2.0, X, X)[0] == 3
    with pytest.warns(StaleArtifactWarning) as said:
        assert lib.saxpy is old and lib["saxpy"] is old
    assert [str(w.message) for w in said] == [
        f"the kernels of {tmp_path} were built again after this library was opened, which goes on with the earlier "
        "ones; its reload() takes those that are built now"
    ]
    assert said[0].filename == __file__
    assert lib.reload() is lib
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lib.saxpy is not old and lib.saxpy(2.0, X, X)[0] == 1 and old(2.0, X, X)[0] == 3
        assert pydotcompute.load(tmp_path) is lib


def test_a_reload_of_nothing_usable_leaves_the_library_as_it_was(tmp_path):
    lib = pydotcompute.load(write_saxpy(tmp_path))
    kept = lib.saxpy
    Path(manifest_of(tmp_path)).write_text("{}")
    with pytest.raises(KernelNotBuiltError, match="is damaged"):
        lib.reload()
    with pytest.warns(StaleArtifactWarning):
        assert lib.saxpy is kept and kept(2.0, X, X)[0] == 3


def test_bundles_are_not_looked_at_but_can_be_reloaded(tmp_path):
    project, bundle = write_saxpy(tmp_path / "project"), tmp_path / "bundle"
    shutil.copytree(Path(project) / "build" / "cache", bundle)
    lib = pydotcompute.load(bundle)
    assert lib.saxpy(2.0, X, X)[0] == 3
    write_subtraction(tmp_path / "project")
    shutil.copytree(Path(project) / "build" / "cache", bundle, dirs_exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lib.saxpy(2.0, X, X)[0] == 3
        assert lib.reload().saxpy(2.0, X, X)[0] == 1


def test_a_kernel_that_was_being_opened_does_not_outlive_a_reload(tmp_path, monkeypatch):
    project, bundle = write_saxpy(tmp_path / "project"), tmp_path / "bundle"
    shutil.copytree(Path(project) / "build" / "cache", bundle)
    lib, read = pydotcompute.load(bundle), library.manifest.kernel_record

    def interrupted(*arguments):  # as by another thread
        record = read(*arguments)
        monkeypatch.setattr(library.manifest, "kernel_record", read)
        write_subtraction(project)
        shutil.copytree(Path(project) / "build" / "cache", bundle, dirs_exist_ok=True)
        lib.reload()
        return record

    monkeypatch.setattr(library.manifest, "kernel_record", interrupted)
    assert lib.saxpy(2.0, X, X)[0] == 3
    assert lib.saxpy(2.0, X, X)[0] == 1 and lib.saxpy is lib["saxpy"]


def test_no_kernel_is_declared_with_the_name_of_a_method():
    assert set(OF_LIBRARIES) == {name for name in vars(pydotcompute.KernelLibrary) if not name.startswith("_")}


@pytest.mark.parametrize("name", OF_LIBRARIES)
def test_kernels_with_the_name_of_a_method_are_found_as_items(tmp_path, name):
    """They cannot be declared; of one that was before there was this method there may be a bundle."""
    write_subtraction(tmp_path / "project", name)
    bundle = tmp_path / "bundle"
    shutil.copytree(tmp_path / "project" / "build" / "cache", bundle)
    for path in (tmp_path / "project", bundle):
        lib = pydotcompute.load(path)
        assert lib[name](2.0, X, X)[0] == 1 and lib[name] is lib[name]
        assert getattr(lib, name).__func__ is getattr(type(lib), name)
        lib.reload()


def test_a_library_that_has_told_of_a_build_is_not_what_load_gives(tmp_path):
    old = pydotcompute.load(write_saxpy(tmp_path))
    write_subtraction(tmp_path)
    with pytest.warns(StaleArtifactWarning):
        assert old.saxpy(2.0, X, X)[0] == 3
    new = pydotcompute.load(tmp_path)
    assert new is not old and new.saxpy(2.0, X, X)[0] == 1
