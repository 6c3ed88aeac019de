"""--bounds: the first access out of range is told, and nothing outside is touched."""

import numpy as np
import pytest
from tests.targets.cpu.compiled import kernel


def test_loads_and_stores_out_of_range_are_told():
    k = kernel("for i in grid(n):\n    out[i + 1] = x[i, i - 1]", "(x: T[n, m]) -> (out: T[n])", bounds=True)
    x, out = np.ones((3, 5), "f4"), np.zeros(4, "f4")
    assert k.library.run  # built with the fault words
    assert k.fault({"n": 3, "m": 5}, x=x, out=out[:3]) == (8, 29, "x", 1, 5, -1)
    assert out.tolist() == [0, 0, 1, 0]  # a load gives 0, the store at index 3 was skipped


def test_nothing_is_told_where_all_is_well():
    k = kernel("for i in grid(n):\n    out[i] = x[i]", "(x: T[n]) -> (out: T[n])", bounds=True)
    x, out = np.arange(5, dtype="f4"), np.zeros(5, "f4")
    assert k.fault({"n": 5}, x=x, out=out) is None
    assert (out == x).all()


@pytest.mark.parametrize("op", ["add", "min", "max"])
def test_atomics(op):
    k = kernel(f"for i in grid(n):\n    atomic_{op}(out, i * 2, 3)", "(x: T[n]) -> (out: T[n])", bounds=True)
    out = np.zeros(3, "f4")
    assert k.fault({"n": 3}, x=out, out=out)[2:] == ("out", 0, 3, 4)


def test_arrays_of_the_kernel_and_of_helpers():
    template = """
    def get(a, i):
        return a[i]

    def f(x, out):
        for r in blocks(2):
            tile = shared((4,), T)
            for c in threads(4):
                tile[c + r] = x[c]
            for c in threads(4):
                out[r, c] = get(x, c + r)
    """
    k = kernel(template=template, signature="(x: T[n]) -> (out: T[2, n])", bounds=True)
    line, _, *rest = k.fault({"n": 4}, x=np.ones(4, "f4"), out=np.zeros((2, 4), "f4"))
    assert (line, *rest) == (8, "tile", 0, 4, 4)


def test_a_condition_that_guards_an_access_guards_its_check():
    k = kernel(
        "for i in grid(n):\n    out[i] = x[i - 1] if i > 0 and x[i - 1] > 0 else 0",
        "(x: T[n]) -> (out: T[n])",
        bounds=True,
    )
    assert k.fault({"n": 9}, x=np.ones(9, "f4"), out=np.zeros(9, "f4")) is None
