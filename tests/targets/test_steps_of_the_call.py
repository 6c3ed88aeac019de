"""Ranges whose step only a call knows, in every kind of loop: Python's, and a ValueError where the step is 0."""

import numpy as np
import pytest

from tests.targets.built import agree, draw, loop, marked

pytestmark = pytest.mark.slow
ordinary = pytest.mark.parametrize("target", [*map(marked, ("cpu:x86-64-v3", "cuda:compute_80", "opencl:1.2"))])

RANGES = [(0, 19, 3), (19, -1, -1), (18, 2, -5), (4, 4, 1), (7, 3, 2), (3, 7, -2), (2, 19, 2**62), (1, 2, 1)]
LOOPS = {
    "grid": ("a: int64, b: int64, s: int64", "for i in grid((a, b, s)):\n    out[i] = i"),
    "of another type": ("a: int32, b: int64, s: int8", "for i in grid((a, b, s)):\n    out[i] = i"),
    "threads": (
        "a: int64, b: int64, s: int64", "for r in blocks(1):\n    for i in threads((a, b, s)):\n        out[i] = i"),
    "blocks": ("a: int64, b: int64, s: int64", "for r in blocks((a, b, s)):\n    out[r] = r"),
    "from an array": ("a: int64, b: int64, x: int64[m]", "for i in grid((a, b, x[0])):\n    out[i] = i"),
    "range": ("a: int64, b: int64, s: int64", "for i in range(a, b, s):\n    out[i] = i"),
    "range in grid": (
        "a: int64, b: int64, x: int64[m]",
        "for r in grid(1):\n    for i in range(a, b, x[r]):\n        out[r + i] = i", "disjoint: [out]"),
}  # fmt: skip


def given(scalars, a, b, s):
    return a, b, np.array([s]) if "x:" in scalars else s


@ordinary
@pytest.mark.parametrize("name", LOOPS)
def test_loops(target, name):
    scalars, body, *more = LOOPS[name]
    built = loop(target, f"({scalars}, n: int64) -> (out: int64[n] = -1)", body, *more)
    for a, b, s in RANGES:
        if "int8" in scalars and s > 127:
            continue
        wanted = np.full(20, -1)
        wanted[list(range(a, b, s))] = range(a, b, s)
        assert (agree(built, *given(scalars, a, b, s), 20) == wanted).all(), (a, b, s)
    for run in (built.call, built.python):
        for a, b in ((0, 20), (20, 0), (5, 5)):
            with pytest.raises(ValueError):
                run(*given(scalars, a, b, 0), 20)


@ordinary
def test_two_steps_and_what_is_proved_of_them(target):
    """Stores at the indices are no race whichever way they go, nor in parts as long as the step."""
    body = "for i, j in grid((0, n, s), (m - 1, -1, t)):\n    out[i, j] = x[i, j]"
    built = loop(target, "(x: float32[n, m], s: int64, t: int64) -> (out: float32[n, m] = 0)", body)
    x = draw(9, 14)
    for s, t in ((2, -3), (20, -1), (-1, -1), (1, 1)):
        wanted = np.zeros_like(x)
        if s > 0 and t < 0:
            wanted[::s, ::t] = x[::s, ::t]
        assert (agree(built, x, s, t) == wanted).all()
    body = """
        for b in blocks((0, n, s)):
            for c in threads((b, min(n, b + s))):
                out[c] = x[c] + b
    """
    parts = loop(target, "(x: int64[n], s: int64) -> (out: int64[n])", body, 'requires: ["s > 0"]')
    for s in (1, 3, 7, 100):
        x = draw(50, dtype="i8")
        assert (agree(parts, x, s) == x + np.arange(50) // s * s).all()


@ordinary
def test_reductions(target):
    body = """
        total[()] = sum(x[i] for i in grid((a, b, s)))
        at[()] = argmax(x[i] for i in grid((a, b, s)))
        for r in blocks(1):
            most[0] = max(x[i] for i in threads((a, b, s)))
        for r in grid(1):
            most[1] = max(x[i] for i in range(a, b, s))
            most[2] = argmin(x[i] for i in range(a, b, s) for j in range(a, b, s) if i < 15)
    """
    signature = "(x: int64[n], a: int64, b: int64, s: int64) -> (total: int64, at: int64, most: int64[3])"
    built = loop(target, signature, body)
    x = draw(20, dtype="i8")
    for a, b, s in ((0, 20, 3), (19, -1, -4), (5, 5, 1)):
        part = x[list(range(a, b, s))]
        total, at, most = agree(built, x, a, b, s)
        assert total == part.sum() and at == (part.argmax() if part.size else -1)
        assert most[0] == most[1] == (part.max() if part.size else np.iinfo("i8").min)
    for run in (built.call, built.python):
        with pytest.raises(ValueError):
            run(x, 0, 20, 0)


@ordinary
def test_a_scan(target):
    body = """
        t = 0
        for i in grid((a, b, s)):
            u = 0
            for k in range(0, 3, max(s, 1)):
                u += 1
            t += x[i] * u
            out[i] = t
    """
    built = loop(target, "(x: int64[n], a: int64, b: int64, s: int64) -> (out: int64[n] = 0)", body)
    x = draw(3000, dtype="i8")
    for a, b, s in ((0, 3000, 2), (2999, -1, -1), (7, 5, 1)):
        wanted, places = np.zeros_like(x), list(range(a, b, s))
        wanted[places] = np.cumsum(x[places]) * len(range(0, 3, max(s, 1)))
        assert (agree(built, x, a, b, s) == wanted).all()


@ordinary
def test_where_it_stands(target):
    """The line of the step is told, and that of the call of a helper; nothing of what follows happens."""
    body = """
        def added(v, by):
            t = 0
            for i in range(0, v, by):
                t += i
            return t

        for i in grid(n):
            out[i] = added(i, s)
        for i in grid(n):
            out[i] = 5
    """
    built = loop(target, "(n: int64, s: int64) -> (out: int64[n] = 0)", body)
    assert agree(built, 5, 1).tolist() == [5] * 5
    out = np.full(3, 7)
    with pytest.raises(ValueError) as told:
        built.call(3, 0, out)
    assert 5 not in out and ("opencl" in target or told.value.args == (4, 9))
    with pytest.raises(ValueError, match=r":9:32: the step of a range is 0, in a helper called on line 14$"):
        built.python(3, 0)


@ordinary
def test_bounds_at_the_ends_of_their_type(target):
    built = loop(target, "(a: int64, b: int64, s: int64) -> (hits: int64[1] = 0)",
                 "for i in grid((a, b, s)):\n    hits[0] = 1")  # fmt: skip
    most, least = 2**63 - 1, -(2**63)
    for a, b, s, wanted in (
        (most, least, 1, 0), (0, least, 5, 0), (1, least, 1, 0), (most - 3, most, 1, 1), (most - 3, most, most, 1),
        (least, most, -1, 0), (least + 3, least, -2, 1), (least + 3, least, least, 1), (0, most, -(2**62), 0),
    ):  # fmt: skip
        assert agree(built, a, b, s)[0] == wanted, (a, b, s)
