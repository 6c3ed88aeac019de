"""What the host of a device decides about a kernel's loops by itself: it waits for nothing that its own numbers say."""

import textwrap

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


NARROW = [dtype for dtype in INTEGERS if dtype != "uint64"]


@on_devices
@pytest.mark.parametrize("dtype", NARROW)
def test_locals_that_follow_from_integer_arguments(target, dtype):
    """In their own type, which wraps, and in other ones."""
    body = """
        m = k * 3 - 7
        small = int16(m) // 5
        while small > 2:
            small = small - 40
            for i in grid(n):
                out[i] += 1
        for i in grid(max(min(int64(m), n), n // 2)):
            out[i] += x[i] + m
        for r in range(uint8(m) % 3):
            for i in grid(min(n, int64(uint32(small)))):
                out[i] += small
        if -m > min(k, small):
            for i in grid(n):
                out[i] -= x[i] - k
    """
    built = loop(target, f"(x: float32[n], k: {dtype}) -> (out: float32[n] = 0)", textwrap.dedent(body).strip())
    assert "read" not in str(built.meta["program"])
    lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max
    for k in (0, 1, 7, 30, 100, lowest, lowest + 1, highest, highest - 1, highest // 3, highest // 2 + 5):
        agree(built, draw(40), np.dtype(dtype).type(k))


@on_devices
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_conditions_on_other_arguments(target, dtype):
    """Floats, as a factor that may be 0, and truths."""
    body = """
        zero = beta == 0
        turns = 0
        while not zero:
            turns += 1
            zero = turns > 2 or flag
            for i in grid(n):
                out[i] += turns + zero
        if beta == 0:
            for i in grid(n):
                out[i] = 1
        elif flag and not (0.1 <= beta):
            for i in grid(n):
                out[i] = x[i]
        if float64(beta) < 0.1 or not flag:
            for i in grid(n):
                out[i] += 5
    """
    signature = f"(x: float32[n], beta: {dtype}, flag: bool) -> (out: float32[n] = 0)"
    built = loop(target, signature, textwrap.dedent(body).strip())
    assert "read" not in str(built.meta["program"])
    for beta in (0.0, -0.0, 0.1, float(np.float32(0.1)), np.nextafter(0.1, 1), 1e-9, -2.0, np.inf, -np.inf, np.nan):
        for flag in (True, False):
            agree(built, draw(40), np.dtype(dtype).type(beta), np.bool_(flag))


@on_devices
def test_unsigned_words_are_waited_for(target):
    """An expression of the host has 64 bits with a sign."""
    body = "m = k // uint64(3)\nif m > uint64(2):\n    for i in grid(n):\n        out[i] = 1"
    built = loop(target, "(x: float32[n], k: uint64) -> (out: float32[n] = 0)", body)
    assert "read" in str(built.meta["program"])
    for k in (2, 9, 2**64 - 1):
        assert (agree(built, draw(40), np.uint64(k)) == (k > 8)).all()


@on_devices
def test_what_an_array_says_is_waited_for(target):
    body = "if k[0] > 2:\n    for i in grid(n):\n        out[i] = 1"
    built = loop(target, "(k: int32[n]) -> (out: float32[n] = 0)", body)
    assert "read" in str(built.meta["program"])
    for k in (2, 3):
        assert (agree(built, np.full(9, k, "i4")) == (k > 2)).all()
