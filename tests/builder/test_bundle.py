"""Bundles: what was asked for and is current, in a fresh folder, whole or not at all."""

import json
import shutil
import stat
import subprocess
import sys

import pytest

from pydotcompute.builder.build import BuildError, Request
from pydotcompute.builder.bundle import BundleError, write_bundle
from pydotcompute.cache.writer import object_fault
from pydotcompute.cache.writer import read_manifest
from pydotcompute.cli import main
from pydotcompute.packaging.package import write_package

from .project import build_project, edit, manifest, open_project

LOAD = (
    "import sys, numpy as np, pydotcompute\n"
    "lib = pydotcompute.load(sys.argv[1], strict=True)\n"
    "print(*lib.cube(np.arange(5, dtype='float32')).tolist())\n"
)
PACKAGE = {"manifest.json", "metadata.json", "__init__.py", "__init__.pyi", "py.typed"}


def bundle(root, folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "pydotcompute", "build", "-C", str(root), "--bundle", str(folder), *arguments],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names(folder):
    kernels = read_manifest(str(folder))[0]["kernels"]
    return {
        f"{kernel} {label} {target}"
        for kernel, header in kernels.items()
        for label, specialisation in header["specializations"].items()
        for target in specialisation["artifacts"]
    }


def test_a_bundle_has_the_manifest_and_its_objects_and_nothing_else(built, tmp_path):
    folder = tmp_path / "wheel" / "kernels"
    done = bundle(built, folder)
    assert done.returncode == 0, done.stderr
    found = read_manifest(str(folder))[0]
    records = json.loads((folder / "manifest.json").read_bytes())["kernels"].values()
    assert found == manifest(built) and len(names(folder)) == 10
    entries = [
        entry
        for header in found["kernels"].values()
        for specialisation in header["specializations"].values()
        for entry in specialisation["artifacts"].values()
    ]
    assert set(contents(folder)) == PACKAGE | {f"records/{name}.json" for name in records} | {
        f"objects/{entry['object'][:2]}/{entry['object']}{entry['suffix']}" for entry in entries
    }
    for entry in entries:
        assert object_fault(str(folder), entry["object"], entry["suffix"], entry["size"]) == ""
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.rglob("*") if p.is_file()} == {0o644}
    called = subprocess.run([sys.executable, "-c", LOAD, str(folder)], capture_output=True, text=True)
    assert called.stdout == "0.0 1.0 8.0 27.0 64.0\n", called.stderr


def test_a_bundle_can_be_looked_into_and_is_not_cleared(built, tmp_path, capsys):
    folder = tmp_path / "b"
    bundle(built, folder, "cube")
    assert main(["cache", "list", "-C", str(folder)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5  # the heads of columns, three artifacts, the sum
    assert main(["cache", "verify", "-C", str(folder)]) == 0
    assert main(["cache", "clear", "-C", str(folder)]) == 2
    assert len(names(folder)) == 4
    next((folder / "objects").rglob("*.so")).write_bytes(b"x")
    assert main(["cache", "verify", "-C", str(folder)]) == 1


def test_a_bundle_of_one_kernel_and_target(built, tmp_path):
    assert bundle(built, tmp_path / "b", "cube", "-t", "cpu:x86-64-v3").returncode == 0
    assert names(tmp_path / "b") == {"cube T=float32 cpu:x86-64-v3", "cube T=float64 cpu:x86-64-v3"}


def test_a_bundle_replaces_the_one_before_it(built, tmp_path):
    folder = tmp_path / "b"
    bundle(built, folder, "cube")
    before = contents(folder)
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x + x")
    assert bundle(built, folder, "cube").returncode == 0
    after = contents(folder)
    assert before.keys() & after.keys() == PACKAGE
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("b")] == ["b"]


def test_a_folder_that_is_no_bundle_is_not_replaced(built, tmp_path):
    folder = tmp_path / "photographs"
    folder.mkdir()
    (folder / "one.jpg").write_bytes(b"x")
    done = bundle(built, folder)
    assert done.returncode == 1 and f"{folder}: not a bundle" in done.stderr
    assert contents(folder) == {"one.jpg": b"x"}


def test_the_cache_of_a_project_is_not_replaced(built, tmp_path):
    other = tmp_path / "other" / "build" / "cache"
    shutil.copytree(built / "build" / "cache", other)  # of a project that is gone, but not what it built
    bare = tmp_path / "bare" / "build" / "cache"
    shutil.copytree(other, bare, ignore=shutil.ignore_patterns("keys"))  # into which artifacts were imported
    (tmp_path / "bare" / "kernels.yaml").touch()
    for cache in (other, bare, built / "build" / "cache"):
        before = contents(cache / "objects")
        done = bundle(built, cache)
        assert done.returncode == 1 and f"{cache}: not a bundle (a project's cache), so it is not" in done.stderr
        assert contents(cache / "objects") == before


def test_no_bundle_is_made_of_a_build_that_failed(built, tmp_path):
    folder = tmp_path / "b"
    bundle(built, folder)
    before = contents(folder)
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x * y")
    done = bundle(built, folder, "-k")
    assert done.returncode == 1 and "no bundle was made" in done.stderr
    assert contents(folder) == before


def test_a_damaged_object_ends_the_bundle_and_leaves_the_folder(built, tmp_path):
    folder = tmp_path / "b"
    plan, _ = build_project(built)
    wanted = {item.name for item in plan.wanted}
    cache = built / "build" / "cache"
    write_bundle(str(cache), manifest(built), wanted, str(folder), print)
    before = contents(folder)
    next((cache / "objects").rglob("*.so")).write_bytes(b"damaged")
    with pytest.raises(BundleError, match="object damaged"):
        write_bundle(str(cache), manifest(built), wanted, str(folder), print)
    assert contents(folder) == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("b.")] == []


def test_what_cannot_be_read_is_not_left_out(built, tmp_path):
    said = []
    project = open_project(built, said)
    plan = project.plan(Request(targets=project.declaration.targets))
    record = next((built / "build" / "cache" / "records").iterdir())
    record.unlink()
    with pytest.raises(BuildError, match=f"{record}: missing"):
        write_package(project, plan, str(tmp_path / "b"))
    assert not (tmp_path / "b").exists()
