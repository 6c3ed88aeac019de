"""The target `opencl:1.2`: OpenCL C, which the driver compiles where it is first loaded."""

from __future__ import annotations

import os
from time import perf_counter

from ...artifact.signature import DTYPES
from ..base import Answer, Artifact, Clock, Job, Target
from ..listing import Listing, of_text

HERE = os.path.dirname(os.path.abspath(__file__))


class OpenCLTarget(Target):
    name = "opencl"
    default = "opencl:1.2"
    pattern = "opencl:1[.]2"
    examples = ("opencl:1.2",)
    dtypes = frozenset(DTYPES)
    has_blocks = True
    comments = {".cl": "//"}
    stages = {"text": "OpenCL C"}
    distributions = {"numpy": ("numpy",)}

    def code(self) -> tuple[str, ...]:
        return (HERE, os.path.join(os.path.dirname(HERE), "text"))

    def missing(self) -> str:
        return ""  # the driver compiles

    def compile(self, job: Job, clock: Clock) -> Answer:
        from ...analysis.races import check
        from ...frontend.build import build_tree
        from .compiler import compile_kernel

        started = perf_counter()
        tree = check(build_tree(job.kernel, job.specialisation, job.rendered))
        clock.tick("front end")
        made = compile_kernel(tree, job.kernel.launch, dict(job.specialisation.params))
        job.write(made.suffix, made.data.decode())
        clock.tick("lower")
        artifact = Artifact(made.data, made.suffix, made.meta, perf_counter() - started)
        return Answer(dict.fromkeys(job.targets, artifact), {}, tuple(sorted(tree.aliases)), clock.phases)

    def listing(self, job: Job, stage: str) -> Listing:
        from ...analysis.races import check
        from ...frontend.build import build_tree
        from ..text.program import emit
        from .dialect import OPENCL

        tree = check(build_tree(job.kernel, job.specialisation, job.rendered))
        source = emit(tree, OPENCL, job.kernel.launch, dict(job.specialisation.params))
        return of_text(source.text, source.positions)


TARGET = OpenCLTarget()
