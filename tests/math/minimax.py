"""Minimax polynomials for the functions of pydotcompute/ir/math: Remez' exchange, in mpmath.

    python tests/math/minimax.py [NAME…]      prints each coefficient tuple of `TABLES` and its largest weighted error

The method: Remez' second algorithm on a dense Chebyshev grid (Muller, "Elementary Functions", 3rd ed., ch. 3); then
the coefficients are rounded to the nearest floats: the first terms of each series, which matter most, are exact and
outside the polynomial.
"""

import sys
from typing import Callable

from mpmath import mp, mpf

mp.dps = 60
GRID = 1201


def solve(target, weight, n, grid):
    """Coefficients c of 1, x, …, x^(n-1) that minimise max |p - target| * weight over the grid, and that maximum."""
    picked = [round(i * (len(grid) - 1) / n) for i in range(n + 1)]
    rows = [[x**p for p in range(n)] for x in grid]
    for _ in range(40):
        matrix = mp.matrix(n + 1, n + 1)
        right = mp.matrix(n + 1, 1)
        for row, index in enumerate(picked):
            for column in range(n):
                matrix[row, column] = rows[index][column]
            matrix[row, n] = (-1) ** row / weight[index]
            right[row] = target[index]
        solution = mp.lu_solve(matrix, right)
        coefficients = [solution[i] for i in range(n)]
        errors = [
            (mp.fdot(coefficients, row) - wanted) * w for row, wanted, w in zip(rows, target, weight, strict=True)
        ]
        largest = max(abs(e) for e in errors)
        if largest <= abs(solution[n]) * mpf("1.0001"):
            break
        picked = exchange(errors, n + 1)
    return coefficients, largest


def exchange(errors, count):
    """Indices of `count` alternating extremes, the largest of each run of one sign, dropping the weaker end."""
    runs: list[int] = []
    for index, error in enumerate(errors):
        if runs and (errors[runs[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[runs[-1]]):
                runs[-1] = index
        else:
            runs.append(index)
    while len(runs) > count:
        runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
    if len(runs) < count:
        raise ValueError("the error does not alternate often enough: too many coefficients for this precision")
    return runs


def rounded(value, bits):
    """The nearest float of `bits` bits, as a Python float."""
    if value == 0:
        return 0.0
    with mp.workprec(bits):
        return float(+value)


def fit(function: Callable, low, high, terms: int, bits: int, weight: Callable):
    """Rounded coefficients of 1, x, x², … (`terms` of them) for `function` on [low, high], and the largest error times
    its weight."""
    low, high = mpf(low), mpf(high)
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / (GRID - 1)) for i in range(GRID)]
    grid = [x for x in grid if abs(x) > (high - low) * mpf("1e-9")]  # the removable singularities lie at 0
    target, weights = [function(x) for x in grid], [weight(x) for x in grid]
    coefficients, _ = solve(target, weights, terms, grid)
    fixed = [rounded(c, bits) for c in coefficients]
    error = max(
        abs(mp.fsum(mpf(c) * x**p for p, c in enumerate(fixed)) - t) * w
        for x, t, w in zip(grid, target, weights, strict=True)
    )
    return fixed, error


HALF_LN2 = mp.log(2) / 2 * mpf("1.002")
QUARTER_PI = mp.pi / 4 * mpf("1.0005")


def relative(function: Callable, factor: Callable) -> Callable:
    """The weight that makes an error of `factor(x) * polynomial` relative to function(x)."""
    return lambda x: abs(factor(x) / function(x))


def exp_table(terms, bits):
    """exp(r) = 1 + r + r² P(r)"""
    rest = lambda r: (mp.exp(r) - 1 - r) / r**2
    return rest, -HALF_LN2, HALF_LN2, terms, bits, relative(mp.exp, lambda r: r**2)


