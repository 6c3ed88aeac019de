"""Minima, maxima and choices of floats in instructions of our own choosing: what they come to for every pair of values."""

from __future__ import annotations

import operator
from itertools import product

import numpy as np
import pytest

from pydotcompute.targets.cpu.short_forms import in_short_forms
from tests.targets.built import loop, marked

VALUES = (0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 2.0, 1e-45)
PAIRS = np.array(list(product(VALUES, VALUES))).T  # 81: vectors, and a rest
levels = pytest.mark.parametrize("target", [marked(f"cpu:x86-64{level}") for level in ("", "-v2", "-v3", "-v4")])
dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])
COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def least(x, y):
    """NaN where one is; -0.0 is less than 0.0."""
    zeros = (x == 0) & (y == 0)
    return np.where(zeros, np.where(np.signbit(x) | np.signbit(y), -0.0, 0.0), np.minimum(x, y)).astype(x.dtype)


def assert_same(got, wanted):
    np.testing.assert_array_equal(got, wanted)  # NaN is NaN
    given = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got)[given], np.signbit(wanted)[given])


@levels
@dtypes
def test_of_pairs(target, dtype):
    """Whole vectors, and a sequential chain of scalars, in which each waits for the one before."""
    built = loop(
        target,
        f"(x: {dtype}[n], y: {dtype}[n]) -> (low: {dtype}[n], high: {dtype}[n], lows: {dtype}[n], highs: {dtype}[n])",
        """
        for i in grid(n):
            low[i] = min(x[i], y[i])
            high[i] = max(x[i], y[i])
        bottom = x[0]
        top = x[0]
        for i in range(n):
            bottom = min(y[i], max(bottom, x[i]))
            top = max(min(x[i], top), y[i])
            lows[i] = bottom
            highs[i] = top
        """,
    )
    x, y = np.ascontiguousarray(PAIRS, dtype)
    low, high, lows, highs = built.call(x, y)
    assert_same(low, least(x, y))
    assert_same(high, -least(-x, -y))
    bottom = top = x[:1]
    for i in range(len(x)):
        at = slice(i, i + 1)
        bottom, top = least(y[at], -least(-bottom, -x[at])), -least(-least(x[at], top), -y[at])
        assert_same(lows[at], bottom)
        assert_same(highs[at], top)


@levels
@dtypes
@pytest.mark.parametrize("negated", ["", "not "])
@pytest.mark.parametrize("sign", COMPARISONS)
def test_choices(target, dtype, sign, negated):
    """Of scalars, by a comparison that an index is chosen by too."""
    built = loop(
        target,
        f"(x: {dtype}[n], y: {dtype}[n]) -> (out: {dtype}[n], places: int64[n])",
        f"""
        best = y[0]
        at = -1
        for i in range(n):
            s = x[i] * 2
            if {negated}(s {sign} y[i]):
                best = s
                at = i
            out[i] = best
            places[i] = at
        """,
    )
    x, y = np.ascontiguousarray(PAIRS, dtype)
    out, places = built.call(x, y)
    best, at = y[0], -1
    for i in range(len(x)):
        if bool(COMPARISONS[sign](x[i] * 2, y[i])) != bool(negated):
            best, at = x[i] * 2, i
        assert_same(out[i], best)
        assert places[i] == at


@levels
@dtypes
def test_choices_by_integers(target, dtype):
    built = loop(
        target,
        f"(x: {dtype}[n], begins: uint8[n]) -> (out: {dtype}[n])",
        f"""
        s = {dtype}(0)
        for i in range(n):
            if begins[i] != 0:
                s = {dtype}(-0.0)
            s += x[i]
            out[i] = s
        """,
    )
    rng = np.random.default_rng(0)
    x, begins = rng.integers(-8, 8, 100).astype(dtype), rng.integers(0, 2, 100).astype(np.uint8)
    wanted, s = [], 0.0
    for term, begin in zip(x, begins):
        s = term + (-0.0 if begin else s)
        wanted.append(s)
    np.testing.assert_array_equal(built.call(x, begins), wanted)


TEXT = """define float @f(float %x, float %y, float %z) {
  %low = call float @llvm.minimum.f32(float %x, float %y)
  %kept = call nsz float @llvm.maximum.f32(float %x, float %y)
  %bound = call float @llvm.maximum.f32(float %x, float 1.000000e+00)
  %less = fcmp ogt float %x, %y
  %own = select i1 %less, float %x, float %y
  %chosen = select i1 %less, float %low, float %z
  %wider = select i1 %less, double 0.000000e+00, double 1.000000e+00
}"""


