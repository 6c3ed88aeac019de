"""Native entry points: which calls they serve, that they mean what the Python path means, and who owns what."""

import gc
import sys

import numpy as np
import pytest
from support import array, read_seen, scalar, write_kernel, write_saxpy

import pydotcompute
from pydotcompute.backends.cpu import CPUBackend
from pydotcompute.backends.cpu_kernel import CPUKernel


class Refused(Exception):
    pass


def refuse(*args, **kwargs):
    raise Refused


class Native:
    """A kernel through both of its doors: the entry alone, and the Python path alone."""

    def __init__(self, path, name="k"):
        self.kernel = pydotcompute.load(path)[name]
        self.record = self.kernel._record
        self.bound = {}
        for label, specialisation in self.record.specialisations.items():
            loaded = CPUBackend().load_kernel(specialisation.artifacts[0])
            outputs = [p.name for p in self.record.signature.outputs]
            self.bound[label] = (loaded, loaded.bind(name, "", refuse, outputs))

    def entry(self, label=None):
        return self.bound[label or next(iter(self.bound))][1]

    def words(self, label, *args):
        """What `run` sees through the entry, and what it sees through the Python path."""
        loaded, function = self.bound[label]
        function(*args)
        native = read_seen(loaded.library, loaded.artifact)
        call, backend = self.kernel._dispatcher.checked(args, {})
        assert call.specialisation.name == label
        loaded(call)
        return native, read_seen(loaded.library, loaded.artifact)

    def serves(self, *args, label=None, **kwargs):
        try:
            self.entry(label)(*args, **kwargs)
        except Refused:
            return False
        return True


def f4(*shape):
    return np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)


