"""Loops over elements that lie apart, for AVX-512: addresses are not taken out of vectors, and nothing else changes."""

import re

import numpy as np
import pytest

from pydotcompute.targets.cpu.compiler import decided, kernel_ir, optimised
from pydotcompute.targets.cpu.lowering import lower
from pydotcompute.targets.cpu.taken_apart import is_for_avx2
from tests.targets.built import agree, build, declaration, marked
from tests.targets.cpu.compiled import tree_of

V4 = "cpu:x86-64-v4"
DIAGONAL = """
    for d in range(2, n + m + 1):
        for i in grid((max(1, d - m), min(n, d - 1) + 1)):
            j = d - i
            s = 3 if a[i - 1] == b[j - 1] else -3
            H[i, j] = max(0, H[i - 1, j - 1] + s, H[i - 1, j] - 2, H[i, j - 1] - 2)
"""
EVERY_OTHER = """
    for i in grid(n):
        for k in range(m // 2):
            H[i, k] = (G[i, 2 * k + 2] if k < m // 2 - 1 else G[i, 2 * k]) + int32(a[i])
"""
TABLE = """
    for i in grid(n):
        for j in range(m):
            H[i, j] = int32(b[int64(a[i] + b[j]) % m])
"""
STRAIGHT = """
    for i in grid(n):
        for j in range(m):
            H[i, j] = G[i, j] * 3 + int32(b[j])
"""
SIGNATURE = "(a: uint8[n], b: uint8[m], G: int32[n + 1, m + 1], H: inout int32[n + 1, m + 1])"
BODIES = {"a diagonal": (DIAGONAL, True), "every other": (EVERY_OTHER, True), "rows": (STRAIGHT, False)}


@pytest.mark.parametrize("name", BODIES)
def test_what_takes_addresses_apart_is_optimised_as_for_avx2(name):
    """And then no address is in a vector."""
    body, apart = BODIES[name]
    text = kernel_ir(lower(tree_of(body, SIGNATURE, types="")), "f.py")
    chosen, of_v3 = (is_for_avx2(decided(text, target)) for target in (V4, "cpu:x86-64-v3"))
    assert chosen is apart and not of_v3
    made = str(optimised(text, V4, "f")[0])
    assert ('"target-cpu"' not in made) and ("<16 x i32>" in made) is not apart
    assert not apart or not re.search(r"extractelement <\d+ x (i64|ptr)>", made)


@pytest.mark.parametrize("value, apart", [("t", True), ("1 / (1 + t * (2 + t * (3 + t * (4 + t * (5 + t)))))", False)])
def test_next_to_much_arithmetic_wider_registers_gain_more(value, apart):
    body = f"for i in grid(n):\n    for j in range(m):\n        t = x[int64(k[j])]\n        out[i, j] = {value}"
    tree = tree_of(body, "(x: T[n], k: uint8[m]) -> (out: T[n, m])", extra="fastmath: []")
    chosen = is_for_avx2(decided(kernel_ir(lower(tree), "f.py"), V4))
    assert chosen is apart


@pytest.mark.parametrize("target", [marked(V4), marked("cpu:x86-64-v3")])
@pytest.mark.parametrize("body", [DIAGONAL, EVERY_OTHER, TABLE, STRAIGHT])
def test_the_results_are_the_same(body, target):
    built = build(target, declaration(SIGNATURE, body, 'requires: ["m > 1"]'))
    rng = np.random.default_rng(1)
    for n, m in ((1, 2), (3, 5), (40, 70), (70, 40)):
        a, b = rng.integers(0, 100, n).astype("u1"), rng.integers(0, 100, m).astype("u1")
        agree(built, a, b, *rng.integers(0, 9, (2, n + 1, m + 1)).astype("i4"))
