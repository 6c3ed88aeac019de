"""Floating-point operations exactly as PTX rounds them, where NumPy has none of its own."""

from __future__ import annotations

import ctypes
import ctypes.util

import numpy as np

_libm = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
_libm.fma.restype, _libm.fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a·b + c rounded once, in the type of the operands."""
    if a.dtype == np.float64:
        return _fma64(a, b, c)
    # The product is exact in float64; the sum is rounded to odd, which a second rounding cannot spoil.
    p, w = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    return _odd_sum(p, w).astype(a.dtype)


def directed_fma(a: np.ndarray, b: np.ndarray, c: np.ndarray, mode: str) -> np.ndarray:
    """a·b + c of float32 rounded down (rm), up (rp) or towards zero (rz)."""
    exact = _odd_sum(a.astype(np.float64) * b.astype(np.float64), np.asarray(c).astype(np.float64))
    near = exact.astype(np.float32)
    down = (mode == "rm") | ((mode == "rz") & (exact > 0))
    over, under = near.astype(np.float64) > exact, near.astype(np.float64) < exact
    result = np.where(over & down, np.nextafter(near, np.float32(-np.inf)), near)
    return np.where(under & ~np.asarray(down), np.nextafter(near, np.float32(np.inf)), result)


def _two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _odd_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b in float64, rounded to odd: of two neighbours that enclose the exact sum, the one with an odd last bit."""
    s, e = _two_sum(a, b)
    bits = s.view(np.int64)
    inexact = np.isfinite(s) & (e != 0) & (bits & 1 == 0)
    away = np.where((e > 0) == (s > 0), 1, -1)
    return np.where(inexact, bits + away, bits).view(np.float64)


def _fma64(a, b, c):
    """Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008; libm where it could overflow or
    lose bits to underflow."""
    a, b, c = np.broadcast_arrays(a, b, c)
    p = a * b
    split_a, split_b = a * 134217729.0, b * 134217729.0
    ah, bh = split_a - (split_a - a), split_b - (split_b - b)
    al, bl = a - ah, b - bh
    low = ((ah * bh - p) + ah * bl + al * bh) + al * bl
    th, tl = _two_sum(c, low)
    vh, vl = _two_sum(p, th)
    result = vh + _odd_sum(tl, vl)
    sizes = [np.abs(v) for v in (a, b, p, c)]
    safe = np.logical_and.reduce([(v < 1e300) & ((v > 1e-250) | (v == 0)) for v in sizes]) & (
        np.maximum(*sizes[:2]) < 1e290
    )
    safe &= (p != 0) | (a == 0) | (b == 0)
    zero = (a == 0) | (b == 0) | (c == 0)  # signs of zero: libm knows
    safe &= ~zero
    if not safe.all():
        result = result.copy()
        for k in np.flatnonzero(~safe):
            result[k] = _libm.fma(float(a[k]), float(b[k]), float(c[k]))
    return result


def least(a: np.ndarray, b: np.ndarray, nan: bool) -> np.ndarray:
    """min: -0 below +0; a NaN loses to a number, or with `nan` wins."""
    return _extreme(a, b, np.where(np.signbit(a) & ~np.signbit(b) & (a == b), a, np.minimum(a, b)), nan, True)


def greatest(a: np.ndarray, b: np.ndarray, nan: bool) -> np.ndarray:
    return _extreme(a, b, np.maximum(a, b), nan, False)


def _extreme(a, b, value, nan, lower):
    equal = a == b
    negative = np.signbit(a) | np.signbit(b) if lower else np.signbit(a) & np.signbit(b)
    value = np.where(equal & (a == 0), np.where(negative, -0.0, 0.0).astype(a.dtype), value)
    if nan:
        return value
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, value))


def flush(x: np.ndarray) -> np.ndarray:
    """Denormal float32 → zero of the same sign (.ftz)."""
    tiny = np.abs(x) < np.finfo(np.float32).tiny
    return np.where(tiny, np.copysign(np.float32(0), x), x) if x.dtype == np.float32 else x


def to_integer(x: np.ndarray, kind: np.dtype) -> np.ndarray:
    """An already integral float → an integer: clamped to the range; NaN as in the table of PTX's cvt."""
    limits = np.iinfo(kind)
    wide = x.astype(np.float64) if x.dtype != np.float64 else x
    inside = (wide >= float(limits.min)) & (wide < float(limits.max) + (1.0 if limits.max < 2**53 else 0.0))
    result = np.where(inside, wide, 0).astype(kind)
    result = np.where(~inside & (wide > 0), kind.type(limits.max), result)
    result = np.where(~inside & (wide < 0), kind.type(limits.min), result)
    # NaN: zero, but the lowest signed (half the unsigned) range between float64 and 64-bit integers.
    special = 1 << 63 if x.dtype == np.float64 and kind.itemsize == 8 else 0
    nan = np.array(special, np.uint64).astype(kind) if kind.itemsize == 8 else kind.type(0)
    return np.where(np.isnan(wide), nan, result)


ROUND = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
