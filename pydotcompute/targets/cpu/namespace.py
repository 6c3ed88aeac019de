"""The names that lowered Python for a CPU may use: intrinsics, exact functions, reductions and the math functions."""

from __future__ import annotations

from numba import types

from ..llvm.math import FUNCTIONS
from ..llvm.numba_frontend import subroutine
from . import reduction, scalar
from .dialect import CPU
from .intrinsics import INTRINSICS

NUMBA_TYPES = CPU.numba_types
NAMES = {**INTRINSICS, **scalar.FUNCTIONS, **reduction.FUNCTIONS}
for _name, _by_dtype in FUNCTIONS.items():
    for _dtype, _function in _by_dtype.items():
        NAMES[f"{_name}_{_dtype}"] = subroutine(_function, NUMBA_TYPES[_dtype])
for _dtype in ("float32", "float64"):
    NAMES[f"fma_{_dtype}"] = INTRINSICS["fma"]


def _modulus(dtype: str, part: str):
    hypot, real, imag = NAMES[f"hypot_{part}"], NAMES["real"], NAMES["imag"]

    def modulus(z):
        return hypot(real(z), imag(z))

    NAMES[f"abs_{dtype}"] = subroutine(modulus, NUMBA_TYPES[part])


_modulus("complex64", "float32")
_modulus("complex128", "float64")
INTRINSIC_NAMES = frozenset(NAMES)


def namespace() -> dict:
    """A fresh dictionary of globals for a generated module."""
    dtypes = {name: type_ for name, type_ in NUMBA_TYPES.items() if type_ is not types.boolean}
    return {**NAMES, **dtypes, "inf": float("inf"), "nan": float("nan")}
