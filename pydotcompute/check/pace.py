"""How long cases take as they grow: one that would take longer than is left of a budget is left out."""

from __future__ import annotations

import math
from time import perf_counter, process_time
from typing import Callable, Sequence

from ..artifact.targets import backend_of

BUDGET = 8.0  # seconds
APART = 2.0  # how many times as large two cases are at least that tell how their time grows
STEEPEST = 3.0  # the power of the size with which it is taken to grow at most; at least it is the first
ASKED = 3  # of the largest cases: a machine that did something else makes one of them slow, and hardly all


def clock(targets: Sequence[str]) -> Callable[[], float]:
    """What tells how long cases on these targets take. The processor's time where nothing else computes: what other
    programs do at that time makes no case slower then."""
    return process_time if {*map(backend_of, targets)} <= {"cpu"} else perf_counter


class Pace:
    """What cases of one kernel took by a clock, in growing order, and whether a larger one is worth trying."""

    def __init__(self, seconds: float, clock: Callable[[], float] = process_time):
        self.left, self.spent, self.clock = seconds, 0.0, clock
        self._took: dict[float, float] = {}  # size → seconds, of the fastest case of this size

    def note(self, size: float, seconds: float) -> None:
        """size: 0 of a case that is empty along some axis, which tells nothing of others."""
        self.left, self.spent = self.left - seconds, self.spent + seconds
        if size:
            self._took[size] = min(seconds, self._took.get(size, math.inf))

    def allows(self, size: float) -> bool:
        """Whether one of this size is expected to be done in what is left."""
        return not self._took or self._expected(size) <= self.left

    def _expected(self, size: float) -> float:
        """By what the largest cases so far promise; how steeply it grows, by the largest and those that are smaller,
        where they took long enough to tell: twice what every case takes, however small."""
        last, every = max(self._took), min(self._took.values())
        telling = [s for s in sorted(self._took) if self._took[s] > 2 * every]
        before = [s for s in telling if s * APART <= last][-ASKED:]
        own = self._took[last] - every
        growths = [math.log(own / (self._took[s] - every)) / math.log(last / s) for s in before if own]
        growth = min(max(min(growths, default=1.0), 1.0), STEEPEST)
        return min(every + (self._took[s] - every) * max(size / s, 1.0) ** growth for s in {*telling[-ASKED:], last})
