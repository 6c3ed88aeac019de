"""`sort`, `median` and `searchsorted`, for every target: its code against the interpreter, and both against NumPy."""

import os
import signal

import numpy as np
import pytest
from pydotcompute.frontend.ordering import SOURCE
from pydotcompute.frontend.sorting_network import pairs
from tests.budget import EVERYTHING
from tests.targets.built import agree, every_target, every_target_and, loop, marked

DTYPES = ("bool", "int8", "uint32", "int64", "uint64", "float32", "float64")
ROWS = """
    for i in grid(n):
        for j in range(m):
            y[i, j] = x[i, j]
        middle[i] = median(x[i], k)
        sort(y[i], k)
        left[i] = searchsorted(y[i], k, x[i, 0])
        right[i] = searchsorted(y[i], k, x[i, 0], 1)
"""


def but_hip(marks):
    """Without the target whose text is here that of OpenCL."""
    names, parameters = marks.args
    return pytest.mark.parametrize(names, [p for p in parameters if not p.values[0].startswith("hip")])


def values(dtype, n, m, seed):
    """Some of them equal; of floats some NaN, infinities and zeros of both signs."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 9, (n, m))
    if dtype.startswith("float"):
        x = np.where(rng.random((n, m)) < 0.5, x, rng.normal(size=(n, m)))
        special = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], (n, m))
        x[n // 2 :] = np.where(rng.random((n - n // 2, m)) < 0.2, special[n // 2 :], x[n // 2 :])
    with np.errstate(all="ignore"):
        return x.astype(dtype)


@pytest.mark.slow
@but_hip(every_target_and(*DTYPES))
def test_rows(target, dtype):
    """The first k elements of each row; what follows stays."""
    middle = dtype if dtype.startswith("float") else "float64"
    signature = "(x: T[n, m], k: int64) -> (y: T[n, m], middle: M[n], left: int64[n], right: int64[n])"
    signature = signature.replace("M", middle).replace("T", dtype)
    built = loop(target, signature, ROWS)
    long = ((600, 599), (600, 600)) if EVERYTHING or not target.startswith("cuda") or dtype == "float32" else ()
    for m, k in ((1, 1), (2, 2), (3, 0), (7, 6), (25, 23), (25, 24), (90, 90), *long, (5, -(2**63))):
        x = values(dtype, 6, m, m)
        y, middle, left, right = agree(built, x, k)
        k = max(k, 0)  # less than nothing is nothing, and is not what wraps
        both = (y[:, :k], np.sort(x[:, :k], 1)), (y[:, k:], x[:, k:])
        assert all(np.array_equal(*pair, equal_nan="float" in dtype) for pair in both)
        with np.errstate(all="ignore"):
            wanted = [np.median(row) if k else np.nan for row in x[:, :k]]
        assert np.array_equal(middle, np.array(wanted), equal_nan=True)
        assert (left == [np.searchsorted(row[:k], of[0]) for row, of in zip(y, x)]).all()
        assert (right == [np.searchsorted(row[:k], of[0], "right") for row, of in zip(y, x)]).all()


@pytest.mark.slow
@pytest.mark.parametrize("target", [marked(target) for target in ("cpu:x86-64-v3", "cuda:compute_80", "opencl:1.2")])
def test_rows_of_a_length_that_is_known(target):
    """By a network, but for those with NaN; what follows stays."""
    body = "for i in grid(n):\n    for j in range(13):\n        y[i, j] = x[i, j]\n    sort(y[i], 11)"
    built = loop(target, "(x: float32[n, 13]) -> (y: float32[n, 13])", body)
    x = values("float32", 40, 13, 0)
    y = agree(built, x)
    assert np.array_equal(y[:, :11], np.sort(x[:, :11], 1), equal_nan=True)
    assert np.array_equal(y[:, 11:], x[:, 11:], equal_nan=True)


@pytest.mark.parametrize("n", range(33))
def test_a_network_sorts(n):
    """Whatever it is given, where it sorts all zeros and ones; those with few of either, and some drawn, of many."""
    rng = np.random.default_rng(n)
    drawn = rng.random((2000, n)) < rng.random((2000, 1))
    all_ = np.arange(1 << n)[:, None] >> np.arange(n) & 1 if n < 11 else np.concatenate([drawn, np.tri(n), 1 - np.tri(n)])
    x = all_.astype("i1")
    for i, j in pairs(n):
        x[:, i], x[:, j] = np.minimum(x[:, i], x[:, j]), np.maximum(x[:, i], x[:, j])
    assert (np.sort(x, 1) == x).all()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float64"])
def test_a_network_of_each_dtype(dtype):
    from tests.targets.cpu.compiled import tree_of

    from pydotcompute.interpreter import execute

    tree = tree_of("for i in grid(n):\n    sort(x[i], 7)", f"(x: inout {dtype}[n, 7]) -> ()", types="")
    x = values(dtype, 20, 7, 1)
    got = x.copy()
    execute.run(tree, {"x": got}, {"n": 20})
    assert np.array_equal(got, np.sort(x, 1), equal_nan="float" in dtype)
    negative_zeros = [(np.signbit(a.astype("f8")) & (a == 0)).sum() for a in (got, x)]
    assert negative_zeros[0] == negative_zeros[1]


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["nnan", "fast"])
@pytest.mark.parametrize("m", [5, 3000])
def test_medians_end_whatever_they_take_for_numbers(flags, m):
    """Of NaN too, which a kernel with `nnan` says that there is none of: in a process that dies of a hang."""
    body = "for i in grid(n):\n    out[i] = {}".format
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, m)).astype("f4")
    for text in ("median(x[i], m)", "sum(median(x[i], m) for j in range(1))"):
        built = loop("cpu:x86-64-v3", "(x: float32[n, m]) -> (out: float32[n])", body(text), f"fastmath: [{flags}]")
        assert np.array_equal(built.call(x), np.median(x, 1))
        if (child := os.fork()) == 0:
            signal.alarm(20)
            for wrong in (0.3, 1.0):
                built.call(np.where(rng.random(x.shape) < wrong, np.float32(np.nan), x))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0


@but_hip(every_target)
def test_arrays_of_a_kernel(target):
    """A window in an array of the iteration's own; a shared array, which one thread of the block sorts; helpers."""
    window = """
        def middle_of_three(t):
            sort(t, 3)
            return t[1]
        for i in grid((1, n - 1)):
            t = local((3,), float32)
            for k in range(3):
                t[k] = x[i + k - 1]
            first = median(t, 3)
            again = middle_of_three(t)
            out[i] = first + 10 * again
        for i in grid(2):
            out[i * (n - 1)] = 0
    """
    x = values("float32", 1, 40, 3)[0]
    x = np.where(np.isfinite(x), x, 1)
    out = agree(loop(target, "(x: float32[n]) -> (out: float32[n])", window, "fastmath: []"), x)
    middles = np.median(np.lib.stride_tricks.sliding_window_view(x, 3), 1)
    assert (out[1:-1] == middles + 10 * middles).all()
    block = """
        for b in blocks(n):
            t = shared((64,), int32)
            for c in threads(64):
                t[c] = x[b, c]
            sort(t, 60)
            middle = median(t, 64)
            if median(t, 1) > sum(median(t, k) for k in range(1, 4)):
                middle += 1
            for c in threads(64):
                out[b, c] = t[c] + searchsorted(t, 60, c) + int64(middle)
    """
    x = np.random.default_rng(0).integers(0, 60, (3, 64)).astype("i4")
    out = agree(loop(target, "(x: int32[n, 64]) -> (out: int64[n, 64])", block), x)
    for row, got in zip(x, out):
        t = np.concatenate([np.sort(row[:60]), row[60:]])
        assert (got == t + np.searchsorted(t[:60], np.arange(64)) + int(np.median(row))).all()


