"""Special values as C99, annex F, has them; and what a user expects to be exact."""

import numpy as np
import pytest
from elementwise import DTYPES, LEVELS, RUNNABLE, call

inf, nan = np.inf, np.nan
ONE_ARGUMENT = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (-inf, 0.0), (inf, inf)],
    "exp2": [(0.0, 1.0), (-0.0, 1.0), (-inf, 0.0), (inf, inf), *((float(k), 2.0**k) for k in range(-126, 128))],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (-inf, -1.0), (inf, inf)],
    "log": [(0.0, -inf), (-0.0, -inf), (1.0, 0.0), (-1.0, nan), (-inf, nan), (inf, inf), (-1e-40, nan)],
    "log2": [(0.0, -inf), (-0.0, -inf), (-1.0, nan), (inf, inf), *((2.0**k, float(k)) for k in range(-149, 128))],
    "log10": [(0.0, -inf), (-0.0, -inf), (-1.0, nan), (inf, inf), *((10.0**k, float(k)) for k in range(11))],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, -inf), (-1.5, nan), (-inf, nan), (inf, inf)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (inf, nan), (-inf, nan)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (1.5, nan), (-1.5, nan), (inf, nan), (1.0, np.pi / 2), (-1.0, -np.pi / 2)],
    "acos": [(1.0, 0.0), (-1.0, np.pi), (0.0, np.pi / 2), (-0.0, np.pi / 2), (1.5, nan), (-inf, nan)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (inf, np.pi / 2), (-inf, -np.pi / 2)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, inf)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0)],
    "erfc": [(0.0, 1.0), (-0.0, 1.0), (inf, 0.0), (-inf, 2.0)],
    "cbrt": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), *((float(k**3), float(k)) for k in range(-64, 65))],
    "rsqrt": [(0.0, inf), (-0.0, -inf), (inf, 0.0), (-1.0, nan), (-inf, nan), (4.0, 0.5)],
}
_PI = np.pi
TWO_ARGUMENTS = {
    "atan2": [
        (0.0, -0.0, _PI), (-0.0, -0.0, -_PI), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (0.0, -1.0, _PI), (-0.0, -1.0, -_PI),
        (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (-1.0, 0.0, -_PI / 2), (1.0, -0.0, _PI / 2), (1.0, -inf, _PI),
        (-1.0, -inf, -_PI), (1.0, inf, 0.0), (-1.0, inf, -0.0), (inf, 1.0, _PI / 2), (-inf, -1.0, -_PI / 2),
        (inf, -inf, 3 * _PI / 4), (-inf, -inf, -3 * _PI / 4), (inf, inf, _PI / 4), (-inf, inf, -_PI / 4),
        (nan, 1.0, nan), (1.0, nan, nan), (0.0, nan, nan), (inf, nan, nan),
    ],
    "hypot": [
        (inf, nan, inf), (nan, -inf, inf), (-inf, 1.0, inf), (nan, 1.0, nan), (0.0, -0.0, 0.0), (-3.0, 4.0, 5.0),
        (0.0, -2.5, 2.5), (1e-45, 0.0, 1e-45), (5.0, -12.0, 13.0), (3e38, 0.0, 3e38),
    ],
    "pow": [
        (0.0, -3.0, inf), (-0.0, -3.0, -inf), (0.0, -2.0, inf), (-0.0, -2.0, inf), (-0.0, -2.5, inf), (0.0, -inf, inf),
        (-0.0, -inf, inf), (0.0, 3.0, 0.0), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0), (-0.0, 0.5, 0.0), (-1.0, inf, 1.0),
        (-1.0, -inf, 1.0), (1.0, nan, 1.0), (1.0, inf, 1.0), (nan, 0.0, 1.0), (nan, -0.0, 1.0), (inf, 0.0, 1.0),
        (-2.0, 0.5, nan), (-1e-40, 1.5, nan), (0.5, -inf, inf), (-0.5, -inf, inf), (2.0, -inf, 0.0), (0.5, inf, 0.0),
        (-2.0, inf, inf), (-inf, -3.0, -0.0), (-inf, -2.0, 0.0), (-inf, -0.5, 0.0), (-inf, 3.0, -inf), (-inf, 2.0, inf),
        (-inf, 0.5, inf), (inf, -1.0, 0.0), (inf, 0.5, inf), (nan, 1.0, nan), (2.0, nan, nan), (-inf, inf, inf),
        (-inf, -inf, 0.0), (0.0, nan, nan), (-1.0, 16777216.0, 1.0), (-1.0, 16777215.0, -1.0), (-1.0, 1e300, 1.0),
        *((float(a), float(b), float(a) ** b) for a in range(-9, 10) if a for b in range(8)),
        *((2.0, float(k), 2.0**k) for k in range(-149, 128)), *((4.0, k / 2, 2.0**k) for k in range(-20, 20)),
    ],
}  # fmt: skip


def equal(got, wanted):
    """The same floats: signs of zeros too, any NaN for NaN."""
    return np.where(np.isnan(wanted), np.isnan(got), (got == wanted) & (np.signbit(got) == np.signbit(wanted)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("level", RUNNABLE)
@pytest.mark.parametrize("name", [*ONE_ARGUMENT, *TWO_ARGUMENTS])
def test_special_values(level, name, dtype):
    cases = TWO_ARGUMENTS[name] if name in TWO_ARGUMENTS else [(nan, nan), *ONE_ARGUMENT[name]]
    with np.errstate(over="ignore", under="ignore"):
        *drawn, wanted = (np.array(column).astype(dtype) for column in zip(*cases, strict=True))
    got = call(level, name, *drawn)
    good = equal(got, wanted)
    assert good.all(), [(*(x[i] for x in drawn), got[i], wanted[i]) for i in np.flatnonzero(~good)[:5]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("level", RUNNABLE)
def test_odd_functions_are_odd_and_even_ones_even(level, dtype):
    x = np.random.default_rng(0).standard_normal(1000).astype(dtype) * np.logspace(-30, 30, 1000).astype(dtype)
    for name in ("sin", "tan", "asin", "atan", "sinh", "tanh", "erf", "cbrt"):
        assert equal(call(level, name, -x), -call(level, name, x)).all(), name
    for name in ("cos", "cosh"):
        assert equal(call(level, name, -x), call(level, name, x)).all(), name


@pytest.mark.parametrize("level", RUNNABLE)
def test_squares_and_their_roots_are_exact_in_float32(level):
    whole = np.arange(1, 2000, dtype=np.float32)
    squares = whole * whole
    assert equal(call(level, "pow", whole, np.full_like(whole, 2)), squares).all()
    assert equal(call(level, "pow", squares, np.full_like(whole, 0.5)), whole).all()


def test_this_machine_runs_some_level():
    assert RUNNABLE and set(RUNNABLE) <= set(LEVELS)
