"""Native entry points for a platform: NumPy's numbers of dtypes follow the size of C's long there."""

import numpy as np

from pydotcompute.artifact.signature import Parameter
from pydotcompute.targets.cpu.entry import entry_ir
from pydotcompute.targets.cpu.entry_code import Code


def test_numbers_of_dtypes():
    here = Code((), np.dtype("l").itemsize == 8).numbers
    for dtype, numbers in here.items():
        assert set(numbers) == {np.dtype(c).num for c in "?bBhHiIlLqQefdFD" if np.dtype(c).name == dtype}, dtype
        assert numbers[0] == np.dtype(dtype).num  # what a new array has
    # On Windows int is 5, long 7, long long 9, and their unsigned ones behind each; NumPy's int32 is long there
    windows = Code((), False).numbers
    changed = {dtype: numbers for dtype, numbers in windows.items() if numbers != Code((), True).numbers[dtype]}
    assert changed == {"int32": (7, 5), "uint32": (8, 6), "int64": (9,), "uint64": (10,)}


def test_an_entry_point_is_made_for_its_platform():
    parameters = [Parameter("x", "int64", (), "in", True), Parameter("out", "int64", (), "out", True)]
    linux, macos, windows = (entry_ir(parameters, ["size"], platform=name) for name in ("linux", "macos", "windows"))
    assert linux == macos != windows
    for text in (linux, windows):
        assert "@\"Py" not in text and "@\"_Py" not in text  # nothing of CPython's is named
