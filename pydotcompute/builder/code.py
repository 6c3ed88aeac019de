"""What compiles, as key fields: the versions of the tools that a target really uses, and a digest of our own code."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Iterator

from ..cache.keys import digest
from ..targets.registry import get

CODE = "pydotcompute"  # the field that stands for our own code generation
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# what every target is made from
SHARED = (
    "artifact", "declare", "ir", "frontend", "analysis",
    "targets/arrays.py", "targets/base.py", "targets/geometry.py", "targets/lane.py", "targets/listing.py",
    "targets/machine_code.py", "targets/names.py", "targets/phases.py", "targets/running.py", "targets/scans.py",
    "targets/scratch.py", "targets/sites.py", "targets/totals.py",
)  # fmt: skip


def versions(backend: str, linker: str = "") -> dict[str, str]:
    """Tool → version for a backend's target. `linker` is the setting: empty for LLD of the ziglang wheel."""
    result = get(backend).tools(linker)
    result["python"] = f"{sys.version_info.major}.{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
    result[CODE] = code_digest(backend)
    return result


@cache
def code_digest(backend: str) -> str:
    """A digest of all of the sources that artifacts of a target are made by."""
    parts = []
    for name, path in sorted(code_files(backend)):
        with open(path, "rb") as file:
            parts.append(f"{name} {digest(file.read())}")
    return digest("\n".join(parts))


def code_files(backend: str) -> Iterator[tuple[str, str]]:
    """(name, path) of each of those files: the rooms that all targets share, and the folders that this one names.

    The name is the path from the parent of the folder or room on, so that it is the same in any installation."""
    roots = [os.path.join(PACKAGE, *part.split("/")) for part in SHARED]
    for root in (*roots, *get(backend).code()):
        above = os.path.dirname(root)
        places = [(above, [os.path.basename(root)])] if root.endswith(".py") else ((d, f) for d, _, f in os.walk(root))
        for folder, names in places:
            for name in names:
                if name.endswith(".py"):
                    path = os.path.join(folder, name)
                    yield os.path.relpath(path, above).replace(os.sep, "/"), path
