"""How long cases take as they grow: one that would take longer than is left of a budget is left out."""

from __future__ import annotations

import math

BUDGET = 8.0  # seconds
APART = 2.0  # how many times as large two cases are at least that tell how their time grows
STEEPEST = 3.0  # the power of the size with which it is taken to grow at most; at least it is the first
ASKED = 3  # of the largest cases: a machine that did something else makes one of them slow, and hardly all


class Pace:
    """What cases of one kernel took, in growing order, and whether a larger one is worth trying."""

    def __init__(self, seconds: float):
        self.left, self.spent = seconds, 0.0
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
        """By what the largest cases so far promise; how steeply it grows, by the largest and one that is well smaller,
        where that took long enough to tell: twice what every case takes, however small."""
        last, every = max(self._took), min(self._took.values())
        telling = [s for s in sorted(self._took) if self._took[s] > 2 * every]
        before = max((s for s in telling if s * APART <= last), default=0.0)
        own, growth = self._took[last] - every, 1.0
        if before and own:
            growth = math.log(own / (self._took[before] - every)) / math.log(last / before)
        growth = min(max(growth, 1.0), STEEPEST)
        return min(every + (self._took[s] - every) * max(size / s, 1.0) ** growth for s in {*telling[-ASKED:], last})
