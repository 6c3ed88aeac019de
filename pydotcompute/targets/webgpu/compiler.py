"""A specialisation → an artifact for `webgpu`: the source text, and how the run half launches it.

What an artifact's metadata says:

    arguments, launches, scratch    how it is called: targets/text/arrays.py, targets/text/program.py
    bindings                        by entry, of each of its buffers, in the order of its arguments, the number and
                                    whether it is written; what is no memory lies in buffer 0, in words of 32 bits,
                                    the first of which is 0: two for an integer of the user's of 64 bits, a dimension
                                    too, else one
    words                           how many of these a buffer has at least
    limits                          of a launch: expressions that must lie within MOST_INDEX of 0
    shared                          bytes of shared memory of a block, at most
    sites, calls                    what is numbered where indices are checked: targets/sites.py; else unchecked
"""

from __future__ import annotations

from typing import Any

from ...analysis.inside import unproved
from ...artifact.dimensions import data
from ...ir.tree import KernelTree
from ..text.compilation import TextArtifact
from ..text.program import emit
from ..text.source import Source
from .dialect import WGSL, ZEROS

TARGET, SUFFIX = "webgpu", ".wgsl"


def emitted(tree: KernelTree, launch: dict[str, Any] | None = None, params: dict[str, Any] | None = None) -> Source:
    """The text of one specialisation. Raises DeclarationError for what WGSL does not have."""
    return emit(tree, WGSL, launch, params)


def compile_kernel(
    tree: KernelTree, launch: dict[str, Any] | None = None, params: dict[str, Any] | None = None
) -> TextArtifact:
    """The artifact of one specialisation. `launch` is the declaration's. Raises DeclarationError."""
    source = emitted(tree, launch, params)
    assert source.layout is not None
    meta = source.told(len(unproved(tree))) | {
        "launches": [_told(one) for one in source.launches],
        "bindings": source.layout.told(),
        "words": source.layout.words + ZEROS,
    }
    return TextArtifact(source.text.encode(), SUFFIX, meta)


def _told(launch: dict[str, Any]) -> dict[str, Any]:
    return {**launch, "limits": [data(limit) for limit in launch.get("limits", ())]}