def expm1_table(terms, bits):
    """expm1(r) = r + r² P(r)"""
    rest = lambda r: (mp.exp(r) - 1 - r) / r**2
    return rest, -HALF_LN2, HALF_LN2, terms, bits, relative(mp.expm1, lambda r: r**2)


def exp2_table(terms, bits):
    """2**r = 1 + r P(r)"""
    rest = lambda r: (mpf(2) ** r - 1) / r
    return rest, -0.5, 0.5, terms, bits, relative(lambda r: mpf(2) ** r, lambda r: r)


def log_table(terms, bits):
    """log(1 + f) = f - f²/2 + f³ P(f)"""
    rest = lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3
    return rest, mp.sqrt(0.5) - 1, mp.sqrt(2) - 1, terms, bits, relative(mp.log1p, lambda f: f**3)


def log_series_table(terms, bits, high=None):
    """log((1 + s) / (1 - s)) = 2 s + s z P(z), z = s²"""
    rest = lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z
    high = high or ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2
    return rest, 0, high, terms, bits, lambda z: z / 2


def log2_table(terms, bits):
    """log2((1 + s) / (1 - s)) = s P(z), z = s²"""
    rest = lambda z: 2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) / mp.log(2)
    return rest, 0, ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2, terms, bits, relative(rest, lambda z: 1)


def log2_tail_table(terms, bits):
    """log2((1 + s) / (1 - s)) / s = c0 + c1 z + z² P(z), z = s², c1 rounded to float32"""
    whole, low, high, _, _, weight = log2_table(terms, bits)
    c0, c1 = 2 / mp.log(2), mpf(rounded(2 / (3 * mp.log(2)), 24))
    return lambda z: (whole(z) - c0 - c1 * z) / z**2, low, high, terms, bits, lambda z: weight(z) * z**2


def log_tail_table(terms, bits):
    """3 atanh(s) / s = 3 + z + z² P(z), z = s²"""
    rest = lambda z: (3 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 3 - z) / z**2
    return rest, 0, ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2, terms, bits, lambda z: z**2 / 3


def cbrt_table(terms, bits):
    """m**(-1/3) = P(m), 1 <= m <= 2"""
    rest = lambda m: m ** (-mpf(1) / 3)
    return rest, 1, 2, terms, bits, relative(rest, lambda m: 1)


def sin_table(terms, bits):
    """sin(r) = r + r z P(z), z = r²"""
    rest = lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    return rest, 0, QUARTER_PI**2, terms, bits, relative(lambda z: mp.sinc(mp.sqrt(z)), lambda z: z)


def cos_table(terms, bits):
    """cos(r) = 1 - z/2 + z² P(z), z = r²"""
    rest = lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2
    return rest, 0, QUARTER_PI**2, terms, bits, relative(lambda z: mp.cos(mp.sqrt(z)), lambda z: z**2)


def sinh_table(terms, bits):
    """sinh(r) = r + r z P(z), z = r²"""
    rest = lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    return rest, 0, HALF_LN2**2, terms, bits, lambda z: z


def cosh_table(terms, bits):
    """cosh(r) = 1 + z P(z), z = r²"""
    rest = lambda z: (mp.cosh(mp.sqrt(z)) - 1) / z
    return rest, 0, HALF_LN2**2, terms, bits, lambda z: z


def tanh_table(high, terms, bits):
    """tanh(x) = x + x z P(z), z = x² <= high²"""
    quotient = lambda z: mp.tanh(mp.sqrt(z)) / mp.sqrt(z)
    rest = lambda z: (quotient(z) - 1) / z
    return rest, 0, mpf(high) ** 2, terms, bits, relative(quotient, lambda z: z)


def asin_table(terms, bits):
    """asin(x) = x + x z P(z), z = x² ≤ 1/4"""
    rest = lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    return rest, 0, 0.25, terms, bits, relative(lambda z: mp.asin(mp.sqrt(z)) / mp.sqrt(z), lambda z: z)


