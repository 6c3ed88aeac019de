"""The arithmetic table against exact references in Python's integers and rationals, at the extremes of every dtype."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pydotcompute.interpreter import arithmetic

INTEGERS = [f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = ["float32", "float64"]


def limits(dtype):
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def integers(dtype):
    low, high = limits(dtype)
    extremes = [v for v in (low, low + 1, -2, -1, 0, 1, 2, 7, 31, 63, 64, high - 1, high) if low <= v <= high]
    return st.one_of(st.sampled_from(extremes), st.integers(low, high))


def floats(dtype):
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, math.inf, -math.inf, math.nan]
    info = np.finfo(dtype)
    special += [s * float(v) for v in (info.max, info.tiny, info.smallest_subnormal, info.eps) for s in (1, -1)]
    width = np.dtype(dtype).itemsize * 8
    return st.one_of(st.sampled_from(special), st.floats(width=width)).map(np.dtype(dtype).type)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def wrapped(exact, dtype):
    low, high = limits(dtype)
    return (exact - low) % (high - low + 1) + low


def same(got, wanted):
    """Equal to the bit, but for which NaN it is."""
    return got.dtype == wanted.dtype and (
        (np.isnan(got) and np.isnan(wanted)) or (got == wanted and np.signbit(got) == np.signbit(wanted))
    )


@pytest.mark.parametrize("dtype", INTEGERS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_integers_wrap_and_floor(dtype, data):
    a, b = data.draw(integers(dtype)), data.draw(integers(dtype))
    width = np.dtype(dtype).itemsize * 8
    exact = {
        "+": a + b,
        "-": a - b,
        "*": a * b,
        "//": math.floor(Fraction(a, b)) if b else 0,
        "%": a - b * math.floor(Fraction(a, b)) if b else 0,
        "&": a & b,
        "|": a | b,
        "^": a ^ b,
        "<<": a * 2**b if 0 <= b < width else 0,
        ">>": math.floor(Fraction(a, 2**b)) if 0 <= b < width else (-1 if a < 0 else 0),
    }
    for op, wanted in exact.items():
        got = arithmetic.binary(op, dtype)(a, b)
        assert type(got) is int and got == wrapped(wanted, dtype), op
    assert arithmetic.unary("-", dtype)(a) == wrapped(-a, dtype)
    assert arithmetic.unary("~", dtype)(a) == wrapped(-a - 1, dtype)
    assert arithmetic.function("abs", dtype)(a) == wrapped(abs(a), dtype)
    assert arithmetic.function("sign", dtype)(a) == (a > 0) - (a < 0)
    assert arithmetic.function("min", dtype)(a, b) == min(a, b)
    assert arithmetic.function("max", dtype)(a, b) == max(a, b)
    bits = format(a % 2**width, f"0{width}b")
    assert arithmetic.function("popcount", dtype)(a) == bits.count("1")
    assert arithmetic.function("clz", dtype)(a) == len(bits) - len(bits.lstrip("0"))
    for op, wanted in (("<", a < b), ("<=", a <= b), (">", a > b), (">=", a >= b), ("==", a == b), ("!=", a != b)):
        assert arithmetic.comparison(op)(a, b) is wanted


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("base", [-3, -2, -1, 0, 1, 2, 3, 10])
@pytest.mark.parametrize("exponent", [-3, -2, -1, 0, 1, 2, 5, 63, 64])
def test_integer_powers_wrap(dtype, base, exponent):
    low, high = limits(dtype)
    if not (low <= base <= high and low <= exponent <= high):
        return
    if exponent >= 0:
        wanted = wrapped(base**exponent, dtype)
    else:
        wanted = math.trunc(Fraction(base) ** exponent) if base else 0
    assert arithmetic.binary("**", dtype)(base, exponent) == wanted


def test_the_smallest_integer_by_minus_one():
    for dtype in ("int8", "int16", "int32", "int64"):
        low = limits(dtype)[0]
        assert arithmetic.binary("//", dtype)(low, -1) == low
        assert arithmetic.binary("%", dtype)(low, -1) == 0
        assert arithmetic.function("abs", dtype)(low) == low


@pytest.mark.parametrize("dtype", FLOATS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_floats_are_ieee_in_their_own_type(dtype, data):
    a, b = data.draw(floats(dtype)), data.draw(floats(dtype))
    ufuncs = {
        "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "//": np.floor_divide, "%": np.remainder
    }  # fmt: skip
    for op, ufunc in ufuncs.items():
        assert same(arithmetic.binary(op, dtype)(a, b), ufunc(a, b)), op
    for name, ufunc in (("min", np.minimum), ("max", np.maximum), ("copysign", np.copysign)):
        got = arithmetic.function(name, dtype)(a, b)
        if a == 0 and b == 0 and name != "copysign":
            negative = (np.signbit(a), np.signbit(b))
            assert np.signbit(got) == (any(negative) if name == "min" else all(negative)) and got == 0
        else:
            assert same(got, ufunc(a, b))
    for name, ufunc in (("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("sqrt", np.sqrt)):
        assert same(arithmetic.function(name, dtype)(a), ufunc(a))
    if np.isfinite(a):
        assert float(arithmetic.function("round", dtype)(a)) == round(Fraction(float(a)))  # half to even
    sign = np.nan if a != a else int(a > 0) - int(a < 0)
    assert same(arithmetic.function("sign", dtype)(a), np.dtype(dtype).type(sign))
    assert arithmetic.comparison("<")(a, b) is (float(a) < float(b))
    assert arithmetic.comparison("!=")(a, b) is (float(a) != float(b))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_float_to_integer_truncates_and_saturates(dtype, target, data):
    low, high = limits(target)
    near = st.sampled_from([low, low - 1, low + 1, high, high + 1, high - 1]).map(lambda v: np.dtype(dtype).type(v))
    a = data.draw(st.one_of(near, floats(dtype)))
    got = arithmetic.conversion(dtype, target)(a)
    if a != a:
        assert got == 0
    elif np.isinf(a):
        assert got == (low if a < 0 else high)
    else:
        assert got == min(max(math.trunc(Fraction(float(a))), low), high)
    assert type(got) is int


@pytest.mark.parametrize("source", INTEGERS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_conversions_of_integers(source, data):
    a = data.draw(integers(source))
    for target in INTEGERS:
        assert arithmetic.conversion(source, target)(a) == wrapped(a, target)
    assert arithmetic.conversion(source, "bool")(a) is (a != 0)
    for target in FLOATS:
        got = arithmetic.conversion(source, target)(a)
        assert got.dtype == target
        # no neighbour is nearer, and of two as near ones it is the even one
        error = abs(Fraction(float(got)) - a)
        for towards in (-np.inf, np.inf):
            neighbour = np.nextafter(got, got.dtype.type(towards))
            if np.isfinite(neighbour):
                other = abs(Fraction(float(neighbour)) - a)
                even = not got.view(f"u{got.itemsize}") & 1
                assert error < other or (error == other and even)


def test_conversions_to_bool_and_between_floats():
    assert arithmetic.conversion("float32", "bool")(np.float32(np.nan)) is True
    assert arithmetic.conversion("float64", "bool")(np.float64(-0.0)) is False
    assert arithmetic.conversion("complex64", "bool")(np.complex64(1j)) is True
    assert arithmetic.conversion("bool", "int8")(True) == 1
    assert same(arithmetic.conversion("bool", "float32")(True), np.float32(1))
    assert same(arithmetic.conversion("float64", "float32")(np.float64(1e300)), np.float32(np.inf))
    assert arithmetic.conversion("float32", "complex64")(np.float32(2)) == np.complex64(2)


def rounded(exact: Fraction, dtype):
    """A rational number in `dtype`, to nearest even, by integers alone."""
    if not exact:
        return np.dtype(dtype).type(0)
    info = np.finfo(dtype)
    precision, least = info.nmant + 1, int(info.minexp) - info.nmant
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - precision + 1, least)
    number = round(magnitude / unit) * unit
    sign = -1 if exact < 0 else 1
    if number > Fraction(float(info.max)):
        return np.dtype(dtype).type(sign * math.inf)
    return np.copysign(np.dtype(dtype).type(float(number)), np.dtype(dtype).type(sign))


@pytest.mark.parametrize("dtype", FLOATS)
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_fma_rounds_once(dtype, data):
    a, b = data.draw(floats(dtype)), data.draw(floats(dtype))
    near = st.sampled_from([-(a * b), np.nextafter(-(a * b), np.dtype(dtype).type(0))])
    c = data.draw(st.one_of(floats(dtype), near))
    got = arithmetic.function("fma", dtype)(a, b, c)
    if all(map(np.isfinite, (a, b, c))):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        assert same(got, rounded(exact, dtype)) or (not exact and got == 0)
        if not exact and not (a * b == 0 and c == 0):
            assert not np.signbit(got)
    elif np.isfinite(a) and np.isfinite(b):
        assert same(got, np.dtype(dtype).type(c))
    else:
        assert same(got, a * b + c)


# Values to 30 digits, at arguments that are exact.
KNOWN = [
    ("exp", (1.0,), "2.71828182845904523536028747135"),
    ("exp2", (0.5,), "1.41421356237309504880168872421"),
    ("expm1", (2.0**-20,), "9.53674771153745446788249556874E-7"),
    ("log", (2.0,), "0.693147180559945309417232121458"),
    ("log2", (3.0,), "1.58496250072115618145373894395"),
    ("log10", (2.0,), "0.301029995663981195213738894724"),
    ("log1p", (1.0,), "0.693147180559945309417232121458"),
    ("sin", (1.0,), "0.841470984807896506652502321630"),
    ("cos", (1.0,), "0.540302305868139717400936607443"),
    ("tan", (1.0,), "1.55740772465490223050697480746"),
    ("asin", (0.5,), "0.523598775598298873077107230547"),
    ("acos", (0.5,), "1.04719755119659774615421446109"),
    ("atan", (1.0,), "0.785398163397448309615660845820"),
    ("atan2", (1.0, -1.0), "2.35619449019234492884698253746"),
    ("sinh", (1.0,), "1.17520119364380145688238185060"),
    ("cosh", (1.0,), "1.54308063481524377847790562076"),
    ("tanh", (1.0,), "0.761594155955764888119458282605"),
    ("erf", (1.0,), "0.842700792949714869341220635083"),
    ("erfc", (1.0,), "0.157299207050285130658779364917"),
    ("cbrt", (2.0,), "1.25992104989487316476721060728"),
    ("rsqrt", (2.0,), "0.707106781186547524400844362105"),
    ("hypot", (1.0, 1.0), "1.41421356237309504880168872421"),
    ("pow", (2.0, 0.5), "1.41421356237309504880168872421"),
]


@pytest.mark.parametrize("name, arguments, digits", KNOWN, ids=lambda v: v if isinstance(v, str) else "")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_are_the_nearest_value(name, arguments, digits, dtype):
    scalar = np.dtype(dtype).type
    got = arithmetic.function(name, dtype)(*map(scalar, arguments))
    assert same(got, rounded(Fraction(digits), dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_at_special_values(dtype):
    scalar = np.dtype(dtype).type
    table = [
        ("exp", (-np.inf,), 0.0), ("exp", (1e5,), np.inf), ("log", (0.0,), -np.inf), ("log", (-1.0,), np.nan),
        ("rsqrt", (0.0,), np.inf), ("rsqrt", (-0.0,), -np.inf), ("sin", (-0.0,), -0.0), ("sin", (np.inf,), np.nan),
        ("tanh", (np.inf,), 1.0), ("erf", (-np.inf,), -1.0), ("erfc", (np.inf,), 0.0), ("cbrt", (-0.0,), -0.0),
        ("hypot", (np.inf, np.nan), np.inf), ("pow", (1.0, np.nan), 1.0), ("pow", (-2.0, 0.5), np.nan),
        ("atan2", (-0.0, -1.0), -np.pi), ("sign", (np.nan,), np.nan), ("sign", (-0.0,), 0.0),
        ("min", (np.nan, 1.0), np.nan), ("max", (1.0, np.nan), np.nan), ("asin", (2.0,), np.nan),
    ]  # fmt: skip
    for name, arguments, wanted in table:
        got = arithmetic.function(name, dtype)(*map(scalar, arguments))
        assert same(got, scalar(wanted)), (name, arguments)
    kinds = {"isnan": (False, False, True), "isinf": (False, True, False), "isfinite": (True, False, False)}
    for name, wanted in kinds.items():
        assert tuple(arithmetic.function(name, dtype)(scalar(v)) for v in (1, np.inf, np.nan)) == wanted


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(dtype):
    scalar, real = np.dtype(dtype).type, np.dtype(dtype).type(0).real.dtype
    a, b = scalar(3 - 4j), scalar(1 + 2j)
    for op, wanted in (("+", 4 - 2j), ("-", 2 - 6j), ("*", 11 + 2j), ("/", -1 - 2j)):
        got = arithmetic.binary(op, dtype)(a, b)
        assert got.dtype == dtype and got == wanted
    assert arithmetic.function("conj", dtype)(a) == 3 + 4j
    for name, wanted in (("abs", 5), ("real", 3), ("imag", -4)):
        got = arithmetic.function(name, dtype)(a)
        assert got == wanted and got.dtype == real
    assert arithmetic.comparison("==")(a, a) is True
    with pytest.raises(KeyError):
        arithmetic.binary("//", dtype)
    with pytest.raises(KeyError):
        arithmetic.function("exp", dtype)
