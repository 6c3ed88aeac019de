"""What becomes of one specialisation for one target, stage by stage, made again from its declaration.

An artifact that is shown is the cache's own: compiled anew, its bytes are compared with the object there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..analysis.inside import unproved
from ..artifact.identity import bind
from ..cache.files import sha256
from ..ir import printer
from ..ir.tree import KernelTree
from ..targets.base import Inspection, Job, Target
from ..targets.listing import STAGES, Line, Listing, Remark, loops_of, of_rendered
from ..targets.machine_code import Costs
from ..targets.registry import get
from .execute import jobs_of
from .plan import Item, Plan


@dataclass(frozen=True)
class Shown:
    """One artifact that is being looked at. Its methods raise DeclarationError, CompilationError and
    CompilerNotInstalledError."""

    item: Item
    entry: dict[str, Any] | None  # of the manifest; None: there is none
    job: Job

    @property
    def stages(self) -> dict[str, str]:
        """Name → what it is, of all that `listing` takes."""
        own = {} if self.job.rendered.raw and self.job.rendered.raw != get(self.job.backend).raw else self.target.stages
        stages = {**STAGES, **own}
        if self.job.rendered.raw:
            del stages["tree"]
        return stages

    @property
    def target(self) -> Target:
        return get(self.job.backend)

    def listing(self, stage: str) -> Listing:
        if stage == "source":
            return of_rendered(self.job.rendered)
        if stage == "tree":
            return Listing(tuple(Line(*line) for line in printer.lines(self.tree)))
        return self.inspection.listing(stage)

    @cached_property
    def inspection(self) -> Inspection:
        return self.target.inspect(self.job)

    @property
    def tree(self) -> KernelTree:
        return self.inspection.tree

    def remarks(self) -> tuple[Remark, ...]:
        return self.inspection.remarks()

    def costs(self) -> Costs:
        return self.inspection.costs()

    def same_bytes(self) -> str:
        """Whether it is what the cache has: a sentence."""
        entry = self.entry
        if entry is None:
            return "not built; this is what a build would make"
        if self.item.reasons:
            return f"what was built is out of date ({self.item.reason}); this is what a build would make"
        made = self.inspection.made
        data = bind(made.data, self.item.said(made.meta), self.target.comments.get(made.suffix, ""))
        if sha256(data) == entry["object"]:
            return f"made again, byte by byte the object {entry['object'][:12]} of the cache"
        return f"made again, and other than the object {entry['object'][:12]} of the cache, though nothing says why"

    def checks(self) -> tuple[Remark, ...]:
        """The indices that are not proved to be inside of their arrays, and what becomes of them."""
        if self.job.rendered.raw:
            return (Remark(None, "a raw kernel: nobody looks at its indices"),)
        looked = "is looked at in every call" if "sites" in self.inspection.made.meta else "is not looked at"
        what = f"an index that is not proved to be inside {looked}"
        return tuple(Remark(node.at, f"{node.array}: {what}") for node in unproved(self.tree))

    def loop(self, line: int) -> tuple[set[tuple[str, int]], list[int]]:
        """Files and lines of the loop whose head stands in this line; and, if there is none, the lines of those that
        there are."""
        loops = list(loops_of(self.tree))
        for head, lines in loops:
            if head.line == line:
                return lines, []
        return set(), sorted({head.line for head, _ in loops})


def shown(plan: Plan, item: Item, folder: str, linker: str) -> Shown:
    """What is made of an item of a plan; its sources are written to the folder."""
    (job,) = jobs_of(plan, [item], folder, linker)
    return Shown(item, plan.entry(item), job)