@pytest.mark.slow
@but_hip(every_target)
def test_a_sequential_kernel(target):
    """At top level, between parallel loops and as the whole kernel."""
    body = """
        for i in grid(n):
            out[i] = -x[i]
        sort(out, n)
        middle[()] = median(out, n)
        for i in grid(n):
            at[i] = searchsorted(out, n, x[i])
    """
    built = loop(target, "(x: float64[n]) -> (out: float64[n], middle: float64, at: int64[n])", body)
    for n in (0, 1, 50):
        x = np.random.default_rng(n).normal(size=n)
        out, middle, at = agree(built, x)
        assert (out == np.sort(-x)).all() and (at == np.searchsorted(out, x)).all()
        assert np.isnan(middle) if n == 0 else middle == np.median(out)
    assert (agree(loop(target, "(a: inout int64[n]) -> ()", "sort(a, n)"), np.arange(30)[::-1].copy())) is None


class Solid:
    """A number that is decided when it is compared: whoever sorts these has as much to do as can be made of it."""

    fixed, candidate = 0, None

    def __init__(self):
        self.value = None

    def __lt__(self, other):
        if self.value is None and other.value is None:
            (self if self is Solid.candidate else other).fix()
        if self.value is None or other.value is None:
            Solid.candidate = self if self.value is None else other
            return other.value is None
        return self.value < other.value

    def fix(self):
        self.value, Solid.fixed = Solid.fixed, Solid.fixed + 1

    def __gt__(self, other):
        return other < self

    def __le__(self, other):
        return not other < self


