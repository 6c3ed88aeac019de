"""pi to any precision, and its multiples cut into floats that sum to them."""

from fractions import Fraction
from functools import cache


@cache
def pi(bits: int) -> Fraction:
    """pi to within 2**-bits, by Machin's formula: pi = 16 atan(1/5) - 4 atan(1/239)."""
    scale = 1 << bits + 16

    def atan_of_inverse(n: int) -> int:
        total = term = scale // n
        k = 1
        while term:
            term //= -n * n  # of a negative number: rounds away, one unit of 2**-(bits + 16)
            k += 2
            total += term // k if term > 0 else -(-term // k)
        return total

    return Fraction(16 * atan_of_inverse(5) - 4 * atan_of_inverse(239), scale)


def rounded(value: Fraction, bits: int) -> Fraction:
    """The nearest number of at most `bits` significant bits."""
    if value == 0:
        return value
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    if abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent + 1 - bits)
    return round(value / unit) * unit


def pieces(value: Fraction, *bits: int) -> tuple[float, ...]:
    """Floats of at most so many significant bits each, every one the nearest to what the ones before leave over."""
    found = []
    for count in bits:
        piece = rounded(value, count)
        found.append(float(piece))
        value -= piece
    return tuple(found)
