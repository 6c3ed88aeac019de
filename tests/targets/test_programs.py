"""Sequential programs and phases, for every target: its code against the interpreter, and against NumPy."""

import numpy as np
import pytest
from tests.targets.built import agree, build, draw, every_target, loop

pytestmark = pytest.mark.slow


@every_target
def test_a_recurrence(target):
    body = """
        s = T(0)
        for i in range(n):
            s = a * s + x[i]
            out[i] = s
        last[()] = s
        out[0] += last[()]
    """
    built = loop(target, "(a: T, x: T[n]) -> (out: T[n], last: T)", body, "types: {T: [float64]}", "fastmath: []")
    x = draw(100, dtype="f8")
    agree(built, 0.5, x)
    out, last = built.call(0.5, x)
    expected = [0.0]
    for value in x:
        expected.append(0.5 * expected[-1] + value)
    assert last == pytest.approx(expected[-1], rel=1e-12) and np.allclose(out[1:], expected[2:], rtol=1e-12)
    assert out[0] == x[0] + last


@every_target
def test_dynamic_programming(target):
    """The edit distance of two strings: each row from the one before, in an array of the kernel's own."""
    body = """
        row = local((WIDTH,), int64)
        for j in range(n + 1):
            row[j] = j
        for i in range(m):
            corner = row[0]
            row[0] = i + 1
            for j in range(n):
                above = row[j + 1]
                row[j + 1] = min(min(above, row[j]) + 1, corner + (a[i] != b[j]))
                corner = above
        out[()] = row[n]
    """
    built = loop(
        target, "(a: uint8[m], b: uint8[n]) -> (out: int64)", body, "params: {WIDTH: 16}", "requires: ['n < WIDTH']"
    )
    for one, other, distance in (("kitten", "sitting", 3), ("", "abc", 3), ("abc", "", 3), ("flaw", "lawn", 2)):
        a, b = (np.frombuffer(text.encode(), np.uint8) for text in (one, other))
        assert agree(built, a, b) == distance


@every_target
def test_a_factorization_in_place(target):
    body = """
        for j in range(n):
            for i in range(j, n):
                s = A[i, j]
                for k in range(j):
                    s -= A[i, k] * A[j, k]
                A[i, j] = sqrt(s) if i == j else s / A[j, j]
            for i in range(j):
                A[i, j] = 0
    """
    built = loop(target, "(A: inout float64[n, n])", body, "fastmath: []")
    x = draw(7, 7, dtype="f8")
    matrix = x @ x.T + 7 * np.eye(7)
    factor = matrix.copy()
    built.call(factor)
    assert np.allclose(factor, np.linalg.cholesky(matrix), rtol=1e-10)
    agree(built, matrix)


@every_target
def test_a_parser(target):
    """Numbers that stand between commas: `while`, `break` and `continue` at the top level."""
    body = """
        i, count = 0, 0
        while i < n:
            if text[i] == 44:
                i += 1
                continue
            value = 0
            while i < n:
                if text[i] == 44:
                    break
                value = value * 10 + int64(text[i]) - 48
                i += 1
            out[count] = value
            count += 1
        found[()] = count
        for k in range(count, n):
            out[k] = -1
    """
    built = loop(target, "(text: uint8[n]) -> (out: int64[n], found: int64)", body)
    text = np.frombuffer(b"12,,7,305", np.uint8)
    out, found = agree(built, text)
    assert found == 3 and out.tolist() == [12, 7, 305, -1, -1, -1, -1, -1, -1]
    assert agree(built, text[:0])[1] == 0


@every_target
def test_a_kernel_of_nothing(target):
    agree(loop(target, "(x: float32[n]) -> (out: float32[n] = 2)", "pass"), draw(5))


# --------------------------------------------------------------------------------------------- scratch of a call


@every_target
def test_scratch_of_a_call(target):
    """Undefined or filled, of sizes that are expressions, with and without outputs."""
    body = """
        for i in range(n):
            q[i + 1] = q[i] + x[i]
        for i in range(n):
            count[int64(q[i]) % 3] += 1
            half[i, 0] = q[i]
        best[()] = 0
        for i in range(n):
            if half[i, 0] > best[()]:
                best[()] = half[i, 0]
            x[i] = q[n - i] - half[i, 0]
        x[0] += T(count[0] * 100 + count[1] * 10 + count[2]) + best[()]
    """
    signature = "(x: inout T[n]) temp (q: T[n + 1] = 1.5, count: int64[3] = 0, half: T[n, 2], best: T)"
    built = loop(target, signature, body, "types: {T: [float64]}")
    x = draw(20, dtype="f8") ** 2
    assert agree(built, x) is None
    sums = 1.5 + np.concatenate([[0], np.cumsum(x)])
    got = x.copy()
    built.call(got)
    wanted = sums[::-1][:-1] - sums[:-1]
    wanted[0] += sums[:-1].max() + np.bincount(sums[:-1].astype(int) % 3, minlength=3) @ (100, 10, 1)
    assert np.allclose(got, wanted)
    agree(built, np.ones(1))


