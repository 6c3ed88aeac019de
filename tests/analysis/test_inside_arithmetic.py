"""What is proved of integers of any width is so at the ends of their types: random arithmetic, asked about and then used
as an index, for the least and the largest arguments and for small ones."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.analysis.test_inside import unproved
from tests.budget import EVERYTHING
from tests.random_programs.test_indices import Watched
from tests.targets.cpu.compiled import tree_of

TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint32")
OPERATIONS = ("+", "-", "*", "//", "//", "//", "%", "%", "&", ">>", "<<")


def values(dtype):
    """Expressions of a type."""
    leaves = st.sampled_from(["a", "b", "a", "b", f"{dtype}(3)", f"{dtype}(1)", f"{dtype}(100)"])

    def larger(inner):
        operated = st.builds("({} {} {})".format, inner, st.sampled_from(OPERATIONS), inner)
        return operated | st.builds("{}({}, {})".format, st.sampled_from(("min", "max")), inner, inner)

    return st.recursive(leaves, larger, max_leaves=4)


@st.composite
def bodies(draw):
    """A value of its operands in int64, or of the narrow type, is asked about; this one is the index."""
    dtype = draw(st.sampled_from(TYPES))
    value, other = draw(values(dtype)), draw(values(dtype))
    wide = re.sub(r"\b([ab])\b", r"int64(\1)", value.replace(f"{dtype}(", "int64("))
    asked, index = draw(st.sampled_from([wide, wide, f"int64({value})", f"int64({other})"])), f"int64({value})"
    low, high = draw(st.sampled_from([("0", "m"), ("0", "9"), ("-3", "m"), ("1", "m + 1")]))
    shifted = draw(st.sampled_from(["", "", " + 3", " - 1", " - 128", " + 128"]))
    body = f"q = {asked}\nif q >= {low} and q < {high}:\n    out[0] = x[{index}{shifted}]"
    return dtype, body


@pytest.mark.slow
@settings(max_examples=300 if EVERYTHING else 150, deadline=None)
@given(drawn=bodies())
def test_what_is_proved_is_inside(drawn):
    dtype, body = drawn
    tree = tree_of(body, f"(x: int64[m], a: {dtype}, b: {dtype}) -> (out: int64[1])", types="")
    limits = np.iinfo(dtype)
    numbers = sorted({limits.min, limits.min + 1, limits.max, limits.max - 1, *({-2, -1} if limits.min else ()), 0, 1, 3, 7})
    with pytest.MonkeyPatch.context() as patch:
        watched = Watched(patch)
        for a, b, m in itertools.product(numbers, numbers, (0, 4, 200)):
            watched.run(tree, {"x": np.zeros(m, "int64"), "a": a, "b": b, "out": np.zeros(1, "int64")}, {"m": m})


@pytest.mark.parametrize("dtype, least", [("int8", -128), ("int16", -(1 << 15)), ("int32", -(1 << 31)), ("int64", -(1 << 63))])
def test_the_least_number_by_minus_one_is_itself(dtype, least):
    signature = f"(x: float32[m], a: {dtype}, b: {dtype}) -> (out: float32[m])"
    asked = "q = int64(a) // int64(b)\nif 0 <= q < m:\n    out[0] = x[{}]"
    known = f"if b == -1 and a == {least} and m > 0:\n    out[0] = x[int64(a // b) - {-least - 1} - 1]"
    if dtype != "int64":
        assert "(a // b)" in str(unproved(asked.format("a // b"), signature))
    assert any("a // b" in index for index in unproved(known, signature))
