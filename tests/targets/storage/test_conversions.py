"""Every value of float16 and bfloat16, loaded and stored, on every target: widened exactly, narrowed to the nearest."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pydotcompute.artifact.dtypes import bfloat16_bits
from tests.targets.built import TARGETS, loop, marked

DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
EVERY = np.arange(65536, dtype=np.uint16)
every_pair = pytest.mark.parametrize("target, dtype", [marked(t, d) for t in TARGETS for d in DTYPES])
COPY = "for i in grid(n):\n    out[i] = x[i]"


def near_ties(dtype: str, wide: type) -> np.ndarray:
    """Of every positive value of a dtype the float that is as far from it as from the next, and its two neighbours."""
    finite = EVERY[:0x7C00] if dtype == "float16" else EVERY[:0x7F80]
    value = finite.view(DTYPES[dtype]).astype(np.float64)
    above = np.append(value[1:], 65536.0 if dtype == "float16" else 2.0**128)
    tie = ((value + above) / 2).astype(wide)
    with np.errstate(over="ignore"):
        ties = np.concatenate([np.nextafter(tie, wide(0)), tie, np.nextafter(tie, wide(np.inf))])
        others = np.array([np.nan, -np.nan, np.inf, -np.inf, 65519, 65520, 1e300]).astype(wide)
    return np.concatenate([ties, -ties, others])


def nearest(x: np.ndarray, dtype: str) -> np.ndarray:
    """x, rounded once, half to even. By integers: each value of the dtype has a number, and lies between two others."""
    values = EVERY[: 0x7C01 if dtype == "float16" else 0x7F81].view(DTYPES[dtype]).astype(np.float64)
    values[-1] = 65536.0 if dtype == "float16" else 2.0**128  # where the next one would be
    size = np.minimum(np.abs(x.astype(np.float64)), values[-1])
    below = np.clip(np.searchsorted(values, size, "right") - 1, 0, len(values) - 2)
    left, right = size - values[below], values[below + 1] - size
    number = below + ((right < left) | (right == left) & (below % 2 == 1))
    bits = np.where(np.isnan(x), 0x7FFF, number) | np.where(np.signbit(x), 0x8000, 0)
    return bits.astype(np.uint16).view(DTYPES[dtype])


def same_bits(got: np.ndarray, wanted: np.ndarray, x: np.ndarray) -> None:
    """Equal to the bit; a NaN is one, quiet where it comes from a wider type."""
    assert got.dtype == wanted.dtype
    width = np.dtype(f"u{got.itemsize}")
    with np.errstate(invalid="ignore"):
        nan = np.isnan(wanted)
    wrong = np.flatnonzero(np.where(nan, ~np.isnan(got), got.view(width) != wanted.view(width)))
    assert not len(wrong), [(x[k], got[k], wanted[k]) for k in wrong[:5]]
    quiet = {"float16": 0x200, "bfloat16": 0x40, "float32": 0}[got.dtype.name] if x.dtype.itemsize > 2 else 0
    assert (got.view(width)[nan] & quiet == quiet).all()


@pytest.mark.slow
@every_pair
def test_every_value_is_widened_exactly(target, dtype):
    built = loop(target, f"(x: {dtype}[n]) -> (out: float32[n])", COPY)
    x = EVERY.view(DTYPES[dtype])
    same_bits(built.call(x), x.astype(np.float32), x)


@pytest.mark.slow
@every_pair
def test_every_value_comes_back(target, dtype):
    built = loop(target, f"(x: {dtype}[n]) -> (out: {dtype}[n])", COPY)
    x = EVERY.view(DTYPES[dtype])
    same_bits(built.call(x), x, x)


@pytest.mark.slow
@pytest.mark.parametrize("wide", [np.float32, np.float64])
@every_pair
def test_what_lies_between_goes_to_the_nearest(target, dtype, wide):
    built = loop(target, f"(x: {np.dtype(wide).name}[n]) -> (out: {dtype}[n])", COPY)
    x = near_ties(dtype, wide)
    if target.startswith("cuda"):  # the interpreter of PTX is slow
        x = np.concatenate([x[::13], x[-7:]])
    with np.errstate(over="ignore"):
        same_bits(built.call(x), nearest(x, dtype), x)


@pytest.mark.parametrize("wide", [np.float32, np.float64])
def test_the_tables_of_this_test_are_numpys(wide):
    x = near_ties("float16", wide)
    with np.errstate(over="ignore"):
        same_bits(x.astype(np.float16), nearest(x, "float16"), x)
    x = near_ties("bfloat16", wide)
    if wide is np.float32:  # of float64 it rounds twice
        same_bits(x.astype(ml_dtypes.bfloat16), nearest(x, "bfloat16"), x)
    same_bits(bfloat16_bits(x).view(ml_dtypes.bfloat16), nearest(x, "bfloat16"), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_interpreter_rounds_once(dtype):
    built = loop("cpu:x86-64-v3", f"(x: float64[n]) -> (out: {dtype}[n])", COPY)
    x = near_ties(dtype, np.float64)[::97].copy()
    same_bits(built.python(x), nearest(x, dtype), x)


@pytest.mark.parametrize("source", ["bool", "int8", "uint16", "int32", "uint64", "int64"])
@every_pair
def test_integers_become_the_nearest_by_way_of_float32(target, dtype, source):
    built = loop(target, f"(x: {source}[n]) -> (out: {dtype}[n])", COPY)
    if source == "bool":
        x = np.array([False, True])
    else:
        info = np.iinfo(source)
        near = [0, 1, 2**8 + 1, 2**11 + 1, 65519, 65520, 2**24 + 1, 2**40 + 2**32 + 1, info.max]
        x = np.array([v for v in [*near, *(-v for v in near), info.min] if info.min <= v <= info.max], source)
    with np.errstate(over="ignore"):
        same_bits(built.call(x), nearest(x.astype(np.float32), dtype), x)
