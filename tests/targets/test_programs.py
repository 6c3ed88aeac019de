"""Sequential programs and phases, for every target: its code against the interpreter, and against NumPy."""

import numpy as np
import pytest
from tests.targets.built import agree, draw, every_target, loop


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
