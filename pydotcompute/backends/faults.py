"""An index outside of its array, in words: from what a kernel recorded and what its artifact says of its sites."""

from __future__ import annotations

from ..artifact.abi import NO_MEMORY
from ..cache.manifest import Artifact
from ..errors import AllocationError


def fault(artifact: Artifact, site: int, call: int, extent: int, index: int) -> Exception:
    """`path:line:column: index 7 is outside x, which has 5`, an IndexError; or an AllocationError. site, call: from 1,
    see artifact/abi.py."""
    sites, places = artifact.meta["sites"], artifact.meta["places"]
    *_, array, rank, axis = sites[site - 1]
    file, line, column = places[site - 1]
    if axis == NO_MEMORY:
        place = f"{artifact.root}/{file}:{line}:{column}"
        return AllocationError(f"{place}: no memory for {array}, of which each thread takes {index:,} bytes")
    of_axis = f" of axis {axis}" if rank > 1 else ""
    text = f"{artifact.root}/{file}:{line}:{column}: index {index}{of_axis} is outside {array}, which has {extent}"
    if not call:
        return IndexError(text)
    other, caller, _ = places[len(sites) + call - 1]
    of_file = "" if other == file else f" of {artifact.root}/{other}"
    return IndexError(f"{text}, in a helper called on line {caller}{of_file}")
