"""What makes which artifact out of date, and what does not: artifact by artifact."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from pydotcompute.builder.code import versions

from .project import TARGETS, build_project, edit, manifest, objects, open_project, plan_project, stale

SAXPY = {f"saxpy T=float32 {target}" for target in TARGETS}
CUBE = {f"cube T={dtype} {target}" for dtype in ("float32", "float64") for target in TARGETS}
SCALE = {f"scale FACTOR={factor} {target}" for factor in (2, 3) for target in TARGETS}


def changed(root: Path, **request) -> set[str]:
    """The artifacts whose bytes, or whose existence, a build changes, in comparison with what was there before."""
    before = objects(root)
    build_project(root, **request)
    after = objects(root)
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def test_nothing_is_out_of_date_after_a_build(built):
    assert stale(plan_project(built)) == {}
    assert set(objects(built)) == SAXPY | CUBE | SCALE


def test_touching_files_changes_nothing(built):
    for path in built.rglob("*"):
        os.utime(path, (2_000_000_000, 2_000_000_000))
    assert stale(plan_project(built)) == {}


def test_moving_the_project_changes_nothing(built, tmp_path):
    moved = shutil.move(built, tmp_path / "elsewhere" / "deeper")
    assert stale(plan_project(Path(moved))) == {}


def test_another_working_directory_changes_nothing(built, monkeypatch):
    monkeypatch.chdir(built)
    assert stale(plan_project(Path("."))) == {}
    monkeypatch.chdir(built / "templates")
    assert stale(plan_project(Path(".."))) == {}


def test_comments_blank_lines_and_descriptions_reach_no_artifact(built):
    edit(built, "kernels.yaml", "version: 1", "# a comment\n\nversion: 1")
    edit(built, "kernels.yaml", "    reference: a * x + y\n", "")
    edit(built, "templates/factor.py.j2", "def", "{# of Jinja's #}def")
    assert stale(plan_project(built)) == {}


def test_a_changed_doc_rewrites_the_manifest_alone(built):
    edit(built, "kernels.yaml", "doc: a * x + y", "doc: scaled and added")
    assert stale(plan_project(built)) == {}
    assert changed(built) == set()
    assert manifest(built)["kernels"]["saxpy"]["doc"] == "scaled and added"


def test_a_changed_body(built):
    edit(built, "kernels.yaml", "a * x[i] + y[i]", "a * x[i] - y[i]")
    assert stale(plan_project(built)) == dict.fromkeys(SAXPY, "source changed (body)")


def test_a_changed_helper(built):
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x + x")
    assert stale(plan_project(built)) == dict.fromkeys(CUBE, "source changed (template cube.py.j2)")


def test_a_changed_include(built):
    edit(built, "templates/factor.py.j2", "x *", "x +")
    assert stale(plan_project(built)) == dict.fromkeys(SCALE, "source changed (template factor.py.j2)")
    assert changed(built) == SCALE


def test_an_include_that_one_specialisation_reads(built):
    edit(built, "templates/factor.py.j2", "{{ FACTOR }}", "{{ FACTOR if FACTOR == 2 else 7 }}")
    wanted = {name for name in SCALE if "FACTOR=3" in name}
    assert set(stale(plan_project(built))) == wanted
    edit(built, "kernels.yaml", "a * x[i] + y[i]", "a * x[i] - y[i]")
    assert changed(built) == wanted | SAXPY


def test_a_changed_flag(built):
    edit(built, "kernels.yaml", "    doc: a * x + y\n", "    fastmath: []\n")
    assert stale(plan_project(built)) == dict.fromkeys(SAXPY, "flag fastmath: [contract] → []")


def test_a_changed_param(built):
    edit(built, "kernels.yaml", "[2, 3]", "[2, 5]")
    new = {f"scale FACTOR=5 {target}" for target in TARGETS}
    assert stale(plan_project(built)) == dict.fromkeys(new, "not built")
    assert changed(built) == new | {name for name in SCALE if "FACTOR=3" in name}


def test_a_changed_signature(built):
    edit(built, "kernels.yaml", "(x: float32[n])", "(x: strided float32[n])")
    old, new = "(x: float32[n]) -> (out: float32[n])", "(x: strided float32[n]) -> (out: float32[n])"
    assert stale(plan_project(built)) == dict.fromkeys(SCALE, f"signature: {old} → {new}")


def test_a_new_target_is_the_only_thing_built(built):
    edit(built, "kernels.yaml", "cpu:x86-64-v3]", "cpu:x86-64-v3, cpu:x86-64-v4]")
    new = {re.sub("v2$", "v4", name) for name in SAXPY | CUBE | SCALE if name.endswith("v2")}
    assert stale(plan_project(built)) == dict.fromkeys(new, "not built")


@pytest.mark.parametrize("tool", ["numba", "llvmlite", "numpy", "python", "linker"])
def test_a_new_version_of_a_tool(built, tool):
    def newer(backend, linker):
        return {**versions(backend, linker), tool: "99.0"}

    old = versions("cpu")[tool]
    everything = SAXPY | CUBE | SCALE
    assert stale(plan_project(built, tools=newer)) == dict.fromkeys(everything, f"tool {tool} {old} → 99.0")


def test_a_new_version_of_our_code_generation(built):
    def newer(backend, linker):
        return {**versions(backend, linker), "pydotcompute": "0" * 64}

    everything = SAXPY | CUBE | SCALE
    reason = "pydotcompute's code generation changed"
    assert stale(plan_project(built, tools=newer)) == dict.fromkeys(everything, reason)


def test_the_version_of_another_backends_tool_changes_nothing(built):
    def newer(backend, linker):
        found = versions(backend, linker)
        return found if backend == "cpu" else {**found, "nvcc": "99"}

    assert stale(plan_project(built, tools=newer)) == {}


def test_several_reasons_are_all_named(built):
    edit(built, "kernels.yaml", "a * x[i] + y[i]", "a * x[i] - y[i]")
    edit(built, "kernels.yaml", "    doc: a * x + y\n", "    fastmath: []\n")
    reason = "source changed (body); flag fastmath: [contract] → []"
    assert stale(plan_project(built)) == dict.fromkeys(SAXPY, reason)


def test_lines_that_move_are_known_without_a_build_of_what_stands_there(built):
    def lines() -> set[int]:
        artifacts = manifest(built)["kernels"]["saxpy"]["specializations"]["T=float32"]["artifacts"]
        return {line for a in artifacts.values() for _, line, _ in a["meta"].get("places", [])}

    build_project(built, bounds=True, kernels=("saxpy",))
    before = lines()
    edit(built, "kernels.yaml", "version: 1", "# a comment\nversion: 1")
    assert stale(plan_project(built, bounds=True, kernels=("saxpy",))) == {}
    assert changed(built, bounds=True, kernels=("saxpy",)) == set()
    assert before and lines() == {line + 1 for line in before}


def test_a_kernel_that_is_no_longer_declared_goes(built):
    edit(built, "kernels.yaml", "  cube:", "  cubed:")
    edit(built, "templates/cube.py.j2", "def cube", "def cubed")
    before = objects(built)
    build_project(built)
    after = objects(built)
    assert before.keys() - after.keys() == CUBE
    assert after.keys() - before.keys() == {name.replace("cube", "cubed") for name in CUBE}


def test_what_was_made_before_is_taken_again(built):
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x + x")
    build_project(built)
    edit(built, "templates/cube.py.j2", "x * x + x", "x * x * x")
    plan, outcome = build_project(built)
    assert {(result.status, " ".join(result.item.name)) for result in outcome.results} == {
        ("reused", name) for name in CUBE
    }
    assert stale(plan_project(built)) == {}


def test_a_lost_history_is_said_in_the_reason_and_kept_anew(built):
    shutil.rmtree(built / "build" / "cache" / "keys")
    assert stale(plan_project(built)) == {}
    build_project(built)
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x + x")
    assert stale(plan_project(built)) == dict.fromkeys(CUBE, "source changed (template cube.py.j2)")
    shutil.rmtree(built / "build" / "cache" / "keys")
    assert stale(plan_project(built)) == dict.fromkeys(CUBE, "something changed (the history of the cache was lost)")


def test_a_partial_build_marks_what_it_left(built):
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x + x")
    edit(built, "kernels.yaml", "a * x[i] + y[i]", "a * x[i] - y[i]")
    build_project(built, kernels=("cube",), targets=("cpu:x86-64-v2",))
    assert {name: mark for name, mark in marks(built).items() if mark} == {
        **dict.fromkeys((n for n in CUBE if n.endswith("v3")), "source changed (template cube.py.j2)"),
        **dict.fromkeys(SAXPY, "source changed (body)"),
    }
    build_project(built)
    assert stale(plan_project(built)) == {}


def test_an_artifact_for_a_target_that_nobody_asks_for_stays_while_it_is_current(built):
    build_project(built, targets=("cpu:native",), kernels=("cube",))
    native = {f"cube T={dtype} cpu:native" for dtype in ("float32", "float64")}
    build_project(built)
    assert native <= objects(built).keys()
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x + x")
    build_project(built)
    assert not native & objects(built).keys()


def test_a_changed_signature_never_leaves_an_old_artifact_under_the_new_one(built):
    edit(built, "kernels.yaml", "(x: float32[n])", "(x: strided float32[n])")
    build_project(built, kernels=("scale",), targets=("cpu:x86-64-v2",))
    header = manifest(built)["kernels"]["scale"]
    assert header["parameters"][0]["layout"] == "strided"
    assert {name for name in objects(built) if name.startswith("scale")} == {n for n in SCALE if n.endswith("v2")}


def test_a_plan_writes_nothing(fresh):
    project = open_project(fresh)
    before = sorted(fresh.rglob("*"))
    plan_project(fresh)
    project.close()
    assert sorted(fresh.rglob("*")) == before


def test_what_cannot_be_rendered_stays_as_it_was_unless_its_signature_changed(built):
    edit(built, "templates/factor.py.j2", "{{ FACTOR }}", "{{ FACTOR if FACTOR == 2 else MISSING }}")
    build_project(built, kernels=("saxpy",))
    entries = manifest(built)["kernels"]["scale"]["specializations"]
    assert [entries["FACTOR=2"]["artifacts"][target]["stale"] for target in TARGETS] == ["", ""]
    assert all("MISSING" in entries["FACTOR=3"]["artifacts"][target]["stale"] for target in TARGETS)
    edit(built, "kernels.yaml", "(x: float32[n])", "(x: strided float32[n])")
    build_project(built)
    header = manifest(built)["kernels"]["scale"]
    assert header["parameters"][0]["layout"] == "strided"
    assert set(header["specializations"]["FACTOR=2"]["artifacts"]) == set(TARGETS)
    assert header["specializations"]["FACTOR=3"]["artifacts"] == {}


def test_another_linker_is_another_tool_and_is_the_one_that_links(built, tmp_path, monkeypatch):
    log = tmp_path / "log"
    linker = tmp_path / "my-ld"
    linker.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {sys.executable} -m ziglang ld.lld "$@"\n')
    linker.chmod(0o755)
    (built / "pyproject.toml").write_text(f'[tool.pydotcompute]\nlinker = "{linker}"\n')
    monkeypatch.delenv("PYDOTCOMPUTE_LINKER", raising=False)
    project = open_project(built)
    request = {"linker": project.settings({})["linker"].value, "kernels": ("scale",), "targets": TARGETS[:1]}
    reasons = set(stale(plan_project(built, **request)).values())
    assert len(reasons) == 1 and re.match(rf"tool linker ziglang \S+ → {linker}: LLD", reasons.pop())
    before = objects(built)
    build_project(built, **request)
    assert len([line for line in log.read_text().splitlines() if " -o kernel.so " in line]) == 2
    assert objects(built) == before  # it is the very same linker


def test_what_one_backend_cannot_render_another_may(built):
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x + x{% if backend == 'cuda' %}{{ missing }}{% endif %}")
    plan, outcome = build_project(built, targets=(*TARGETS, "cuda:compute_80"), kernels=("cube",))
    assert {place[2] for place in plan.failures} == {"cuda:compute_80"} and len(plan.failures) == 2
    assert {name for name, entry in marks(built).items() if entry} == set()
    assert {" ".join(name) for name in outcome.made} == CUBE


def marks(root):
    """`kernel specialisation target` → why it is out of date, as the manifest says."""
    return {
        f"{kernel} {label} {target}": entry["stale"]
        for kernel, header in manifest(root)["kernels"].items()
        for label, specialisation in header["specializations"].items()
        for target, entry in specialisation["artifacts"].items()
    }


def test_a_raw_kernel_has_no_artifact_for_a_cpu(built):
    raw = (
        '  twice:\n    signature: "(x: float32[n]) -> (out: float32[n])"\n    launch: {block: 32, grid: 1}\n'
        "    body: |\n      i = cuda.grid(1)\n      if i < n:\n          out[i] = 2 * x[i]\n"
    )
    with open(built / "kernels.yaml", "a") as file:
        file.write("\n" + raw)
    plan = plan_project(built)
    assert plan.impossible == ["twice"] and stale(plan) == {}
    assert set(stale(plan_project(built, targets=("cuda:sm_80",), kernels=("twice",)))) == {"twice - cuda:sm_80"}
