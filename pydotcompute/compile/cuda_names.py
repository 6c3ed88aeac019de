"""Every name that lowered Python for CUDA finds in its module."""

from __future__ import annotations

import math
from typing import Any

from . import cuda_loops, cuda_math, cuda_memory, cuda_reduce  # noqa: F401  (each adds its intrinsics)
from .cuda_intrinsics import DTYPES, INTRINSICS

NAMES: dict[str, Any] = {
    **{name: t for name, t in DTYPES.items() if name != "bool"}, **INTRINSICS, "inf": math.inf, "nan": math.nan,
}  # fmt: skip
