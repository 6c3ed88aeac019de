"""Scans: accumulators that their loop reads, in every target's code, against the interpreter and NumPy."""

import numpy as np
import pytest
from tests.targets.built import agree, build, draw, every_target, every_target_and, loop

pytestmark = pytest.mark.slow
LONG = 9000  # several chunks on every target


@every_target
@pytest.mark.parametrize("update, dtype", [
    ("s += x[i]", "int64"), ("s -= x[i]", "int32"), ("s *= x[i]", "uint32"), ("s = min(s, x[i])", "float32"),
    ("s = max(x[i], s)", "float64"), ("s ^= x[i]", "int16"), ("s |= x[i]", "uint8"), ("s &= x[i]", "int8"),
])  # fmt: skip
def test_it_is_read_before_and_after_its_update(target, update, dtype):
    body = f"""
        s = T(3)
        for i in grid(n):
            before[i] = s
            {update}
            after[i] = s
        last[()] = s
    """
    signature = "(x: T[n]) -> (before: T[n], after: T[n], last: T)"
    built = loop(target, signature, body, f"types: {{T: [{dtype}]}}")
    for n in (0, 1, 5, LONG):
        x = draw(n, dtype=dtype)
        if dtype == "float32" and n > 1:
            x[n // 2] = np.nan
        before, after, last = agree(built, x, seed=n)
        assert (before[1:] == after[:-1]).all() or dtype == "float32"
        assert n == 0 and last == 3 or last == after[-1] or np.isnan(last) and np.isnan(after[-1])


@every_target_and("float32", "float64", "complex64")
def test_a_sum_of_floats_is_as_exact_as_a_reduction_of_any_length(target, dtype):
    body = """
        s = T(0)
        for i in grid(n):
            s += x[i]
            out[i] = s
    """
    built = loop(target, "(x: T[n]) -> (out: T[n])", body, f"types: {{T: [{dtype}]}}")
    x = np.full(LONG, 0.1, dtype)
    x[::7] *= -1.3
    bound = 8 * np.finfo(dtype).eps * np.abs(x).cumsum(dtype="f8")
    exact = np.cumsum(x.astype(np.clongdouble if dtype[0] == "c" else np.longdouble))
    first = built.call(x)
    for got in (first, built.python(x)):
        assert (np.abs(got - exact) <= bound).all()
    for threads in (1, 2):  # two, three
        assert (built.call(x, seed=threads) == first).all()
    x[:] = 3  # which is lost beside what is so large, but a chunk of them is not
    x[0], x[-2] = 1e20, -1e20
    first = built.call(x)
    assert all((built.call(x, seed=threads) == first).all() for threads in (1, 2))
    x[LONG // 2] = np.inf
    out = built.call(x)
    assert np.isfinite(out[: LONG // 2]).all() and np.isinf(out[LONG // 2 :].real).all()


@every_target
@pytest.mark.parametrize("statements", ["k += 1; out[k - 1] = x[i]", "out[k] = x[i]; k += 1"])
def test_ordered_compaction(target, statements):
    statements = statements.replace("; ", "\n                ")
    body = f"""
        k = 0
        for i in grid(n):
            if x[i] > 0:
                {statements}
        count[()] = k
    """
    signature = "(x: float32[n]) -> (out: float32[<= n: count], count: int64)"
    built = loop(target, signature, body)
    assert not built.meta.get("sites"), "a count of some iterations is an index that needs no check"
    for n in (0, 1, 5, LONG):
        x = draw(n)
        kept, count = agree(built, x, seed=n)
        assert count == (x > 0).sum() and (kept == x[x > 0]).all()


@every_target
def test_rows_of_unequal_length_begin_where_those_before_them_end(target):
    body = """
        s = 0
        for i in grid(n):
            start[i] = s
            s += counts[i]
        start[n] = s
    """
    built = loop(target, "(counts: int32[n]) -> (start: int64[n + 1])", body)
    for n in (0, 3, LONG):
        counts = draw(n, dtype="i4") + 50
        assert (agree(built, counts, seed=n) == np.append(0, np.cumsum(counts, dtype="i8"))).all()


@every_target
def test_several_scans_beside_a_reduction_over_several_counts_from_a_start(target):
    body = """
        s = int64(0)
        low = int64(1000)
        t = int64(0)
        for i, j in grid((1, n), m):
            if x[i, j] == 7:
                continue
            s += x[i, j] * j
            low = min(low, x[i, j])
            out[i, j] = s - low
            t += out[i, j] % 5
        total[()] = t + s + low
    """
    signature = "(x: int64[n, m]) -> (out: int64[n, m] = 0, total: int64)"
    built = loop(target, signature, body)
    for n, m in ((0, 3), (3, 0), (4, 5), (90, 100)):
        agree(built, draw(n, m, dtype="i8"), seed=n)


@every_target
def test_one_that_goes_on_from_another_is_done_in_order(target):
    body = """
        s = 0
        low = 0
        best = int64(-1000)
        for i in grid(n):
            s += x[i]
            best = max(best, s - low)
            low = min(low, s)
            out[i] = low
        most[()] = best
    """
    built = loop(target, "(x: int64[n]) -> (out: int64[n], most: int64)", body)
    for n in (1, 6, LONG):
        x = draw(n, dtype="i8")
        _, most = agree(built, x, seed=n)
        sums = np.append(0, np.cumsum(x))
        assert most == (sums[1:] - np.minimum.accumulate(sums)[:-1]).max()


@every_target
def test_what_an_iteration_stores_before_is_what_its_term_reads(target):
    body = """
        s = 0
        for i in grid(n):
            a[i] = a[i] * 2
            s += a[i]
            a[i] = s
    """
    built = loop(target, "(inout a: int64[n]) -> ()".replace("inout a:", "a: inout"), body)
    agree(built, draw(LONG, dtype="i8"), seed=1)


@every_target
def test_in_place(target):
    body = """
        s = 0
        for i in grid(n):
            s += x[i]
            out[i] = s
    """
    built = loop(target, "(x: int64[n]) -> (out: int64[n])", body)
    x = draw(LONG, dtype="i8")
    wanted = np.cumsum(x)
    assert (built.call(x, out=x, seed=1) == wanted).all()


@every_target
def test_in_a_block(target):
    body = """
        for r in blocks(n):
            row = private((40,), int64)
            s = x[r, 0]
            t = 0
            for c in threads(m):
                if c < 40:
                    row[c] = x[r, c]
                before = s
                s += x[r, c]
                out[r, c] = s - before * 2
                t += c
            k = 0
            for c in threads((1, m)):
                if x[r, c] > 0:
                    k += 1
                    kept[r, k] = s + t
            for c in threads(min(m, 40)):
                out[r, c] += row[c]
            last[r] = s * 100 + k
    """
    signature = "(x: int64[n, m]) -> (out: int64[n, m], kept: int64[n, m] = 0, last: int64[n])"
    built = loop(target, signature, body)
    for m in (1, 2, 39, 300):
        agree(built, draw(3, m, dtype="i8"), seed=m)


@every_target
def test_floats_in_a_block(target):
    body = """
        for r in blocks(n):
            s = float32(0)
            for c in threads(m):
                s += x[r, c]
                out[r, c] = s
            last[r] = s
    """
    built = loop(target, "(x: float32[n, m]) -> (out: float32[n, m], last: float32[n])", body)
    x = draw(2, 2000)
    out, last = built.call(x)
    assert (np.abs(out - np.cumsum(x, 1, dtype="f8")) <= 8 * 6e-8 * np.abs(x).cumsum(1, dtype="f8")).all()
    assert (last == out[:, -1]).all()


@every_target
def test_again_and_again_in_a_helper(target):
    template = """
        def summed(a, out, start):
            s = start
            for i in grid(len(a)):
                s += a[i]
                out[i] = s
            return s

        def k(x, out, ends, q):
            s = 0
            for t in range(3):
                s = summed(x, q, s)
                ends[t] = s
                for i in grid(n):
                    x[i] = q[i] % 17
            for i in grid(n):
                out[i] = q[i] + s
    """
    signature = "(x: inout int64[n]) -> (out: int64[n], ends: int64[3]) temp (q: int64[n])"
    built = build(target, f'signature: "{signature}"\ntemplate: k.py.j2', template=template)
    agree(built, draw(5000, dtype="i8"), seed=1)


@every_target
@pytest.mark.parametrize("counts", ["-2, -3", "(3, 1), (5, 2)"])
def test_of_nothing_where_counts_are_negative(target, counts):
    body = f"""
        k = 0
        for i, j in grid({counts}):
            k += 1
            out[k] = i
        last[()] = k
    """
    built = loop(target, "(n: int64) -> (out: int64[n] = 0, last: int64)", body)
    out, last = agree(built, 9)
    assert last == 0 and not out.any()


@every_target_and("float32", "complex64")
def test_a_sum_beside_a_scan_is_as_exact_as_any(target, dtype):
    body = """
        k = 0
        s = T(0)
        for i in grid(n):
            k += 1
            s += x[i]
            out[i] = k
        total[()] = s
    """
    built = loop(target, "(x: T[n]) -> (out: int64[n], total: T)", body, f"types: {{T: [{dtype}]}}")
    x = np.full(LONG, 0.1 if dtype == "float32" else 0.1 - 0.3j, dtype)
    out, total = built.call(x)
    assert (out == np.arange(LONG) + 1).all()
    assert abs(total - x.astype("c16").sum()) <= (8 + np.log2(LONG)) * 6e-8 * abs(x).sum(dtype="f8")
    for special in (np.inf, np.nan):
        x[5] = special
        assert str(built.call(x)[1].real) == str(special)
    x[:] = -0.0
    assert np.signbit(built.call(x)[1].real) == np.signbit(built.python(x)[1].real)


@every_target
def test_a_scan_that_decides_about_itself_in_few_threads(target):
    """Fewer iterations than a block has threads: no chunk goes on from what none before it has left."""
    body = """
        for r in blocks(m):
            s = complex64(1)
            for c in threads(n):
                if bool(s):
                    s += x[r, c]
                out[r, c] = s
            last[r] = s
    """
    signature = "(x: complex64[m, n]) -> (out: complex64[m, n], last: complex64[m])"
    built = loop(target, signature, body, "fastmath: []")
    for n in (0, 1, 5):
        x = np.ones((3, n), "c8")
        out, last = agree(built, x, seed=n)
        assert (out == 2 + np.arange(n)).all() and (last == 1 + n).all()


@every_target
@pytest.mark.parametrize("body, signature, wanted", [
    ("t = x[i] * 2\n    s += t\n    out[i] = s - t", "(x: float32[n]) -> (out: float32[n])",
     lambda x: np.cumsum(x * 2.0) - x * 2.0),
    ("s += x[i]\n    x[i] = s", "(x: inout float32[n])", np.cumsum),
    ("t = s\n    s += x[i]\n    out[i] = t + s", "(x: float32[n]) -> (out: float32[n])", lambda x: 2 * np.cumsum(x) - x),
    ("s += x[n - 1 - i]\n    out[i] = s", "(x: float32[n]) -> (out: float32[n])", lambda x: np.cumsum(x[::-1])),
])  # fmt: skip
def test_sums_of_any_length(target, body, signature, wanted):
    """Several terms are added to each other first, where a sum is one of float64."""
    built = loop(target, signature, f"s = float32(0)\nfor i in grid(n):\n    {body}")
    for n in (1, 2, 3, 4, 5, 7, 8, 4095, 4096, 4097, LONG, LONG + 1, LONG + 2, LONG + 3):
        x = np.random.default_rng(n).random(n, "f4")
        got = []
        for threads in (1, 2):
            given = x.copy()
            result = built.call(given, seed=threads)
            got.append(given if result is None else result)
        exact = wanted(x.astype("f8"))
        assert (got[0] == got[1]).all()
        assert np.abs(got[0] - exact).max() <= 2e-7 * max(1, np.abs(exact).max())


@every_target
def test_running_sums_are_added_up_in_their_order_whatever_fastmath_allows(target):
    """On CPUs four terms first, which a compiler that may reorder would undo: each sum would wait for the one before."""
    signature = "(x: float32[n]) -> (out: float32[n])"
    body = "s = float32(0)\nfor i in grid(n):\n    s += x[i]\n    out[i] = s"
    rng = np.random.default_rng(0)
    x = np.repeat((rng.random(LONG // 2) * 2.0 ** rng.integers(0, 60, LONG // 2)).astype("f4"), 2)
    x[1::2] *= -1  # what is left is what was rounded off
    x[1::2] = np.roll(x[1::2], 3)
    strict, free = (loop(target, signature, body, f"fastmath: {flags}").call(x) for flags in ("[]", "[fast]"))
    if target.startswith("cpu"):
        assert (strict == free).all()
    else:
        np.testing.assert_allclose(free, strict, rtol=0, atol=2.0**60 * 1e-6)
