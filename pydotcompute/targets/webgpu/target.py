"""The target `webgpu`: WGSL, which wgpu compiles where it is first loaded."""

from __future__ import annotations

from types import ModuleType

from ...artifact.signature import DTYPES
from ...declare.model import Kernel, Rendered, Specialisation
from ...errors import DeclarationError
from ...ir.dtypes import DOUBLES
from ..text_target import TextTarget


class WebGPUTarget(TextTarget):
    name = "webgpu"
    default = "webgpu"
    pattern = "webgpu"
    examples = ("webgpu",)
    dtypes = frozenset(DTYPES) - DOUBLES
    scalars = frozenset({"int64", "uint64"})
    comments = {".wgsl": "//"}
    loses = {"special": "NaN, infinities and the sign of zero", "extreme": "denormals, and what overflows"}
    stages = {"text": "WGSL"}

    def meant(self, text: str) -> str:
        return self.default if text in ("wgpu", "wgsl", "vulkan") else ""

    def check(self, kernel: Kernel, specialisation: Specialisation, rendered: Rendered) -> None:
        super().check(kernel, specialisation, rendered)
        if not {"contract", "fast"} & set(kernel.fastmath):
            raise DeclarationError(
                f"{kernel.name}: fastmath without contract forbids to round a product and a sum at once, which WGSL "
                "may do whatever it is told", kernel.at, "leave fastmath out, or declare targets without webgpu",
            )  # fmt: skip

    def compiler(self) -> ModuleType:
        from . import compiler

        return compiler


TARGET = WebGPUTarget()
