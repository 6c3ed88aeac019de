"""The target `webgpu`: WGSL, which wgpu compiles where it is first loaded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...artifact.signature import DTYPES
from ...declare.model import Kernel, Rendered, Specialisation
from ...errors import DeclarationError
from ..base import Answer, Clock, Inspection, Job, Target

if TYPE_CHECKING:
    from ..text.compilation import TextCompilation

HERE = os.path.dirname(os.path.abspath(__file__))
LACKS = ("float64", "complex128")


class WebGPUTarget(Target):
    name = "webgpu"
    default = "webgpu"
    pattern = "webgpu"
    examples = ("webgpu",)
    dtypes = frozenset(DTYPES) - frozenset(LACKS)
    scalars = frozenset({"int64", "uint64"})
    has_blocks = True
    comments = {".wgsl": "//"}
    loses = {"special": "NaN, infinities and the sign of zero", "extreme": "denormals, and what overflows"}
    stages = {"text": "WGSL"}
    distributions = {"numpy": ("numpy",)}

    def code(self) -> tuple[str, ...]:
        return (HERE, os.path.join(os.path.dirname(HERE), "text"))

    def meant(self, text: str) -> str:
        return self.default if text in ("wgpu", "wgsl", "vulkan") else ""

    def missing(self) -> str:
        return ""  # wgpu compiles

    def check(self, kernel: Kernel, specialisation: Specialisation, rendered: Rendered) -> None:
        super().check(kernel, specialisation, rendered)
        if not {"contract", "fast"} & set(kernel.fastmath):
            raise DeclarationError(
                f"{kernel.name}: fastmath without contract forbids to round a product and a sum at once, which WGSL "
                "may do whatever it is told", kernel.at, "leave fastmath out, or declare targets without webgpu",
            )  # fmt: skip

    def compile(self, job: Job, clock: Clock) -> Answer:
        return self._compilation(job, clock).answer()

    def inspect(self, job: Job) -> Inspection:
        return self._compilation(job, Clock())

    def _compilation(self, job: Job, clock: Clock) -> TextCompilation:
        from ..text.compilation import TextCompilation
        from .compiler import compile_kernel, emitted

        return TextCompilation(job, clock, compile_kernel, emitted)


TARGET = WebGPUTarget()
