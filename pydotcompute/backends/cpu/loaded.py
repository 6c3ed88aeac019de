"""Shared objects in this process's memory, as long as somebody holds them.

What lets go of the last reference may be anybody, at any point: a collection of cycles in the middle of something, a
thread, the end of the interpreter. So nothing is unloaded there; it is noted, and the next thread that loads a kernel
unloads what was noted, before it loads. It holds the GIL meanwhile: no thread forks then, and none begins a call.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from ...cache.objects import close_library, open_library

if TYPE_CHECKING:
    from ...cache.manifest import Artifact

_unused: list[ctypes.CDLL] = []


class Loaded:
    """The shared object of an artifact. Raises KernelNotBuiltError."""

    def __init__(self, artifact: Artifact):
        while _unused:
            close_library(_unused.pop())
        self.library = open_library(artifact)

    def __del__(self, unused: list[ctypes.CDLL] = _unused) -> None:
        if hasattr(self, "library"):
            unused.append(self.library)

    def address(self, symbol: str) -> int:
        """Raises ValueError if there is no such symbol."""
        return ctypes.addressof(ctypes.c_char.in_dll(self.library, symbol))


def box(thing: Any) -> np.ndarray:
    """A box of one thing, `box(thing)[0]`, into which the collector of cycles does not see."""
    made = np.empty(1, object)
    made[0] = thing
    return made
