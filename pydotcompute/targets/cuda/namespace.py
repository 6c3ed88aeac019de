"""Every name that lowered Python for CUDA finds in its module."""

from __future__ import annotations

import math
from typing import Any

from . import loop_intrinsics as cuda_loops, math as cuda_math, memory as cuda_memory, block_reduction as cuda_reduce  # noqa: F401  (each adds its intrinsics)
from .intrinsics import DTYPES, INTRINSICS


def namespace(capability: cuda_memory.Capability) -> dict[str, Any]:
    """A fresh dictionary of globals for a generated module, for one generation of compute capabilities."""
    dtypes = {name: t for name, t in DTYPES.items() if name != "bool"}
    return {**dtypes, **INTRINSICS, **cuda_memory.atomics(capability), "inf": math.inf, "nan": math.nan}


NAMES = frozenset(namespace(cuda_memory.GENERATIONS[0]))
