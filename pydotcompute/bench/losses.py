"""Why a kernel takes longer than something else that does the same, as far as that is known."""

from __future__ import annotations

from functools import cache
from typing import Any

from ..builder.build import Project, Request
from ..builder.show import shown
from ..targets.temporary import temporary_folder

CALL = 1.0  # µs: what takes less is mostly the call
WAITS = 0.7  # of a copy: what comes so near waits for memory


def reason(row: dict[str, Any], directory: str) -> str:
    """Of a row of `bench --subject declared`: "calls", "memory", a loop that stayed scalar, by its line, with the
    compiler's reason, or "instructions". Raises CompilationError, CompilerNotInstalledError."""
    if row["µs"] < CALL:
        return "calls"
    if row["of a copy"] > WAITS:
        return "memory"
    return _of_loops(directory, row["kernel"], row["specialization"], row["target"])


@cache
def _of_loops(directory: str, kernel: str, specialization: str, target: str) -> str:
    """The same at every size."""
    project = Project(directory, lambda line: None)
    try:
        plan = project.plan(Request((kernel,), (target,)))
        item = next(item for item in plan.wanted if item.name[1] == specialization)
        with temporary_folder() as folder:
            remarks = shown(plan, item, folder, "").remarks()
    finally:
        project.close()
    scalar = [(remark.at, remark.text) for remark in remarks if remark.text.startswith("scalar")]
    return "; ".join(f"line {at.line} {text}" for at, text in scalar if at) or "instructions"