SIGNATURES = {
    "flat": ([array("x", "float32", ...), array("o", "float32", ..., role="out")],
             [(f4(5), f4(5)), (f4(2, 3), f4(2, 3)), (f4(), f4()), (f4(0), f4(0)), (f4(2, 0, 3), f4(2, 0, 3))]),
    "rows": ([array("x", "float32", ..., "n"), array("w", "float32", "n"), array("o", "float32", ..., role="out")],
             [(f4(4, 5), f4(5), f4(4)), (f4(2, 3, 5), f4(5), f4(2, 3)), (f4(5), f4(5), f4()), (f4(0, 5), f4(5), f4(0))]),
    "matrices": ([array("a", "float64", "m", "k"), array("b", "float64", "k", 3), array("o", "float64", "m", role="out")],
                 [(np.ones((2, 4)), np.ones((4, 3)), np.ones(2)), (np.ones((0, 4)), np.ones((4, 3)), np.ones(0))]),
    "strided": ([array("x", "float32", "m", "n", layout="strided"), array("o", "float32", "n", role="out")],
                [(f4(4, 6)[::2, ::-1], f4(6)), (f4(6, 4).T, f4(6)), (np.broadcast_to(f4(3), (7, 3)), f4(3)),
                 (f4(0, 3)[:, ::2], f4(2))]),
    "strided rows": ([array("x", "float32", ..., "n", layout="strided"), array("o", "float32", ..., role="out")],
                     [(f4(4, 6)[::2, ::-1], f4(2)), (f4(2, 3, 4).transpose(2, 0, 1), f4(4, 2)), (f4(9)[::3], f4())]),
    "written strided": ([array("x", "float32", ..., role="inout", layout="strided"), scalar("a", "float32")],
                        [(f4(4, 6)[::2, ::3], 1.5), (f4(4), 2), (f4(3, 3).T, -1.0)]),
    "broadcast": ([array("x", "float32", ..., layout="broadcast"), array("y", "float32", ..., layout="broadcast"),
                   array("o", "float32", ..., role="out")],
                  [(f4(3), f4(3), f4(3)), (f4(2, 1), f4(3), f4(2, 3)), (f4(), f4(2, 2), f4(2, 2)),
                   (f4(4, 6)[::2, ::-2], f4(3), f4(2, 3)), (f4(1, 3), f4(0, 1), f4(0, 3)), (f4(), f4(), f4()),
                   (np.broadcast_to(f4(3), (2, 3)), f4(2, 1), f4(2, 3))]),
    "broadcast with a full one": ([array("x", "float32", ...), array("y", "float32", ..., layout="broadcast"),
                                   array("o", "float32", ..., role="out")],
                                  [(f4(2, 3), f4(3), f4(2, 3)), (f4(2, 3), f4(1, 1), f4(2, 3))]),
    "scalars": ([scalar("b", "bool"), scalar("i", "int8"), scalar("u", "uint64"), scalar("f", "float32"),
                 scalar("d", "float64"), scalar("c", "complex64"), scalar("z", "complex128"), array("x", "float32", "n", role="inout")],
                [(True, -5, 2**63 - 1, 0.1, 0.1, 1 + 2j, 3 - 4j, f4(2)), (False, 127, 0, 3, -7, 2, 1.5, f4(0)),
                 (False, 0, 0, float("inf"), float("nan"), complex("inf"), complex("nan"), f4(0)),
                 (False, 0, 0, 2**60 + 1, 2**60 + 1, 2**60 + 1, 2**60 + 1, f4(0))]),
    "dimension": ([scalar("n", "int64"), scalar("v", "float32"), array("o", "float32", "n", role="out")],
                  [(3, 1.0, f4(3)), (0, 1.0, f4(0))]),
    "every dtype": ([array(d, d, "n") for d in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()],
                    [[np.zeros(3, d) for d in "bool i1 i2 i4 i8 u1 u2 u4 u8 f4 f8 c8 c16".split()]]),
    "long long": ([array("x", "int64", "n"), array("y", "uint64", "n")], [(np.zeros(3, "q"), np.zeros(3, "Q"))]),
    "output scalar": ([array("x", "float32", ...), scalar("t", "float64", "out")],
                      [(f4(3), np.zeros(())), (f4(0), np.zeros(()))]),
    "several outputs": ([array("x", "float32", ...), array("o", "float32", ..., role="out"), scalar("t", "float64", "out")],
                        [(f4(3), f4(3), np.zeros(()))]),
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    made = {}

    def get(name):
        if name not in made:
            parameters = SIGNATURES[name][0]
            made[name] = Native(write_kernel(tmp_path_factory.mktemp("k"), "k", parameters))
        return made[name]

    return get


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_words_of_both_paths_are_the_same(kernels, name):
    for args in SIGNATURES[name][1]:
        native, python = kernels(name).words("-", *args)
        assert native == python, args


def test_calls_that_are_not_plainly_right_are_handed_on(kernels):
    flat, x, o = kernels("flat"), f4(4), f4(4)
    assert flat.serves(x) and flat.serves(x, o) and flat.serves(x, o=o)
    assert not flat.serves()
    assert not flat.serves(x, o, o)
    assert not flat.serves(x=x)
    assert not flat.serves(x, q=o)
    assert not flat.serves(x, None)
    assert not flat.serves([1.0])
    assert not flat.serves(x.astype("f8"))
    assert not flat.serves(x.astype(">f4"))
    assert not flat.serves(x[::2])
    assert not flat.serves(x, f4(5))
    assert not flat.serves(x, f4(2, 2))
    assert not flat.serves(x, x)
    assert not flat.serves(x[:3], x[1:])
    assert flat.serves(x[:2], x[2:])
    assert not flat.serves(x.view(np.recarray))
    assert not flat.serves(np.frombuffer(bytes(17), "u1")[1:].view("f4"))
    assert flat.serves(np.frombuffer(bytes(16), "f4"))
    assert not flat.serves(x, np.frombuffer(bytes(16), "f4"))
    assert not flat.serves(np.float32(3))

    scalars, x = kernels("scalars"), f4(1)
    right = [True, 1, 1, 1.0, 1.0, 1j, 1j, x]
    assert scalars.serves(*right)
    for position, wrong in [
        (0, 1), (0, np.bool_(True)), (1, 128), (1, -129), (1, True), (1, 1.0), (1, np.int8(1)), (2, -1), (2, 2**63),
        (2, 2**64), (3, 1e39), (3, 10**400), (3, "1"), (3, np.float32(1)), (3, True), (4, None), (4, 1j), (5, 1e39 + 0j),
        (6, "z"), (7, 1.0),
    ]:  # fmt: skip
        assert not scalars.serves(*right[:position], wrong, *right[position + 1 :]), (position, wrong)

    dimension = kernels("dimension")
    assert not dimension.serves(-1, 1.0) and not dimension.serves(3, 1.0, f4(4))
    assert not dimension.serves(2**62, 1.0), "more memory than there is: the Python path says so"
    assert not kernels("matrices").serves(np.ones((2, 4)), np.ones((4, 2)))
    assert not kernels("matrices").serves(np.ones((2, 4)), np.ones((5, 3)))
    assert not kernels("rows").serves(np.float32(1), f4(5))
    assert not kernels("broadcast").serves(f4(2), f4(3))
    assert not kernels("broadcast").serves(f4(3), f4(3), f4(2, 3))
    assert not kernels("broadcast with a full one").serves(f4(3), f4(2, 3))
    deep = np.zeros((1,) * 20, "f4")
    assert not kernels("broadcast").serves(deep, deep), "more leading dims than it has room for"
    assert kernels("flat").serves(deep, deep.copy())


def test_outputs_that_are_not_given_are_made(kernels):
    made = kernels("rows").entry()(f4(2, 3, 5), f4(5))
    assert type(made) is np.ndarray and made.shape == (2, 3) and made.dtype == "f4" and made.flags.c_contiguous
    assert made.flags.owndata and made.flags.writeable
    made = kernels("dimension").entry()(7, 1.0)
    assert made.shape == (7,)
    made = kernels("broadcast").entry()(f4(2, 1, 1), f4(3, 1))
    assert made.shape == (2, 3, 1)
    assert kernels("written strided").entry()(f4(3), 1.0) is None
    total = kernels("output scalar").entry()(f4(3))
    assert type(total) is np.float64 and total == np.int64(7).view("f8")
    given = np.zeros(())
    assert kernels("output scalar").entry()(f4(3), given) is given
    assert given == np.int64(7).view("f8")


def test_fills_are_written_before_the_kernel_runs(tmp_path):
    parameters = [
        array("x", "float32", "n"), array("a", "float32", "n", role="out", fill="-inf"),
        array("b", "int64", "n", 2, role="out", fill="-3"), array("c", "complex128", "n", role="out", fill="2.5"),
        array("d", "bool", "n", role="out", fill="True"), scalar("e", "uint8", "out", fill="200"),
    ]  # fmt: skip
    native = Native(write_kernel(tmp_path, "k", parameters))
    for run in (native.entry(), native.kernel._dispatcher.call):
        for size in (0, 3):
            a, b, c, d, e = run(f4(size))
            assert a.tolist() == [-np.inf] * size and b.tolist() == [[-3, -3]] * size and c.tolist() == [2.5] * size
            assert d.tolist() == [True] * size and e == 200 and type(e) is np.uint8
        given = [np.ones(3, "f4"), np.ones((3, 2), "i8"), np.ones(3, "c16"), np.zeros(3, "?"), np.ones((), "u1")]
        for got, mine in zip(run(f4(3), *given), given):
            assert got is mine
        assert given[0][0] == -np.inf and given[1].sum() == -18 and given[2].sum() == 7.5 and given[4] == 200


def test_written_views_whose_elements_meet_are_handed_on(kernels):
    from numpy.lib.stride_tricks import as_strided

    native, python = kernels("written strided"), kernels("written strided").kernel._dispatcher.call
    data = f4(100)
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(400):
        shape = tuple(rng.integers(1, 4, rng.integers(0, 4)))
        strides = tuple(4 * rng.integers(0, 7, len(shape)))
        view = as_strided(data, shape, strides)
        try:
            python(view, 1.0)
            right = True
        except ValueError:
            right = False
        seen.add(right)
        assert native.serves(view, 1.0) == right, (shape, strides)
        if right:  # and then they really do not
            places = {sum(i * s for i, s in zip(index, strides)) for index in np.ndindex(shape)}
            assert len(places) == view.size
    assert seen == {True, False}


EXPRESSIONS = [
    "n - 2", "n // 2 + m", "(n + 3) % 4", "-n + 9", "n * m", "n ** 3", "m << 2", "n >> 1", "min(n, m, 4)", "max(n, m)",
    "abs(n - m)", "n if n < m else m", "n - m", "(n - m) // 3", "(n - m) % 3", "n // m", "n % m", "n % (m - 2)", "+n",
    "(n < m) + 1", "not n", "n and m", "n or m", "3 < n <= 5 and m", "K * n", "n - K", "2 ** 2", "n * 9223372036854775807",
    "(n == 3 or m) + 1", "abs(n - 4) if n != m else 0", "True + n", "K",
]  # fmt: skip


@pytest.mark.parametrize("chunk", range(4))
def test_dimensions_are_computed_as_python_computes_them(tmp_path, chunk):
    for number, text in enumerate(EXPRESSIONS[chunk::4]):
        parameters = [array("x", "float32", "n"), array("y", "float32", "m"), array("o", "uint8", text, role="out")]
        native = Native(write_kernel(tmp_path / str(number), "k", parameters, params={"K": 3}))
        shapes, python = [], native.kernel._dispatcher.call
        for n in range(7):
            for m in range(4):
                try:
                    wanted = int(eval(text, {"n": n, "m": m, "K": 3}))
                except ZeroDivisionError:
                    wanted = -1
                args = f4(n), f4(m)
                if 0 <= wanted < 10_000:
                    shapes.append(wanted)
                    assert native.entry()(*args).shape == (wanted,) == python(*args).shape, (text, n, m)
                    assert native.serves(*args, np.zeros(wanted, "u1"))
                    assert not native.serves(*args, np.zeros(wanted + 1, "u1"))
                else:
                    assert not native.serves(*args)
                    with pytest.raises((ValueError, MemoryError)):
                        python(*args)
        assert shapes


def test_conditions_are_python_s(tmp_path):
    for number, text in enumerate(["n % 2 == 0", "n > m", "n == m or m == 0", "not n < m", "1 <= n < 4 and m != 2", "n // m > 1"]):
        parameters = [array("x", "float32", "n"), array("y", "float32", "m"), array("o", "float32", "n", role="out")]
        native = Native(write_kernel(tmp_path / str(number), "k", parameters, requires=[text]))
        outcomes = set()
        for n in range(6):
            for m in range(4):
                try:
                    wanted = bool(eval(text, {"n": n, "m": m}))
                except ZeroDivisionError:
                    wanted = False
                outcomes.add(wanted)
                assert native.serves(f4(n), f4(m)) == wanted, (text, n, m)
        assert outcomes == {True, False}


def test_what_is_no_integer_arithmetic_goes_the_python_path(tmp_path):
    parameters = [array("x", "float32", "n"), array("o", "float32", "n", role="out")]
    for number, text in enumerate(["n / 2 > 1", "n * 0.5 > 1", "n < 1e3", "n << n < 99"]):
        native = Native(write_kernel(tmp_path / str(number), "k", parameters, requires=[text]))
        assert not native.serves(f4(3))
        assert native.kernel._dispatcher.call(f4(3)).shape == (3,)


def test_overlap_is_looked_at_by_address(tmp_path):
    parameters = [array("x", "float32", "n"), array("y", "float32", "n", role="inout"), array("o", "float32", "n", role="out")]
    native = Native(write_kernel(tmp_path, "k", parameters, aliases=[("o", "x")]))
    data = f4(30)
    x, y, o = data[:10], data[10:20], data[20:]
    assert native.serves(x, y, o)
    assert native.serves(x, y, x), "the pair that may be the same view"
    assert not native.serves(x, y, data[1:11])
    assert not native.serves(x, x, o)
    assert not native.serves(x, y, y)
    assert not native.serves(data[5:15], y, o)
    assert not native.serves(x, data[9:19])


def test_a_type_that_only_scalars_decide(tmp_path):
    parameters = [scalar("n", "int64"), scalar("v", "T"), array("o", "T", "n", role="out")]
    types = {"T": ["float32", "float64", "int64"]}
    path = write_kernel(tmp_path, "k", parameters, types=types)
    native = Native(path)
    assert not native.serves(3, 1.0, label="T=float32"), "a Python float means float64"
    assert native.serves(3, 1.0, label="T=float64") and not native.serves(3, 1, label="T=float64")
    assert native.serves(3, 1, label="T=int64")
    assert native.serves(3, 1.0, f4(3), label="T=float32"), "the given output decides"
    kernel = pydotcompute.load(path).k
    for _ in range(3):  # whichever entry is asked first, and before any is
        assert kernel(2, 1).dtype == "i8"
        assert kernel(2, 1.0).dtype == "f8"
        assert kernel(2, 1.0, f4(2)).dtype == "f4"
        assert kernel(2, np.float32(1)).dtype == "f4"


def test_specialisations_chain_and_python_is_the_last_link(tmp_path):
    saxpy = pydotcompute.load(write_saxpy(tmp_path)).saxpy
    for _ in range(3):
        for dtype in ("f4", "f8"):
            x, y = np.arange(5, dtype=dtype), np.ones(5, dtype)
            np.testing.assert_array_equal(saxpy(2.0, x, y), 2 * x + y)
            assert saxpy(2.0, x, y, out=y) is y
            assert saxpy(a=2.0, x=x, y=y).dtype == dtype
    assert type(saxpy.func).__name__ == "builtin_function_or_method"
    with pytest.raises(TypeError, match="int32"):
        saxpy(2.0, np.arange(5, dtype="i4"), np.ones(5, "i4"))


def test_references_are_exact(tmp_path, kernels):
    saxpy = pydotcompute.load(write_saxpy(tmp_path)).saxpy
    x, y, o = f4(8), f4(8), f4(8)
    saxpy(2.0, x, y)
    half, wide, total = 0.5, np.ones(8), np.zeros(())
    calls = {
        "given": lambda: saxpy(half, x, y, o),
        "by keyword": lambda: saxpy(half, x, y, out=o),
        "made": lambda: saxpy(half, x, y),
        "in place": lambda: saxpy(half, x, y, y),
        "another specialisation": lambda: saxpy(half, wide, wide),
        "several": lambda: kernels("several outputs").entry()(x),
        "several, given": lambda: kernels("several outputs").entry()(x, o, total),
        "a scalar": lambda: kernels("output scalar").entry()(x),
    }
    errors = {
        "wrong shape": lambda: saxpy(half, x, y[:3]),
        "wrong dtype": lambda: saxpy(half, x, o.view("i4")),
        "overlap": lambda: saxpy(half, x, y, x[::-1]),
        "no scalar": lambda: saxpy("", x, y),
    }
    watched = (x, y, o, half, wide, total, np.ndarray, x.dtype, np.dtype("f8"), None, saxpy)
    for name, call in {**calls, **errors}.items():
        def repeat(count, call=call):
            for _ in range(count):
                try:
                    call()
                except (TypeError, ValueError):
                    pass

        repeat(100)
        gc.collect()
        before, blocks = [sys.getrefcount(w) for w in watched], sys.getallocatedblocks()
        repeat(2000)
        gc.collect()
        after = [sys.getrefcount(w) for w in watched]
        assert all(abs(a - b) <= 20 for a, b in zip(after, before)), (name, before, after)
        assert abs(sys.getallocatedblocks() - blocks) < 500, name


def test_ten_million_calls_leave_no_trace(tmp_path):
    saxpy = pydotcompute.load(write_saxpy(tmp_path)).saxpy
    x, y, o = f4(4), f4(4), f4(4)
    for _ in range(10):
        saxpy(2.0, x, y, o), saxpy(2.0, x.astype("f8"), y.astype("f8"))

    def repeat(function, count):
        # A loop without bytecode of its own around each call: 10⁷ of them must not take a minute.
        from collections import deque
        from itertools import repeat as times

        deque(map(function, times(2.0, count), times(x), times(y), times(o)), maxlen=0)

    repeat(saxpy, 1000)
    before = [sys.getrefcount(w) for w in (x, y, o, saxpy)], sys.getallocatedblocks()
    repeat(saxpy, 10_000_000)
    after = [sys.getrefcount(w) for w in (x, y, o, saxpy)], sys.getallocatedblocks()
    assert after[0] == before[0]
    assert abs(after[1] - before[1]) < 200


def test_an_interpreter_that_lies_differently_takes_the_python_path(tmp_path, monkeypatch):
    from pydotcompute.runtime import native

    monkeypatch.setattr(native, "problem", lambda: "longer headers")
    saxpy = pydotcompute.load(write_saxpy(tmp_path)).saxpy
    x = f4(5)
    for _ in range(2):
        np.testing.assert_array_equal(saxpy(2.0, x, x), 3 * x)
    assert saxpy.func == saxpy._dispatcher.call
    assert isinstance(saxpy._dispatcher.loaded["T=float32", "cpu"], CPUKernel)


def test_the_interpreter_under_test_has_the_expected_layout():
    from pydotcompute.runtime import native

    assert native.problem() == ""
