"""What compiles, as key fields: the versions of the tools that a target really uses, and a digest of our own code."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Iterable, Iterator

from ..cache.keys import digest
from ..targets.registry import get

CODE = "pydotcompute"  # the field that stands for our own code generation
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The rooms that every target is made from, besides what stands in `targets` itself.
SHARED = ("artifact", "declare", "ir", "frontend", "analysis")


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
    targets = os.path.join(PACKAGE, "targets")
    yield from _python(targets, os.listdir(targets), PACKAGE)
    for root in (*(os.path.join(PACKAGE, room) for room in SHARED), *get(backend).code()):
        for folder, _, names in os.walk(root):
            yield from _python(folder, names, os.path.dirname(root))


def _python(folder: str, names: Iterable[str], above: str) -> Iterator[tuple[str, str]]:
    for name in names:
        if name.endswith(".py"):
            path = os.path.join(folder, name)
            yield os.path.relpath(path, above).replace(os.sep, "/"), path
