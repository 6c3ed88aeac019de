"""sin, cos and tan of large arguments, in integers of the float's width: those of float64, and those of float32 where a
target has no float64 to reduce in.

x = M 2**e with an integer M. The 192 bits of 1 / 2 pi that follow its first e are all that matter to M 2**e / 2 pi
modulo 1, and their product with M, modulo 2**192, is the fraction of a turn (M. Payne & R. Hanek, "Radian reduction
for trigonometric functions", SIGNUM Newsletter 18, 1983), of which 128 bits are kept: 62 may cancel. The quarter turn
is its two leading bits; the rest, times 2 pi, is the angle, again in integers. For float32 all of it is half as wide:
96 bits, of which 64 are kept, and 31 may cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..tree import Compare, Const, Helper, HelperParameter, If, Return, Stmt, Var
from .bits import (
    Value,
    as_bits,
    as_float,
    called,
    convert,
    count_zeros,
    fmuladd,
    iadd,
    iand,
    imul,
    ior,
    isub,
    ixor,
    polynomial,
    select,
    shift_left,
    shift_right,
    value,
)  # fmt: skip
from .constants import pi
from .formats import FLOAT32, FLOAT64, Format
from .helpers import traced

# sin(r) = r + r z P(z), cos(r) = 1 - z/2 + z² P(z), z = r²
SIN_32 = (
    -0.16666655242443085,
    0.00833215843886137,
    -0.00019514957966748625,
)
COS_32 = (
    0.04166664555668831,
    -0.0013887312961742282,
    2.4432785721728578e-05,
)
SIN_64 = (
    -0.1666666666666663,
    0.008333333333322063,
    -0.00019841269829542612,
    2.7557313604528153e-06,
    -2.505074503806014e-08,
    1.5896067522420397e-10,
)
COS_64 = (
    0.041666666666666595,
    -0.0013888888888872975,
    2.4801587288800072e-05,
    -2.755731416398698e-07,
    2.0875698709594936e-09,
    -1.1358423557348704e-11,
)


class Circular:
    """One format's functions, and the bits of 1 / 2 pi in words as wide as it. `suffix`: of its helpers' names."""

    def __init__(self, f: Format, suffix: str, sine: Sequence[float], cosine: Sequence[float]):
        self.format, self.bits, self.sine, self.cosine = f, 8 * np.dtype(f.int).itemsize, sine, cosine
        self.unsigned = np.dtype(f"uint{self.bits}").type
        self.signed, self.name = f"int{self.bits}", f"uint{self.bits}"
        self.ahead = self.bits  # zero bits ahead of the table, for e >= -ahead
        self.count = (self.ahead + f.bias + 1 + 4 * self.bits) // self.bits  # of words
        #: the bits of 1 / 2 pi, `ahead` zeros first
        self.words = self._words_of_inverse()
        #: word k of them: a search, where a target has no tables
        parameter = HelperParameter("k", self.signed, None)
        self.word = Helper(f"word_of_inverse{suffix}", (parameter,), (self.name,), self._search(0, self.count))
        #: the upper half of the product of two words, from halves, where a target has no instruction for it
        self.upper_half = traced(f"upper_half{suffix}", self._upper_half, [("a", self.name), ("b", self.name)])
        self.called = (self.word, self.upper_half)  # by what `large` gives
        self.eighth = self.unsigned(int(pi(80) / 4 * 2**self.bits))  # 2 pi / 8 of 2**bits

    def _words_of_inverse(self) -> tuple[int, ...]:
        bits = self.bits * self.count - self.ahead
        whole = int(2**bits / (2 * pi(bits + 64)))
        return tuple(whole >> self.bits * (self.count - 1 - k) & 2**self.bits - 1 for k in range(self.count))

    def _search(self, low: int, high: int) -> tuple[Stmt, ...]:
        """Return word k, low <= k < high."""
        if high - low == 1:
            return (Return((Const(self.words[low], self.name),)),)
        middle = (low + high) // 2
        below = Compare("<", Var("k", self.signed), Const(middle, self.signed))
        return (If(below, self._search(low, middle), self._search(middle, high)),)

    def _upper_half(self, a: Value, b: Value) -> Value:
        half = self.unsigned(self.bits // 2)
        mask = self.unsigned(2 ** (self.bits // 2) - 1)
        a_high, a_low = shift_right(a, half), iand(a, mask)
        b_high, b_low = shift_right(b, half), iand(b, mask)
        low = imul(a_low, b_low)
        first = iadd(imul(a_high, b_low), shift_right(low, half))
        second = iadd(imul(a_low, b_high), iand(first, mask))
        return iadd(iadd(imul(a_high, b_high), shift_right(first, half)), shift_right(second, half))

    def product(self, a: Value, b: Value) -> tuple[Value, Value]:
        """(high, low) words of the product of two."""
        return called(self.upper_half, a, b), imul(a, b)

    def sum(self, high: Value, low: Value, more: Value) -> tuple[Value, Value]:
        """(high, low) + more."""
        total = iadd(low, more)
        return iadd(high, select(total < more, self.unsigned(1), self.unsigned(0))), total

    def moved_up(self, high: Value, low: Value, bits: Value) -> Value:
        """The upper word of (high, low) moved up by fewer bits than a word has."""
        back = ixor(bits, self.unsigned(self.bits - 1))
        return ior(shift_left(high, bits), shift_right(shift_right(low, self.unsigned(1)), back))

    def after(self, exponent: Value) -> list[Value]:
        """Three words of the table, from `exponent` bits after the point on, first word first."""
        number = self.format.int
        place = iadd(exponent, number(self.ahead))
        first = shift_right(place, number(self.bits.bit_length() - 1))  # a word has 2**5 or 2**6
        shift = iand(convert(place, self.name), self.unsigned(self.bits - 1))
        loaded = [called(self.word, iadd(first, number(k))) for k in range(4)]
        return [self.moved_up(loaded[k], loaded[k + 1], shift) for k in range(3)]

    def power_of_two(self, exponent: Value) -> Value:
        f = self.format
        return as_float(shift_left(iadd(exponent, f.int(f.bias)), f.shift))

    def reduced(self, bits: Value) -> tuple[Value, Value, Value]:
        """(q, high, low) of a positive finite x: x = (4 n + q) pi/2 + high + low, |high| <= pi/4."""
        f, number, word, width = self.format, self.format.int, self.unsigned, self.bits
        digits = f.mantissa + 1
        fraction = convert(ior(iand(bits, number(2**f.mantissa - 1)), number(2**f.mantissa)), self.name)
        first, second, third = self.after(isub(shift_right(bits, f.shift), number(f.bias + f.mantissa)))
        beyond, _ = self.product(fraction, third)
        high, low = self.sum(*self.product(fraction, second), beyond)
        high = iadd(high, imul(fraction, first))
        quarter = shift_right(iadd(shift_right(high, word(width - 3)), word(1)), word(1))
        high = isub(high, shift_left(quarter, word(width - 2)))
        negative = high >= word(2 ** (width - 1))
        borrow = select(low == word(0), word(0), word(1))
        high, low = (
            select(negative, isub(isub(word(0), high), borrow), high),
            select(negative, isub(word(0), low), low),
        )
        # normalised, so that the product below has full precision; so few bits cancel that the upper word is not 0
        zeros = iand(count_zeros(high), word(width - 1))
        upper, lower = self.moved_up(high, low, zeros), shift_left(low, zeros)
        beyond, _ = self.product(lower, value(self.eighth))
        above, below = self.sum(*self.product(upper, value(self.eighth)), beyond)
        over = width - digits  # bits of a word that the float does not hold
        leading = shift_right(above, word(over))
        rest = ior(shift_left(above, word(digits - over)), shift_right(below, word(width - digits + over)))
        rest = iand(rest, word(2**digits - 1))
        scale = isub(number(over + 3 - width), convert(zeros, self.signed))
        parts = (
            convert(leading, f.name) * self.power_of_two(scale),
            convert(rest, f.name) * self.power_of_two(isub(scale, number(digits))),
        )
        high, low = (select(negative, -part, part) for part in parts)
        return convert(quarter, self.signed), high, low

    def sine_and_cosine(self, high: Value, low: Value) -> tuple[Value, Value, Value, Value]:
        """(sine, what rounding took from it, cosine, what rounding took from it)"""
        half, one = self.format.float(0.5), self.format.float(1)
        z = high * high
        less = fmuladd(high * z, polynomial(z, self.sine), low)
        sine = high + less
        halved = z * half
        whole = one - halved
        lost = (one - whole) - halved
        rest = lost + fmuladd(z * z, polynomial(z, self.cosine), -(high * low))
        cosine = whole + rest
        return sine, (high - sine) + less, cosine, (whole - cosine) + rest

    def large(self, function: str) -> Callable[[Value], Value]:
        """x → "sin", "cos" or "tan" of it, for |x| >= 2**-11, of float32 for every x; infinities give NaN."""
        f, number = self.format, self.format.int
        one, two, infinity = number(1), number(2), number((2 * f.bias + 1) << f.mantissa)
        usable = number((2 * f.bias) << f.mantissa)  # the bits of some large number, in place of what is none

        def compute(x: Value) -> Value:
            size = iand(as_bits(x), number(2 ** (self.bits - 1) - 1))
            finite = size < infinity
            quarter, high, low = self.reduced(select(finite, size, usable))
            if f is FLOAT32:
                small = as_float(size) < np.float32(0.5)  # where words ahead of the table would be needed
                high = select(small, as_float(size), high)
                low, quarter = select(small, np.float32(0), low), select(small, np.int32(0), quarter)
            sine, of_sine, cosine, of_cosine = self.sine_and_cosine(high, low)
            if function == "cos":
                quarter = iadd(quarter, one)
            odd = iand(quarter, one) == one
            if function == "tan":
                above, below = select(odd, -cosine, sine), select(odd, sine, cosine)
                result = above / below
                if f is FLOAT32:  # three errors of half a unit are too many
                    of_above, of_below = select(odd, -of_cosine, of_sine), select(odd, of_sine, of_cosine)
                    result = result + (fmuladd(-result, below, above) + (of_above - result * of_below)) / below
            else:
                result = select(odd, cosine, sine)
                result = select(iand(quarter, two) == two, -result, result)
            if function != "cos":
                result = select(as_bits(x) < number(0), -result, result)
            return select(finite, result, x - x)

        return compute


WIDE, NARROW = Circular(FLOAT64, "", SIN_64, COS_64), Circular(FLOAT32, "_32", SIN_32, COS_32)