def adverse(n: int) -> np.ndarray:
    """An order of n numbers that makes parts of this very sort as uneven as they can be."""
    given = [Solid() for _ in range(n)]
    names = {"int64": int, "clz": lambda v: 64 - v.bit_length(), "local": lambda shape, _: [0] * shape[0]}
    exec(SOURCE, names)
    Solid.fixed, Solid.candidate = 0, None
    names["sort"](list(given), n)
    return np.array([n if g.value is None else g.value for g in given])


@pytest.mark.parametrize("shape", ["ascending", "descending", "equal", "organ", "random", "adverse"])
def test_the_steps_of_a_sort(shape):
    """n · log2(n) comparisons at most, times a constant: counted in the interpreter's accesses."""
    from tests.targets.cpu.compiled import tree_of

    from pydotcompute.interpreter import execute

    n = 1500
    up = np.arange(n)
    given = {"ascending": up, "descending": up[::-1], "equal": 0 * up, "organ": np.minimum(up, up[::-1]),
             "random": np.random.default_rng(0).permutation(n), "adverse": adverse(n)}[shape]  # fmt: skip
    loads = 0

    class Counting(np.ndarray):
        def item(self, *index):
            nonlocal loads
            loads += 1
            return super().item(*index)

    x = given.astype("i8").view(Counting)
    execute.run(tree_of("sort(x, n)", "(x: inout int64[n]) -> ()", types=""), {"x": x}, {"n": n})
    assert (np.asarray(x) == np.sort(given)).all()
    assert loads < (8 if shape == "adverse" else 6) * n * np.log2(n)  # half of it until the heap takes over


@pytest.mark.slow
def test_an_index_outside_is_that_of_the_call():
    from tests.targets.cpu.compiled import kernel, tree_of

    from pydotcompute.interpreter import execute

    for body in ("sort(x, k)", "x[0] = median(x, k)", "x[0] = searchsorted(x, k, 9.0)"):
        signature = "(x: inout float64[n], k: int64) -> ()"
        built, x = kernel(body, signature, types=""), np.arange(5.0)
        fault = built.fault({"n": 5}, x=x.copy(), k=7)
        assert fault is not None and fault[2:5] == ("x", 0, 5) and fault[5] >= 5
        with pytest.raises(IndexError, match=r"kernels.yaml:\d+:\d+: index \d+ is outside x, which has 5$"):
            execute.run(tree_of(body, signature, types=""), {"x": x, "k": 7}, {"n": 5})
