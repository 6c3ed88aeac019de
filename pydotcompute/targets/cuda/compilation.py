"""One specialisation on its way to PTX and cubins; each step is done when it is first asked for, and once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

from ...analysis.inside import unproved
from ...errors import CompilationError, DeclarationError
from ..base import Answer, Artifact, Clock, Inspection, Job
from ..listing import Listing, Places, Remark, of_any_rows, of_rendered, of_text
from ..machine_code import Costs, Entry, loops
from . import compiler, listing, toolchain
from .instructions import decode
from .lowering import lower
from .nvvm import capability_of
from .occupancy import occupancy

Called = Callable[[str], str]  # the path of a user's file → what tables of lines call it


class Lowered(NamedTuple):
    """What is compiled: of the kernel language what it was lowered to, else the raw kernel's own Python."""

    listing: Listing
    compiler: Callable[[Called | None], compiler.Make]  # with tables of lines, which name files so; None: without
    aliases: tuple[tuple[str, str], ...]
    indices: dict[str, Any]  # what becomes of them; of a raw kernel nothing is said


class Compilation(Inspection):
    def __init__(self, job: Job, clock: Clock):
        self.job, self.clock = job, clock

    @cached_property
    def lowered(self) -> Lowered:
        job = self.job
        kernel, rendered = job.kernel, job.rendered
        path = job.write(".cuda-rendered.py", rendered.text)
        if rendered.raw:
            return Lowered(
                of_rendered(rendered),
                lambda called: compiler.raw_compiler(kernel, job.specialisation, rendered, path, called), (), {},
            )  # fmt: skip
        tree = self.tree
        self.clock.tick("front end")
        source = lower(tree, kernel.launch, dict(job.specialisation.params))
        file = job.write(".cuda.py", source.text)
        self.clock.tick("lower")
        indices = source.sites.told() if source.sites and source.sites.any else {"unchecked": len(unproved(tree))}
        return Lowered(
            of_text(source.text, source.positions),
            lambda called: compiler.source_compiler(source, file, tree.name, called),
            tuple(sorted(tree.aliases)), indices,
        )  # fmt: skip

    @cached_property
    def make(self) -> compiler.Make:
        """What artifacts are made by."""
        return self.lowered.compiler(self.job.from_root if self.job.debug_info else None)

    @cached_property
    def make_lined(self) -> compiler.Make:
        """The same, with the lines as `Places` knows them."""
        return self.lowered.compiler(Places.name)

    def answer(self) -> Answer:
        return self._answer

    @cached_property
    def _answer(self) -> Answer:
        job, parsed, failures = self.job, {}, {}
        for target in job.targets:
            try:
                parsed[target] = toolchain.parse_target(target)
            except DeclarationError as error:  # of this target alone: the toolchain does not know it
                failures[target] = str(error)
        lowered, make = self.lowered, self.make
        artifacts = {}
        for target, (form, arch) in parsed.items():
            started = perf_counter()
            try:
                made = make(form, arch, job.kernel.launch)
            except CompilationError as error:
                failures[target] = str(error)
                continue
            self.clock.tick("CUDA compiler")
            meta = made.meta | lowered.indices | ({"debug_info": True} if job.debug_info else {})
            artifacts[target] = Artifact(made.data, made.suffix, meta, perf_counter() - started)
        return Answer(artifacts, failures, lowered.aliases, self.clock.phases)

    def listing(self, stage: str) -> Listing:
        if stage == "lowered":
            return self.lowered.listing
        form, show = {"ptx": ("compute", listing.ptx), "sass": ("sm", listing.sass)}[stage]
        made, lined = (make(form, self.arch, self.job.kernel.launch).data for make in (self.make, self.make_lined))
        return show(made, lined, Places(line.at for line in self.lowered.listing.lines))

    def remarks(self) -> tuple[Remark, ...]:
        told = []
        for entry, used in self.made.meta["resources"].items():
            parts = (f"{number} {key.replace('_', ' ')}" for key, number in used.items())
            told.append(Remark(None, f"{entry}, sm_{self.arch}: {', '.join(parts)}"))
        return tuple(told)

    def costs(self) -> Costs:
        used, capability = self.made.meta["resources"], capability_of(self.arch)
        entries = []
        for name, block in {launch["entry"]: launch["block"] for launch in self.made.meta["launches"]}.items():
            held = occupancy(capability, block, used[name]["registers"], used[name]["shared"])
            entries.append(Entry(name, block, *(held or (None, None, "")), **used[name]))
        if self.job.rendered.raw:
            return Costs((), tuple(entries), ("a raw kernel: its loops are not looked at",))
        found = loops([*of_any_rows(self.listing("sass").lines, self.tree.name)], decode, self.tree, scalar=True)
        return Costs(tuple(loop for loop in found if loop.head is not None), tuple(entries))

    @property
    def arch(self) -> str:
        return toolchain.parse_target(self.job.targets[0])[1]
