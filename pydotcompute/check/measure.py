"""How far a result is from what is expected of it."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from ..artifact.dtypes import bfloat16_bits, finfo, kind


class Difference(NamedTuple):
    """The worst element of one output: its indices, what was got and wanted, and the error (inf: another kind)."""

    place: tuple[int, ...]
    got: complex | float | int | bool
    wanted: complex | float | int | bool
    error: float


def difference(
    got: np.ndarray, wanted: np.ndarray, held: np.ndarray | None = None, zeros: bool = False, scale: float = 0.0
) -> Difference | None:
    """The worst element of two arrays of one shape, or None where it has no elements.

    The error of an element is |got - wanted| / max(|wanted|, largest finite |wanted| of the output), where `wanted`
    is rounded to the type of `got` first. NaN and infinities must match in kind, of complex numbers in each part;
    integers and booleans exactly; with `zeros` the signs of zeros too. `held`: which elements count, booleans of the
    same shape (default: all). `scale`: in an output that is not all finite, what errors are relative to at least.
    """
    got = np.asarray(got)
    if got.size == 0:
        return None
    with np.errstate(all="ignore"):
        wanted = rounded(np.asarray(wanted), got.dtype)
        if kind(got.dtype) in "biu":
            errors = np.where(got == wanted, 0.0, np.inf)
        else:
            errors = _relative(got, wanted, zeros, scale)
    errors = errors if held is None else np.where(held, errors, 0.0)
    index = np.unravel_index(int(np.argmax(errors)), errors.shape)
    return Difference(tuple(int(i) for i in index), got[index].item(), wanted[index].item(), float(errors[index]))


def rounded(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers as the nearest ones of a dtype; ml_dtypes itself rounds a float64 twice."""
    if dtype.name != "bfloat16":
        return values.astype(dtype)
    return bfloat16_bits(values).view(dtype)


def _relative(got: np.ndarray, wanted: np.ndarray, zeros: bool, least: float) -> np.ndarray:
    wide = np.longdouble if got.dtype in (np.float64, np.complex128) else np.float64
    parts = [(got.real, wanted.real), (got.imag, wanted.imag)] if got.dtype.kind == "c" else [(got, wanted)]
    parts = [(g.astype(wide), w.astype(wide)) for g, w in parts]
    sizes = reduce(np.hypot, (np.where(np.isfinite(w), np.abs(w), 0) for _, w in parts))
    # The largest |wanted| of the output is no smaller than that of the element; of nothing but zeros, the smallest
    # number makes any other result infinitely wrong.
    scale = max(sizes.max(initial=0), 0 if np.isfinite(wanted).all() else least)
    scale = scale or finfo(got.dtype).smallest_subnormal.astype(wide)
    return (reduce(np.hypot, (_apart(g, w, zeros) for g, w in parts)) / scale).astype(float)


def _apart(g: np.ndarray, w: np.ndarray, zeros: bool) -> np.ndarray:
    """|g - w| of real numbers; inf where they are of different kinds."""
    finite = np.isfinite(w)
    other = np.where(finite, ~np.isfinite(g), (g != w) & ~(np.isnan(g) & np.isnan(w)))
    if zeros:
        other |= (g == 0) & (w == 0) & (np.signbit(g) != np.signbit(w))
    return np.where(other, np.inf, np.where(finite, np.abs(g - w), 0.0))


def kinds(values: np.ndarray) -> np.ndarray:
    """Of each number what it is: 0 finite, 1 and -1 the infinities, 2 NaN; of a complex one that of both parts."""
    if values.dtype.kind == "c":
        return 4 * kinds(values.real) + kinds(values.imag)
    return np.where(np.isnan(values), 2, np.where(np.isinf(values), np.sign(values), 0)).astype(int)


def beyond(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Which of these numbers no value of `dtype` stands for: integers out of its range, once a fraction is cut off as
    a store does; NaN and infinities of integers; a finite number that rounds to an infinity."""
    if dtype.kind == "b":
        return (values != 0) & (values != 1)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        return beyond(values.real, part) | beyond(values.imag, part)
    with np.errstate(all="ignore"):
        if kind(dtype) == "f":
            return np.isfinite(values) & ~np.isfinite(rounded(values, dtype))
        if values.dtype.kind == "b":
            return np.zeros(values.shape, bool)
        # Of floats, whose range may end beside an integer's, the exclusive bounds are exact.
        info, whole = np.iinfo(dtype), np.trunc(values) if values.dtype.kind == "f" else values
        if values.dtype.kind == "f":
            return ~((whole >= float(info.min)) & (whole < float(info.max // 2 + 1) * 2))
        return (whole < info.min) | (whole > info.max)


def tolerance(declared: float | dict[str, float] | None, dtype: np.dtype) -> float:
    """The error allowed to an output of this dtype: as declared, else 16 eps; 0 for integers and booleans."""
    if dtype.kind in "biu":
        return 0.0
    if isinstance(declared, dict):
        declared = declared.get(dtype.name)
    return float(declared) if declared is not None else 16 * float(finfo(dtype).eps)
