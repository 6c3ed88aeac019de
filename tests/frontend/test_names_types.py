"""The one type of a name, by all that it is assigned; and what sums of integers are."""

import itertools

import numpy as np
import pytest

from pydotcompute.frontend.promotion import Type, common, of_name, rank
from pydotcompute.artifact import signature
from pydotcompute.artifact.dtypes import STORED

DTYPES = [dtype for dtype in signature.DTYPES if dtype not in STORED]  # of what is computed with
INTEGERS = [dtype for dtype in DTYPES if "int" in dtype]
LOOPS = {
    "range": "for i in grid(n):\n    s = {start}\n    for k in range(3):\n        {update}\n    out[i] = s",
    "while": "for i in grid(n):\n    s = {start}\n    while s != s:\n        {update}\n    out[i] = s",
    "grid": "s = {start}\nfor i in grid(n):\n    {update}\ntotal[()] = s",
    "threads": "for i in blocks(n):\n    s = {start}\n    for c in threads(n):\n        {update}\n    out[i] = s",
    "if": "for i in grid(n):\n    s = {start}\n    if i > 2:\n        {update}\n    out[i] = s",
}  # fmt: skip


def name_type(build, loop, start, update, dtype):
    """The dtype of `s` in a kernel over `x` of this dtype."""
    text = LOOPS[loop].format(start=start, update=update)
    output = "total: complex128" if "total" in text else "out: complex128[n]"
    return build(text, signature=f"(x: {dtype}[n]) -> ({output})", types="").locals["s"]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_name_that_starts_from_a_plain_number(build, loop, dtype):
    element = "x[c]" if loop == "threads" else "x[i]"
    wide = {"b": "int64", "i": "int64", "u": "uint64"}.get(np.dtype(dtype).kind, dtype)
    assert name_type(build, loop, "0", f"s += {element}", dtype) == wide
    if rank(dtype) == 1:
        assert name_type(build, loop, "2", f"s *= {element}", dtype) == wide
        assert name_type(build, loop, "5", f"s = max(s, {element})", dtype) == wide
        assert name_type(build, loop, f"{dtype}(0)", f"s += {element}", dtype) == dtype
        assert name_type(build, loop, "0.0", f"s += {element}", dtype) == "float64"
    if rank(dtype) > 1:
        assert name_type(build, loop, "0.5", f"s += {element}", dtype) == dtype


@pytest.mark.parametrize("first, second", list(itertools.product(INTEGERS, INTEGERS)))
def test_integers_of_two_types_in_one_name(build, refusal, first, second):
    text = "for i in grid(n):\n    s = 1\n    s += x[i]\n    s -= y[i]\n    out[i] = s"
    signature = f"(x: {first}[n], y: {second}[n]) -> (out: float64[n])"
    signed = [dtype for dtype in (first, second) if dtype[0] == "i"]
    if "uint64" in (first, second) and signed:
        error = refusal(text, signature=signature, types="")
        assert error.message == f"`s` is {second} here and {first} on line 8, and no integer type holds both"
        assert error.hint == "convert one of them: int64(…) or uint64(…)" and error.at.line == 9
    else:
        assert build(text, signature=signature, types="").locals["s"] == ("int64" if signed else "uint64")


@pytest.mark.parametrize("order", list(itertools.permutations(("s = k[i]", "s = int64(k[i])", "s = 1"))))
def test_the_type_of_a_name_is_that_of_all_its_values_in_any_order(build, order):
    text = "for i in grid(n):\n    " + "\n    ".join(order) + "\n    out[i] = s"
    assert build(text, signature="(k: int32[n]) -> (out: int64[n])", types="").locals["s"] == "int64"


def test_weak_names_stay_weak(printed):
    """They take the type of what they meet, and so do functions of them alone."""
    text = printed("""
        for i in grid(n):
            half = 0.5
            third = sqrt(half) / 3
            z = 1j
            out[i] = x[i] * third
            count[i] = i + abs(-3)
    """)
    assert "out[i] = (x[i] * float32(third))" in text
    assert text.count("float64") == 0


def test_a_complex_literal_alone_is_complex128(build):
    tree = build("for i in grid(n):\n    z = 2j\n    out[i] = real(z)")
    assert tree.locals["z"] == "complex128"


def test_the_type_of_a_name_does_not_depend_on_the_order_of_what_it_is_given():
    types = [Type("int64", True), Type("float64", True), *map(Type, DTYPES)]
    for chosen in itertools.product(types, repeat=3):
        found = {of_name(order) for order in itertools.permutations(chosen)}
        assert len(found) == 1
        joined = found.pop()
        if joined and not joined.weak:  # it holds all of them
            assert all(rank(t.dtype) <= rank(joined.dtype) for t in chosen)
            if rank(joined.dtype) == 1:
                strong = [t for t in chosen if not t.weak]
                weak = any(t.weak for t in chosen)
                assert not weak or all(common(t, joined).dtype == joined.dtype for t in strong)


