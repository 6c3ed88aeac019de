"""What the host of a device decides about a kernel's loops by itself: it waits for nothing that its own numbers say."""

import numpy as np
import pytest
from tests.targets.built import agree, draw, loop, marked

pytestmark = pytest.mark.slow
on_devices = pytest.mark.parametrize("target", [*map(marked, ("cuda:compute_80", "opencl:1.2"))])

INTEGERS = {"int8": -3, "int32": -(2**31), "int64": 2**40, "uint8": 200, "uint32": 2**32 - 1, "uint64": 2**64 - 1}


@on_devices
@pytest.mark.parametrize("dtype, far", INTEGERS.items())
def test_conditions_on_integer_arguments(target, dtype, far):
    side = "    for i in grid(n):\n        out[i] = x[i]"
    body = f"if 2 < k:\n{side} + 1\nelse:\n{side} - 1"
    built = loop(target, f"(x: float32[n], k: {dtype}) -> (out: float32[n])", body)
    assert "read" not in str(built.meta["program"])
    for k in (0, 2, 3, far):
        assert (agree(built, draw(40), np.dtype(dtype).type(k)) == draw(40) + (1 if k > 2 else -1)).all()


@on_devices
def test_what_an_array_says_is_waited_for(target):
    body = "if k[0] > 2:\n    for i in grid(n):\n        out[i] = 1"
    built = loop(target, "(k: int32[n]) -> (out: float32[n] = 0)", body)
    assert "read" in str(built.meta["program"])
    for k in (2, 3):
        assert (agree(built, np.full(9, k, "i4")) == (k > 2)).all()
