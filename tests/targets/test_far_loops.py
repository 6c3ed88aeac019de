"""Sequential loops whose bounds do not fit 32 bits, though they stand in dims or come from the host, for every target."""

import numpy as np
import pytest

from tests.targets.built import agree, every_target, loop


@every_target
@pytest.mark.parametrize("low", [0, 2**31 - 2, 2**31, 2**40])
def test_bounds_that_are_scalars_of_dims(target, low):
    built = loop(
        target,
        "(low: int64, high: int64) -> (out: int32[high - low])",
        """
        for i in grid(high - low):
            out[i] = 0
            for j in range(low, high):
                if j == low + i:
                    out[i] = 1
        """,
    )
    np.testing.assert_array_equal(agree(built, low, low + 4), [1, 1, 1, 1])


@every_target
def test_bounds_of_the_host(target):
    built = loop(
        target,
        "(x: inout int32[n], s: int64) -> ()",
        """
        t = s + 1
        for r in range(2):
            for i in grid(n):
                for j in range(t):
                    if j > 5:
                        break
                    x[i] += 1
            t += 1
        """,
    )
    for s, wanted in ((2, 7), (100, 12), (2**32, 12)):
        x = np.zeros(3, np.int32)
        try:
            built.call(x, s)
        except ValueError as error:  # WebGPU counts in 32 bits, and says so
            assert target == "webgpu" and s == 2**32 and f"t is {2**32 + 1}, and on WebGPU" in str(error)
        else:
            np.testing.assert_array_equal(x, [wanted] * 3)


@every_target
def test_scalars_that_are_dims_or_stand_in_them(target):
    """Which a kernel that moves tiles compares with its indices."""
    built = loop(
        target,
        "(x: float32[n, m], k: int64, low: int64, high: int64) -> (out: float32[m, n], one: float32[high - low])",
        """
        for b, c in blocks((n + 15) // 16, (m + 15) // 16):
            tile = shared((16, 17), float32)
            for i, j in threads(16, 16):
                if b * 16 + i < n and c * 16 + j < m:
                    tile[i, j] = x[b * 16 + i, c * 16 + j]
            for i, j in threads(16, 16):
                if c * 16 + i < m and b * 16 + j < n:
                    out[c * 16 + i, b * 16 + j] = tile[j, i]
                    if i < low + 2 and j < k:
                        out[c * 16 + i, b * 16 + j] += 1
        for i in grid(high - low):
            one[i] = 1
        """,
    )
    x = np.arange(20 * 33, dtype="f4").reshape(20, 33)
    for k, low in ((3, 0), (2**40, 2**31), (2**32 + 1, 2**40 + 2**33), (-(2**40), 5)):
        out, _ = agree(built, x, k, low, low + 3)
        wanted = x.T + ((np.arange(33) % 16 < low + 2)[:, None] & (np.arange(20) % 16 < k))
        np.testing.assert_array_equal(out, wanted)
