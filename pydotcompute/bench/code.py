"""What the machine code of each kernel costs, read and not run: of its hot loops together, instructions and cycles an
element, tails and what comes before a loop apart; registers, spills and occupancy of a GPU's."""

from __future__ import annotations

import tempfile
from typing import Any, Iterator

from ..builder.build import Project, Request
from ..builder.show import Shown, shown
from ..errors import CompilationError
from ..targets.listing import loops_of
from ..targets.machine_code import Costs

COLUMNS = (
    "kernel", "specialization", "target", "loops", "instructions", "fma", "cycles", "registers", "spills", "occupancy",
)  # fmt: skip


def measure(directory: str, targets: list[str], kernels: list[str], rounds: int = 1) -> Iterator[dict[str, Any]]:
    """rounds: nothing varies. A sum over the loops of a kernel is left out where one of them is not known."""
    project = Project(directory, lambda line: None)
    try:
        plan = project.plan(Request(tuple(kernels) or None, tuple(targets)))
        with tempfile.TemporaryDirectory(prefix="pydotcompute-") as folder:
            for item in plan.wanted:
                name = dict(zip(COLUMNS, item.name))
                try:
                    yield name | figures(shown(plan, item, folder, ""))
                except CompilationError as error:
                    yield {**name, "failed": f"{' '.join(item.name)}: {error}"}
    finally:
        project.close()


def names(directory: str) -> list[str]:
    """The kernels that can be looked at."""
    project = Project(directory, lambda line: None)
    project.close()
    return list(project.declaration.kernels)


def figures(found: Shown) -> dict[str, Any]:
    costs, heads = found.costs(), [] if found.job.rendered.raw else list(loops_of(found.tree))
    around = {head for head, lines in heads if any(other[:3] != head[:3] and other[:2] in lines for other, _ in heads)}
    hot = [loop for loop in costs.loops if loop.hot and loop.head not in around]
    row: dict[str, Any] = {"loops": len(hot)}
    each = [loop.per_element for loop in hot]
    row["instructions"] = sum(filter(None, each)) if hot and None not in each else None
    total = sum(loop.total for loop in hot)
    row["fma"] = f"{sum(loop.instructions.get('fma', 0) for loop in hot) / total:.0%}" if total else None
    cycles = [
        loop.throughput.cycles / loop.elements
        for loop in hot if loop.elements and loop.throughput and loop.throughput.cycles is not None
    ]  # fmt: skip
    row["cycles"] = sum(cycles) if cycles and len(cycles) == len(hot) else None
    return row | _launches(costs)


def _launches(costs: Costs) -> dict[str, Any]:
    if not costs.entries:
        return {}
    shares = [e.warps / e.most_warps for e in costs.entries if e.warps is not None and e.most_warps]
    return {
        "registers": max(e.registers for e in costs.entries),
        "spills": max(e.spill_stores + e.spill_loads for e in costs.entries),
        "occupancy": f"{min(shares):.0%}" if shares else None,
    }
