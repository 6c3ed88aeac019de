"""What a kernel reads once of an array that its loop changes: counts of the loop, and scalars before it. Threads of a
device begin at different times."""

import numpy as np
import pytest
from tests.targets.built import agree, every_target, loop

from pydotcompute.targets.phases import split

SIGNATURE = "(k: inout int32[n]) -> (out: int32[n] = 0)"
BODIES = {
    "grid": """
        for i in grid(min(k[0], n)):
            k[i] = 0
            out[i] = 1
    """,
    "blocks": """
        for i in blocks(min(k[0], n)):
            for j in threads(1):
                k[i] = 0
                out[i] = 1
    """,
    "two counts": """
        for i, j in grid(min(k[1], n), min(k[0], 1)):
            k[i] = j
            out[i] = 1
    """,
    "reduction": """
        s = 0
        for i in grid(min(k[0], n)):
            k[i] = 0
            s += i
        out[0] = s % 1000
    """,
    "in a loop": """
        for r in range(4):
            if k[0] > 2:
                for i in grid(min(k[0], n)):
                    k[i] = k[i] // 2
                    out[i] += 1
    """,
    "atomics": """
        for i in grid(min(k[0], n)):
            atomic_add(k, i % 3, -1)
            out[i] = 1
    """,
    "a scalar": """
        c = k[0]
        for i in grid(n):
            atomic_add(k, i % 3, 1)
            out[i] = c
    """,
    "a scalar, scattered": """
        c = k[0]
        for i in grid(n):
            scatter(k, i % 3, 7)
            out[i] = c
    """,
    "a scalar of a helper": """
        def first(a, m):
            for q in range(m):
                if a[q] > 5:
                    return a[q]
            return a[0]
        c = first(k, n)
        for i in grid(n):
            k[i] = 7
            out[i] = c
    """,
}


@every_target
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_what_is_read_first(target, body):
    built = loop(target, SIGNATURE, body)
    assert split(built.tree) is not None, "on a device another launch reads it"
    agree(built, np.full(3000, 3000, "i4"))


@every_target
def test_an_index_outside_in_a_count(target):
    built = loop(target, SIGNATURE, "for i in grid(min(k[7], n)):\n    k[i] = 0\n    out[i] = 1")
    agree(built, np.full(8, 5, "i4"))
    with pytest.raises(IndexError, match="7"):
        built.call(np.full(7, 5, "i4"))
