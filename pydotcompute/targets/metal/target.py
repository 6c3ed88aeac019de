"""The target `metal:2.4`: the Metal Shading Language, which the driver compiles where it is first loaded."""

from __future__ import annotations

from types import ModuleType

from ...artifact.signature import DTYPES
from ...ir.dtypes import DOUBLES
from ..text_target import TextTarget


class MetalTarget(TextTarget):
    name = "metal"
    default = "metal:2.4"
    pattern = "metal:2[.]4"
    examples = ("metal:2.4",)
    beside = ("opencl", "text")
    dtypes = frozenset(DTYPES) - DOUBLES
    comments = {".metal": "//"}
    loses = {"extreme": "denormals"}
    stages = {"text": "MSL"}

    def compiler(self) -> ModuleType:
        from . import compiler

        return compiler


TARGET = MetalTarget()
