"""Kernels for CUDA from a few lines of text: as tests/targets/built.py has them, for one architecture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydotcompute import declare
from pydotcompute.analysis.races import check
from pydotcompute.cache import manifest
from pydotcompute.declare.model import Kernel, Specialisation
from pydotcompute.frontend.build import build_tree
from tests.targets import built
from tests.targets.built import Built, same  # noqa: F401

ROOT = str(Path(__file__).parents[3])


def build(text: str, template: str = "", choice: int = 0, arch: str = "80") -> Built:
    return built.build(f"cuda:compute_{arch}", text, template, choice)


def loop(signature: str, body: str, *more: str, arch: str = "80", **settings: Any) -> Built:
    return built.loop(f"cuda:compute_{arch}", signature, body, *more, **settings)


def compiled(kernel: Kernel, specialisation: Specialisation, rendered: Any, arch: str = "80") -> Built:
    return built.compiled(f"cuda:compute_{arch}", kernel, specialisation, rendered)


def raw(signature: str, body: str, *more: str, template: str = "", arch: str = "80") -> Built:
    """A raw kernel, by a body or a template."""
    text = built.declaration(signature, body, *more)
    if template:
        text = "\n".join([f'signature: "{signature}"', *more, "template: k.py.j2"])
    kernel, specialisation, rendered = built.declared(f"cuda:compute_{arch}", text, template)
    assert rendered.raw
    return compiled(kernel, specialisation, rendered, arch)


def from_cache(root: str, name: str, label: str, target: str = "cuda:compute_80") -> Built:
    """What a build has put into the cache of a project."""
    kernel = declare.load(root).kernels[name]
    specialisation = next(s for s in kernel.specialisations if str(s) == label)
    folder = manifest.find(root)[0]
    record = manifest.kernel_record(manifest.read(folder, root), name, folder, root)
    chosen = record.specialisations[label]
    artifact = next(a for a in chosen.artifacts if a.target == target)
    tree = check(build_tree(kernel, specialisation, declare.render(kernel, specialisation, "cuda", root)))
    with open(artifact.path, "rb") as file:
        return Built(target, record, chosen, tree, file.read(), artifact.meta, {})
