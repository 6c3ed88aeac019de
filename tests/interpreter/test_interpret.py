"""Whole kernels by the interpreter: statements, reductions, kernel arrays, faults, orders, debugging."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from pydotcompute.interpreter import execute as interpret


def test_statements_mean_what_python_says(run):
    body = """
    for i in grid(n):
        a, b = 0, 1
        for k in range(x[i]):
            a, b = b, a + b
        s = 0
        k = 10
        while True:
            k -= 1
            if k % 3 == 0:
                continue
            if k < 3:
                break
            s += k
        for j in range(10, 0, -4):
            s += j
        if 0 < a < 100 and not (a == 8 or a == 13):
            out[i] = a * 1000 + s
        elif a == 8:
            out[i] = -s
        else:
            out[i] = s if a else k
    """
    out = run("(x: int64[n]) -> (out: int64[n])", body, {"n": 8}, x=np.arange(8))
    s = 8 + 7 + 5 + 4 + (10 + 6 + 2)
    assert out.tolist() == [2, 1000 + s, 1000 + s, 2000 + s, 3000 + s, 5000 + s, -s, s]


def test_a_loop_keeps_its_last_value_and_its_course(run):
    body = """
    for i in grid(n):
        t = 0
        k = -1
        for k in range(2, 9, 3):
            t += k
            k = 100
        out[i] = t * 1000 + k
    """
    assert run("(n: int64) -> (out: int64[n])", body, {"n": 1}, n=1).tolist() == [(2 + 5 + 8) * 1000 + 100]


def test_types_and_conversions(run):
    body = """
    for i in grid(n):
        out[i] = a * 0.1 + x[i]
        whole[i] = x[i] * 100
        flag[i] = x[i]
    """
    x = np.array([0, 0.5, -3, np.nan, np.inf], "f4")
    out, whole, flag = run(
        "(a: float32, x: float32[n]) -> (out: float32[n], whole: int8[n], flag: bool[n])", body, {"n": 5}, a=3.0, x=x
    )
    with np.errstate(all="ignore"):
        assert np.array_equal(out, np.float32(3) * np.float32(0.1) + x, equal_nan=True)
    assert whole.tolist() == [0, 50, -128, 0, 127]
    assert flag.tolist() == [False, True, True, True, True]


def test_helpers_and_tuples(run):
    template = """
    def split(v, n):
        if v < 0:
            return -v, n
        return v, n + 1

    def at(x, i):
        return x[i] * 2

    def k(x, out):
        for i in grid(n):
            a, b = split(at(x, i), i)
            out[i] = a * 10 + b
    """
    x = np.array([1, -2, 3])
    assert run("(x: int64[n]) -> (out: int64[n])", "", {"n": 3}, template=template, x=x).tolist() == [21, 41, 63]


@pytest.mark.parametrize("expression, dtype, of_nothing", [
    ("sum(x[i] for i in grid(n))", "float32", 0),
    ("max(x[i] for i in grid(n))", "float32", -np.inf),
    ("min(x[i] for i in grid(n))", "float32", np.inf),
    ("argmin(x[i] for i in grid(n))", "int64", -1),
    ("argmax(x[i] for i in grid(n))", "int64", -1),
    ("any(x[i] > 0 for i in grid(n))", "bool", False),
    ("all(x[i] > 0 for i in grid(n))", "bool", True),
    ("max(k[i] for i in grid(n))", "int32", -(2**31)),
    ("min(k[i] for i in grid(n))", "int32", 2**31 - 1),
    ("sum(x[i] > 0 for i in grid(n))", "int64", 0),
])  # fmt: skip
def test_reductions_over_the_grid(expression, dtype, of_nothing, run):
    signature, body = f"(x: float32[n], k: int32[n]) -> (out: {dtype})", f"out[()] = {expression}"
    x = np.array([3, -1, 4, -1, 4, 0.5], "f4")
    k = x.astype("i4")
    wanted = {
        "sum(x[i] for": x.sum(), "max(x": 4, "min(x": -1, "argmin": 1, "argmax": 2, "any": True, "all": False,
        "max(k": 4, "min(k": -1, "sum(x[i] >": 4,
    }  # fmt: skip
    got = run(signature, body, {"n": 6}, x=x, k=k)
    assert got == next(value for start, value in wanted.items() if expression.startswith(start))
    empty = run(signature, body, {"n": 0}, x=x[:0], k=k[:0])
    assert empty == of_nothing and empty.dtype == dtype


def test_nan_in_reductions(run):
    x = np.array([2, np.nan, 1, np.nan, 5], "f8")
    body = """
    out[()] = {}(x[i] for i in grid(n))
    """
    for function in ("min", "max"):
        assert np.isnan(run("(x: float64[n]) -> (out: float64)", body.format(function), {"n": 5}, x=x))
    for function in ("argmin", "argmax"):
        assert run("(x: float64[n]) -> (out: int64)", body.format(function), {"n": 5}, x=x) == 1


def test_accumulators_in_one_loop_beside_stores(run):
    body = """
    for r in blocks(n):
        s = T(1)
        p = T(1)
        low = T(100)
        bits = 0
        count = 0
        for c in threads(m):
            s -= x[r, c]
            p *= x[r, c]
            low = min(low, x[r, c])
            bits ^= c
            if x[r, c] > 1:
                count += 1
            out[r, c] = x[r, c] * 2
        stats[r, 0] = s
        stats[r, 1] = p
        stats[r, 2] = low
        stats[r, 3] = bits
        stats[r, 4] = count
    """
    x = np.array([[1.5, 2, 3], [0.5, 1, -4]])
    out, stats = run(
        "(x: T[n, m]) -> (out: T[n, m], stats: T[n, 5])", body, {"n": 2, "m": 3}, types="{T: [float64]}", x=x
    )
    assert np.array_equal(out, x * 2)
    assert stats.tolist() == [[1 - 6.5, 9, 1.5, 0 ^ 1 ^ 2, 3], [1 + 2.5, -2, -4, 3, 0]]


def test_sums_are_within_their_bound(run):
    x = np.random.default_rng(3).standard_normal(5000).astype("f4")
    got = run("(x: float32[n]) -> (out: float32)", "out[()] = sum(x[i] for i in grid(n))", {"n": 5000}, x=x)
    roundings = 8 + math.log2(5000)
    assert abs(float(got) - math.fsum(x)) <= roundings * 2**-24 * math.fsum(abs(x))


def test_statements_after_a_reduction(run):
    body = """
    s = sum(x[i] for i in grid(n))
    out[()] = s / n
    """
    assert run("(x: float64[n]) -> (out: float64)", body, {"n": 4}, x=np.arange(4.0)) == 1.5


def test_shared_private_and_atomics(run):
    body = """
    for b in blocks((n + 7) // 8):
        own = shared((4,), int32)
        mine = private((8,), int32)
        for c in threads(4):
            own[c] = 0
        for c in threads(8):
            mine[c] = 1 if b * 8 + c < n else 0
        for c in threads(8):
            if mine[c] == 1:
                atomic_add(own, x[b * 8 + c] & 3, mine[c])
        for c in threads(4):
            atomic_add(out, c, own[c])
            atomic_max(top, 0, own[c])
    """
    x = np.random.default_rng(1).integers(0, 100, 53).astype("i4")
    out, top = run(
        "(x: int32[n], out: inout int32[4], top: inout int32[1])", body, {"n": 53}, x=x,
        out=np.zeros(4, "i4"), top=np.zeros(1, "i4"),
    )  # fmt: skip
    assert out.tolist() == np.bincount(x & 3, minlength=4).tolist()
    parts = [np.bincount(x[k : k + 8] & 3).max() for k in range(0, 53, 8)]
    assert top.tolist() == [max(parts)]


@pytest.mark.parametrize(
    "order, floats, integers", [("forward", np.nan, 2**31 - 1), ("random", np.nan, 2**31 - 1), ("reverse", "f4", -(2**31))]
)
def test_kernel_arrays_start_with_poison_another_in_reverse_order(tree, order, floats, integers):
    body = """
    for i in grid(n):
        h = local((2,), float32)
        w = local((2,), int32)
        b = local((1,), bool)
        if i == 0:
            h[0] = 1
            w[0] = 1
        out[i] = h[0]
        whole[i] = w[0]
        flag[i] = b[0]
    """
    built = tree("(n: int64) -> (out: float32[n], whole: int32[n], flag: bool[n])", body)
    out, whole, flag = np.zeros(3, "f4"), np.zeros(3, "i4"), np.zeros(3, bool)
    interpret.run(built, {"n": 3, "out": out, "whole": whole, "flag": flag}, {"n": 3}, order)
    floats = np.finfo("f4").max if floats == "f4" else floats
    np.testing.assert_array_equal(out, [1, floats, floats])
    assert whole.tolist() == [1, integers, integers] and flag.tolist() == [order != "reverse"] * 3


def test_orders_show_what_the_program_leaves_open(tree):
    built = tree("(k: int64[n]) -> (out: int64[n])", "for i in grid(n):\n    scatter(out, k[i], i)")
    k, seen = np.zeros(8, "i8"), set()
    for order in ("forward", "reverse", "random"):
        out = np.zeros(8, "i8")
        interpret.run(built, {"k": k, "out": out}, {"n": 8}, order, seed=1)
        seen.add(int(out[0]))
    assert {7, 0} <= seen
    again = [np.zeros(8, "i8") for _ in range(2)]
    for out in again:
        interpret.run(built, {"k": k, "out": out}, {"n": 8}, "random", seed=5)
    assert again[0].tolist() == again[1].tolist()
    with pytest.raises(ValueError, match='"forward", "reverse" or "random", not \'sideways\''):
        interpret.run(built, {"k": k, "out": k.copy()}, {"n": 8}, "sideways")


@pytest.mark.parametrize("body, line, index, message", [
    ("for i in grid(n):\n    out[i] = x[i + 1]", 2, "i + 1]", "index 5 is outside x, which has 5"),
    ("for i in grid(n):\n    out[i] = x[i - 1]", 2, "i - 1]", "index -1 is outside x, which has 5"),
    ("for i in grid(n):\n    j = i * 2\n    out[j] = 1", 3, "j]", "index 6 is outside out, which has 5"),
    ("for i in grid(n):\n    out[i] = y[i, i]", 2, "i]", "index 2 of axis 1 is outside y, which has 2"),
    ("for i in grid(n):\n    h = local((3,), float32)\n    h[i] = 1", 3, "i]", "index 3 is outside h, which has 3"),
    ("for i in grid(n):\n    atomic_add(out, i + 1, 1)", 2, "i + 1,", "index 5 is outside out, which has 5"),
])  # fmt: skip
def test_an_index_outside_is_an_error_with_its_place(body, line, index, message, tree):
    built = tree("(x: float32[n], y: float32[n, 2]) -> (out: float32[n])", body)
    arrays = {"x": np.zeros(5, "f4"), "y": np.zeros((5, 2), "f4"), "out": np.zeros(5, "f4")}
    with pytest.raises(IndexError) as caught:
        interpret.run(built, arrays, {"n": 5})
    place, text = str(caught.value).split(": ", 1)
    assert text == message
    path, at, column = place.rsplit(":", 2)
    source = Path(path).read_text().splitlines()[int(at) - 1]
    assert source.strip() == body.splitlines()[line - 1].strip()
    assert source[int(column) - 1 :].startswith(index)


def test_strided_arrays_and_output_scalars(run):
    x = np.arange(24.0).reshape(4, 6)[::-1, ::2]
    body = "out[()] = sum(x[i, j] * (i + 1) for i, j in grid(n, m))"
    got = run("(x: strided float64[n, m]) -> (out: float64)", body, {"n": 4, "m": 3}, x=x)
    assert got == (x * np.arange(1, 5)[:, None]).sum()


def test_complex_numbers(run):
    x = np.array([1 + 2j, -3j], "c8")
    body = "for i in grid(n):\n    out[i] = conj(x[i]) * x[i] + abs(x[i])"
    out = run("(x: complex64[n]) -> (out: complex64[n])", body, {"n": 2}, x=x)
    assert np.allclose(out, np.conj(x) * x + np.abs(x))


def test_three_counts(run):
    body = "for a, b, c in grid(n, m, 2):\n    out[a, b, c] = a * 100 + b * 10 + c"
    out = run("(n: int64, m: int64) -> (out: int64[n, m, 2])", body, {"n": 3, "m": 4}, n=3, m=4)
    a, b, c = np.indices((3, 4, 2))
    assert np.array_equal(out, a * 100 + b * 10 + c)
    body = "out[()] = argmax((a * 7 + b * 5 + c * 3) % 11 for a, b, c in grid(n, m, 2))"
    got = run("(n: int64, m: int64) -> (out: int64)", body, {"n": 3, "m": 4}, n=3, m=4)
    assert got == np.argmax((a * 7 + b * 5 + c * 3) % 11)


def test_names_of_the_users_do_not_meet_the_interpreters(run):
    body = """
    for _load1 in grid(n):
        _loop1 = x[_load1] + 1
        bool_ = _loop1
        out[_load1] = bool_
    """
    assert run("(x: int64[n]) -> (out: int64[n])", body, {"n": 2}, x=np.arange(2)).tolist() == [1, 2]


def test_a_debugger_stands_on_the_users_lines(tree):
    body = "for i in grid(n):\n    a = x[i] + 1\n    out[i] = a * 2"
    built = tree("(x: float32[n]) -> (out: float32[n])", body)
    seen = []

    def trace(frame, event, argument):
        if event == "line" and frame.f_code.co_name == "k":
            seen.append((frame.f_code.co_filename, frame.f_lineno, dict(frame.f_locals)))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        interpret.run(built, {"x": np.arange(2, dtype="f4"), "out": np.zeros(2, "f4")}, {"n": 2})
    finally:
        sys.settrace(before)
    paths = {path for path, *_ in seen}
    assert len(paths) == 1
    lines = Path(paths.pop()).read_text().splitlines()
    assert [lines[line - 1].strip() for _, line, _ in seen[:3]] == [line.strip() for line in body.splitlines()]
    assert any(local.get("a") == 2 for *_, local in seen)


def test_the_translation_can_be_a_file(tree, tmp_path):
    built = tree("(x: float32[n]) -> (out: float32[n])", "for i in grid(n):\n    out[i] = x[i]")
    out = np.zeros(3, "f4")
    interpret.run(built, {"x": np.ones(3, "f4"), "out": out}, {"n": 3}, path=str(tmp_path / "k.py"))
    assert out.tolist() == [1, 1, 1]
    assert (tmp_path / "k.py").read_text() == interpret.python_text(built)
