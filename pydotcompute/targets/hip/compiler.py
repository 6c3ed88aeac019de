"""The text of a kernel → code objects for AMD's GPUs. What an artifact's metadata says:

    arguments, launches, scratch    how it is called: targets/text/arrays.py, targets/text/program.py
    shared                          bytes of shared memory of a block, at most
    sites, calls                    what is numbered where indices are checked: targets/sites.py; else unchecked
    resources                       {entry: RESOURCES}: of a thread, a wavefront or a block, as code_object.py says
    note                            where the registers of a thread did not suffice and the declaration sets no limit:
                                    what is spilled
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import budget
from ..text.source import Source
from . import toolchain
from .code_object import kernels

SUFFIX = ".hsaco"
SPILLED = 4  # bytes of a thread's register
RESOURCES = (
    "vector_registers", "scalar_registers", "shared", "private", "vector_spills", "scalar_spills", "lanes"
)  # fmt: skip


def most_threads(source: Source) -> int:
    """Of a block, of all launches."""
    return max(one["block"] for one in source.launches)


def compile_source(
    source: Source, arch: str, unchecked: int, what: str, launch: Mapping[str, Any]
) -> tuple[bytes, dict[str, Any]]:
    """The code object for an architecture, and what is said of it. what: what messages call it; launch: the
    declaration's. Raises CompilationError, also where a thread takes more than that allows, and
    CompilerNotInstalledError."""
    made = toolchain.code_object(source.text, arch, most_threads(source), what)
    used = {
        name: {key: getattr(kernel, key) for key in RESOURCES} for name, kernel in sorted(kernels(made).items())
    }  # fmt: skip
    for name, own in used.items():
        budget.check(launch, own["vector_registers"], SPILLED * own["vector_spills"], f"{what} for {arch}: {name}")
    free = {name: own["vector_spills"] for name, own in used.items() if "spills" not in launch}
    spilled = [f"{name} spills {number} registers a thread" for name, number in free.items() if number]
    return made, source.told(unchecked) | {
        "shared": max(own["shared"] for own in used.values()),
        "resources": used,
        **({"note": f"{'; '.join(spilled)}: launch.spills sets a limit"} if spilled else {}),
    }
