"""Which artifacts are not made of what the project says now."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from ..builder.build import Project
from ..builder.code import CODE
from ..builder.plan import Item, Name, make_plan
from ..cache.manifest import stale_artifacts
from ..cache.writer import read_manifest
from ..errors import KernelNotBuiltError


def out_of_date(project: Project) -> dict[Name, str]:
    """Kernel, specialisation and target of each such artifact, with what has changed, or with what a failed or
    unfinished build noted.

    The tools and the processor that made an artifact may be others than this machine has: they do not count. Where
    the store does not remember what an artifact was made of, its signature is compared alone. Raises
    KernelNotBuiltError where the manifest is damaged.
    """
    manifest, problem = read_manifest(project.cache)
    if problem:
        raise KernelNotBuiltError(f"{problem}; run: pydotcompute build -C {project.root}")
    history = project.history if find_spec("diskcache") else lambda key: None
    plan = make_plan(project.declaration, project.render, project.objects.fault, manifest, kernels=(), history=history)
    project.close()
    found = {entry[:3]: entry[3] for entry in stale_artifacts(manifest["kernels"])}
    found |= {item.name: reason for item in plan.items if (reason := _changed(item, manifest["kernels"]))}
    for kernel, label, *_ in plan.unrendered:
        for target in manifest["kernels"][kernel]["specializations"][label]["artifacts"]:
            if error := plan.mistake(kernel, label, target):
                found[kernel, label, target] = str(error).partition("\n")[0]
    return found


def _changed(item: Item, kernels: dict[str, Any]) -> str:
    signature = " ".join(kernels[item.kernel.name]["signature"].split())
    known = [r for r in item.reasons if r.kind != "not built" and r.what not in ("something", "processor", CODE)]
    reasons = [str(r) for r in known if not r.what.startswith("tool ")]
    if not reasons and signature != item.fields["signature"]:
        reasons = ["the signature changed"]
    return "; ".join(reasons)
