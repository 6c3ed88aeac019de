"""The target `metal:2.4`: the Metal Shading Language, which the driver compiles where it is first loaded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...artifact.signature import DTYPES
from ..base import Answer, Clock, Inspection, Job, Target

if TYPE_CHECKING:
    from ..text.compilation import TextCompilation

HERE = os.path.dirname(os.path.abspath(__file__))
LACKS = ("float64", "complex128")


class MetalTarget(Target):
    name = "metal"
    default = "metal:2.4"
    pattern = "metal:2[.]4"
    examples = ("metal:2.4",)
    dtypes = frozenset(DTYPES) - frozenset(LACKS)
    has_blocks = True
    comments = {".metal": "//"}
    loses = {"extreme": "denormals"}
    stages = {"text": "MSL"}
    distributions = {"numpy": ("numpy",)}

    def code(self) -> tuple[str, ...]:
        targets = os.path.dirname(HERE)
        return (HERE, *(os.path.join(targets, name) for name in ("opencl", "text")))

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


TARGET = MetalTarget()
