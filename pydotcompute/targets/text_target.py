"""What targets have in common whose artifacts are texts: a driver compiles them where they are first loaded."""

from __future__ import annotations

from abc import abstractmethod
from types import ModuleType
from typing import ClassVar

from .base import Clock, Inspection, Job, Staged


class TextTarget(Staged):
    beside: ClassVar[tuple[str, ...]] = ("text",)
    has_blocks = True
    distributions = {"numpy": ("numpy",)}

    def missing(self) -> str:
        return ""  # the driver compiles

    @abstractmethod
    def compiler(self) -> ModuleType:
        """Its module with `compile_kernel` and `emitted`, as TextCompilation takes them."""

    def compilation(self, job: Job, clock: Clock) -> Inspection:
        from .text.compilation import TextCompilation

        compiler = self.compiler()
        return TextCompilation(job, clock, compiler.compile_kernel, compiler.emitted)
