"""erf and erfc.

erf(x) = x + x P(x²) up to 1, and 1 - exp(Q(x)) beyond, where Q approximates log(erfc(x)) and a relative error of the
exponential weighs little. erfc(x) = exp(-x²) P(u) / (x + c) with u = (x - c) / (x + c), which maps [0, inf) to [-1, 1)
(M. M. Shepherd & J. G. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x²) erfc(x)", Math. Comp. 36, 1981);
float32's is computed in float64, where x² is exact; or, where a fused multiply-add gives what products were rounded by,
in float32, with what its steps lack added at the end. The polynomials are of tests/math/minimax.py.
"""


import numpy as np

from .bits import (
    Function,
    Value,
    as_bits,
    as_float,
    called,
    copysign,
    fabs,
    fmuladd,
    horner,
    iand,
    narrow,
    polynomial,
    scalar,
    select,
    value,
    widen,
)
from .exponential import EXP_32, EXP_OF_SUM, LN2, exp_of_minus, scaling
from .formats import FLOAT32, Format, both_formats
from .helpers import NEAR_QUOTIENT

# erf(x) = x + x P(z), z = x² <= 1
_ERF_32 = (
    0.12837916612625122,
    -0.3761262595653534,
    0.1128358542919159,
    -0.026853810995817184,
    0.005188327748328447,
    -0.0008010192541405559,
    7.85385855124332e-05,
)
_ERF_64 = (
    0.1283791670955126,
    -0.3761263890318375,
    0.11283791670954857,
    -0.026866170645072893,
    0.005223977624780841,
    -0.000854832697874091,
    0.00012055331036857352,
    -1.4925593505957854e-05,
    1.646097280305815e-06,
    -1.6350025082760956e-07,
    1.4657878946122971e-08,
    -1.1365662644834757e-09,
    5.945256354533091e-11,
)
# log(erfc(x)) = P(x - 1)
_LOG_ERFC_32 = (
    -1.8496055603027344,
    -2.638967514038086,
    -0.8431070446968079,
    -0.041563551872968674,
    0.010046589188277721,
    -0.0020120986737310886,
    0.0002895893412642181,
    -2.1697607735404745e-05,
)
_LOG_ERFC_64 = (
    -1.8496055099332482,
    -2.6389675142347886,
    -0.843107256358659,
    -0.0415610980421815,
    0.010033825378453907,
    -0.0019779025940300805,
    0.00023732259077125612,
    2.6277561860845155e-05,
    -2.715847489804436e-05,
    9.607956701321367e-06,
    -2.058739381749911e-06,
    1.4203339131375498e-07,
    9.805934573939923e-08,
    -5.226844610023109e-08,
    1.498709929910557e-08,
    -2.8815728731483517e-09,
    3.709624436522333e-10,
    -2.9066971168546644e-11,
    1.0496173459423574e-12,
)
# exp(x²) erfc(x) (x + c) = P(u), c = 3 and c = 4
_ERFC_32 = (
    1.0740069077011698,
    -0.8833944851415626,
    0.5902283045590695,
    -0.3104660461739482,
    0.11952896675364928,
    -0.026839588502347828,
    -0.0012258197533866334,
    0.0030800654899122933,
    -0.00048437155694524767,
    -0.0003259519575273938,
)
_ERFC_64 = (
    1.095995661000491,
    -0.976548729080882,
    0.7732087022652371,
    -0.5408538313132363,
    0.3308515878780081,
    -0.1740109372398793,
    0.07638151490948436,
    -0.026370053341415744,
    0.006112055652492014,
    -0.0002809588539671291,
    -0.00045505265328007967,
    0.00017681274646939795,
    -3.6353469325567676e-06,
    -1.8860606278056786e-05,
    4.695055953708318e-06,
    1.423499502343654e-06,
    -8.477296553065925e-07,
    -7.445701119286877e-08,
    1.264666803867584e-07,
    -8.148708993223092e-11,
    -1.7469746943747935e-08,
    5.036734835236566e-10,
    1.7476440616730452e-09,
)
# P(u) - (1 - u) P'(u) with c = 3: how P(u) / (x + c) follows 1 / (x + c); of a correction, so that few digits do
_ERFC_SLOPE = (
    1.8551949262619019,
    -3.64898681640625,
    4.076601505279541,
)


