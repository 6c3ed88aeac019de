"""Indices that leave a period or what they are brought between at the ends: what they are one by one, and the bare sum
between."""

import numpy as np
import pytest
from tests.targets.built import loop
from tests.targets.cpu.compiled import agree, kernel, tree_of

from pydotcompute.targets.cpu.lowering import lower

SIZES = ((0, 3), (1, 1), (2, 1), (3, 2), (2, 3), (5, 4), (4, 77))
GRIDS = {
    "neighbours": "out[i, j] = u[i, (j - 1) % m] + 2 * u[i, (j + 1) % m] + 3 * u[(i + 1) % n, j]",
    "a period added": "out[i, j] = u[(i + n - 1) % n, (j + m - 3) % m] - u[i, (2 * m + j + 2) % m]",
    "a period taken away": "out[i, j] = u[i, (j - m + shift) % m]",
    "by an argument": "out[i, j] = u[i, (j + shift) % m] - u[i, (shift - j) % m]",
    "a local": "k = (j + 5) % m\nout[i, k] = u[i, j] + k",
    "other periods": "out[i, j] = u[i, min(max((j + 1) % abs(shift), 0), m - 1)] + (j + 2) % shift + (j + shift) % shift",
    "loops": """
        s = 0.0
        for di in range(-1, 2):
            for dj in range(-2, 3):
                if di != 0 or dj != 0:
                    s += (dj + 3) * u[(i + di + n) % n, (j - dj + m) % m]
        out[i, j] = s
    """,
    "sums": "out[i, j] = sum(u[(i + p) % n, (j + 2 - q) % m] * (q + 1) for p in range(-1, 2) for q in range(4))",
    "an argument in a loop": """
        s = 0.0
        for dj in range(-1, 2):
            s += (dj + 3) * u[i, (j + dj + shift) % m]
        out[i, j] = s
    """,
    "a loop of unknown length": "s = 0.0\nfor q in range(m // 2):\n    s = 2 * s + u[i, (j + q) % m]\nout[i, j] = s",
}  # fmt: skip

CLAMPED = {
    "neighbours": "out[i, j] = u[i, max(j - 1, 0)] + 2 * u[i, min(j + 1, m - 1)] + 3 * u[min(i + 1, n - 1), j]",
    "locals": "west = max(j - 2, 0)\neast = min(j + 3, m - 1)\nout[i, j] = u[i, west] - 2 * u[i, east] + west",
    "both ends": "out[i, j] = u[i, min(max(j - 7, 0), m - 1)] - u[i, max(0, min(m - 1, j + 80))] * j",
    "by an argument": "out[i, j] = u[i, min(max(j + shift, 0), m - 1)] - u[i, max(min(j - shift, m - 1), 0)]",
    "between arguments": "k = min(max(j, shift), 3)\nout[i, j] = u[i, min(max(k, 0), m - 1)] + u[i, max(min(j, shift % m), 0)]",
    "loops": """
        s = 0.0
        for di in range(-1, 2):
            for dj in range(-2, 3):
                s += (dj + 3) * u[min(max(i + di, 0), n - 1), min(max(j - dj, 0), m - 1)]
        out[i, j] = s
    """,
    "an argument in a loop": """
        s = 0.0
        for dj in range(-1, 2):
            s += (dj + 3) * u[i, min(max(j + dj + shift, 0), m - 1)]
        out[i, j] = s
    """,
    "a remainder": "out[i, j] = u[i, min(max((j + 1) % m, 0), m - 1)] + u[i, min((j + m - 1) % m, m - 1)]",
    "a row": "out[i, j] = u[min(max(j - 1, 0), n - 1), i % m]",
    "of what changes": "k = j\nif u[i, j] > 4:\n    k = m - 1 - j\nout[i, j] = u[i, min(k + 1, m - 1)]",
    "twice the index": "out[i, j] = u[i, min(2 * j, m - 1)] + u[i, max(m - 1 - j - 3, 0)] + u[i, min(j + j, m - 1)]",
    "in other types": "out[i, j] = u[i, int64(min(int32(j) + int32(1), int32(m) - int32(1)))] + min(j, 4)",
}  # fmt: skip
ALL = {**GRIDS, **{f"clamped {name}": text for name, text in CLAMPED.items()}}


def body(text):
    lines = [line for line in text.strip("\n").splitlines()]
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "for i, j in grid(n, m):\n" + "\n".join("    " + line[indent:] for line in lines)


def in_rows(text):
    """The same with a sequential loop over the last index."""
    head, *lines = body(text).splitlines()
    return "\n".join(["for i in grid(n):", "    for j in range(m):", *("    " + line for line in lines)])


@pytest.mark.parametrize("written", (body, in_rows))
@pytest.mark.parametrize("name", ALL)
def test_grids(name, written):
    k = kernel(written(ALL[name]), "(u: T[n, m], shift: int64) -> (out: T[n, m])", extra="fastmath: []")
    for n, m in SIZES:
        u = np.random.default_rng(m).integers(0, 9, (n, m)).astype("f4")
        for shift in (1, -1, m, m - 1, 7, -80, 1 << 62, -(1 << 63), (1 << 63) - 1):
            agree(k, {"n": n, "m": m}, u=u, shift=shift, out=np.zeros((n, m), "f4"))


