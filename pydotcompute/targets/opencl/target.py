"""The target `opencl:1.2`: OpenCL C, which the driver compiles where it is first loaded."""

from __future__ import annotations

from types import ModuleType

from ..text_target import TextTarget


class OpenCLTarget(TextTarget):
    name = "opencl"
    default = "opencl:1.2"
    pattern = "opencl:1[.]2"
    examples = ("opencl:1.2",)
    comments = {".cl": "//"}
    stages = {"text": "OpenCL C"}

    def compiler(self) -> ModuleType:
        from . import compiler

        return compiler


TARGET = OpenCLTarget()