@every_target
def test_scratch_in_a_parallel_loop(target):
    body = """
        for r in blocks(rows):
            for c in threads(n):
                q[r, c] = x[r, n - 1 - c] * 2
            for c in threads(n):
                out[r, c] = q[r, n - 1 - c] + s[r, c]
    """
    built = loop(target, "(x: int32[..., n]) -> (out: int32[..., n]) temp (q: int32[..., n], s: int32[rows, n] = 7)", body)
    x = draw(3, 4, 50, dtype="i4")
    assert (agree(built, x) == 2 * x + 7).all()
    out = np.empty_like(x)
    assert built.call(x, out) is out and (out == 2 * x + 7).all()


# ------------------------------------------------------------------------------------------------------- phases


HEAT = """
    for i, j in grid(n, m):
        u[i, j] = x[i, j]
    for t in range(steps):
        for i, j in grid(n - 2, m - 2):
            v[i + 1, j + 1] = 0.25 * (u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2])
        for i, j in grid(n - 2, m - 2):
            u[i + 1, j + 1] = v[i + 1, j + 1]
    for i, j in grid(n, m):
        out[i, j] = u[i, j]
"""


@every_target
def test_a_stencil_in_time(target):
    """Each step is finished before the next, on one, two and three threads."""
    signature = "(x: float64[n, m], steps: int64) -> (out: float64[n, m]) temp (u: float64[n, m], v: float64[n, m])"
    built = loop(target, signature, HEAT, "fastmath: []")
    agree(built, draw(9, 8, dtype="f8"), 3)
    agree(built, draw(2, 8, dtype="f8"), 0)
    x = draw(*((700, 500) if target.startswith("cpu") else (20, 30)), dtype="f8")
    wanted = x.copy()
    for _ in range(5):
        wanted[1:-1, 1:-1] = 0.25 * (wanted[:-2, 1:-1] + wanted[2:, 1:-1] + wanted[1:-1, :-2] + wanted[1:-1, 2:])
    for seed in range(3):
        assert (built.call(x, 5, seed=seed) == wanted).all()


@every_target
def test_stores_and_scalars_between_loops(target):
    """In Python's order: elements and scalar outputs that loops read, loops that change them, under `if`."""
    body = """
        out[0] = 5
        scale, late = 2, 3
        for i in grid(n - 1):
            out[i + 1] = x[i] * scale
        if out[n - 1] > 5:
            late = 9
        if n > 3 and out[1] > 0:
            scale += out[1]
            for i in grid(n):
                out[i] += scale
        elif n > 2:
            for b in blocks(n):
                for c in threads(1):
                    out[b + c] -= 1
        count[()] = out[n - 1] + scale
        for i in grid(n):
            out[i] += count[()] * late
        count[()] += 1
    """
    built = loop(target, "(x: int64[n]) -> (out: int64[n], count: int64)", body, "requires: [n > 0]")
    for n in (1, 3, 4, 50):
        for sign in (-1, 1):
            agree(built, sign * np.abs(draw(n, dtype="i8")))


@every_target
def test_reductions_between_loops(target):
    """Accumulators that go through several loops, results that later loops, stores and other reductions read."""
    body = """
        total, least, scale = 100, x[0], T(1)
        for k in range(turns):
            at = argmax(x[i] * (i % 3 + k) for i in grid(n))
            for i in grid(n):
                total += x[i] % 5 + k + at
                least = min(least, x[i] - k)
            scale = scale * 2 if any(x[i] == k for i in grid(n)) else scale
            q[at] += 1
            if k == 1:
                continue
            for i in grid(n):
                out[i] += total + q[i] * int64(scale)
        out[0] = least
        size[()] = scale
    """
    signature = "(x: int64[n], turns: int64) -> (out: int64[n] = 0, size: T) temp (q: int64[n] = 0)"
    built = loop(target, signature, body, "requires: [n > 0]", "types: {T: [float32]}")
    for n, turns in ((1, 0), (100, 1), (1500, 4)):
        agree(built, draw(n, dtype="i8"), turns)


