"""min and max of floats go by one instruction first: NaN and signed zeros, wherever they stand, must not show it."""

import numpy as np
import pytest
from tests.targets.cpu.compiled import Kernel, tree_of

BODY = """
    for r in blocks(m):
        low[r] = min(x[r, c] for c in threads(n))
        most = start
        count = 0
        for c in threads(n):
            most = max(most, x[r, c])
            count += 1
        high[r] = most
        counts[r] = count
"""
VALUES = (0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 1e-45)


def extreme(values, largest):
    """NaN if one is; -0.0 is less than 0.0."""
    values = values if largest else -values
    if np.isnan(values).any():
        return np.nan
    found = values.max(initial=-np.inf)
    if found == 0:
        found = -0.0 if np.signbit(values[values == 0]).all() else 0.0
    return found if largest else -found


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("level", ["v2", "v3"])
def test_rows_of_special_values(dtype, level):
    signature = f"(x: {dtype}[m, n], start: {dtype}) -> (low: {dtype}[m], high: {dtype}[m], counts: int64[m])"
    run = Kernel(tree_of(BODY, signature, types=""), f"cpu:x86-64-{level}")
    rng = np.random.default_rng(0)
    for trial in range(300):
        m, n = 3, int(rng.choice([0, 1, 3, 8, 16, 17, 33, 64, 100]))
        x = np.array(VALUES)[rng.choice(rng.choice(len(VALUES), trial % 4 + 1), (m, n))].astype(dtype)
        start = x.dtype.type(rng.choice(VALUES))
        (low, high), counts = np.zeros((2, m), dtype), np.zeros(m, np.int64)
        assert run({"m": m, "n": n}, 1, x=x, start=start, low=low, high=high, counts=counts) == 0
        assert (counts == n).all()
        for r in range(m):
            for got, wanted in ((low[r], extreme(x[r], False)), (high[r], extreme(np.append(x[r], start), True))):
                both = got == wanted and np.signbit(got) == np.signbit(wanted) or np.isnan(got) and np.isnan(wanted)
                assert both, (x[r], start, got, wanted)
