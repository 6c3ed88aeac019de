"""Reductions over the threads of a block and over the grid, for every target: exact ones against the interpreter, sums
within their bound."""

import numpy as np
import pytest
from tests.targets.built import agree, every_target, every_target_and, loop, same

KINDS = ("sum", "min", "max", "any", "all", "argmin", "argmax")
# PoCL takes seconds to compile each; of these dtypes its code differs from that of others by a name.
DEAR = tuple(("opencl:1.2", dtype) for dtype in ("uint64", "int32", "uint16"))


def values(dtype, *shape, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    return (rng.integers(-64, 64, shape) / 8).astype(dtype)  # sums of them are exact


def result_type(kind, dtype):
    if kind in ("argmin", "argmax") or kind == "sum" and dtype == "bool":
        return "int64"
    return "bool" if kind in ("any", "all") else dtype


@pytest.mark.parametrize("kinds", [KINDS[:3], KINDS[3:5], KINDS[5:]], ids="-".join)
@every_target_and("bool", "uint64", "float16", "float64", but=DEAR)
def test_over_threads(target, dtype, kinds):
    outputs = ", ".join(f"o{k}: {result_type(k, dtype)}[m]" for k in kinds)
    body = "for r in blocks(m):\n"
    body += "\n".join(f"    o{k}[r] = {k}(x[r, c] for c in threads(n) if c != skip)" for k in kinds)
    built = loop(target, f"(x: {dtype}[m, n], skip: int64) -> ({outputs})", body, "launch: {block: 96}")
    for n in (0, 1, 31, 97, 300):
        x = values(dtype, 3, n, seed=n)
        for kind, got, wanted in zip(kinds, built.call(x, 2, seed=n), built.python(x, 2)):
            same(got, wanted, f"{kind} of {n} {dtype}")


@every_target
@pytest.mark.parametrize("block", [1, 8, 66, 128, 1024])
def test_every_thread_has_the_result_whatever_the_block(target, block):
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
    built = loop(target, "(x: float32[m, n]) -> (out: float32[m, n], at: int64[m, n])", body, f"launch: {{block: {block}}}")
    for n in (1, 7, 45) if block < 32 else (1, 63, 130):
        x = values("float32", 2, n, seed=n)
        x[:, n // 2 :] = x[:, : n - n // 2]  # ties
        for got, wanted in zip(built.call(x, seed=block), built.python(x)):
            same(got, wanted, f"{n} in blocks of {block}")


@every_target_and("int32", "float64")
def test_over_the_grid(target, dtype):
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
    built = loop(target, f"(x: {dtype}[n], first: {dtype}) -> ({outputs}, y: {dtype}[n])", body)
    for n in (0, 1, 255, 1024, 1025, 5000):
        x = values(dtype, n, seed=n)
        got, wanted = built.call(x, x.dtype.type(7), seed=n), built.python(x, x.dtype.type(7))
        for g, w in zip(got, wanted):
            same(np.asarray(g), np.asarray(w), f"{n} {dtype}")


@every_target
def test_over_a_grid_of_two_counts_and_positions(target):
    text = "at[()] = {}(x[i, j] for i, j in grid(m, n))"
    rng = np.random.default_rng(0)
    for kind in ("argmin", "argmax"):
        built = loop(target, "(x: float32[m, n]) -> (at: int64)", text.format(kind))
        for m, n in ((3, 500), (500, 3), (0, 5)):
            x = rng.integers(0, 5, (m, n)).astype("f4")
            same(np.asarray(built.call(x)), np.asarray(built.python(x)), kind)
        x = rng.normal(size=(60, 60)).astype("f4")
        x[50, 7] = x[51, 0] = np.nan
        assert built.call(x) == 50 * 60 + 7


@every_target
def test_products_and_bits(target):
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
            target, "(x: int64[m, n], b: uint32[m, n]) -> (product: int64[m], o1: uint32[m], o2: uint32[m], o3: uint32[m])", body
    )
    rng = np.random.default_rng(0)
    for n in (0, 1, 40, 300):
        x, b = rng.integers(1, 9, (4, n)), rng.integers(0, 2**32, (4, n)).astype("u4")
        for got, wanted in zip(built.call(x, b), built.python(x, b)):
            same(got, wanted, str(n))


@every_target_and("complex64", "complex128")
def test_complex_sums(target, dtype):
    body = "for r in blocks(m):\n    out[r] = sum(x[r, c] for c in threads(n))"
    built = loop(target, f"(x: {dtype}[m, n]) -> (out: {dtype}[m])", body)
    x = (values("float32", 3, 300) + 1j * values("float32", 3, 300, seed=1)).astype(dtype)
    same(built.call(x), built.python(x), "sum")


@every_target
def test_min_and_max_propagate_nan_and_know_signed_zeros(target):
    body = """
        for r in blocks(m):
            low[r] = min(x[r, c] for c in threads(n))
            high[r] = max(x[r, c] for c in threads(n))
    """
    built = loop(target, "(x: float32[m, n]) -> (low: float32[m], high: float32[m])", body)
    x = np.zeros((4, 300), "f4")
    x[0, 200], x[1, 77], x[2, 3] = np.nan, -0.0, np.inf
    for got, wanted in zip(built.call(x), built.python(x)):
        same(got, wanted, "extremes")


@every_target_and("float16", "float32")
@pytest.mark.parametrize("over", ["grid", "threads"])
def test_the_error_of_a_sum(target, dtype, over):
    """At most 8 + log2(n) roundings of the sum of the absolute terms."""
    if over == "grid":
        built = loop(target, f"(x: {dtype}[n]) -> (total: {dtype})", "total[()] = sum(x[i] for i in grid(n))")
    else:
        built = loop(
            target, f"(x: {dtype}[n]) -> (total: {dtype}[1])",
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


@every_target
def test_infinite_sums(target):
    built = loop(target, "(x: float32[n]) -> (total: float32)", "total[()] = sum(x[i] for i in grid(n))")
    x = np.ones(3000, "f4")
    x[1234] = np.inf
    assert built.call(x) == np.inf
    x[77] = -np.inf
    assert np.isnan(built.call(x))
    assert built.call(np.full(3000, 3e38, "f4")) == np.inf
    assert not np.signbit(built.call(np.full(1, -0.0, "f4")))


@every_target
def test_a_sequential_loop_before_a_reduction_has_a_counter_of_its_own(target):
    body = """
        for r in blocks(rows):
            t = T(0)
            for k in range(7, 0, -2):
                s = sum(x[r, c] * k for c in threads(cols))
                t += s
            out[r] = t
    """
    built = loop(target, "(x: T[..., cols]) -> (out: T[...])", body, "types: {T: [float64]}", "launch: {block: 32}")
    x = np.arange(3 * 600, dtype="f8").reshape(3, 600)
    np.testing.assert_array_equal(built.call(x), 16 * x.sum(1))


@every_target
@pytest.mark.parametrize("counts", [(-2, -2, 3), (2, -3, -1), (-1, 0, -5), (2, 3, 1)])
def test_negative_counts_are_none(target, counts):
    body = """
        for r in blocks(1):
            s = 0
            for i, j, l in threads(a, b, c):
                s += 1
            out[()] = s
    """
    built = loop(target, "(a: int64, b: int64, c: int64) -> (out: int64)", body)
    assert built.call(*counts) == built.python(*counts) == np.prod(np.maximum(counts, 0))


@every_target_and("int8", "int32", "int64", "uint8", "uint16", "uint64", "bool", but=DEAR)
@pytest.mark.parametrize("where", ["grid", "threads"])
def test_sums_and_products_of_integers_are_numpys(target, dtype, where):
    """Small ones do not wrap: a sum has NumPy's result type, and so has a name that starts from a plain number; one
    that starts from T(0) keeps T."""
    wide = "uint64" if dtype[0] == "u" else "int64"
    x = np.full(700, True if dtype == "bool" else 113).astype(dtype)
    for output, lines, exact in (
        (wide, ["s = 0", f"for c in {where}(n):", "    s += x[c]", "out[()] = s"], np.sum),
        (wide, ["s = 1", f"for c in {where}(n):", "    s *= x[c]", "out[()] = s"], np.prod),
        (wide, [f"out[()] = sum(x[c] for c in {where}(n))"], np.sum),
        (dtype, [f"s = {dtype}(0)", f"for c in {where}(n):", "    s += x[c]", "out[()] = s"],
         lambda data: np.sum(data, dtype=dtype)),
    ):  # fmt: skip
        text = "\n".join(("    " if where == "threads" else "") + line for line in lines)
        text = "for r in blocks(1):\n" + text if where == "threads" else text
        built = loop(target, f"(x: {dtype}[n]) -> (out: {output})", text)
        for data in (x, x[:0]):
            assert built.call(data) == built.python(data) == exact(data), (lines, len(data))


@every_target
def test_several_terms_an_iteration_keep_the_bound(target):
    body = """
        t = float32(0)
        for i in grid(n):
            t += x[i]
            t += x[i]
            if x[i] > 1:
                t += x[i]
            else:
                t += 1
                t += 1
        s[()] = t
    """
    built = loop(target, "(x: float32[n]) -> (s: float32)", body)
    for n in (13, 1000, 1024, 30_000):
        x = np.full(n, np.float32(1 + 2**-23))
        exact = 3 * n * float(x[0])
        assert abs(float(built.call(x)) - exact) <= (8 + np.log2(3 * n)) * 2**-24 * exact
    assert built.call(np.full(40, np.float32(1e38))) == np.inf


@every_target
def test_reductions_of_rows_beside_stores(target):
    body = """
        for r in blocks(m):
            s = float32(1)
            low = x[r, 0]
            for i, j in threads(a, b):
                v = x[r, i * int64(b) + j]
                if v < 0:
                    continue
                y[r, i * int64(b) + j] = v * 2
                s += 1
                low = min(low, v)
            where_[r] = argmax(x[r, c] for c in threads(n) if x[r, c] < 1)
            count[r] = s
            least[r] = low
            above = all(x[r, c] > -3 for c in threads(n))
            flag[r] = above and x[r, 0] < 1
    """
    outputs = "y: float32[m, n], where_: int64[m], count: float32[m], least: float32[m], flag: bool[m]"
    built = loop(target, f"(x: float32[m, n], a: int32, b: int32) -> ({outputs})", body)
    for a, b in ((4, 8), (1, 300), (40, 1), (13, 29)):
        x = np.random.default_rng(a).normal(size=(7, a * b)).astype("f4")
        x[3] = 5
        given = [np.zeros_like(x), np.zeros(7, "i8"), np.zeros(7, "f4"), np.zeros(7, "f4"), np.zeros(7, bool)]
        agree(built, x, a, b, *given)


@every_target
def test_statements_after_a_reduction(target):
    body = """
        s = sum(x[i] for i in grid(n))
        mean = s / n if n > 0 else 0.0
        for j in range(3):
            mean += 1
        total[()] = s
        average[()] = mean
    """
    built = loop(target, "(x: float64[n]) -> (total: float64, average: float64)", body)
    for seed, n in enumerate((0, 3, 20_000)):
        agree(built, np.arange(n, dtype="f8"), seed=seed)


@pytest.mark.slow
@every_target
def test_products_that_are_taken_away(target):
    """In every way of writing it, contracted with the sum: exact of these values."""
    body = """
        a = float32(0)
        b = float32(1)
        for i in grid(n):
            a -= x[i] * y[i]
            b += -x[i] * y[i]
        out[0] = a
        out[1] = b
        for r in blocks(1):
            s = float32(2)
            for i in threads(n):
                s -= x[i] * y[i]
            out[2] = s + sum(-(x[i] * y[i]) for i in threads(n))
    """
    built = loop(target, "(x: float32[n], y: float32[n]) -> (out: float32[3])", body)
    for n in (0, 1, 50, 300):
        x, y = values("float32", n), values("float32", n, seed=1)
        taken = -float(x.astype("f8") @ y)
        assert agree(built, x, y).tolist() == [taken, 1 + taken, 2 + 2 * taken]
