"""The names that lowered Python for a CPU may use: intrinsics, exact functions, reductions and the math functions."""

from __future__ import annotations

from numba import types

from . import conversions, memory, reduction, scalar
from .intrinsics import INTRINSICS, NUMBA_TYPES

assert conversions and memory
NAMES = {**INTRINSICS, **scalar.FUNCTIONS, **reduction.FUNCTIONS}
INTRINSIC_NAMES = frozenset(NAMES)


def namespace() -> dict:
    """A fresh dictionary of globals for a generated module."""
    dtypes = {name: type_ for name, type_ in NUMBA_TYPES.items() if type_ is not types.boolean}
    return {**NAMES, **dtypes, "inf": float("inf"), "nan": float("nan")}
