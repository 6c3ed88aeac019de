"""`return` inside the loops of helpers, for every target: its code against the interpreter, and both against Python."""

import inspect

import numpy as np
import pytest
from tests.targets.built import agree, every_target, loop


def first(x, low, high):
    for i in range(len(x)):
        k = 0
        while True:
            if x[i] == 7:
                return i, True
            if k == 2:
                break
            if low <= x[i] + k < high:
                return 100 * i + k, x[i] == low
            k += 1
        if x[i] == 1:
            continue
    return -1, False


def root(v):
    if v < 0:
        return 0
    while True:
        if v % 2 == 1:
            return v
        if v == 0:
            return 0
        v //= 2


@pytest.mark.slow
@every_target
def test_return_inside_loops(target):
    """Of several results, out of nested loops, under `if`, and where nothing follows the loop."""
    helpers = inspect.getsource(first) + "\n" + inspect.getsource(root)
    body = """
for j in grid(m):
    at, hit = first(x, low[j], low[j] + 3)
    out[j] = at
    flag[j] = hit
    odd[j] = root(low[j])
"""
    signature = "(x: int64[n], low: int64[m]) -> (out: int64[m], flag: bool[m], odd: int64[m])"
    built = loop(target, signature, helpers + body)
    low = np.arange(-20, 40)
    for x in ([9, 30, 1, 2], [], [5, 7, 3], [1, 1, 20]):
        x = np.array(x, "i8")
        out, flag, odd = agree(built, x, low)
        wanted = [first(x, v, v + 3) for v in low]
        assert out.tolist() == [at for at, _ in wanted] and flag.tolist() == [bool(hit) for _, hit in wanted]
        assert odd.tolist() == [root(int(v)) for v in low]