@every_target
def test_control_that_arguments_decide(target):
    """Loops in loops, `while`, `break`, `continue`, conditions and integers of the sequential program."""
    body = """
        k, left = 1, steps
        while left > 0 and not k > 1000:
            left -= 1
            for t in range(n, -1, -k):
                if t == 2 or t % 4 == 3:
                    continue
                if t < 1:
                    break
                for i in grid(min(t, n)):
                    out[i] += x[i] * t + k
                twice = 2 * t
                for i in grid(n):
                    out[i] ^= twice
                k += t // 3
            done[()] += k * 7
            k += 1
        done[()] += k - left
    """
    built = loop(target, "(x: int64[n], steps: int64) -> (out: int64[n] = 0, done: int64 = 0)", body)
    for n, steps in ((0, 2), (7, 0), (9, 3)):
        agree(built, draw(n, dtype="i8"), steps)


@every_target
def test_helpers_in_several_phases(target):
    template = """
        def smooth(a, i, by):
            left = a[i - 1] if i > 0 else a[i]
            return (left + a[i]) * by

        def k(x, w, out, q):
            for i in grid(n):
                q[i] = smooth(x, i, 2)
            first = smooth(w, 0, 3)
            for i in grid(n):
                out[i] = smooth(w, i, 5) + q[i] * first
    """
    text = """
        signature: "(x: int64[n], w: int64[n]) -> (out: int64[n]) temp (q: int64[n])"
        template: k.py.j2
        requires: [n > 0]
    """
    agree(build(target, text, template), draw(40, dtype="i8"), draw(40, dtype="i8", seed=1))


@every_target
def test_reductions_that_steer(target):
    """In conditions, several in one statement, in loops, as start and end of others; accumulators of every kind."""
    body = """
        for i in grid(n):
            q[i] = x[i]
        turns = 0
        while max(q[i] for i in grid(n)) - min(q[i] for i in grid(n)) > 10 and turns < 40:
            middle = sum(q[i] for i in grid(n)) // n
            for i in grid(n):
                q[i] = (q[i] + middle) // 2
            turns += 1
        total, least = 100, q[0]
        at = argmax(q[i] for i in grid(n))
        for k in range(3):
            if any(q[i] == k for i in grid(n)):
                continue
            for i in grid(n):
                total += q[i] + k
                least = min(least, q[i] - k)
        for k in range(q[0] % 3, at + 2, q[0] % 2 + 1):
            if q[at] > k:
                break
            for i in grid(n):
                q[i] += 1
        for i in grid(n):
            out[i] = q[i] + total * turns
        out[at] = least
    """
    built = loop(target, "(x: int64[n]) -> (out: int64[n]) temp (q: int64[n])", body, "requires: [n > 0]")
    agree(built, draw(100, dtype="i8"))
    if target.startswith("cpu"):
        x = draw(300_000, dtype="i8")
        assert all((built.call(x, seed=seed) == built.call(x)).all() for seed in range(3))


@every_target
def test_blocks_after_blocks(target):
    """Each with its own shared arrays."""
    body = """
        for b in blocks(k):
            row = shared(16, float32)
            for c in threads(16):
                row[c] = x[b, c]
            for c in threads(16):
                q[b, c] = row[15 - c]
        for b in blocks(16):
            column = shared(64, float32)
            part = shared(1, float32)
            for r in threads(k):
                column[r] = q[r, b]
            part[0] = sum(column[r] for r in threads(k))
            for r in threads(k):
                out[r, b] = column[k - 1 - r] - part[0]
    """
    signature = "(x: float32[k, 16]) -> (out: float32[k, 16]) temp (q: float32[k, 16])"
    built = loop(target, signature, body, "requires: [k <= 64]")
    x = np.round(draw(40, 16, dtype="f4"))
    assert (agree(built, x) == x[::-1, ::-1] - x[:, ::-1].sum(0)).all()


@every_target
def test_counters_of_phases(target):
    body = """
        for t in range(2):
            for i in grid(n):
                atomic_add(count, x[i] % 4, 1)
        for i in grid(n):
            out[i] = count[x[i] % 4]
    """
    x = np.abs(draw(3000, dtype="i8"))
    built = loop(target, "(x: int64[n]) -> (out: int64[n]) temp (count: int64[4] = 0)", body)
    for seed in range(3):
        assert (agree(built, x, seed=seed) == 2 * np.bincount(x % 4)[x % 4]).all()