def test_a_sum_with_the_period_may_wrap():
    """Near the ends of int64 the remainder is that of what the sum wraps to."""
    k = kernel("for i in grid(n):\n    out[i] = (i + p) % p + (i + p + p - 1) % p", "(p: int64, n: int64) -> (out: int64[n])", types="")
    for p in (1, 2, 3, 50, 1 << 60, (1 << 61) - 1, 1 << 61, 1 << 62, (1 << 63) - 1, -5, -(1 << 63)):
        agree(k, {"n": 40}, p=p, n=40, out=np.zeros(40, "i8"))


@pytest.mark.parametrize("index", [
    "min(max(j + k, 0), 9)", "(j + k) % m", "(j - k + m) % m", "min(max(j + k + a, 0), m - 1)", "(j + k + a) % m",
    "min(max(j + k + a + a + a, 0), m - 1)", "min(max(j + k + a - 1152921504606846977, 0), m - 1)",
])  # fmt: skip
@pytest.mark.parametrize("over, range_", [
    ("s, s + 4", "-1, 2"), ("4", "9223372036854775804, 9223372036854775807"), ("s, s - 4, -1", "-3, 3"),
    ("4", "1152921504606846970, 1152921504606846978"),
])  # fmt: skip
def test_loops_near_the_ends_of_int64(index, over, range_):
    """An index may be there itself, and what is added to it; elements of one byte, of which any address is one."""
    signature = "(x: uint8[m], s: int64, a: int64, out: inout uint8[4])"
    body = f"c = 0\nfor j in grid(({over})):\n    for k in range({range_}):\n        out[j - {{}}] += x[{index}]"
    body = body.format("s" if over == "s, s + 4" else "0" if over == "4" else "s + 3")
    k = kernel(body, signature, types="", extra='requires: ["m == 10"]')
    ends = (-(1 << 63), 3 - (1 << 63), -(1 << 60), -5, 0, 1 << 60, (1 << 61) + 1, (1 << 63) - 8)
    for s in ends:
        for a in (0, *ends, (1 << 61) - 1):
            agree(k, {"m": 10}, x=np.arange(10, dtype="u1"), s=s, a=a, out=np.zeros(4, "u1"))


SEQUENTIAL = {
    "turns that wait for each other": "for j in range(m):\n    out[j] = s\n    s = 0.5 * s + u[(j + 1) % m] - u[(j - 1 + 2 * m) % m]",
    "its own elements": "for j in range(m):\n    out[j] = u[j]\n    out[(j + 3) % m] += out[(j + m - 1) % m]",
    "an end": "for j in range(m):\n    if j == stop:\n        break\n    out[j] = u[(j + 1) % m]",
    "turns left out": "for j in range(m):\n    if u[j] > 4:\n        continue\n    out[j] = u[(j + 1) % m]",
    "another start": "for j in range(stop, m + stop):\n    out[j % m] += u[(j + 1) % m] + u[min(max(j - 1, 0), m - 1)]",
    "ends that change": "e = m\nfor j in range(m):\n    e -= 2\n    s += u[min(max(j - 1, 0), m - 1)]\n    out[j] = s + e",
    "the last index": "for j in range(m):\n    k = j\n    s = u[(j + 2) % m]\nif m > 0:\n    out[0] = s + k",
    "a period that changes": "p = m\nfor j in range(m):\n    out[j] = u[(j + 1) % p]\n    p = 1 + j % 3 if m > 3 else m",
    "other indices": "for j in range(m):\n    q = (j + 1) % m\n    out[q] = u[min(q + 1, m - 1)] + u[(q + m - 1) % m]",
}  # fmt: skip


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_sequential_loops(name):
    text = "s = u[0] if m > 0 else T(0)\nk = 0\n" + SEQUENTIAL[name]
    k = kernel(text, "(u: T[m], stop: int64) -> (out: T[m] = 0)", extra="fastmath: []")
    for m in (0, 1, 2, 3, 5, 77):
        u = np.random.default_rng(m).integers(0, 9, m).astype("f4")
        for stop in (0, 1, m - 1, m, -3, -m, 1 << 60, 1 << 62, (1 << 63) - 1 - m, (1 << 63) - 2, -(1 << 63)):
            agree(k, {"m": m}, u=u, stop=stop, out=np.zeros(m, "f4"))


@pytest.mark.parametrize("index, start", [("min(j - 9, m - 1)", -(1 << 63)), ("max(j + 9, 0)", (1 << 63) - 4)])
def test_a_sum_in_a_sequential_loop_may_wrap(index, start):
    """Where it starts far from 0: to the other end, which is brought to an element."""
    signature = "(u: T[m], start: int64) -> (out: T[3])"
    k = kernel(f"for j in range(start, start + 3):\n    out[j - start] = u[{index}]", signature)
    agree(k, {"m": 20}, u=np.arange(20, dtype="f4"), start=start, out=np.zeros(3, "f4"))


