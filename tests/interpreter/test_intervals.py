"""What is known of index arithmetic that is left unwrapped."""

import operator

import pytest
from hypothesis import given, strategies as st
from tests.targets.cpu.compiled import tree_of

from pydotcompute.interpreter.execute import python_text, run
from pydotcompute.interpreter.intervals import Intervals
from pydotcompute.ir.dtypes import integer_range
from pydotcompute.ir.tree import Accumulate, Assign, Binary, Const, For, Parallel, Var

import numpy as np

OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}
EXTREMES = st.sampled_from([0, 1, -1, 2, 3, 7, 2**31, 2**62, 2**63 - 1, -(2**63)])


def const(value):
    return Const(value, "int64")


EXPRESSIONS = st.recursive(
    st.builds(const, EXTREMES | st.integers(-9, 9)) | st.sampled_from([Var(n, "int64") for n in "ijk"]),
    lambda inner: st.builds(lambda op, a, b: Binary(op, a, b, "int64"), st.sampled_from([*OPERATIONS]), inner, inner),
)


def exact(e, values):
    """The value in Python's integers, of parts that wrap as the language says."""
    if isinstance(e, Const):
        return e.value
    return values[e.name] if isinstance(e, Var) else OPERATIONS[e.op](wrapped(e.left, values), wrapped(e.right, values))


def wrapped(e, values):
    try:
        return (exact(e, values) + 2**63) % 2**64 - 2**63
    except ZeroDivisionError:
        return 0


@given(EXPRESSIONS, st.integers(1, 5), st.integers(-6, 6), st.integers(-6, 6), st.sampled_from([-3, -1, 1, 2]))
def test_every_value_lies_within(e, count, start, stop, step):
    known, low, high = Intervals(), *integer_range("int64")
    inner = For("j", const(start), const(stop), const(step), ())
    with known.inside(Parallel("grid", ("i", "k"), (const(count), Var("n", "int64")), (), ())), known.inside(inner):
        found = known.of(e)
        wraps = isinstance(e, Binary) and known.may_wrap(e)
    assert known.of(Var("i", "int64")) == (low, high), "after the loop"
    assert not wraps or found == (low, high)
    if wraps:
        return
    for i in range(count):
        for j in range(start, stop, step):
            for k in (low, -1, 0, 5, high):  # its count is no constant
                assert low <= found[0] <= exact(e, {"i": i, "j": j, "k": k}) <= found[1] <= high


@pytest.mark.parametrize("body", [
    (Assign("j", const(2**63 - 1)),), (For("j", const(0), const(99), const(1), ()),),
    (Parallel("grid", ("i",), (const(3),), (Accumulate("j", "sum", const(2**62)),), ()),),
])  # fmt: skip
def test_nothing_is_known_of_an_index_that_its_loop_sets(body):
    known = Intervals()
    with known.inside(For("j", const(0), const(4), const(1), body)):
        assert known.of(Var("j", "int64")) == integer_range("int64")


def test_what_may_wrap_wraps():
    tree = tree_of("for i in grid(4):\n    out[i] = i * 4611686018427387904 + i * 3", "() -> (out: int64[4])", types="")
    out = np.zeros(4, "i8")
    run(tree, {"out": out}, {})
    i = np.arange(4)
    assert (out == i * 2**62 + i * 3).all() and "i * 3" in python_text(tree)


def test_an_index_that_a_reduction_changes_wraps():
    body = "for i in range(3):\n    for k in grid(3):\n        i += 4611686018427387904\n    out[0] = i * 4 + 1"
    out = np.zeros(1, "i8")
    run(tree_of(body, "() -> (out: int64[1])", types=""), {"out": out}, {})
    assert out == [9]
