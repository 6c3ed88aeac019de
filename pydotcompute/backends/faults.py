"""An index outside of its array, in words: from what a kernel recorded and what its artifact says of its sites."""

from __future__ import annotations

from ..cache.manifest import Artifact


def told(artifact: Artifact, site: int, call: int, extent: int, index: int) -> str:
    """`path:line:column: index 7 is outside x, which has 5`. site, call: from 1, see artifact/abi.py."""
    sites, places = artifact.meta["sites"], artifact.meta["places"]
    *_, array, rank, axis = sites[site - 1]
    file, line, column = places[site - 1]
    of_axis = f" of axis {axis}" if rank > 1 else ""
    text = f"{artifact.root}/{file}:{line}:{column}: index {index}{of_axis} is outside {array}, which has {extent}"
    if not call:
        return text
    other, caller, _ = places[len(sites) + call - 1]
    return f"{text}, in a helper called on line {caller}" + ("" if other == file else f" of {artifact.root}/{other}")
