"""What each function should give, more precisely than the type under test: x87's long double, or mpmath."""

import mpmath
import numpy as np

_NAMES = {
    "acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "pow": "power",
}  # fmt: skip


def exact(name, *arrays):
    """Values in long double, which has 11 bits more than float64."""
    assert np.finfo(np.longdouble).nmant == 63
    with np.errstate(all="ignore"):
        wide = [array.astype(np.longdouble) for array in arrays]
        if name == "erf":  # mpmath knows one zero
            return np.copysign(np.array([_by_mpmath(name, x) for x in arrays[0]]), wide[0])
        if name == "erfc":
            return np.array([_by_mpmath(name, x) for x in arrays[0]])
        if name == "rsqrt":
            return 1 / np.sqrt(wide[0])
        return getattr(np, _NAMES.get(name, name))(*wide)


def _by_mpmath(name, x):
    x = min(max(float(x), -40.0), 40.0) if x == x else float(x)  # beyond, the result is 0, 1 or 2 in any format
    with mpmath.workprec(80):
        return np.longdouble(mpmath.nstr(getattr(mpmath, name)(mpmath.mpf(x)), 24))


def error_in_ulp(got, wanted):
    """|got - wanted| in units in the last place of the correctly rounded result; infinite where the kind is wrong,
    NaN or not, or the sign of a zero. An overflow counts as one float above the largest."""
    dtype = got.dtype
    with np.errstate(all="ignore"):
        rounded = wanted.astype(dtype)
        largest = np.finfo(dtype).max
        unit = np.spacing(np.minimum(np.abs(np.nan_to_num(rounded)), largest)).astype(np.longdouble)
        above = np.longdouble(largest) + np.spacing(largest)
        limited = np.where(np.isinf(got), np.copysign(above, got.astype(np.longdouble)), got.astype(np.longdouble))
        error = np.abs(limited - wanted) / unit
    same = (got == rounded) & (np.signbit(got) == np.signbit(rounded)) | np.isnan(got) & np.isnan(rounded)
    error = np.where(same & ~(np.isfinite(rounded) & (rounded != 0)), 0, error)
    wrong = (np.isnan(got) != np.isnan(rounded)) | (got == 0) & (rounded == 0) & ~same
    return np.where(wrong, np.inf, error).astype(float)