def test_iterations_that_take_long_stay_vectors():
    """At the ends there would be none."""
    signature = "(u: T[n, m]) -> (out: T[n, m])"
    for call, free in (("sqrt", True), ("abs", True), ("exp", False), ("f2", False)):
        helper = "def f2(x):\n    return tanh(x)\n\n" * (call == "f2")
        grid = f"    for i, j in grid(n, m):\n        out[i, j] = {call}(u[i, max(j - 1, 0)])\n"
        tree = tree_of(signature=signature, template=f"{helper}def f(u, out):\n{grid}")
        assert ("_low, _high = " in lower(tree).text) is free


def test_threads():
    k = kernel("""
        for r in blocks(n):
            s = shared((8,), T)
            for c in threads(8):
                s[c] = c * u[r, c % m]
            for c in threads(m):
                out[r, c] = u[r, (c + 1) % m] + s[c % 8]
    """, "(u: T[n, m], shift: int64) -> (out: T[n, m])")  # fmt: skip
    for n, m in SIZES[1:]:
        u = np.random.default_rng(m).integers(0, 9, (n, m)).astype("f4")
        agree(k, {"n": n, "m": m}, u=u, shift=0, out=np.zeros((n, m), "f4"))


SPLIT = [("neighbours", True), ("loops", True), ("an argument in a loop", True), ("a loop of unknown length", True)]
CUT = {"a row", "of what changes", "twice the index", "in other types"}


@pytest.mark.parametrize("name, free", [*SPLIT, *((f"clamped {name}", name not in CUT) for name in CLAMPED)])
def test_nearly_everywhere_the_index_is_the_sum(name, free):
    """And nothing is divided, nor compared."""
    text = lower(tree_of(body(ALL[name]), "(u: T[n, m], shift: int64) -> (out: T[n, m])")).text
    assert ("range(_low, _high)" in text) is free


@pytest.mark.parametrize("text, free", [
    ("out[i, j] = u[i, (j - 2 + 2 * m) % m] + u[i, (m * 2 + j + 1) % m]", True), (GRIDS["neighbours"], True),
    (CLAMPED["both ends"], True), ("out[i, j] = u[i, (j - 2 + 3 * m) % m]", False),
    ("if u[i, j] < 0:\n    break\nout[i, j] = u[i, (j + 1) % m]", False), ("out[i, j] = u[i, (2 * j) % m]", False),
])  # fmt: skip
def test_in_sequential_loops_too(text, free):
    """Where nothing leaves them."""
    text = lower(tree_of(in_rows(text), "(u: T[n, m], shift: int64) -> (out: T[n, m] = 0)")).text
    assert (", _low)" in text) is free


def test_a_load_that_every_iteration_may_do_needs_no_branch():
    """Of an array with the shape of the grid. Of any other a condition may be what keeps it inside."""
    text = "for i, j in grid(n, m):\n    out[i, j] = 1 if u[i, j] > 2 and {} == 3 else 0"
    signature = "(u: T[n, m], v: T[n, m], w: T[p]) -> (out: T[n, m])"
    for load, free in (("v[i, j]", True), ("w[i]", False), ("v[i, 0]", False), ("v[i, min(j + 1, m - 1)]", False)):
        written = text.format(load)
        assert ("if gt(load(u, at(i, m, j))" not in lower(tree_of(written, signature)).text) is free
        k = kernel(written, signature)
        u, v = (np.random.default_rng(s).integers(0, 5, (4, 33)).astype("f4") for s in (1, 2))
        agree(k, {"n": 4, "m": 33, "p": 4}, u=u, v=v, w=np.full(4, 3, "f4"), out=np.zeros((4, 33), "f4"))


def test_what_a_grid_may_load_another_loop_may_not():
    """Though its index has the same name: there the condition keeps it inside."""
    text = """
        for i in grid(n):
            out[i] = x[i]
        s = T(0)
        for i in range(k):
            s = s * T(0.5) + (x[i] if i < n else T(0))
        total[()] = s
    """
    signature = "(x: T[n], k: int64) -> (out: T[n], total: T)"
    assert "if lt(i, n) else" in lower(tree_of(text, signature)).text
    x, out = np.arange(5, dtype="f4"), np.zeros(5, "f4")
    agree(kernel(text, signature), {"n": 5}, x=x, k=9, out=out, total=np.zeros((), "f4"))


@pytest.mark.parametrize("index", ["i % n", "(i + 1 + n) % n", "max(i - 1, 0)", "min(max(i - 1, 0), m - 1)"])
def test_a_fault_stands_where_the_index_does(index):
    """In the interpreter's place, by which `check` knows that both found the same."""
    signature = "(x: float32[m], y: float32[n]) -> (out: float32[m])"
    sites = [
        loop("cpu:x86-64-v3", signature, f"for i in grid(m):\n    out[i] = x[i] + y[{text}]").meta["sites"]
        for text in (index, "i - n")
    ]
    assert [site[0:2] for site in sites[0]] == [site[0:2] for site in sites[1]]
