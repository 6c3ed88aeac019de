"""Loops around parallel loops whose index has the name of something else: the host counts, and every kernel has the
number of the turn, whatever else that name holds."""

import textwrap

import numpy as np
import pytest
from tests.targets.built import agree, draw, loop, marked

pytestmark = pytest.mark.slow
on_devices = pytest.mark.parametrize("target", [*map(marked, ("cuda:compute_80", "opencl:1.2", "webgpu"))])

BODIES = {
    "a loop behind it": """
        for i in range(k):
            for j in grid(n):
                out[j] += i
        for i in range(k):
            t[()] += i
    """,
    "what a kernel computes": """
        for j in grid(n):
            out[j] = 3
        i = out[0]
        for i in range(k):
            for j in grid(n):
                out[j] += i
        t[()] = i
    """,
    "set in the loop": """
        for i in range(k):
            for j in grid(n):
                out[j] += i
            i = out[0] + 1
            for j in grid(n):
                out[j] += i
    """,
    "a loop of the other branch": """
        if k > 2:
            for i in range(k):
                for j in grid(n):
                    out[j] += i
        else:
            for i in range(5):
                t[()] += i
    """,
    "loops in loops": """
        for i in range(k):
            for i in range(i + 1, -1, -1):
                for j in grid(n):
                    out[j] += i * 10
            for q in range(2):
                for j in grid(n):
                    out[j] += i
            for i in range(3):
                t[()] += i
    """,
    "a condition on it": """
        for i in range(k):
            t[()] += i
        for i in range(k):
            if i > 0:
                for j in grid(min(n, i)):
                    out[j] += i
    """,
    "a reduction's name": """
        for i in range(k):
            for j in grid(n):
                out[j] += sum(i for i in range(i + 1)) + i
            t[()] += i
        for i in range(2):
            t[()] += i
    """,
}


@on_devices
@pytest.mark.parametrize("name", BODIES)
def test_a_loop_whose_name_is_shared(target, name):
    signature = "(k: int64, n: int64) -> (out: int32[n] = 0, t: int32 = 0)"
    built = loop(target, signature, textwrap.dedent(BODIES[name]).strip())
    for k in (0, 1, 3, 4):
        agree(built, np.int64(k), np.int64(5))


@on_devices
def test_its_proofs_are_those_of_the_turn(target):
    body = "for i in range(n):\n    for j in grid(m):\n        out[i, j] += x[i, j]\nfor i in range(n):\n    out[i, 0] += 1"
    built = loop(target, "(x: int32[n, m]) -> (out: int32[n, m] = 0)", body, 'requires: ["m > 0"]')
    assert "once" not in str(built.meta["program"])
    agree(built, np.arange(12, dtype="i4").reshape(3, 4))


COUNTS = {
    "narrow": ("", "a" + " * 3 + 1" * 40),
    "wrapped": ("", "min(n, " + "(" * 30 + "a" + " // 3 * 2 % 1000 + 7)" * 30 + ")"),
    "divided": ("", "(" * 20 + "a" + " // b)" * 20),
    "of many locals": ("m0 = a\n" + "".join(f"m{k + 1} = m{k} + {k}\n" for k in range(120)), "min(m120, n)"),
}


@pytest.mark.parametrize("target", [*map(marked, ("cuda:compute_80", "opencl:1.2"))])
@pytest.mark.parametrize("name", COUNTS)
def test_counts_that_are_more_than_a_launch_works_out(target, name):
    """They are computed by the device then, and refused by nobody."""
    before, count = COUNTS[name]
    body = f"{before}for i in grid({count}):\n    if i < n:\n        out[i] = x[i]"
    built = loop(target, "(x: float32[n], a: int32, b: int32) -> (out: float32[n] = 0)", body)
    assert len(str(built.meta)) < 20_000
    for a in (-1, 5, 1000):
        agree(built, draw(10), np.int32(a), np.int32(1))
