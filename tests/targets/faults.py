"""What a kernel tells of an index outside of its array."""

from typing import Any


def raise_index_error(built: Any, site: int, of: int, extent: int, index: int) -> None:
    """IndexError(array, axis, extent, index, line of the site, line of the helper's call or 0)."""
    line, _, array, _, axis = built.meta["sites"][site - 1]
    raise IndexError(array, axis, extent, index, line, built.meta["calls"][of - 1][0] if of else 0)
