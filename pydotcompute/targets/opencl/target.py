"""The target `opencl:1.2`: OpenCL C, which the driver compiles where it is first loaded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...artifact.signature import DTYPES
from ..base import Answer, Clock, Inspection, Job, Target

if TYPE_CHECKING:
    from ..text.compilation import TextCompilation

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
        return self._compilation(job, clock).answer()

    def inspect(self, job: Job) -> Inspection:
        return self._compilation(job, Clock())

    def _compilation(self, job: Job, clock: Clock) -> TextCompilation:
        from ..text.compilation import TextCompilation
        from .compiler import compile_kernel, emitted

        return TextCompilation(job, clock, compile_kernel, emitted)


TARGET = OpenCLTarget()
