"""Outputs that another output says the length of, through both doors of a kernel."""

import ctypes
import sys
from array import array as python_array

import numpy as np
import pytest
from entries import Native, f4
from support import array, scalar, write_kernel

from pydotcompute.calls import arrays
from pydotcompute.calls.arguments import lengths, trimmed

COUNT = 7  # the recorder writes it to each scalar


@pytest.fixture
def native(tmp_path):
    parameters = [
        array("x", "float32", "n"), array("a", "float32", "n", 2, role="out", fill="5")._replace(length="count"),
        array("b", "int64", "n + 1", role="out", fill="6")._replace(length="count"), scalar("count", "int64", "out"),
    ]  # fmt: skip
    return Native(write_kernel(tmp_path, "k", parameters))


def outputs(n):
    return [np.zeros((n, 2), "f4"), np.zeros(n + 1, "i8"), np.zeros((), "i8")]


def test_the_entry_returns_views_of_the_first_elements(native):
    for run in (native.entry(), native.kernel._dispatcher.call):
        a, b, count = run(f4(9))
        assert a.shape == (COUNT, 2) and (a == 5).all() and b.tolist() == [6] * COUNT
        assert count == COUNT and type(count) is np.int64
        given = outputs(9)
        a, b, count = run(f4(9), *given)
        assert a.base is given[0] and b.base is given[1] and count is given[2] and given[1].tolist() == [6] * 10
        assert a.shape == (COUNT, 2) and b.shape == (COUNT,) and given[2] == COUNT


def test_a_length_beyond_the_array_is_an_error_of_both(native):
    given, said = outputs(3), []
    before = [sys.getrefcount(array) for array in given]
    for run in (native.entry(), native.kernel._dispatcher.call):
        for _ in range(3):
            try:
                run(f4(3), *given)
            except IndexError as error:
                said.append(str(error))
    assert said == [f"'a' has room for 3 elements (float32[<= n: count, 2]), and count is {COUNT}"] * 6
    assert [sys.getrefcount(array) for array in given] == before


def test_where_the_loader_trims_nothing_calls_are_handed_on(native):
    (loaded, _), *_ = native.bound.values()
    assert native.serves(f4(9))
    ctypes.c_void_p.in_dll(loaded.library, "trim").value = None
    assert not native.serves(f4(9))


def test_outputs_of_other_packages_are_trimmed_as_their_memory_is():
    """As the interpreter gets them; a call has taken their memory before."""
    parameters = [array("a", "int64", "n", role="out")._replace(length="count"), scalar("count", "int64", "out")]
    memory, count = python_array("q", [5, 6, 7]), ctypes.c_int64(2)
    for given in (memory, memoryview(memory)):
        made, said = trimmed([given, count], lengths(parameters), arrays)
        assert said is count and made.tolist() == [5, 6] and np.shares_memory(made, np.asarray(memory))
    with pytest.raises(IndexError, match="'a' has room for 3 elements .*, and count is 4"):
        trimmed([memory, ctypes.c_int64(4)], lengths(parameters), arrays)
