"""Random values of a dtype, from one number on and below another."""

from __future__ import annotations

import math

import numpy as np

from ..artifact.dtypes import finfo, kind
from .measure import rounded


def anything(dtype: np.dtype, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Values where no range is declared."""
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        first, end = ends(dtype, None, None)
        return _integers(dtype, int(first), int(end), shape, rng)
    if dtype.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return np.asarray(rng.standard_normal(shape)).astype(dtype)


def within(
    dtype: np.dtype, low: float | None, high: float | None, shape: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray | None:
    """Values from `low` on and below `high`, of complex numbers each part; None where there are none. An end that is
    not declared (None) is what `ends` says."""
    first, end = ends(dtype, low, high)
    empty = 0 in shape
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        pairs = within(part, first, end, (*shape, 2), rng)
        return None if pairs is None else np.ascontiguousarray(pairs).view(dtype).reshape(shape)
    if kind(dtype) == "f":
        return np.zeros(shape, dtype) if empty else _floats(dtype, first, end, shape, rng)
    least, beyond = (0, 2) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max) + 1)
    begin, stop = max(math.ceil(first), least), min(math.ceil(end), beyond)
    return None if stop <= begin and not empty else _integers(dtype, begin, max(stop, begin + 1), shape, rng)


def ends(dtype: np.dtype, low: float | None, high: float | None) -> tuple[float, float]:
    """Both ends of a range: of those that are not declared the usual ones, and where these would leave nothing, such
    that something is left."""
    if kind(dtype) in "fc":
        usual, width = (0.0, 1.0), 1.0
    elif dtype.kind == "b":
        usual, width = (0, 2), 2
    else:
        usual, width = (0 if dtype.kind == "u" else -100, 101), 101
    if low is None and high is None:
        return usual
    if low is None:
        assert high is not None
        return (usual[0] if high > usual[0] else high - max(width, abs(high))), high
    if high is None:
        return low, (usual[1] if low < usual[1] else low + max(width, abs(low)))
    return low, high


def _integers(dtype: np.dtype, first: int, end: int, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return np.asarray(rng.integers(first, end, shape, np.uint64 if end > 2**63 else np.int64)).astype(dtype)


def _floats(
    dtype: np.dtype, low: float, high: float, shape: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray | None:  # fmt: skip
    """Rounded to the dtype a number may be `high` itself, one in 4,000 of float16, or less than `low`."""
    if low == high:
        return np.full(shape, low).astype(dtype)
    with np.errstate(over="ignore"):
        least, most = (rounded(np.array(float(end)), dtype) for end in (low, high))
    if float(least) < low:
        least = np.nextafter(least, np.array(np.inf, dtype))
    if float(most) >= high:
        most = np.nextafter(most, np.array(-np.inf, dtype))
    if float(least) > float(most):
        return None
    widest = float(finfo(dtype).max)
    low, high = max(float(low), -widest), min(float(high), widest)
    by = 2 if high - low == np.inf else 1  # NumPy draws from no range that is wider than the largest number
    with np.errstate(over="ignore"):
        drawn = np.asarray(rng.uniform(low / by, high / by, shape) * by).astype(dtype)
    return np.minimum(np.maximum(drawn, least), most)