@pytest.mark.parametrize("flags", ["", "fast ", "nsz contract "])
@pytest.mark.parametrize("masks", [False, True])
def test_what_is_written_anew(masks, flags):
    """What LLVM has an instruction for, or two, is left to it, and choices by what is in a mask already; whatever the
    comparisons and choices may do beside (`fastmath`)."""
    flagged = TEXT.replace("fcmp ", f"fcmp {flags}").replace("select ", f"select {flags}")
    text = in_short_forms(flagged, masks, True)
    function = text.partition("}")[0]
    assert "%low = call float @short.minimum.f32(float %x, float %y)" in function
    assert "%kept = call nsz float @llvm" in function and "%bound = call float @llvm" in function
    assert f"%own = select {flags}i1" in function and (f"%wider = select {flags}i1" in function) == masks
    assert "%chosen = call float @short.olt.float(float %y, float %x, float %low, float %z)" in function
    assert text.count("declare") == (2 if masks else 3)  # for doubles, which are blended only, one


@levels
def test_sums_of_products_with_one_narrow_factor(target):
    built = loop(
        target,
        "(x: int8[n, k], y: int8[n, k], z: int32) -> (out: int32[n], both: int32[n])",
        """
        for i in grid(n):
            s = int32(0)
            t = int32(0)
            for p in range(k):
                s += (int32(x[i, p]) - z) * int32(y[i, p])
                t += int32(x[i, p]) * int32(y[i, p])
            out[i] = s
            both[i] = t
        """,
    )
    x, y = np.random.default_rng(0).integers(-128, 128, (2, 3, 333)).astype(np.int8)
    for z in (3, 2**31 - 1):  # which wraps
        out, both = built.call(x, y, z)
        wide = x.astype(np.int64), y.astype(np.int64)
        np.testing.assert_array_equal(out, ((wide[0] - z) * wide[1]).sum(1).astype(np.int32))
        np.testing.assert_array_equal(both, (wide[0] * wide[1]).sum(1))


PRODUCTS = """define <8 x i32> @f(<8 x i8> %x, <8 x i8> %y, <8 x i32> %z) {
  %1 = sext <8 x i8> %x to <8 x i32>
  %y.wide = zext nneg <8 x i8> %y to <8 x i32>
  %2 = sub <8 x i32> %1, %z
  %3 = add nsw <8 x i32> %1, %y.wide
  %4 = mul <8 x i32> %2, %y.wide
  %5 = mul nsw <8 x i32> %3, %1
  %6 = mul <8 x i32> %2, %z
}"""


def test_narrow_factors_are_hidden_beside_wide_ones():
    text = in_short_forms(PRODUCTS, True, True)
    assert "  %hidden.4 = freeze <8 x i32> %y.wide\n  %4 = mul <8 x i32> %2, %hidden.4\n" in text
    assert text.count("freeze") == 1  # two narrow factors have the instruction


LOW = """
define double @f(i64 %x, i64 %y) {
  %1 = and i64 %x, 2147483647
  %2 = and i64 %y, 2147483648
  %3 = uitofp nneg i64 %1 to double
  %4 = uitofp nneg i64 %2 to double
  %5 = sitofp i64 %1 to float
  ret double %3
}
"""


def test_low_bits_are_converted_as_int32():
    """Where there are no more of them."""
    text = in_short_forms(LOW, True, True)
    assert "  %low.3 = trunc i64 %1 to i32\n  %3 = sitofp i32 %low.3 to double\n" in text
    assert "sitofp i32 %low.5 to float" in text and "%4 = uitofp nneg i64 %2 to double" in text
    assert in_short_forms(LOW, False, True) == LOW, "other processors have no instruction for int64: LLVM does the same"


@levels
def test_floats_of_random_bits(target):
    body = """
        state = start
        for i in range(n):
            state = (state * 1103515245 + 12345) & mask
            out[i] = (state & 0x7FFFFFFF) / 2147483648.0
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            out[i] += float32(state & 0xFFFF) + float64(state & 0xFFFFFFFF)
    """
    built = loop(target, "(start: int64, mask: int64, n: int64) -> (out: float64[n])", body)
    for start in (0, 1, -5, (1 << 63) - 1, -(1 << 63)):
        for mask in (-1, 0x7FFFFFFF, (1 << 33) - 1):
            state, wanted = start, []
            for _ in range(9):
                state = state * 1103515245 + 12345 & mask
                first = (state & 0x7FFFFFFF) / 2147483648.0
                state = state * 1103515245 + 12345 & 0x7FFFFFFF
                wanted.append(first + (float(state & 0xFFFF) + float(state)))
            got = built.call(start=start, mask=mask, n=9)
            np.testing.assert_array_equal(got, wanted)
