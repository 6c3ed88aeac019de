"""sin, cos and tan of float32, for every argument, computed in float64.

x / 2 pi modulo 1 is wanted to some 60 bits. Below 2**76 the factor 1 / 2 pi is held in four parts, the first three of
29 bits, so that their products with the 24 bits of x are exact and whole turns are removed from each exactly; above,
x is 2**53 times an integer below 2**75, and the factor is 2**53 / 2 pi modulo 1 (the idea of Payne & Hanek, "Radian
reduction for trigonometric functions", SIGNUM Newsletter 18, 1983, in floating point). A minimax polynomial of
tools/minimax.py follows. The error is below 0.6 units in the last place.
"""

import numpy as np

from .bits import as_bits, as_float, fabs, fmuladd, iand, ixor, narrow, polynomial, rint, scalar, select, shift_left
from .bits import widen
from .constants import fraction_of, pi, pieces

# sin(2 pi t) = t P(t²), |t| <= 1/4
_SIN_TURN = (
    6.283185273089683,
    -41.34167706810001,
    81.60219414179663,
    -76.57393129771349,
    39.70153685384915,
)
# sin(2 pi t) = t P(t²), |t| <= 1/8
_SIN_EIGHTH = (
    6.283185286165661,
    -41.341660460027825,
    81.59214540502848,
    -75.38305675240353,
)
# cos(2 pi t) = P(t²), |t| <= 1/8
_COS_EIGHTH = (
    0.9999999999506718,
    -19.739208645444418,
    64.939314329104,
    -85.44262847378499,
    59.21225995535192,
)
_TURNS = 1 / (2 * pi(300))
_NEAR_A, _NEAR_B, _NEAR_C, _NEAR_D = map(np.float64, pieces(_TURNS, 29, 29, 29, 53))
_FAR_A, _FAR_B, _FAR_C, _FAR_D = map(np.float64, pieces(fraction_of(_TURNS * 2**53), 29, 29, 29, 53))
_LIMIT, _TO_NEAR = np.float64(2.0**76), np.float64(2.0**-53)  # x * _TO_NEAR is an integer above the limit
_MAGIC = np.float64(1.5 * 2.0**52)
_ZERO, _QUARTER, _HALF, _TWO, _FOUR = map(np.float64, (0, 0.25, 0.5, 2, 4))
_SIGN, _ODD, _TO_SIGN = np.int64(-(2**63)), np.int64(1), np.int64(63)
_FLOAT_ZERO, _INT_ZERO = np.float32(0), np.int64(0)


@scalar
def turns(x):
    """x / 2 pi modulo 1, not brought to any one interval: at most 2 in magnitude. NaN for infinities."""
    x = widen(x)
    far = fabs(x) > _LIMIT
    x = select(far, x * _TO_NEAR, x)
    a = x * select(far, _FAR_A, _NEAR_A)
    b = x * select(far, _FAR_B, _NEAR_B)
    c = x * select(far, _FAR_C, _NEAR_C)
    d = x * select(far, _FAR_D, _NEAR_D)
    return ((a - rint(a)) + (b - rint(b))) + ((c - rint(c)) + d)


@scalar
def half_turn_sine(t, n):
    """sin(2 pi t) for t within 1/4 of a multiple n / 2; n comes as the magic number plus n."""
    t = fmuladd(n - _MAGIC, -_HALF, t)
    sine = t * polynomial(t * t, _SIN_TURN)
    return narrow(as_float(ixor(as_bits(sine), shift_left(as_bits(n), _TO_SIGN))))


@scalar
def sin(x):
    t = turns(x)
    return select(x == _FLOAT_ZERO, x, half_turn_sine(t, fmuladd(t, _TWO, _MAGIC)))


@scalar
def cos(x):
    t = turns(x)
    t = fabs(t) + _QUARTER  # exact where the result is small
    return half_turn_sine(t, fmuladd(t, _TWO, _MAGIC))


@scalar
def tan(x):
    """S / C or -C / S, in eighths of a turn."""
    t = turns(x)
    n = fmuladd(t, _FOUR, _MAGIC)
    t = fmuladd(n - _MAGIC, -_QUARTER, t)
    z = t * t
    sine, cosine = t * polynomial(z, _SIN_EIGHTH), polynomial(z, _COS_EIGHTH)
    swapped = shift_left(as_bits(n), _TO_SIGN)
    odd = swapped != _INT_ZERO
    over = select(odd, cosine, sine)
    under = as_float(ixor(as_bits(select(odd, sine, cosine)), swapped))
    return select(x == _FLOAT_ZERO, x, narrow(over / under))


FUNCTIONS = {"sin": sin, "cos": cos, "tan": tan}
