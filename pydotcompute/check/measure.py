"""How far a result is from its reference."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Difference(NamedTuple):
    """The worst element of one output: its index, what was got and wanted, and the error (inf: another kind)."""

    index: tuple[int, ...]
    got: complex | float | int | bool
    wanted: complex | float | int | bool
    error: float


def difference(got: np.ndarray, wanted: np.ndarray) -> Difference | None:
    """The worst element of two arrays of one shape, or None where it has no elements.

    The error of an element is |got - wanted| / max(|wanted|, largest finite |wanted| of the output), where `wanted`
    is rounded to the type of `got` first. NaN and infinities must match in kind; integers and booleans exactly.
    """
    got = np.asarray(got)
    if got.size == 0:
        return None
    with np.errstate(all="ignore"):
        wanted = np.asarray(wanted).astype(got.dtype)
        if got.dtype.kind in "biu":
            errors = np.where(got == wanted, 0.0, np.inf)
        else:
            errors = _relative(got, wanted)
    index = np.unravel_index(int(np.argmax(errors)), errors.shape)
    return Difference(tuple(int(i) for i in index), got[index].item(), wanted[index].item(), float(errors[index]))


def _relative(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    if got.dtype.kind == "c":
        return np.maximum(_relative(got.real, wanted.real), _relative(got.imag, wanted.imag))
    wide = np.longdouble if got.dtype == np.float64 else np.float64
    g, w = got.astype(wide), wanted.astype(wide)
    finite = np.isfinite(w)
    scale = max(np.abs(w[finite]).max(initial=0), np.finfo(got.dtype).tiny)
    errors = (np.abs(g - w) / scale).astype(float)
    same_kind = np.where(finite, np.isfinite(g), (g == w) | (np.isnan(g) & np.isnan(w)))
    return np.where(same_kind, np.where(finite, errors, 0.0), np.inf)


def tolerance(declared: float | dict[str, float] | None, dtype: np.dtype) -> float:
    """The error allowed to an output of this dtype: as declared, else 16 eps; 0 for integers and booleans."""
    if dtype.kind in "biu":
        return 0.0
    if isinstance(declared, dict):
        declared = declared.get(dtype.name)
    return float(declared) if declared is not None else 16 * float(np.finfo(dtype).eps)
