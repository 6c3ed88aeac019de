"""Constant tuples, indexed by numbers and by loops, for every target: its code against the interpreter."""

import numpy as np
import pytest
from tests.targets.built import agree, draw, every_target, loop
from tests.targets.cpu.compiled import kernel

WEIGHTS = """
    w = (0.25, 0.5, 0.1)
    turns = (3, -1, TWO, 5)
    for i in grid((1, n - 1)):
        t = T(0)
        for k in range(3):
            t += w[k] * x[i + k - 1]
        for k in range(4):
            t += turns[3 - k] * w[1]
        out[i] = t
"""


@pytest.mark.slow
@every_target
def test_weights_of_a_stencil(target):
    """A weak value as a literal is: of the type that it meets."""
    built = loop(target, "(x: T[n]) -> (out: T[n] = 0)", WEIGHTS, "types: {T: [float32]}", "params: {TWO: 2}",
                 "fastmath: []")  # fmt: skip
    x = draw(100)
    got = agree(built, x)
    w = np.array([0.25, 0.5, 0.1], np.float32)
    wanted = np.zeros_like(x)
    for k in range(3):
        wanted[1:-1] += w[k] * x[k : k + 98]
    for turn in (5, 2, -1, 3):
        wanted[1:-1] += np.float32(turn) * w[1]
    assert (got[1:-1] == wanted[1:-1]).all()


@pytest.mark.slow
@every_target
def test_tuples_in_blocks_and_in_several_loops(target):
    body = """
        w = (T(3), 2.5, 7)
        k = (2, 0, 1)
        for s in range(3):
            for b in blocks(m):
                c = w[k[(b + s) % 3]]
                for i in threads(8):
                    out[b, i] += c * x[b, i] + w[(i + s) % 3]
            total[()] += sum(k[i % 3] * i for i in grid(m))
    """
    signature = "(x: T[m, 8]) -> (out: T[m, 8] = 0, total: int64 = 0)"
    built = loop(target, signature, body, "types: {T: [float64]}", "fastmath: []")
    x = draw(6, 8, dtype="f8")
    got, total = agree(built, x)
    w, k = np.array([3, 2.5, 7]), np.array([2, 0, 1])
    rows, i = np.arange(6)[:, None], np.arange(8)
    wanted = sum(w[k[(rows + s) % 3]] * x + w[(i + s) % 3] for s in range(3))
    assert np.allclose(got, wanted, rtol=1e-14) and total == 3 * (k[np.arange(6) % 3] * np.arange(6)).sum()


@pytest.mark.slow
@every_target
def test_a_kernel_without_parallel_loop(target):
    body = """
        days = (31, 28, 31)
        t = 0
        for m in range(k):
            t += days[m]
        out[()] = t
    """
    built = loop(target, "(k: int64) -> (out: int64)", body)
    assert [int(agree(built, k)) for k in range(4)] == [0, 31, 59, 90]


@pytest.mark.slow
@every_target
def test_indices_outside_of_parallel_loops(target):
    """That follow from arguments and from what is computed, in counts, conditions and values."""
    body = """
        turns = (1, 3, 0, 2)
        w = (0.5, 2.0, 4.0)
        for t in range(turns[k]):
            for i in grid(turns[(k + t) % 4] + n - 3):
                out[i] += w[(t + k) % 3]
        first = w[int64(out[0] > 1)]
        if w[int64(first) % 3] > 1:
            last[()] = w[min(k, 2)] + turns[k]
    """
    built = loop(target, "(n: int64, k: int32) -> (out: float64[n] = 0, last: float64 = -1)", body)
    turns, w = (1, 3, 0, 2), (0.5, 2.0, 4.0)
    for k in range(4):
        out, last = agree(built, 5, np.int32(k))
        wanted = np.zeros(5)
        for t in range(turns[k]):
            wanted[: turns[(k + t) % 4] + 2] += w[(t + k) % 3]
        first = w[int(wanted[0] > 1)]
        assert (out == wanted).all() and last == (w[min(k, 2)] + turns[k] if w[int(first) % 3] > 1 else -1)


def test_an_index_outside_is_an_error():
    """On the CPU and in the interpreter; the tuple has the name that the text gives it."""
    body = "w = (1, 2, 4)\nfor i in grid(n):\n    out[i] = w[k[i]]"
    built = kernel(body, "(k: int64[n]) -> (out: int64[n])", types="")
    for wrong in (3, -1):
        arguments = {"k": np.array([0, wrong]), "out": np.zeros(2, "i8")}
        with pytest.raises(IndexError, match=rf"index {wrong} is outside w, which has 3"):
            built.interpret({"n": 2}, **arguments)
        assert built.fault({"n": 2}, **arguments)[2:] == ("w", 0, 3, wrong)
    built = kernel("w = (1, 2, 4)\nout[0] = w[k]\nfor i in grid(n):\n    out[i] += i", "(n: int64, k: int64) -> (out: int64[n])", types="")
    for wrong in (3, -1):
        assert built.fault({"n": 2}, n=2, k=wrong, out=np.zeros(2, "i8"))[2:] == ("w", 0, 3, wrong)
