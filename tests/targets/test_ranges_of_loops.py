"""Parallel loops that start elsewhere than at 0, go in steps, or have many counts, for every target: its code against
the interpreter, and against NumPy."""

import numpy as np
import pytest

from tests.targets.built import agree, draw, every_target, loop


@every_target
def test_the_inside_of_a_stencil(target):
    body = """
        for i, j in grid((1, n - 1), (1, m - 1)):
            out[i, j] = x[i - 1, j] + x[i + 1, j] - x[i, j - 1] * x[i, j + 1]
    """
    built = loop(target, "(x: float32[n, m]) -> (out: float32[n, m] = 7)", body, "fastmath: []")
    for n, m in ((9, 40), (3, 3), (2, 9), (9, 2), (0, 0), (1, 1)):
        x = draw(n, m)
        wanted = np.full_like(x, 7)
        wanted[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1] - x[1:-1, :-2] * x[1:-1, 2:]
        assert (agree(built, x) == wanted).all()


@every_target
def test_threads_of_which_there_are_none(target):
    body = """
        for i in blocks(n):
            for j in threads(0):
                out[i] = j
            if n > 2:
                out[i] = 5
    """
    built = loop(target, "(n: int64) -> (out: int64[n] = 7)", body)
    assert (agree(built, 2) == 7).all() and (agree(built, 3) == 5).all()


@every_target
def test_a_triangle_and_its_mirror(target):
    body = """
        for i in blocks(n):
            for j in threads((i, n)):
                out[i, j] = x[i, j]
                if j > i:
                    out[j, i] = x[i, j]
    """
    built = loop(target, "(x: float32[n, n]) -> (out: float32[n, n])", body, "launch: {block: 32}")
    for n in (1, 7, 50):
        x = draw(n, n)
        assert (agree(built, x) == np.triu(x) + np.triu(x, 1).T).all()


@every_target
@pytest.mark.parametrize("start, stop, step", [(2, 19, 3), (19, 2, -3), (19, -1, -1), (5, 5, 1), (7, 3, 2), (3, 7, -2)])
def test_steps(target, start, stop, step):
    body = f"for i in grid((a, b, {step})):\n    out[i] = i"
    built = loop(target, "(a: int64, b: int64, n: int64) -> (out: float32[n] = -1)", body)
    wanted = np.full(20, -1.0)
    wanted[list(range(start, stop, step))] = range(start, stop, step)
    assert (agree(built, start, stop, 20) == wanted).all()


@every_target
def test_bounds_at_the_ends_of_their_type(target):
    """The distance from start to stop may be more than an int64 holds where there is none to go."""
    body = """
        for i in grid((a, b)):
            hits[0] = 1
        """
    up = loop(target, "(a: int64, b: int64) -> (hits: int64[1] = 0)", body)
    down = loop(target, "(a: int64, b: int64) -> (hits: int64[1] = 0)", body.replace("(a, b)", "(a, b, -2)"))
    most, least = 2**63 - 1, -(2**63)
    for built, a, b, wanted in (
        (up, most, least, 0), (up, 0, least, 0), (up, most - 3, most, 1), (up, least, least + 3, 1),
        (down, least, most, 0), (down, least + 3, least, 1), (down, 0, most, 0),
    ):  # fmt: skip
        assert agree(built, a, b)[0] == wanted


@every_target
def test_a_way_that_is_longer_than_its_type(target):
    """From start to stop it may be further than an int64 says, in few steps."""
    body = """
        up[()] = sum(1 for i in grid((a, b, 2**62)))
        down[()] = sum(1 for i in grid((a, b, -(2**61))))
        known[()] = sum(1 for i in range(a, b, -(2**63)))
        given[()] = sum(1 for i in range(a, b, d))
        told[()] = sum(1 for i in grid((a, b, d)))
    """
    counts = "(up: int64, down: int64, known: int64, given: int64, told: int64)"
    built = loop(target, f"(a: int64, b: int64, d: int64) -> {counts}", body, "launch: {block: 32}")
    most, least = 2**63 - 1, -(2**63)
    ways = ((-(2**62), 2**62 + 1), (least, most), (most, least), (5, -3), (-9, most), (most, -9), (least, -1))
    for number, (a, b) in enumerate(ways):
        steps = (2**61, -(2**62), least, most)
        for d in steps if "cpu" in target else steps[number % 2 :: 2]:  # others take their time
            wanted = [len(range(a, b, step)) for step in (2**62, -(2**61), least, d, d)]
            assert [int(n) for n in agree(built, a, b, d)] == wanted


