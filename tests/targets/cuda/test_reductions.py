"""What of reductions is CUDA's own: any grid gives the same bits, and shared memory is for the kernel's arrays, too."""

import numpy as np
import pytest
from tests.targets.cuda.cuda_support import loop

from pydotcompute.errors import DeclarationError


def test_the_same_bits_whatever_the_grid():
    """A reduction's order depends on its size alone: any number of multiprocessors gives the same."""
    built = loop("(x: float32[n]) -> (total: float32)", "total[()] = sum(x[i] for i in grid(n))")
    x = np.random.default_rng(0).normal(size=9000).astype("f4")
    wanted = built.call(x)
    for blocks in (1, 3, 64):
        built.meta["launches"][0]["grid"] = {"kind": "given", "counts": [blocks]}
        assert built.call(x, seed=blocks) == wanted


def test_shared_arrays_that_leave_no_room_to_combine_in():
    body = """
        for b in blocks(r):
            t = shared((12288,), float32)
            for i in threads(c):
                t[i] = x[b, i]
            s = sum(t[c - 1 - i] for i in threads(c))
            out[b] = s
    """
    message = "shared arrays of this block take 49152 bytes, and its reductions 64 more; there are 49152"
    with pytest.raises(DeclarationError, match=message) as caught:
        loop("(x: float32[r, c]) -> (out: float32[r])", body)
    assert "t = shared((12288,), float32)" in str(caught.value)
    x = np.arange(3 * 300, dtype="f4").reshape(3, 300)
    smaller = loop("(x: float32[r, c]) -> (out: float32[r])", body.replace("12288", "12272"))
    np.testing.assert_array_equal(smaller.call(x), x.sum(1))
