"""Who owns what: reference counts over many calls, right ones and wrong ones."""

import gc
import sys

import numpy as np
import pytest
from support import write_saxpy

import pydotcompute


def f4(n):
    return np.arange(n, dtype="f4")


@pytest.mark.slow
def test_references_are_exact(tmp_path, kernels):
    saxpy = pydotcompute.load(write_saxpy(tmp_path)).saxpy
    x, y, o = f4(8), f4(8), f4(8)
    saxpy(2.0, x, y)
    half, wide, total = 0.5, np.ones(8), np.zeros(())
    calls = {
        "given": lambda: saxpy(half, x, y, o),
        "by keyword": lambda: saxpy(half, x, y, out=o),
        "made": lambda: saxpy(half, x, y),
        "in place": lambda: saxpy(half, x, y, y),
        "another specialisation": lambda: saxpy(half, wide, wide),
        "several": lambda: kernels("several outputs").entry()(x),
        "several, given": lambda: kernels("several outputs").entry()(x, o, total),
        "a scalar": lambda: kernels("output scalar").entry()(x),
    }
    errors = {
        "wrong shape": lambda: saxpy(half, x, y[:3]),
        "wrong dtype": lambda: saxpy(half, x, o.view("i4")),
        "overlap": lambda: saxpy(half, x, y, x[::-1]),
        "no scalar": lambda: saxpy("", x, y),
    }
    watched = (x, y, o, half, wide, total, np.ndarray, x.dtype, np.dtype("f8"), None, saxpy)
    for name, call in {**calls, **errors}.items():

        def repeat(count, call=call):
            for _ in range(count):
                try:
                    call()
                except (TypeError, ValueError):
                    pass

        repeat(100)
        gc.collect()
        before, blocks = [sys.getrefcount(w) for w in watched], sys.getallocatedblocks()
        repeat(2000)
        gc.collect()
        after = [sys.getrefcount(w) for w in watched]
        assert all(abs(a - b) <= 20 for a, b in zip(after, before)), (name, before, after)
        assert abs(sys.getallocatedblocks() - blocks) < 500, name


def test_ten_million_calls_leave_no_trace(tmp_path):
    saxpy = pydotcompute.load(write_saxpy(tmp_path)).saxpy
    x, y, o = f4(4), f4(4), f4(4)
    for _ in range(10):
        saxpy(2.0, x, y, o), saxpy(2.0, x.astype("f8"), y.astype("f8"))

    def repeat(function, count):
        # A loop without bytecode of its own around each call: 10⁷ of them must not take a minute.
        from collections import deque
        from itertools import repeat as times

        deque(map(function, times(2.0, count), times(x), times(y), times(o)), maxlen=0)

    repeat(saxpy, 1000)
    before = [sys.getrefcount(w) for w in (x, y, o, saxpy)], sys.getallocatedblocks()
    repeat(saxpy, 10_000_000)
    after = [sys.getrefcount(w) for w in (x, y, o, saxpy)], sys.getallocatedblocks()
    assert after[0] == before[0]
    assert abs(after[1] - before[1]) < 200
