"""One specialisation on its way to a text that a driver compiles; each step is done when it is first asked for, and
once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

from ...ir.tree import KernelTree
from ..base import Answer, Artifact, Clock, Inspection, Job
from ..listing import Listing, of_text
from .source import Source


class TextArtifact(NamedTuple):
    data: bytes
    suffix: str
    meta: dict[str, Any]


class TextCompilation(Inspection):
    """made: from a tree to an object; emitted: to the text of it, whose lines have places."""

    def __init__(
        self, job: Job, clock: Clock, made: Callable[[KernelTree, dict, dict], TextArtifact],
        emitted: Callable[[KernelTree, dict, dict], Source],
    ):  # fmt: skip
        self.job, self.clock = job, clock
        self._made, self._emitted = made, emitted

    def answer(self) -> Answer:
        return self._answer

    @cached_property
    def _answer(self) -> Answer:
        job, started = self.job, perf_counter()
        tree = self.tree
        self.clock.tick("front end")
        made = self._made(tree, job.kernel.launch, dict(job.specialisation.params))
        job.write(made.suffix, made.data.decode())
        self.clock.tick("lower")
        artifact = Artifact(made.data, made.suffix, made.meta, perf_counter() - started)
        return Answer(dict.fromkeys(job.targets, artifact), {}, tuple(sorted(tree.aliases)), self.clock.phases)

    def listing(self, stage: str) -> Listing:
        source = self._emitted(self.tree, self.job.kernel.launch, dict(self.job.specialisation.params))
        return of_text(source.text, source.positions)
