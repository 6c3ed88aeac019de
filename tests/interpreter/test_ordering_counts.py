"""Counts of every integer type, for `sort`, `median` and `searchsorted`."""

import numpy as np
import pytest

pytestmark = pytest.mark.slow

BODY = """
for i in grid(n):
    y[i] = x[i]
sort(y, k)
middle[0] = median(x, k)
place[0] = searchsorted(y, k, x[0])
"""


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint32", "uint64"])
def test_a_count_may_be_of_any_type(run, dtype):
    signature = f"(x: float32[n], k: {dtype}) -> (y: float32[n], middle: float64[1], place: int64[1])"
    x = np.array([3, 1, 2, 0, -1], np.float32)
    y, middle, place = run(signature, BODY, {"n": 5}, x=x, k=4)
    assert (y.tolist(), middle[0], place[0]) == ([0, 1, 2, 3, -1], 1.5, 3)
    if dtype == "uint64":
        for count in (6, 2**63, 2**64 - 1):
            with pytest.raises(IndexError):
                run(signature, BODY, {"n": 5}, x=x, k=count)
