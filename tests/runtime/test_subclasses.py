"""Subclasses of NumPy's arrays as arguments: those that are their memory, and those that mean more."""

import numpy as np
import pytest
from entries import Native, f4
from support import write_saxpy

import pydotcompute


class Plain(np.ndarray):
    """It adds what a kernel does not care for, and must not look at."""

    dtype = shape = strides = flags = data = property(lambda self: 1 / 0)

    def __array_wrap__(self, *args):
        raise AssertionError

    def __array_finalize__(self, other):
        pass


class Counted(np.ndarray):
    value = property(np.asarray)

    def __array_ufunc__(self, *args, **kwargs):
        raise AssertionError


class Traced(np.ndarray):
    def __array_function__(self, *args, **kwargs):
        raise AssertionError


def test_subclasses_that_are_their_memory(tmp_path):
    write_saxpy(tmp_path)
    saxpy, kernel, x, out = Native(tmp_path, "saxpy"), pydotcompute.load(tmp_path).saxpy, f4(4), f4(4)
    mapped = np.memmap(tmp_path / "numbers", "f4", "w+", shape=4)
    for array_ in (x.view(Plain), mapped, x.view(np.recarray)):
        mapped[:] = x
        assert type(kernel(2.0, array_, x)) is np.ndarray
        assert kernel(2.0, x, x, np.ndarray.view(out, type(array_))).view(np.ndarray).tolist() == (3 * x).tolist()
        assert saxpy.serves(2.0, array_, array_) and saxpy.serves(2.0, x, x, np.ndarray.view(out, type(array_)))
        assert not saxpy.serves(2.0, np.ndarray.view(x.astype("f8"), type(array_)), x)
    with pytest.raises(TypeError, match="'x' is a tests.runtime.test_subclasses.Counted, .*own __array_ufunc__.: pass its .value"):
        kernel(2.0, x.view(Counted), x)
    with pytest.raises(TypeError, match="'x' is a tests.runtime.test_subclasses.Traced, .*own __array_function__.: pass numpy.asarray"):
        kernel(2.0, x.view(Traced), x)
    with pytest.raises(TypeError, match="'out' is a masked array; .* pass its .data"):
        kernel(2.0, x, x, np.ma.array(out))
    for kind in (Counted, Traced, np.ma.MaskedArray):
        assert not saxpy.serves(2.0, x, x, out.view(kind)), kind