def _erf(f: Format, table: tuple[float, ...], log_erfc_table: tuple[float, ...], one_from: float) -> Function:
    """one_from: where erf is 1 in this format."""
    one, limit, nothing = f.float(1), f.float(one_from), f.float(-0.0)
    exp = EXP_OF_SUM[f.name]

    @scalar
    def erf(x: Value) -> Value:
        y = fabs(x)
        near = fmuladd(x, polynomial(x * x, table), x)
        exponent = polynomial(select(y > limit, limit, y) - one, log_erfc_table)
        return select(y < one, near, copysign(one - exp(exponent, nothing), x))

    return erf


_ZERO, _ONE, _TWO, _HALF = map(np.float64, (0, 1, 2, 0.5))
_CENTRE_32, _SLOPE_32, _LIMIT_32 = np.float64(3), np.float64(-6), np.float32(10.5)  # u = 1 - 6 / (x + 3)
_C, _ONE_32, _MINUS_LOG2_E_32 = map(np.float32, (_CENTRE_32, 1, -1.4426950408889634))
_TINY_32 = np.float32(2.0**-26)
_MINUS_LN2_32 = tuple(np.float32(-part) for part in LN2["float32"])
_MAGIC_32, _scale = scaling(FLOAT32)
_CENTRE_64, _LIMIT_64 = np.float64(4), np.float64(28)
_HIGH_HALF = np.int64(-1 << 27)
_exp = EXP_OF_SUM["float64"]


@scalar
def _erfc32(x: Value) -> Value:
    size = fabs(x)
    y = widen(select(size > _LIMIT_32, _LIMIT_32, size))
    inverse = _ONE / (y + _CENTRE_32)
    result = narrow(exp_of_minus(y * y) * (polynomial(fmuladd(inverse, _SLOPE_32, _ONE), _ERFC_32) * inverse))
    return select(x < np.float32(0), np.float32(2) - result, result)


@scalar
def _fused_erfc32(x: Value) -> Value:
    """The same where `fmuladd` rounds once."""
    y = fabs(x)
    y = select(y > _LIMIT_32, _LIMIT_32, y)
    # 1 / (x + c) = inverse (1 + error)
    total = y + _C
    inverse = called(NEAR_QUOTIENT, value(_ONE_32), total)
    error = fmuladd(-inverse, y - (total - _C), fmuladd(-inverse, total, _ONE_32))
    # P(u) / (x + c) as the sum of two
    u = fmuladd(inverse, np.float32(_SLOPE_32), _ONE_32)
    others, first = horner(u, _ERFC_32[1:]), np.float32(_ERFC_32[0])
    p = fmuladd(u, others, first)
    p_low = fmuladd(error, horner(u, _ERFC_SLOPE), fmuladd(u, others, first - p))
    quotient = inverse * p
    low = fmuladd(inverse, p_low, fmuladd(inverse, p, -quotient))
    # times exp(-x²) = 2**k (1 + t)
    square = y * y
    shifted = fmuladd(square, _MINUS_LOG2_E_32, _MAGIC_32)
    k = shifted - _MAGIC_32
    r = fmuladd(k, _MINUS_LN2_32[0], -square) + fmuladd(k, _MINUS_LN2_32[1], fmuladd(-y, y, square))
    t = fmuladd(r * r, horner(r, EXP_32), r)
    result = _scale(quotient + fmuladd(quotient, t, fmuladd(low, t, low)), as_bits(shifted))
    result = select(y < _TINY_32, _ONE_32, result)  # 1 / 3 is rounded: at 0 an ulp may lack
    return select(x < np.float32(0), np.float32(2) - result, result)


@scalar
def _erfc64(x: Value) -> Value:
    y = fabs(x)
    y = select(y > _LIMIT_64, _LIMIT_64, y)
    high = as_float(iand(as_bits(y), _HIGH_HALF))  # its square is exact
    exp = _exp(-(high * high), (high - y) * (high + y))
    sum_ = y + _CENTRE_64
    far = exp * horner((y - _CENTRE_64) / sum_, _ERFC_64) / sum_
    far = select(x < _ZERO, _TWO - far, far)
    near = _ONE - fmuladd(x, polynomial(x * x, _ERF_64), x)
    return select(y < _HALF, near, far)


FUNCTIONS = {
    "erf": both_formats(
        _erf,
        {"table": _ERF_32, "log_erfc_table": _LOG_ERFC_32, "one_from": 4.0},
        {"table": _ERF_64, "log_erfc_table": _LOG_ERFC_64, "one_from": 6.0},
    ),
    "erfc": {"float32": _erfc32, "float64": _erfc64},
}
#: where `fmuladd` rounds once
FUSED = {"erfc": {"float32": _fused_erfc32}}
