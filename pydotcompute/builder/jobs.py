"""What travels between the builder and its workers: one job for a specialisation, one answer back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..declare.model import Kernel, Rendered, Specialisation


@dataclass(frozen=True)
class Job:
    """Make these targets of one specialisation, all of one backend: the front end runs once for them."""

    kernel: Kernel
    specialisation: Specialisation
    rendered: Rendered
    targets: tuple[str, ...]  # with `+bounds`, where that is meant
    folder: str  # where its rendered sources go
    linker: str = ""  # empty: LLD of the ziglang wheel

    @property
    def backend(self) -> str:
        return self.targets[0].partition(":")[0]

    def __str__(self) -> str:
        return f"{self.kernel.name} {self.specialisation}"


@dataclass(frozen=True)
class Artifact:
    """Compiled bytes and what the manifest says about them."""

    data: bytes
    suffix: str
    meta: dict[str, Any]
    seconds: float  # of its own part: code generation and link


@dataclass(frozen=True)
class Answer:
    """What became of a job: artifacts by target, failures by target (`""`: of every one), times by phase."""

    artifacts: dict[str, Artifact] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    aliases: tuple[tuple[str, str], ...] = ()
    phases: dict[str, float] = field(default_factory=dict)
