"""Host memory of other packages as arguments: taken as it is, or refused with what to pass instead."""

import array
import ctypes
import mmap

import dask.array
import numpy as np
import pandas
import pytest
import xarray
from support import write_saxpy

import pydotcompute

X, Y = np.arange(6, dtype="f4"), np.arange(6, 12, dtype="f4")
WANTED = 2 * X + Y


class Exported:
    """An array of a package that gives DLPack alone."""

    def __init__(self, numbers, version=1, requires_grad=False):
        self.numbers, self.version, self.requires_grad = numbers, version, requires_grad

    def __dlpack_device__(self):
        return self.numbers.__dlpack_device__()

    def __dlpack__(self, **asked):
        if self.requires_grad:
            raise BufferError("use tensor.detach()")
        if self.version:
            return self.numbers.__dlpack__(**asked)
        if "max_version" in asked:
            raise TypeError("unexpected keyword 'max_version'")
        return self.numbers.__dlpack__()


class Old(Exported):
    """Of before DLPack 1.0, which does not say whether memory may be written; like PyTorch's it can say so itself."""

    def __init__(self, numbers):
        super().__init__(numbers, version=0)

    def numpy(self):
        return self.numbers


class Pinned(Exported):
    """Memory of the host that a CUDA device reaches too."""

    def __dlpack_device__(self):
        return 3, 0


class Lost(Exported):
    """On a device that DLPack has no number for."""

    def __dlpack_device__(self):
        raise ValueError("Unknown device type meta for Dlpack")


class Negated(Exported):
    """As PyTorch's, whose memory has the numbers with other signs; DLPack hears nothing of that."""

    def is_neg(self):
        return True

    def resolve_neg(self):
        return Exported(-self.numbers)


class Described:
    def __init__(self, numbers, **more):
        self.numbers = numbers
        self.__array_interface__ = numbers.__array_interface__ | more


def of_mmap(numbers):
    memory = mmap.mmap(-1, numbers.nbytes)
    memory[:] = numbers.tobytes()
    return memoryview(memory).cast("f")


MAKERS = {
    "DLPack": Exported, "DLPack before 1.0": Old, "pinned": Pinned, "__array_interface__": Described,
    "array.array": lambda numbers: array.array("f", numbers), "memoryview": lambda numbers: memoryview(numbers.copy()),
    "mmap": of_mmap, "ctypes": lambda numbers: (ctypes.c_float * numbers.size)(*numbers),
    "DataArray": lambda numbers: xarray.DataArray(numbers, dims="t"),
    "Series": pandas.Series, "Index": pandas.Index,
}  # fmt: skip
READ_ONLY = ("Series", "Index")  # pandas shares memory between objects, and lets nobody write it


def numbers_of(value):
    if isinstance(value, Exported | Described):
        return value.numbers
    return np.asarray(value)


@pytest.fixture(scope="module")
def saxpy(tmp_path_factory):
    return pydotcompute.load(write_saxpy(tmp_path_factory.mktemp("foreign"))).saxpy


@pytest.mark.parametrize("name", MAKERS)
def test_inputs_of_every_kind_give_numpy(saxpy, name):
    for x, y in ((MAKERS[name](X.copy()), Y), (X, MAKERS[name](Y.copy())), (MAKERS[name](X), MAKERS[name](Y))):
        for result in (saxpy(2.0, x, y), saxpy(2.0, y=y, x=x)):
            assert type(result) is np.ndarray and result.tolist() == WANTED.tolist()
        assert saxpy.which(2.0, x, y).target == "cpu:x86-64"


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in READ_ONLY])
def test_what_is_given_for_an_output_is_written_and_comes_back(saxpy, name):
    out = MAKERS[name](np.zeros(6, "f4"))
    assert saxpy(2.0, X, Y, out) is out and numbers_of(out).tolist() == WANTED.tolist()
    again = MAKERS[name](np.zeros(6, "f4"))
    assert saxpy(2.0, MAKERS[name](X), Y, out=again) is again and numbers_of(again).tolist() == WANTED.tolist()


