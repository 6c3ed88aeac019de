"""How long what is left of a build will take, reckoned from what its artifacts took when they were made last."""

from __future__ import annotations

from statistics import fmean
from time import perf_counter
from typing import Any, Callable

from .plan import Name, Plan


class Estimate:
    """Of one build, from when its plan is known. history: the record that is kept under a key."""

    def __init__(
        self, plan: Plan, history: Callable[[str], dict[str, Any] | None], clock: Callable[[], float] = perf_counter
    ):
        self._left = expected(plan, history)
        self._whole = sum(self._left.values())
        self._clock, self._began = clock, clock()

    def done(self, name: Name) -> None:
        self._left.pop(name, None)

    @property
    def left(self) -> float | None:
        """Seconds; None as long as nothing is done, and when nothing is left."""
        left = sum(self._left.values())
        done = self._whole - left
        return (self._clock() - self._began) * left / done if self._left and done > 0 else None


def expected(plan: Plan, history: Callable[[str], dict[str, Any] | None]) -> dict[Name, float]:
    """How much of the work each artifact is that has to be made: the seconds that it took last; of those of which that
    is not known what others of the kernel took on average, or those of all, or 1."""
    known: dict[Name, float] = {}
    names = [item.name for item in plan.stale if item.found is None]
    for item in plan.stale:
        entry = plan.entry(item)
        record = history(entry["key"]) if entry is not None and item.found is None else None
        seconds = (record or {}).get("seconds")
        if isinstance(seconds, (int, float)) and seconds > 0:
            known[item.name] = seconds
    of_kernels: dict[str, list[float]] = {}
    for name, seconds in known.items():
        of_kernels.setdefault(name[0], []).append(seconds)
    others = fmean(known.values()) if known else 1.0
    return {name: known[name] if name in known else fmean(of_kernels.get(name[0], [others])) for name in names}
