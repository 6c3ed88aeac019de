"""The size classes of calls, by which tuned params are chosen: the bytes of the arrays among a call's inputs."""

from __future__ import annotations

# What each class goes up to; the last has what is beyond. The same on every machine, so that a table says the same.
MOST = (2**15, 2**20)
NAMES = ("small", "medium", "large")


def number(size: int) -> int:
    """Which class so many bytes are of, as a place in NAMES."""
    return sum(size > most for most in MOST)
