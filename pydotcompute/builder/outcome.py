"""What came of a plan, as data: one result an artifact, times by phase."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

from .plan import Item, Name


@dataclass(frozen=True)
class Result:
    """What became of one artifact. `status`: "built", "reused", "failed", "skipped" (an earlier failure ended the
    build) or, where nothing is built, "stale"."""

    item: Item
    status: str
    reason: str  # why it was not current; of a failure: why it failed
    seconds: float = 0.0
    size: int | None = None
    note: str = ""  # what its author should know of it, such as registers that did not suffice


class Ran(NamedTuple):
    """One job of a worker. start, end: seconds since the build began."""

    kernel: str
    specialization: str
    targets: tuple[str, ...]
    worker: int
    start: float
    end: float
    phases: dict[str, float]  # seconds; what is missing of the whole is the start of the worker, and the way there
    failed: bool


@dataclass
class Outcome:
    """Grows while a plan is carried out, so that an interrupted build still knows what it has made."""

    made: dict[Name, dict[str, Any]] = field(default_factory=dict)
    failed: dict[Name, str] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    phases: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)  # by kernel, specialisation
    begun: bool = False  # whether anything was to be made, or all was given up before
    ran: list[Ran] = field(default_factory=list)
    started: float = field(default_factory=perf_counter)

    @property
    def elapsed(self) -> float:
        """Seconds since the build began."""
        return perf_counter() - self.started
