"""A build as data for `--json` and for the summary line."""

from __future__ import annotations

from typing import Any, Mapping

from .outcome import Outcome
from .plan import Name, Plan

Row = dict[str, str | float | None]
VERSION = 1  # of the format


def as_json(plan: Plan, outcome: Outcome | None, refused: Mapping[Name, str] = {}) -> dict[str, Any]:
    """`{"version", "built", "reused", "failed", "artifacts"}`; `outcome` None: of a plan that is not carried out.
    refused: what would fail if it was, and why.

    An artifact's `status` is "built", "reused", "failed", "skipped" (after an earlier failure) or "stale" (in a plan
    only). `reason` says why it was not current, or why it failed. `seconds` is what its own code generation and link
    took, `bytes` the size of the object, both null where there is none.
    """
    artifacts: list[Row] = []
    results = {} if outcome is None else {result.item.name: result for result in outcome.results}
    for item in plan.wanted:
        row: Row = {"kernel": item.name[0], "specialization": item.name[1], "target": item.target}
        if not item.reasons:
            row |= {"status": "reused", "reason": "", "seconds": None, "bytes": _size(plan, item.name)}
            row |= {"key": item.key}
        elif item.name in results:
            result = results[item.name]
            seconds = result.seconds if result.status == "built" else None
            row |= {"status": result.status, "reason": result.reason, "seconds": seconds, "bytes": result.size}
            row |= {"key": item.key}
        elif item.name in refused:
            row |= {"status": "failed", "reason": refused[item.name], "seconds": None, "bytes": None, "key": item.key}
        else:
            status = "stale" if outcome is None else "skipped"
            row |= {"status": status, "reason": item.reason, "seconds": None, "bytes": None, "key": item.key}
        artifacts.append(row)
    for (kernel, specialisation, target), error in plan.failures.items():
        artifacts.append(
            {
                "kernel": kernel, "specialization": specialisation, "target": target, "status": "failed",
                "reason": str(error), "seconds": None, "bytes": None, "key": None,
            }
        )  # fmt: skip
    for kernel, error in plan.refused.items():
        artifacts.append(
            {
                "kernel": kernel, "specialization": None, "target": None, "status": "failed",
                "reason": str(error), "seconds": None, "bytes": None, "key": None,
            }
        )  # fmt: skip
    counts = {status: sum(row["status"] == status for row in artifacts) for status in ("built", "reused", "failed")}
    return {"version": VERSION, **counts, "artifacts": artifacts}


def _size(plan: Plan, name: tuple[str, str, str]) -> int:
    kernel, specialisation, target = name
    size: int = plan.manifest["kernels"][kernel]["specializations"][specialisation]["artifacts"][target]["size"]
    return size
