"""A small project for the tests of the build: a body, a template with a helper of its own, one with an include."""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path

from pydotcompute.builder.build import Project, Request, build
from pydotcompute.cache.writer import read_manifest

TARGETS = ("cpu:x86-64-v2", "cpu:x86-64-v3")
KERNELS = """\
version: 1
targets: [cpu:x86-64-v2, cpu:x86-64-v3]

kernels:
  saxpy:
    doc: a * x + y
    signature: "(a: T, x: T[...], y: T[...]) -> (out: T[...])"
    types: {T: [float32]}
    body: |
      for i in grid(size):
          out[i] = a * x[i] + y[i]
    reference: a * x + y

  cube:
    signature: "(x: T[...]) -> (out: T[...])"
    types: {T: [float32, float64]}
    template: cube.py.j2

  scale:
    signature: "(x: float32[n]) -> (out: float32[n])"
    params: {FACTOR: [2, 3]}
    template: scale.py.j2
"""
TEMPLATES = {
    "cube.py.j2": """\
        def third(x):
            return x * x * x


        def cube(x, out):
            for i in grid(size):
                out[i] = third(x[i])
        """,
    "scale.py.j2": """\
        {% include "factor.py.j2" %}
        def scale(x, out):
            for i in grid(n):
                out[i] = scaled(x[i])
        """,
    "factor.py.j2": """\
        def scaled(x):
            return x * {{ FACTOR }}


        """,
}


def write_project(root: Path) -> Path:
    (root / "templates").mkdir(parents=True)
    (root / "kernels.yaml").write_text(KERNELS)
    for name, text in TEMPLATES.items():
        (root / "templates" / name).write_text(textwrap.dedent(text))
    return root


def copy_project(source: Path, root: Path) -> Path:
    shutil.copytree(source, root, symlinks=True)
    return root


def edit(root: Path, name: str, old: str, new: str) -> None:
    path = root / name
    text = path.read_text()
    assert old in text, f"{old!r} is not in {name}"
    path.write_text(text.replace(old, new))


def open_project(root: Path, said: list[str] | None = None, **options) -> Project:
    return Project(str(root), (said if said is not None else []).append, **options)


def build_project(root: Path, report=lambda event: None, tools=None, said=None, **request):
    """Build with one worker and without stopping at a failure, unless the request says otherwise."""
    options = {} if tools is None else {"tools": tools}
    project = open_project(root, said, **options)
    request = {"jobs": 1, "keep_going": True, **request}
    if "targets" not in request:
        request["targets"] = project.declaration.targets
    return build(project, Request(**request), report)


def plan_project(root: Path, tools=None, **request):
    project = open_project(root, **({} if tools is None else {"tools": tools}))
    plan = project.plan(Request(**{"targets": project.declaration.targets, **request}))
    project.close()
    return plan


def stale(plan) -> dict[str, str]:
    """`kernel specialisation target` → reason of what is out of date."""
    return {" ".join(item.name): item.reason for item in plan.stale}


def objects(root: Path) -> dict[str, bytes]:
    """`kernel specialisation target` → the bytes that the manifest says are current."""
    cache = root / "build" / "cache"
    manifest = read_manifest(str(cache))[0]
    found = {}
    for kernel, header in manifest["kernels"].items():
        for label, specialisation in header["specializations"].items():
            for target, entry in specialisation["artifacts"].items():
                name = entry["object"]
                found[f"{kernel} {label} {target}"] = (
                    cache / "objects" / name[:2] / f"{name}{entry['suffix']}"
                ).read_bytes()
    return found


def manifest(root: Path) -> dict:
    """All of it."""
    return read_manifest(str(root / "build" / "cache"))[0]