def test_nothing_is_copied(saxpy):
    numbers = np.zeros(6, "f4")
    saxpy(2.0, X, Y, Described(numbers))
    assert numbers.tolist() == WANTED.tolist()
    later = array.array("f", X)
    for k in range(6):
        later[k] = 1.0
    assert saxpy(2.0, later, Y).tolist() == (2 + Y).tolist()


class Quantity(Described):
    def __array_ufunc__(self, *arguments, **named):
        return NotImplemented


REFUSED = {
    "an extension dtype": (
        pandas.Series([1.0, None], dtype="Float32"),
        "is a pandas.Series of a pandas FloatingArray, which is no memory that kernels know: pass its .to_numpy()",
    ),
    "a mask": (
        Described(X, mask=np.zeros(6, bool)), f"is a {__name__}.Described with a mask; kernels know no masks",
    ),
    "a unit": (Quantity(X), f"is a {__name__}.Quantity, which means more than its numbers: pass numpy.asarray of it"),
    "a gradient": (
        Exported(X, requires_grad=True),
        f"is a {__name__}.Exported, which does not give its memory away: use tensor.detach()",
    ),
    "other signs": (
        Negated(X),
        f"is a {__name__}.Negated, which does not give its memory away: its numbers are negated when they are read; "
        "use tensor.resolve_neg()",
    ),
    "a wrong description": (
        Described(X, strides="none"),
        f"is a {__name__}.Described, which does not give its memory away: strides must be a tuple",
    ),
    "bytes": (b"abcdefgh", "must be float32 or float64, got uint8"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_taken_is_said_with_the_way_out(saxpy, name):
    value, told = REFUSED[name]
    with pytest.raises(TypeError) as caught:
        saxpy(2.0, value, Y)
    assert str(caught.value) == f"saxpy: 'x' {told}"


def test_what_is_no_array_of_the_host_is_named_by_its_type(saxpy):
    with pytest.raises(TypeError, match=f"^saxpy: argument 'x' must be a NumPy array, got {__name__}.Lost$"):
        saxpy(2.0, Lost(X), Y)
    for value, called in ((ctypes.c_float(2), "ctypes.c_float"), (b"2", "bytes")):
        with pytest.raises(TypeError, match=f"^saxpy: argument 'a' must be float32, got {called}$"):
            saxpy(value, X, Y)


def test_the_very_object_given_for_an_output_comes_back(saxpy):
    numbers = X.copy()
    one, other = xarray.DataArray(numbers), xarray.DataArray(numbers)
    assert saxpy(1.0, one, Y, numbers) is numbers
    assert saxpy(1.0, out=one, x=other, y=Y) is one and saxpy(1.0, other, Y, one) is one
    assert numbers.tolist() == (X + 3 * Y).tolist()


def test_lazy_arrays_are_not_computed_unasked(saxpy):
    lazy = xarray.DataArray(dask.array.from_array(X), dims="t")
    with pytest.raises(TypeError, match="of a dask Array, which is no memory that kernels know: pass its .compute()"):
        saxpy(2.0, lazy, Y)
    assert saxpy(2.0, lazy.compute(), Y).tolist() == WANTED.tolist()


@pytest.mark.parametrize("name", READ_ONLY)
def test_memory_that_may_not_be_written_is_no_output(saxpy, name):
    with pytest.raises(ValueError, match="'out' is written by the kernel, but it is read-only"):
        saxpy(2.0, X, Y, MAKERS[name](np.zeros(6, "f4")))


def test_overlap_is_seen_through_wrappers(saxpy):
    numbers = np.zeros(8, "f4")
    with pytest.raises(ValueError, match="share memory"):
        saxpy(2.0, Described(numbers[:6]), Y, Exported(numbers[1:7]))
