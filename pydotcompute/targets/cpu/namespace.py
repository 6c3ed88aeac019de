"""The names that lowered Python for a CPU may use: intrinsics, exact functions, reductions and the math functions."""

from __future__ import annotations

from functools import cache

from llvmlite import ir
from numba import types

from ...ir.math import FUNCTIONS
from ...ir.math.storage import STORAGE
from ..llvm.mathematics import defined, listed
from ..llvm.numba_frontend import call_linked, subroutine
from . import float16, fused, lane_vectors, line_stores, masks, reduction, scalar, search, turned_tiles
from .dialect import CPU
from .intrinsics import INTRINSICS

NUMBA_TYPES = CPU.numba_types
NAMES = {
    **INTRINSICS, **scalar.FUNCTIONS, **reduction.FUNCTIONS, **lane_vectors.FUNCTIONS, **search.FUNCTIONS,
    **line_stores.FUNCTIONS, **turned_tiles.FUNCTIONS, **masks.FUNCTIONS,
}  # fmt: skip


@cache
def listed_function(name: str, dtype: str) -> ir.Function:
    """A listed function in a module of its own, printed once a process."""
    function = defined(CPU, ir.Module(), name, dtype)
    function.linkage = "weak_odr"  # linked although nothing refers to it yet
    return function


def _call(name: str, dtype: str):
    if (name, dtype) in fused.NAMES:
        return lambda context, b, *values: fused.call(b, name, dtype, *values)
    return lambda context, b, *values: call_linked(context, b, listed_function(name, dtype), values)


def _converted(name: str):
    return lambda context, b, value: float16.call(b, name, value)


for _name, _by_dtype in FUNCTIONS.items():
    for _dtype in _by_dtype:
        NAMES[f"{_name}_{_dtype}"] = listed(_name, _dtype, _call(_name, _dtype))
for _name, (_dtype, _) in STORAGE.items():
    _made = _converted(_name) if _name in float16.NAMES else _call(_name, _dtype)
    NAMES[f"{_name}_{_dtype}"] = listed(_name, _dtype, _made)
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
