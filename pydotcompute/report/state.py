"""Kernels × targets: what there is of each artifact, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..builder.build import Project
from ..builder.plan import Item, Name, Plan
from ..cache.checks import Checked, kept
from ..cache.contents import Cache, Record, indices

STATES = {
    "checked": "built, and held to its reference",
    "built": "built, not checked since",
    "stale": "built, and out of date",
    "failed": "not built, or wrong",
    "declared": "declared, not built",
}


def cells(project: Project, plan: Plan) -> dict[Name, dict[str, Any]]:
    """Kernel, specialisation and target → the state of the artifact, with the reason and what is known of it."""
    records = {(r.kernel, r.specialization, r.target): r for r in Cache(project.root).records()}
    checks = kept(project.cache)
    failed = {
        (kernel, label, target): why
        for kernel, entry in plan.manifest["kernels"].items()
        for label, specialisation in entry["specializations"].items()
        for target, why in specialisation.get("failed", {}).items()
    }
    found = {}
    for item in plan.items:
        found[item.name] = _cell(item, records.get(item.name), failed.get(item.name, ""), checks, project)
    for name, error in plan.failures.items():
        found[name] = {"state": "failed", "why": _line(error)}
    for kernel, error in plan.refused.items():
        found |= {(kernel, "-", target): {"state": "failed", "why": _line(error)} for target in plan.targets}
    return found


def _cell(
    item: Item, record: Record | None, failed: str, checks: Mapping[str, Checked], project: Project
) -> dict[str, Any]:
    kept = project.history(item.key if record is None else record.key) or {}
    cell: dict[str, Any] = {"key": item.key, "fields": item.fields}
    checked = None if record is None else checks.get(record.object)
    if record is not None:
        cell |= {"size": record.size, "object": record.object, "path": record.path, "made": record.made,
                 "used": record.used, "seconds": kept.get("seconds"), "meta": record.meta,
                 "indices": indices(record.meta)}  # fmt: skip
    if record is None:
        return cell | ({"state": "failed", "why": failed} if failed else {"state": "declared", "why": "not built"})
    if item.reasons:
        return cell | {"state": "failed" if failed else "stale", "why": failed or item.reason}
    if checked is None:
        return cell | {"state": "built", "why": "current; no check has looked at it"}
    if checked.failed:
        return cell | {"state": "failed", "why": f"the check failed: {checked.what}", "checked": checked.at}
    return cell | {"state": "checked", "why": f"current; {checked.cases} cases held", "checked": checked.at}


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]
