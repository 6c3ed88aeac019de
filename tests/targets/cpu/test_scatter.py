"""`scatter` on a CPU: stores at which iterations meet, of which one stays, whole."""

import numpy as np
import pytest

from tests.targets.cpu.compiled import agree, kernel

BODY = """
for i in grid(n):
    other = i
    for j in range(200):  # without other work, one thread does it all
        other = other * 3 + j
    if other != -1:
        scatter(out, k[i], v[i])
"""
DTYPES = (
    "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64 complex64 complex128"
).split()  # fmt: skip


def values(dtype, n):
    """Values whose halves are alike, so that one in two halves would show."""
    rng = np.random.default_rng(5)
    if dtype == "bool":
        return rng.integers(0, 2, n) > 0
    if dtype.startswith("complex"):
        part = rng.integers(1, 1 << 20, n).astype(dtype)
        return part + 1j * part
    byte = rng.integers(1, 100, n).astype("u1")
    return np.repeat(byte, np.dtype(dtype).itemsize).view(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_of_the_values_that_meet_one_stays_whole(dtype):
    k = kernel(BODY, f"(k: int64[n], v: {dtype}[n], out: inout {dtype}[b])", types="")
    n, b = 30000, 7
    at, v = np.random.default_rng(3).integers(0, b - 1, n), values(dtype, n)
    for threads in (1, 2, 3):
        out = np.zeros(b, dtype)
        assert k({"n": n, "b": b}, threads, k=at, v=v, out=out) == 0
        assert all(out[j] in v[at == j] for j in range(b - 1))
        assert out[b - 1] == 0  # at which nothing was stored


def test_a_complex64_that_is_aligned_to_its_parts_only_stays_whole():
    k = kernel(BODY, "(k: int64[n], v: complex64[n], out: inout complex64[b])", types="")
    n, b = 30000, 9
    at, v = np.random.default_rng(3).integers(0, b, n), values("complex64", n)
    memory = np.zeros(2 * b + 2, "float32")
    for start in (0, 1):
        out = memory[start : start + 2 * b].view("complex64")
        for threads in (1, 2, 3):
            out[...] = 0
            assert k({"n": n, "b": b}, threads, k=at, v=v, out=out) == 0
            assert all(out[j] in v[at == j] for j in range(b)), (start, threads)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex64", "complex128"])
def test_every_permutation_arrives(dtype):
    """Where no two values meet, the result is that of the interpreter; views included."""
    n = 5000
    at, v = np.random.default_rng(4).permutation(n), values(dtype, n)
    whole = kernel(BODY, f"(k: int64[n], v: {dtype}[n], out: inout {dtype}[n])", types="")
    agree(whole, {"n": n}, 2, k=at, v=v, out=np.zeros(n, dtype))
    view = kernel(BODY, f"(k: int64[n], v: {dtype}[n], out: inout strided {dtype}[n])", types="")
    for threads in (1, 2):
        memory = np.zeros((n, 3), dtype)
        assert view({"n": n}, threads, k=at, v=v, out=memory[:, 1]) == 0
        assert (memory[at, 1] == v).all() and not memory[:, [0, 2]].any()


def test_two_dimensions_and_none():
    body = """
    for i in grid(n):
        scatter(table, (row[i], i % 3), i)
        if i == 7:
            scatter(last, i)
        atomic_add(count, 1)
        atomic_max(top, i)
    """
    signature = "(row: int64[n], table: inout int32[m, 3]) -> (last: int64, count: int64 = 0, top: int64 = 0)"
    k = kernel(body, signature, types="")
    row = np.arange(30) // 3
    for threads in (1, 2):
        outputs = {name: np.zeros((), "int64") for name in ("last", "count", "top")}
        got = agree(k, {"n": 30, "m": 12}, threads, row=row, table=np.full((12, 3), -1, "i4"), **outputs)
        assert (got["last"], got["count"], got["top"]) == (7, 30, 29)
        assert (got["table"].reshape(-1) == [*range(30), *[-1] * 6]).all()


def test_an_index_outside_is_looked_at():
    k = kernel("for i in grid(n):\n    scatter(out, k[i], i)", "(k: int64[n], out: inout int64[b])", types="",
               bounds=True)  # fmt: skip
    out = np.zeros(4, "i8")
    result, words = k({"n": 3, "b": 4}, 1, k=np.array([1, 9, 2]), out=out)
    assert result != 0 and any(words)
    assert out.tolist() == [0, 0, 0, 2] or out.tolist() == [0, 0, 2, 0]
