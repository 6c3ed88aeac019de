"""What a kernel tells of an index outside of its array, or of a step of 0."""

from typing import Any

from pydotcompute.artifact.abi import NO_STEP


def raise_told(built: Any, site: int, of: int, extent: int, index: int) -> None:
    """IndexError(array, axis, extent, index, line of the site, line of the helper's call or 0), or ValueError(line of
    the step, line of the call)."""
    line, _, array, _, axis, *_ = built.meta["sites"][site - 1]
    call = built.meta["calls"][of - 1][0] if of else 0
    raise ValueError(line, call) if axis == NO_STEP else IndexError(array, axis, extent, index, line, call)
