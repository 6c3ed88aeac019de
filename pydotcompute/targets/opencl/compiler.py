"""A specialisation → an artifact for `opencl:1.2`: the source text, and how the run half launches it.

What an artifact's metadata says:

    arguments, launches, scratch    how it is called: targets/text/arrays.py, targets/text/program.py
    shared                          bytes of shared memory of a block, at most
    sites, calls                    what is numbered where indices are checked: targets/sites.py; else unchecked
    features                        what a device must have: "float64", "int64_atomics"
"""

from __future__ import annotations

from typing import Any

from ...analysis.inside import unproved
from ...ir.tree import KernelTree
from ..text.compilation import TextArtifact
from ..text.program import emit
from ..text.source import Source
from .dialect import OPENCL

TARGET, SUFFIX = "opencl:1.2", ".cl"


def emitted(tree: KernelTree, launch: dict[str, Any] | None = None, params: dict[str, Any] | None = None) -> Source:
    """The text of one specialisation. Raises DeclarationError for what OpenCL C does not have."""
    return emit(tree, OPENCL, launch, params)


def compile_kernel(
    tree: KernelTree, launch: dict[str, Any] | None = None, params: dict[str, Any] | None = None
) -> TextArtifact:
    """The artifact of one specialisation. `launch` is the declaration's. Raises DeclarationError."""
    source = emitted(tree, launch, params)
    meta = source.told(len(unproved(tree))) | {"features": sorted(source.features)}
    return TextArtifact(source.text.encode(), SUFFIX, meta)
