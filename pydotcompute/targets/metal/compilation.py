"""One specialisation on its way to Metal's language; each step is done when it is first asked for, and once."""

from __future__ import annotations

from functools import cached_property
from time import perf_counter

from ..base import Answer, Artifact, Clock, Inspection, Job
from ..listing import Listing, of_text
from .compiler import compile_kernel, emitted


class Compilation(Inspection):
    def __init__(self, job: Job, clock: Clock):
        self.job, self.clock = job, clock

    def answer(self) -> Answer:
        return self._answer

    @cached_property
    def _answer(self) -> Answer:
        job, started = self.job, perf_counter()
        tree = self.tree
        self.clock.tick("front end")
        made = compile_kernel(tree, job.kernel.launch, dict(job.specialisation.params))
        job.write(made.suffix, made.data.decode())
        self.clock.tick("lower")
        artifact = Artifact(made.data, made.suffix, made.meta, perf_counter() - started)
        return Answer(dict.fromkeys(job.targets, artifact), {}, tuple(sorted(tree.aliases)), self.clock.phases)

    def listing(self, stage: str) -> Listing:
        source = emitted(self.tree, self.job.kernel.launch, dict(self.job.specialisation.params))
        return of_text(source.text, source.positions)
