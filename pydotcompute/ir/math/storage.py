"""Conversions between float32 and what float16 and bfloat16 are stored as, 16 bits in an int32: any target can print
them, and those that have instructions for it use these in their place.

Widening is exact, and makes a NaN quiet. Narrowing rounds to nearest, half to even; a NaN stays one. float64 is rounded
to float32 to odd first, so that rounding again is correct (S. Boldo, G. Melquiond, "Emulation of FMA and correctly
rounded sums: proved algorithms using rounding to odd", IEEE Transactions on Computers 57, 2008).
"""

from __future__ import annotations

import numpy as np

from .bits import (
    Value,
    as_bits,
    as_float,
    both,
    fabs,
    iadd,
    iand,
    ior,
    isub,
    narrow,
    scalar,
    select,
    shift_left,
    shift_right,
    widen,
)

I = np.int32  # noqa: E741  # of all bits here
ZERO, ONE, WIDTH, DROPPED = I(0), I(1), I(16), I(13)  # bits of fraction that float32 has more than float16
SIZE, SIGN, INFINITY, QUIET = I(0x7FFFFFFF), I(0x8000), I(0x7F800000), I(0x400000)
REBIAS = I((127 - 15) << 23)  # from float16's exponents to float32's
SMALLEST = I(0x38800000)  # the smallest normal number of float16
SIXTEEN = I(0x477FFFFF)  # just below 2**16; what is larger is infinite
HALF_INFINITY, HALF_QUIET, HALF_FRACTION = I(0x7C00), I(0x7E00), I(0x1FF)


@scalar
def of_float16_bits(bits: Value) -> Value:
    size = shift_left(iand(bits, I(0x7FFF)), DROPPED)
    normal = iadd(size, REBIAS)
    denormal = as_float(iadd(normal, I(1 << 23))) - np.float32(2.0**-14)
    special = ior(iadd(normal, REBIAS), select(size > I(0x0F800000), QUIET, ZERO))
    usual = select(size >= I(0x0F800000), special, normal)
    found = select(size < I(1 << 23), as_bits(denormal), usual)
    return as_float(ior(found, shift_left(iand(bits, SIGN), WIDTH)))


@scalar
def float16_bits(x: Value) -> Value:
    bits = as_bits(x)
    size = iand(bits, SIZE)
    tie = iand(shift_right(size, DROPPED), ONE)
    normal = shift_right(iadd(isub(size, REBIAS), iadd(I(0xFFF), tie)), DROPPED)
    # Added to 0.5 it stands where the bits of a denormal float16 do, and the sum has been rounded.
    denormal = isub(as_bits(as_float(size) + np.float32(0.5)), I(0x3F000000))
    nan = ior(HALF_QUIET, iand(shift_right(size, DROPPED), HALF_FRACTION))
    large = select(size > INFINITY, nan, HALF_INFINITY)
    found = select(size < SMALLEST, denormal, select(size > SIXTEEN, large, normal))
    return ior(found, iand(shift_right(bits, WIDTH), SIGN))


@scalar
def of_bfloat16_bits(bits: Value) -> Value:
    wide = shift_left(bits, WIDTH)
    return as_float(ior(wide, select(iand(wide, SIZE) > INFINITY, QUIET, ZERO)))


@scalar
def bfloat16_bits(x: Value) -> Value:
    bits = as_bits(x)
    tie = iand(shift_right(bits, WIDTH), ONE)
    rounded = shift_right(iadd(bits, iadd(I(0x7FFF), tie)), WIDTH)
    return select(iand(bits, SIZE) > INFINITY, ior(shift_right(bits, WIDTH), I(0x40)), rounded)


@scalar
def rounded_to_odd(x: Value) -> Value:
    near = narrow(x)
    size, wanted, bits = fabs(widen(near)), fabs(x), as_bits(near)
    even = iand(bits, ONE) == ZERO
    bits = iadd(bits, select(both(even, size < wanted), ONE, ZERO))
    return as_float(isub(bits, select(both(even, size > wanted), ONE, ZERO)))


#: by name: the type of the argument, and the function
STORAGE = {
    "of_float16_bits": ("int32", of_float16_bits), "float16_bits": ("float32", float16_bits),
    "of_bfloat16_bits": ("int32", of_bfloat16_bits), "bfloat16_bits": ("float32", bfloat16_bits),
    "rounded_to_odd": ("float64", rounded_to_odd),
}  # fmt: skip
