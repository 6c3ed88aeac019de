"""A specialisation → an artifact for `metal:2.4`: the source text, and how a run half launches it.

What an artifact's metadata says:

    arguments, launches, scratch    how it is called: targets/text/arrays.py, targets/text/program.py; a launch is of
                                    whole blocks (dispatchThreadgroups)
    bindings                        by entry, of each of its arguments in their order: the number of a buffer; of what
                                    is no memory [offset, bytes] in buffer 0, which holds them as a struct of C
    bytes                           of that struct, by entry
    shared                          bytes of threadgroup memory of a block, at most
    fast_math                       how the text has to be compiled: MTLCompileOptions.fastMathEnabled. It is False:
                                    NaN and infinities are meant, and sums carry their rounding errors along
    sites, calls                    what is numbered where indices are checked: targets/sites.py; else unchecked
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...analysis.inside import unproved
from ...artifact.signature import DTYPE_BYTES
from ...errors import DeclarationError
from ...ir.tree import KernelTree
from ..text.arrays import Argument
from ..text.compilation import TextArtifact
from ..text.program import emit, passed
from ..text.source import Source
from .dialect import METAL, VERSION
from .faults import OF_BLOCK, OF_BLOCK_BYTES

TARGET, SUFFIX = f"metal:{VERSION}", ".metal"
MOST_BUFFERS, MOST_SHARED, MOST_THREADS = 31, 32 << 10, 1024


def emitted(tree: KernelTree, launch: dict[str, Any] | None = None, params: dict[str, Any] | None = None) -> Source:
    """The text of one specialisation. Raises DeclarationError for what Metal does not have."""
    source = emit(tree, METAL, launch, params)
    source = replace(source, shared=source.shared + OF_BLOCK_BYTES * (OF_BLOCK in source.text))
    for entry, given in source.given.items():
        buffers = sum(a.is_memory for a in given) + any(not a.is_memory for a in given)
        if buffers > MOST_BUFFERS:
            raise DeclarationError(
                f"{tree.name}: {entry} takes {buffers} buffers, and a kernel of Metal at most {MOST_BUFFERS}",
                hint="give it fewer arrays",
            )
    if source.shared > MOST_SHARED:
        raise DeclarationError(
            f"{tree.name}: a block takes {source.shared} bytes of shared memory, and Metal has {MOST_SHARED}",
            hint="make the shared arrays smaller",
        )
    if (most := max(one["block"] for one in source.launches)) > MOST_THREADS:
        raise DeclarationError(f"{tree.name}: a block of {most} threads, and Metal has at most {MOST_THREADS}")
    return source


def compile_kernel(
    tree: KernelTree, launch: dict[str, Any] | None = None, params: dict[str, Any] | None = None
) -> TextArtifact:
    """The artifact of one specialisation. `launch` is the declaration's. Raises DeclarationError."""
    source = emitted(tree, launch, params)
    bound = {entry: bindings(given) for entry, given in sorted(source.given.items())}
    meta = source.told(len(unproved(tree))) | {
        "bindings": {entry: list(found) for entry, (found, _) in bound.items()},
        "bytes": {entry: size for entry, (_, size) in bound.items()},
        "fast_math": False,
    }
    return TextArtifact(source.text.encode(), SUFFIX, meta)


def bindings(given: tuple[Argument, ...]) -> tuple[list[int | list[int]], int]:
    """Where a kernel finds each of its arguments, see above, and the bytes of its struct."""
    found: list[int | list[int]] = []
    buffers, size, widest = int(any(not a.is_memory for a in given)), 0, 1
    for a in given:
        if a.is_memory:
            found.append(buffers)
            buffers += 1
            continue
        own = DTYPE_BYTES[passed(a)]
        size, widest = -(-size // own) * own, max(widest, own)
        found.append([size, own])
        size += own
    return found, -(-size // widest) * widest
