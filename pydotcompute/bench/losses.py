"""Why a kernel takes longer than something else that does the same, as far as that is known."""

from __future__ import annotations

import tempfile
from typing import Any

from ..builder.build import Project, Request
from ..builder.show import shown

CALL = 1.0  # µs: what takes less is mostly the call
WAITS = 0.7  # of a copy: what comes so near waits for memory


def reason(row: dict[str, Any], directory: str) -> str:
    """Of a row of `bench --subject declared`: "calls", "memory", a loop that stayed scalar, by its line, with the
    compiler's reason, or "instructions". Raises CompilationError, CompilerNotInstalledError."""
    if row["µs"] < CALL:
        return "calls"
    if row["of a copy"] > WAITS:
        return "memory"
    project = Project(directory, lambda line: None)
    try:
        plan = project.plan(Request((row["kernel"],), (row["target"],)))
        item = next(item for item in plan.wanted if item.name[1] == row["specialization"])
        with tempfile.TemporaryDirectory(prefix="pydotcompute-") as folder:
            remarks = shown(plan, item, folder, "").remarks()
    finally:
        project.close()
    scalar = [(remark.at, remark.text) for remark in remarks if remark.text.startswith("scalar")]
    return "; ".join(f"line {at.line} {text}" for at, text in scalar if at) or "instructions"
