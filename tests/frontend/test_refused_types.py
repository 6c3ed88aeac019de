"""Types that do not fit."""

import pytest

# (where, the text with § before the place of the mistake, message, what to do)
CASES = [
    (
        "grid",
        "v = x[i]\n    §v = float64(1)",
        "`v` is float64 here and float32 on line 9: a name has one type",
        "convert one of them, `float32(…)`, or use two names",
    ),
    (
        "grid",
        "v = 0.5\n    §v = k[i]",
        "`v` is int32 here and a plain float on line 9: a name has one type",
        "convert one of them, `int32(…)`, or use two names",
    ),
    (
        "grid",
        "v = 0\n    §v = x[i] > 0",
        "`v` is bool here and a plain int on line 9: a name has one type",
        "convert one of them, `bool(…)`, or use two names",
    ),
    (
        "grid",
        "v = x[i]\n    §v += float64(1)",
        "`v` is float64 here and float32 on line 9: a name has one type",
        "convert one of them, `float32(…)`, or use two names",
    ),
    ("grid", "v = §300 + u[i]", "300 does not fit uint8", "uint8 holds 0 … 255"),
    ("grid", "v = §-1 + u[i]", "-1 does not fit uint8", "uint8 holds 0 … 255"),
    ("grid", "v = uint8(§300)", "300 does not fit uint8", "uint8 holds 0 … 255"),
    (
        "grid",
        "v = §9223372036854775808",
        "9223372036854775808 does not fit int64",
        "int64 holds -9223372036854775808 … 9223372036854775807",
    ),
    ("grid", "v = §x[i] & 1", "`&` takes integers or bools, not float32", "convert it first: int64(…)"),
    ("grid", "v = §x[i] << 1", "`<<` takes integers or bools, not float32", "convert it first: int64(…)"),
    (
        "grid",
        "v = §uint64(3) & k[i]",
        "`&` of uint64 and int32: their common type is float64, which has no bits",
        "convert one of them: int64(…) or uint64(…)",
    ),
    ("grid", "v = §b[i] - b[i]", "`-` of two bools has no meaning, as in NumPy", "write `!=` or `^`"),
    ("grid", "v = §-b[i]", "`-` of a bool has no meaning, as in NumPy", "write `not`, or convert it: int64(…)"),
    ("grid", "v = §~x[i]", "`~` takes integers or bools, not float32", "convert it first: int64(…)"),
    ("grid", "v = §~(i < 3)", "`~` of a Python bool is an integer that is never 0", "write `not`"),
    (
        "grid",
        "v = §k[i] ** -1",
        "int32 to the power -1 is no integer",
        "make the base a float: float64(x) ** -1, or write 1 / x",
    ),
    (
        "grid",
        "v = §1j // 2",
        "`//` has no meaning for a plain complex",
        "complex numbers have + - * / ** == != abs conj real imag exp log sqrt sin cos sinh cosh",
    ),
    ("grid", "v = §1j < 2", "`<` has no meaning for complex numbers", "compare their abs, real or imag"),
    (
        "grid",
        "v = §tan(1j)",
        "`tan` takes bools, integers and floats, not a plain complex",
        "complex numbers have + - * / ** == != abs conj real imag exp log sqrt sin cos sinh cosh",
    ),
    ("grid", "v = §complex64(1j, 2)", "`complex64(re, im)` takes two real numbers, not a plain complex",
     "write real(z) or imag(z)"),
    (
        "grid",
        "v = §float32(1, 2)",
        "`float32(…)` converts 1 value, found 2",
        "write `float32(x)`",
    ),
    (
        "grid",
        "out[i] = §1j * a",
        "complex64 does not convert to float32",
        "take a part of it: real(z), imag(z) or abs(z)",
    ),
    ("grid", "v = §sign(b[i])", "`sign` takes integers and floats, not bool", "convert it first: int64(…)"),
    ("grid", "v = §popcount(x[i])", "`popcount` takes integers, not float32", "convert it first: int64(…)"),
    (
        "grid",
        "v = §max(1j, 2)",
        "`max` takes bools, integers and floats, not a plain complex",
        "complex numbers have + - * / ** == != abs conj real imag exp log sqrt sin cos sinh cosh",
    ),
    (
        "grid",
        "v = §x[i] and a",
        "`and` gives one of its operands in Python, and this one is float32, not a bool",
        "write `(x[i]) != 0`, or `y if x else z` to choose a number",
    ),
    (
        "grid",
        "v = x[i] > 0 or §k[i]",
        "`or` gives one of its operands in Python, and this one is int32, not a bool",
        "write `(k[i]) != 0`, or `y if x else z` to choose a number",
    ),
    ("blocks", "v = §max(1j for c in threads(n))", "`max` has no meaning for complex numbers", "write `max(abs(z) …)`"),
    (
        "grid",
        "total = uint64(x[i]) % (§k[i] << 40.0)",
        "`<<` takes integers or bools, not a plain float",
        "convert it first: int64(…)",
    ),
    ("grid", "v = §1j & 3", "`&` takes integers or bools, not a plain complex", "convert a part of it: int64(real(z))"),
    ("grid", "v = §~1j", "`~` takes integers or bools, not a plain complex", "convert a part of it: int64(real(z))"),
    ("grid", "v = k[i] % (§x[i] | 3)", "`|` takes integers or bools, not float32", "convert it first: int64(…)"),
]


@pytest.mark.parametrize("place, text, message, hint", CASES, ids=[case[1] for case in CASES])
def test_refusal(check_refusal, place, text, message, hint):
    check_refusal(place, text, message, hint)
