"""Reductions over the threads of a block and over the grid, of every size of block."""

import numpy as np
import pytest
from cuda_support import loop, same

from pydotcompute.errors import DeclarationError

DTYPES = ("bool", "uint64", "float16", "float64")


def values(dtype, *shape, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    return (rng.integers(-64, 64, shape) / 8).astype(dtype)  # sums of them are exact


KINDS = ("sum", "min", "max", "any", "all", "argmin", "argmax")


def result_type(kind, dtype):
    if kind in ("argmin", "argmax") or kind == "sum" and dtype == "bool":
        return "int64"
    return "bool" if kind in ("any", "all") else dtype


@pytest.mark.parametrize("kinds", [KINDS[:3], KINDS[3:5], KINDS[5:]], ids="-".join)
@pytest.mark.parametrize("dtype", DTYPES)
def test_over_threads(dtype, kinds):
    outputs = ", ".join(f"o{k}: {result_type(k, dtype)}[m]" for k in kinds)
    body = "for r in blocks(m):\n"
    body += "\n".join(f"    o{k}[r] = {k}(x[r, c] for c in threads(n) if c != skip)" for k in kinds)
    built = loop(f"(x: {dtype}[m, n], skip: int64) -> ({outputs})", body, "launch: {block: 96}")
    for n in (0, 1, 31, 97, 300):
        x = values(dtype, 3, n, seed=n)
        for kind, got, wanted in zip(kinds, built.call(x, 2, seed=n), built.python(x, 2)):
            same(got, wanted, f"{kind} of {n} {dtype}")


@pytest.mark.parametrize("block", [1, 8, 50, 128, 1024])
def test_every_thread_has_the_result_whatever_the_block(block):
    body = """
        for r in blocks(m):
            s = 0.5
            low = float32(100)
            for c in threads(n):
                s += x[r, c]
                low = min(low, x[r, c])
            where_low = argmin(x[r, c] for c in threads(n))
            for c in threads(n):
                out[r, c] = x[r, c] * s + low
                at[r, c] = where_low
    """
    built = loop("(x: float32[m, n]) -> (out: float32[m, n], at: int64[m, n])", body, f"launch: {{block: {block}}}")
    for n in (1, 7, 45) if block < 32 else (1, 63, 130):
        x = values("float32", 2, n, seed=n)
        x[:, n // 2 :] = x[:, : n - n // 2]  # ties
        for got, wanted in zip(built.call(x, seed=block), built.python(x)):
            same(got, wanted, f"{n} in blocks of {block}")


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_over_the_grid(dtype):
    outputs = ", ".join(f"o{k}: {result_type(k, dtype)}" for k in ("sum", "min", "argmax"))
    body = """
        s = 3
        low = x[0]
        for i in grid(n):
            s += x[i]
            low = min(low, x[i])
            y[i] = x[i] + 1
        osum[()] = s
        omin[()] = low
        oargmax[()] = n
    """.replace("low = x[0]", "low = first")
    built = loop(f"(x: {dtype}[n], first: {dtype}) -> ({outputs}, y: {dtype}[n])", body)
    for n in (0, 1, 255, 1024, 1025, 5000):
        x = values(dtype, n, seed=n)
        got, wanted = built.call(x, x.dtype.type(7), seed=n), built.python(x, x.dtype.type(7))
        for g, w in zip(got, wanted):
            same(np.asarray(g), np.asarray(w), f"{n} {dtype}")


def test_over_a_grid_of_two_counts_and_positions():
    text = "at[()] = {}(x[i, j] for i, j in grid(m, n))"
    rng = np.random.default_rng(0)
    for kind in ("argmin", "argmax"):
        built = loop("(x: float32[m, n]) -> (at: int64)", text.format(kind))
        for m, n in ((3, 500), (500, 3), (0, 5)):
            x = rng.integers(0, 5, (m, n)).astype("f4")
            same(np.asarray(built.call(x)), np.asarray(built.python(x)), kind)
        x = rng.normal(size=(60, 60)).astype("f4")
        x[50, 7] = x[51, 0] = np.nan
        assert built.call(x) == 50 * 60 + 7


def test_products_and_bits():
    body = """
        for r in blocks(m):
            p = int64(1)
            every = uint32(4294967295)
            some = uint32(0)
            odd = uint32(0)
            for c in threads(n):
                p *= x[r, c]
                every &= b[r, c]
                some |= b[r, c]
                odd ^= b[r, c]
            product[r] = p
            o1[r] = every
            o2[r] = some
            o3[r] = odd
    """
    built = loop(
        "(x: int64[m, n], b: uint32[m, n]) -> (product: int64[m], o1: uint32[m], o2: uint32[m], o3: uint32[m])", body
    )
    rng = np.random.default_rng(0)
    for n in (0, 1, 40, 300):
        x, b = rng.integers(1, 9, (4, n)), rng.integers(0, 2**32, (4, n)).astype("u4")
        for got, wanted in zip(built.call(x, b), built.python(x, b)):
            same(got, wanted, str(n))


def test_complex_sums():
    body = "for r in blocks(m):\n    out[r] = sum(x[r, c] for c in threads(n))"
    built = loop("(x: complex64[m, n]) -> (out: complex64[m])", body)
    x = (values("float32", 3, 300) + 1j * values("float32", 3, 300, seed=1)).astype("c8")
    same(built.call(x), built.python(x), "sum")


def test_min_and_max_propagate_nan_and_know_signed_zeros():
    body = """
        for r in blocks(m):
            low[r] = min(x[r, c] for c in threads(n))
            high[r] = max(x[r, c] for c in threads(n))
    """
    built = loop("(x: float32[m, n]) -> (low: float32[m], high: float32[m])", body)
    x = np.zeros((4, 300), "f4")
    x[0, 200], x[1, 77], x[2, 3] = np.nan, -0.0, np.inf
    for got, wanted in zip(built.call(x), built.python(x)):
        same(got, wanted, "extremes")


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("over", ["grid", "threads"])
def test_the_error_of_a_sum(dtype, over):
    """At most 8 + log2(n) roundings of the sum of the absolute terms."""
    if over == "grid":
        built = loop(f"(x: {dtype}[n]) -> (total: {dtype})", "total[()] = sum(x[i] for i in grid(n))")
    else:
        built = loop(
            f"(x: {dtype}[n]) -> (total: {dtype}[1])",
            "for b in blocks(1):\n    total[b] = sum(x[c] for c in threads(n))",
        )
    rng = np.random.default_rng(0)
    unit = float(np.finfo(dtype).eps) / 2
    for n in (1, 2, 3, 300, 5000, 60_000):
        for x in (rng.normal(size=n), rng.uniform(0.5, 1, n), np.r_[np.full(n - 1, 1 / 3), 1]):
            x = (x / n if dtype == "float16" else x).astype(dtype)
            wide = x.astype(np.longdouble)
            got = np.asarray(built.call(x)).reshape(-1)[0]
            bound = (8 + np.log2(n)) * unit * np.abs(wide).sum() + np.finfo(dtype).smallest_subnormal
            assert abs(np.longdouble(got) - wide.sum()) <= bound, n


def test_infinite_sums():
    built = loop("(x: float32[n]) -> (total: float32)", "total[()] = sum(x[i] for i in grid(n))")
    x = np.ones(3000, "f4")
    x[1234] = np.inf
    assert built.call(x) == np.inf
    x[77] = -np.inf
    assert np.isnan(built.call(x))
    assert built.call(np.full(3000, 3e38, "f4")) == np.inf
    assert not np.signbit(built.call(np.full(1, -0.0, "f4")))


def test_the_same_bits_whatever_the_grid():
    """A reduction's order depends on its size alone: any number of multiprocessors gives the same."""
    built = loop("(x: float32[n]) -> (total: float32)", "total[()] = sum(x[i] for i in grid(n))")
    x = np.random.default_rng(0).normal(size=9000).astype("f4")
    wanted = built.call(x)
    for blocks in ("1", "3", "64"):
        built.meta["launches"][0]["grid"] = {"kind": "given", "counts": [blocks]}
        assert built.call(x, seed=int(blocks)) == wanted


def test_a_sequential_loop_before_a_reduction_has_a_counter_of_its_own():
    body = """
        for r in blocks(rows):
            t = T(0)
            for k in range(7, 0, -2):
                s = sum(x[r, c] * k for c in threads(cols))
                t += s
            out[r] = t
    """
    built = loop("(x: T[..., cols]) -> (out: T[...])", body, "types: {T: [float64]}", "launch: {block: 32}")
    x = np.arange(3 * 600, dtype="f8").reshape(3, 600)
    np.testing.assert_array_equal(built.call(x), 16 * x.sum(1))


def test_shared_arrays_that_leave_no_room_to_combine_in():
    body = """
        for b in blocks(r):
            t = shared((12288,), float32)
            for i in threads(c):
                t[i] = x[b, i]
            s = sum(t[c - 1 - i] for i in threads(c))
            out[b] = s
    """
    message = "shared arrays of this block take 49152 bytes, and its reductions 64 more; there are 49152"
    with pytest.raises(DeclarationError, match=message) as caught:
        loop("(x: float32[r, c]) -> (out: float32[r])", body)
    assert "t = shared((12288,), float32)" in str(caught.value)
    x = np.arange(3 * 300, dtype="f4").reshape(3, 300)
    smaller = loop("(x: float32[r, c]) -> (out: float32[r])", body.replace("12288", "12272"))
    np.testing.assert_array_equal(smaller.call(x), x.sum(1))


@pytest.mark.parametrize("counts", [(-2, -2, 3), (2, -3, -1), (-1, 0, -5), (2, 3, 1)])
def test_negative_counts_are_none(counts):
    body = """
        for r in blocks(1):
            s = 0
            for i, j, l in threads(a, b, c):
                s += 1
            out[()] = s
    """
    built = loop("(a: int64, b: int64, c: int64) -> (out: int64)", body)
    assert built.call(*counts) == built.python(*counts) == np.prod(np.maximum(counts, 0))


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint16", "bool"])
@pytest.mark.parametrize("where", ["grid", "threads"])
def test_sums_and_products_of_small_integers_are_numpys(dtype, where):
    wide = "uint64" if dtype[0] == "u" else "int64"
    for update, start, exact in (("+", 0, np.sum), ("*", 1, np.prod)):
        lines = [f"s = {start}", f"for c in {where}(n):", f"    s {update}= x[c]", "out[()] = s"]
        text = "\n".join(("    " if where == "threads" else "") + line for line in lines)
        text = "for r in blocks(1):\n" + text if where == "threads" else text
        built = loop(f"(x: {dtype}[n]) -> (out: {wide})", text)
        x = np.full(700, True if dtype == "bool" else 113).astype(dtype)
        for data in (x, x[:0]):
            assert built.call(data) == built.python(data) == exact(data), (update, len(data))
    text = f"sum(x[c] for c in {where}(n))"
    built = loop(
        f"(x: {dtype}[n]) -> (out: {wide})",
        f"for r in blocks(1):\n    out[()] = {text}" if where == "threads" else f"out[()] = {text}",
    )
    assert built.call(x) == built.python(x) == np.sum(x)