def atan_table(terms, bits):
    """atan(t) = t + t z P(z), z = t² ≤ tan²(pi/8)"""
    rest = lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    high = (mp.sqrt(2) - 1) ** 2 * mpf("1.001")
    return rest, 0, high, terms, bits, relative(lambda z: mp.atan(mp.sqrt(z)) / mp.sqrt(z), lambda z: z)


def erf_table(terms, bits):
    """erf(x) = x + x P(z), z = x² <= 1"""
    rest = lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1
    return rest, 0, 1, terms, bits, lambda z: 1 / (1 + rest(z))


def log_erfc_table(centre, high, terms, bits):
    """log(erfc(x)) = P(x - centre), 1 <= x <= high, for erf(x) = 1 - exp(P)"""
    rest = lambda t: mp.log(mp.erfc(t + centre))
    return rest, 1 - mpf(centre), high - mpf(centre), terms, bits, lambda t: mp.erfc(t + centre) / mp.erf(t + centre)


def erfc_table(centre, low, high, terms, bits):
    """exp(x²) erfc(x) (x + centre) = P(u), u = (x - centre) / (x + centre)"""
    centre, low, high = mpf(centre), mpf(low), mpf(high)

    def rest(u):
        x = centre * (1 + u) / (1 - u)
        return mp.exp(x * x) * mp.erfc(x) * (x + centre)

    ends = [(x - centre) / (x + centre) for x in (low, high)]
    return rest, *ends, terms, bits, relative(rest, lambda u: 1)


def erfc_slope_table(centre, high, terms, bits):
    """P(u) - (1 - u) P'(u) of the same"""
    rest, low, high, *_ = erfc_table(centre, 0, high, terms, bits)
    return lambda u: rest(u) - (1 - u) * mp.diff(rest, u), low, high, terms, bits, relative(rest, lambda u: 1)


TABLES = {
    "EXP_32": exp_table(5, 24),
    "EXP_64": exp_table(10, 53),
    "EXP2_32": exp2_table(6, 24),
    "EXP2_64": exp2_table(11, 53),
    "EXPM1_32": expm1_table(6, 24),
    "EXPM1_64": expm1_table(11, 53),
    "LOG_32": log_table(8, 24),
    "LOG_64": log_series_table(7, 53),
    "SIN_32": sin_table(3, 24),
    "SIN_64": sin_table(6, 53),
    "COS_32": cos_table(3, 24),
    "COS_64": cos_table(6, 53),
    "SINH_32": sinh_table(3, 24),
    "SINH_64": sinh_table(5, 53),
    "COSH_32": cosh_table(4, 24),
    "COSH_64": cosh_table(6, 53),
    "TANH_32": tanh_table(0.6, 5, 24),
    "ASIN_32": asin_table(5, 24),
    "ASIN_64": asin_table(12, 53),
    "ATAN_32": atan_table(5, 24),
    "ATAN_64": atan_table(11, 53),
    "LOG2_SHORT": log2_table(5, 53),
    "LOG2_TAIL": log2_tail_table(3, 24),
    "LOG_TAIL": log_tail_table(8, 53),
    "CBRT": cbrt_table(5, 24),
    "ERF_32": erf_table(7, 24),
    "ERF_64": erf_table(13, 53),
    "LOG_ERFC_32": log_erfc_table(1, 4, 8, 24),
    "LOG_ERFC_64": log_erfc_table(1, 6, 19, 53),
    "ERFC_32": erfc_table(3, 0, 10.1, 10, 53),
    "ERFC_SLOPE": erfc_slope_table(3, 10.1, 3, 24),
    "ERFC_64": erfc_table(4, 0.45, 27.3, 23, 53),
}


def main(names):
    for name in names or TABLES:
        coefficients, error = fit(*TABLES[name])
        print(f"# weighted error 2**{float(mp.log(error, 2)):.1f}")
        print(f"{name} = (")
        for coefficient in coefficients:
            print(f"    {coefficient!r},")
        print(")")


if __name__ == "__main__":
    main(sys.argv[1:])