MESSAGES = [
    (
        "h = §-5\n    h = h * 33 + u[i]",
        "-5 does not fit uint64",
        "uint64 holds 0 … 18446744073709551615; `h` is uint64 by line 10, `h = h * 33 + u[i]`",
    ),
    (
        "h = 0\n    v = h + §-1\n    h += u[i]",
        "-1 does not fit uint64",
        "uint64 holds 0 … 18446744073709551615; `h` is uint64 by line 11, `h += u[i]`",
    ),
    (
        "d = 0.0\n    first = x[i]\n    §first = d\n    d += float64(x[i])",
        "`first` is float64 here and float32 on line 10: a name has one type",
        "convert one of them, `float32(…)`, or use two names; `d` is float64 by line 12, `d += float64(x[i])`",
    ),
    (
        "d = 0.0\n    first = d\n    first = float64(1)\n    §first = x[i]\n    d += float64(x[i])",
        "`first` is float32 here and float64 on line 10: a name has one type",
        "convert one of them, `float64(…)`, or use two names; `d` is float64 by line 13, `d += float64(x[i])`",
    ),
    (
        "s = 0\n    v = §s & 3\n    s += x[i]",
        "`&` takes integers or bools, not float32",
        "convert it first: int64(…); `s` is float32 by line 11, `s += x[i]`",
    ),
    (
        "h = §9223372036854775808\n    h += k[i]",
        "9223372036854775808 does not fit int64",
        "int64 holds -9223372036854775808 … 9223372036854775807; `h` is int64 by line 10, `h += k[i]`",
    ),
    (
        "best = int32(0)\n    cur = int32(0)\n    cur = cur + k[i]\n    cur = 0\n    §best = max(best, cur)",
        "`best` is int64 here and int32 on line 9: a name has one type",
        "the wider type holds both: write `int64(…)` on line 9; `cur` is int64 by line 12, `cur = 0`: write `int32(0)` "
        "there to keep int32",
    ),
    (
        "v = u[i]\n    h = u[i]\n    §v = h\n    h = n + 1",
        "`v` is uint64 here and uint8 on line 9: a name has one type",
        "the wider type holds both: write `uint64(…)` on line 9; `h` is uint64 by line 12, `h = n + 1`: write "
        "`uint8(…)` there to keep uint8",
    ),
    (  # told at the cause: the sum is float64 only because of it
        "cur = x[i]\n    cur = cur + x[i]\n    §cur = float64(1)",
        "`cur` is float64 here and float32 on line 9: a name has one type",
        "convert one of them, `float32(…)`, or use two names",
    ),
]


@pytest.mark.parametrize("text, message, hint", MESSAGES, ids=[case[0] for case in MESSAGES])
def test_a_type_that_was_adopted_elsewhere_is_explained(check_refusal, text, message, hint):
    check_refusal("grid", text, message, hint)


def test_a_constant_of_64_bits_fits_a_name_that_meets_unsigned_integers(build):
    tree = build("for i in grid(n):\n    h = 14695981039346656037\n    h = (h ^ u[i]) * 1099511628211\n    out[i] = h")
    assert tree.locals["h"] == "uint64"


def test_a_swap_of_integers_of_two_widths_names_the_line_that_is_too_narrow(refusal):
    text = "for i in grid(n):\n    p = x[i]\n    q = y[i]\n    p, q = q, p\n    out[i] = p - q"
    for types, line in ((("int32", "int64"), 7), (("int64", "int32"), 8), (("int64", "uint8"), 8)):
        signature = f"(x: {types[0]}[n], y: {types[1]}[n]) -> (out: float64[n])"
        error = refusal(text, signature=signature, types="")
        assert error.message.endswith(": a name has one type"), error.message
        assert error.hint == f"the wider type holds both: write `int64(…)` on line {line}", error.hint


@pytest.mark.parametrize("dtype, plain", [("uint64", "0"), ("uint16", "0"), ("float32", "0.0"), ("complex64", "0")])
@pytest.mark.parametrize("start", ["{} * b", "{} if b else b", None])
def test_a_name_that_is_computed_from_one_whose_type_is_found_late(build, dtype, plain, start):
    """`s` is a plain number until its type is known, and `s * b` of another type so far: `v` and `w` do not keep it."""
    wide = "uint64" if dtype[0] == "u" else dtype
    lines = [f"s = {plain}", "s += x[i]"]
    for name, other in (("v", "s"), ("w", "v")):
        first = start.format(other) if start else plain
        lines += [f"{name} = {first}", f"{name} += {other} * b", f"{name} += {wide}(x[i])"]
    text = "for i in grid(n):\n    " + "\n    ".join([*lines, "out[i] = w"])
    found = build(text, signature=f"(x: {dtype}[n], b: bool) -> (out: complex128[n])", types="").locals
    assert [found[name] for name in "svw"] == [wide] * 3