@every_target
def test_reductions_over_ranges(target):
    body = """
        total[()] = sum(x[i] for i in grid((1, n, 2)))
        """
    built = loop(target, "(x: int64[n]) -> (total: int64)", body)
    place = loop(target, "(x: int64[n], lo: int64) -> (at: int64)", "at[()] = argmin(x[i] for i in grid((lo, n)))")
    for n in (0, 1, 2, 600):
        x = draw(n, dtype="i8")
        assert agree(built, x) == x[1::2].sum()
        if n > 3:
            assert agree(place, x, 3) == x[3:].argmin()
    body = """
        for r in blocks(m):
            most[r] = max(x[r, i, j] for i, j in threads((r, n), (n - 1, 0, -2)))
            at[r] = argmax(x[r, i, j] for i, j in threads((r, n), (n - 1, 0, -2)))
    """
    rows = loop(target, "(x: int64[m, n, n]) -> (most: int64[m], at: int64[m])", body)
    x = draw(3, 9, 9, dtype="i8")
    most, at = agree(rows, x)
    for r in range(3):
        part = x[r, r:, 8:0:-2]
        assert (most[r], at[r]) == (part.max(), part.argmax())


@every_target
def test_private_arrays_in_ranges(target):
    """An element of a private array stays with its index, wherever a loop starts."""
    body = """
        for r in blocks(m):
            keep = private((70,), float32)
            for c in threads(n):
                keep[c] = x[r, c]
            for c in threads((1, n, 3)):
                keep[c] = keep[c] * 2
            for c in threads((n - 1, -1, -1)):
                keep[c] += 1
            for c in threads(n):
                out[r, c] = keep[c]
    """
    built = loop(target, "(x: float32[m, n]) -> (out: float32[m, n])", body, "launch: {block: 32}", "fastmath: []")
    for n in (70, 33, 1):
        x = draw(3, n)
        wanted = x.copy()
        wanted[:, 1::3] *= 2
        assert (agree(built, x) == wanted + 1).all()


@every_target
def test_bounds_that_the_body_sets_anew(target):
    """A range is what its bounds are before the loop."""
    body = """
        for r in blocks(m):
            a = at[r]
            for c in threads((a, at[r + 1])):
                a = c * 2
                atomic_add(out, c, a + 1)
    """
    built = loop(target, "(at: int64[k], n: int64, m: int64) -> (out: int64[n] = 0)", body)
    assert (agree(built, np.array([0, 3, 3, 9, 10]), 10, 4) == 2 * np.arange(10) + 1).all()


COUNTS = "i, j, k, l, p", "a, b, c, d, n"


@every_target
@pytest.mark.parametrize("kind", ["grid", "blocks", "threads"])
def test_five_counts(target, kind):
    names, counts = COUNTS
    body = f"for {names} in {kind}({counts}):\n    out[{names}] = x[{names}] * 2 + i - 3 * k + p * l"
    if kind == "blocks":
        body = body.replace("    out", "    for one in threads(1):\n        out")
    elif kind == "threads":
        body = "for one in blocks(1):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    built = loop(target, f"(x: float32[{counts}]) -> (out: float32[{counts}])", body)
    for seed, shape in enumerate(((2, 3, 4, 5, 6), (1, 1, 1, 1, 1), (2, 0, 3, 4, 5), (2, 3, 4, 5, 0), (30, 2, 1, 1, 3))):
        agree(built, draw(*shape), seed=seed)


@every_target
def test_reductions_over_five_counts(target):
    names, counts = COUNTS
    over = f"x[{names}] for {names} in grid(a, b, c, (1, d), n)"
    total = loop(target, f"(x: int64[{counts}]) -> (out: int64)", f"out[()] = sum({over})")
    place = loop(target, f"(x: int64[{counts}]) -> (out: int64)", f"out[()] = argmax({over})")
    for shape in ((2, 3, 4, 5, 6), (1, 2, 1, 2, 1), (2, 0, 3, 4, 5)):
        x = draw(*shape, dtype="i8")
        assert agree(total, x) == x[:, :, :, 1:].sum()
        if x.size:
            assert agree(place, x) == x[:, :, :, 1:].argmax()


@pytest.mark.parametrize(
    "body",
    [
        "for i in grid((-5, 9223372036854775807)):\n    x[i] = 1",
        "for i in grid((9223372036854775807, -9223372036854775808, -1)):\n    x[i] = 1",
        "s = sum(x[i] for i in range(-1, 9223372036854775807))\nfor i in grid(n):\n    x[i] = s",
        "for i in grid(n):\n    s = 0.0\n    for k in range(-1, 9223372036854775807):\n        s += y[k + 1]\n    x[i] = s",
    ],
)  # fmt: skip
def test_constant_ranges_beyond_int64(body):
    """Which end at the first index that is outside."""
    with pytest.raises(IndexError):
        loop("cpu:x86-64-v2", "(x: inout float64[n], y: float64[n]) -> ()", body).call(np.zeros(3), np.zeros(3))
