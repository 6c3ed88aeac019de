"""A specialisation → an artifact for `opencl:1.2`: the source text, and how the run half launches it.

What an artifact's metadata says:

    arguments, launches, scratch    how it is called: targets/text/arrays.py, targets/text/program.py
    shared                          bytes of shared memory of a block, at most
    sites, calls                    what is numbered where indices are checked: targets/sites.py; else unchecked
    features                        what a device must have: "float64", "int64_atomics"
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...analysis.inside import unproved
from ...artifact.dimensions import data
from ...ir.tree import KernelTree
from ..text.program import emit
from .dialect import OPENCL

TARGET, SUFFIX = "opencl:1.2", ".cl"


class OpenCLArtifact(NamedTuple):
    data: bytes
    suffix: str
    meta: dict[str, Any]


def compile_kernel(
    tree: KernelTree, launch: dict[str, Any] | None = None, params: dict[str, Any] | None = None
) -> OpenCLArtifact:
    """The artifact of one specialisation. `launch` is the declaration's. Raises DeclarationError for what OpenCL C does
    not have."""
    source = emit(tree, OPENCL, launch, params)
    meta = {
        "arguments": [list(a) for a in source.arguments],
        "launches": list(source.launches),
        "scratch": [data(size) for size in source.scratch],
        "shared": source.shared,
        "features": sorted(source.features),
        **(source.sites.told() if source.sites else {"unchecked": len(unproved(tree))}),
        **({"program": list(source.program)} if source.program else {}),
    }
    return OpenCLArtifact(source.text.encode(), SUFFIX, meta)
