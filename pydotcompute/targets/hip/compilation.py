"""One specialisation on its way to code objects; each step is done when it is first asked for, and once."""

from __future__ import annotations

from functools import cached_property
from time import perf_counter

from ...analysis.inside import unproved
from ...errors import CompilationError
from ..base import Answer, Artifact, Clock, Inspection, Job
from ..listing import Listing, Remark, of_text
from ..machine_code import Costs, Entry, loops
from ..text.program import emit
from ..text.source import Source
from . import listing, toolchain
from .compiler import SUFFIX, compile_source, most_threads
from .dialect import HIP
from .instructions import decode


class Compilation(Inspection):
    def __init__(self, job: Job, clock: Clock):
        self.job, self.clock = job, clock

    @cached_property
    def source(self) -> Source:
        return emit(self.tree, HIP, self.job.kernel.launch, dict(self.job.specialisation.params))

    def answer(self) -> Answer:
        return self._answer

    @cached_property
    def _answer(self) -> Answer:
        job, artifacts, failures = self.job, {}, {}
        tree = self.tree
        self.clock.tick("front end")
        source, unchecked = self.source, len(unproved(tree))
        job.write(".hip.cl", source.text)
        self.clock.tick("lower")
        for target in job.targets:
            started = perf_counter()
            try:
                arch = toolchain.architecture(target)
                data, meta = compile_source(source, arch, unchecked, str(job), job.kernel.launch)
            except CompilationError as error:  # of this target alone
                failures[target] = str(error)
                continue
            self.clock.tick("clang")
            artifacts[target] = Artifact(data, SUFFIX, meta, perf_counter() - started)
        return Answer(artifacts, failures, tuple(sorted(tree.aliases)), self.clock.phases)

    def listing(self, stage: str) -> Listing:
        if stage == "text":
            return of_text(self.source.text, self.source.positions)
        given = self.source.text, self.arch, most_threads(self.source), str(self.job)
        plain, lined = (toolchain.assembly(*given, lines=lines) for lines in (False, True))
        return listing.instructions(plain, lined, self.source.positions)

    def remarks(self) -> tuple[Remark, ...]:
        told = []
        for entry, used in self.made.meta["resources"].items():
            parts = (f"{number} {key.replace('_', ' ')}" for key, number in used.items())
            told.append(Remark(None, f"{entry}, {self.arch}: {', '.join(parts)}"))
        return tuple(told)

    def costs(self) -> Costs:
        used, entries = self.made.meta["resources"], []
        for name, block in {launch["entry"]: launch["block"] for launch in self.made.meta["launches"]}.items():
            own = used[name]
            entries.append(
                Entry(name, block, None, None, "", own["vector_registers"], own["shared"], own["private"], 0, 0)
            )
        found = loops(self.listing("asm").lines, decode, self.tree)
        return Costs(tuple(loop for loop in found if loop.head is not None), tuple(entries))

    @property
    def arch(self) -> str:
        return toolchain.architecture(self.job.targets[0])
