"""Arrays that are aligned to their elements alone: of complex ones, to their parts."""

import numpy as np
import pytest
from tests.targets.cpu.compiled import kernel

from pydotcompute.backends.cpu.levels import unfit


def odd(n, dtype):
    """n zeros that begin one part behind an address that is divided by 64."""
    part = np.zeros(0, dtype).real.dtype
    memory = np.zeros(n * np.dtype(dtype).itemsize + 128, "u1")
    start = -memory.ctypes.data % 64 + part.itemsize
    return memory[start : start + n * np.dtype(dtype).itemsize].view(dtype)


@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int16"])
def test_no_more_than_the_parts_of_an_element(dtype, level):
    if unfit(level):
        pytest.skip(unfit(level))
    body = "for i in grid(n):\n    out[i] = x[i] + y[i]"
    made = kernel(body, "(x: T[n], y: T[n]) -> (out: T[n])", types=f"{{T: [{dtype}]}}", target=f"cpu:{level}")
    for n in (1, 2, 3, 8, 67):
        x, y, out = (odd(n, dtype) for _ in range(3))
        x[:], y[:] = np.arange(n), 2 * np.arange(n)
        assert made({"n": n}, x=x, y=y, out=out) == 0
        np.testing.assert_array_equal(out, 3 * np.arange(n))
