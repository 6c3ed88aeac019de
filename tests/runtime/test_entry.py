"""Native entry points: which calls they serve, and that they mean what the Python path means."""

import ctypes
import functools
import inspect
import random
import sys
import tracemalloc
import warnings
from itertools import permutations, product

import numpy as np
import pytest
from entries import SIGNATURES, Native, Refused, f4, refuse
from support import array, read_seen, scalar, write_kernel, write_saxpy

import pydotcompute
from pydotcompute.backends.cpu.kernel import CPUKernel
from pydotcompute.artifact.signature import DTYPES


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
    assert not flat.serves(x, q=o)
    assert not flat.serves(x, x=x) and not flat.serves(o=o) and not flat.serves(x, o, o=o)
    assert not flat.serves([1.0])
    assert not flat.serves(x.astype("f8"))
    assert not flat.serves(x.astype(">f4"))
    assert not flat.serves(x[::2])
    assert not flat.serves(x, f4(5))
    assert not flat.serves(x, f4(2, 2))
    assert not flat.serves(x, x)
    assert not flat.serves(x[:3], x[1:])
    assert flat.serves(x[:2], x[2:])
    assert not flat.serves(np.frombuffer(bytes(17), "u1")[1:].view("f4"))
    assert flat.serves(np.frombuffer(bytes(16), "f4"))
    assert not flat.serves(x, np.frombuffer(bytes(16), "f4"))
    assert not flat.serves(np.float32(3))

    scalars, x = kernels("scalars"), f4(1)
    right = [True, 1, 1, 1.0, 1.0, 1j, 1j, x]
    assert scalars.serves(*right)
    for position, wrong in [
        (0, 1), (1, 128), (1, -129), (1, 1.0), (2, -1), (2, 2**63), (2, 2**64), (3, 1e39), (3, 10**400), (3, "1"),
        (3, np.zeros((), "f4")), (4, None), (4, 1j), (5, 1e39 + 0j), (6, "z"), (7, 1.0),
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


def test_a_keyword_made_at_run_time_is_as_good_as_one_that_is_written(tmp_path):
    write_saxpy(tmp_path)
    saxpy, x, out = Native(tmp_path, "saxpy"), f4(4), f4(4)
    for name in ("out", "".join(("o", "ut")), type("Text", (str,), {})("out")):
        assert saxpy.serves(2.0, x, x, **{name: out}), type(name)
    assert not saxpy.serves(2.0, x, x, **{"".join(("ou", "d")): out})
    assert not saxpy.serves(2.0, x, x, **{"".join(("ou", "tt")): out})


def test_every_number_that_may_become_an_argument_does(kernels):
    """As the Python path converts it, and only where that does."""
    native = kernels("scalars")
    right = [True, 1, 1, 1.0, 1.0, 1j, 1j, f4(1)]
    values = [True, False, 0, -1, 127, 128, 255, 256, 2**24 + 1, 2**53 + 1, -(2**63), 2**63 - 1, 0.1, -0.0, 1e300,
              float("inf"), float("nan"), 1.5 - 2.5j, 1e300j]  # fmt: skip
    for code in "?bBhHiIlLqQfdFD":
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values += [np.array(v).astype(code)[()] for v in (1, -1, 100, 2**31, 1e300, 0.1, float("nan"), 2 - 3j)]
    seen = {True: 0, False: 0}
    for value in values:
        for position in range(7):
            args = [*right[:position], value, *right[position + 1 :]]
            try:
                native.kernel._dispatcher.checked(args, {})
                fits = True
            except (TypeError, OverflowError):
                fits = False
            served = native.serves(*args)
            seen[served] += 1
            if isinstance(value, np.unsignedinteger) and value >= 2**63:
                assert fits or not served
                continue
            assert served == fits, (value, type(value), position)
            if served:
                one, other = native.words("-", *args)
                assert one == other, (value, type(value), position)
    assert min(seen.values()) > 200


def test_arguments_by_name_in_any_order(tmp_path):
    write_saxpy(tmp_path)
    saxpy, x, y, out = Native(tmp_path, "saxpy"), f4(4), f4(4) + 1, f4(4)
    given = {"a": 2.0, "x": x, "y": y, "out": out}
    for order in permutations(given):
        for known in range(5):
            by_name = {name: given[name] for name in order if name not in tuple(given)[:known]}
            assert saxpy.entry()(*tuple(given.values())[:known], **by_name) is out
            assert out.tolist() == (2 * x + y).tolist()
            out[:] = 0
    made = saxpy.entry()(y=y, x=x, a=2.0)
    assert made is not out and made.tolist() == (2 * x + y).tolist()
    assert saxpy.entry()(2.0, x, y, None).tolist() == made.tolist() == saxpy.entry()(2.0, x, out=None, y=y).tolist()
    for args, names in [((2.0, x), {"out": out}), ((2.0, x, y), {"x": x}), ((), given | {"z": 1}), ((1,) * 5, given)]:
        assert not saxpy.serves(*args, **names), (args, names)


def test_some_outputs_given_and_others_not(kernels):
    several, o, t = kernels("several outputs"), f4(3), np.zeros(())
    assert several.serves(f4(3), o, t) and several.serves(f4(3), None, None) and several.serves(f4(3), t=t, o=o)
    assert not several.serves(f4(3), o) and not several.serves(f4(3), t=t) and not several.serves(f4(3), None, t)
    assert several.kernel(f4(3), t=t)[1] is t and several.kernel(f4(3), None, t)[1] is t


@pytest.mark.slow
def test_params_choose_among_all_specialisations(tmp_path):
    parameters = [scalar("v", "T"), array("x", "U", "n"), array("o", "U", "n", role="out", fill="0")]
    types = {"U": ["float32", "float64"], "T": ["int64", "float64", "float32"]}
    params = {"TILE": [16, 32, 8], "FAST": [True, False], "EPS": [0.5, 0.25]}
    kernel = pydotcompute.load(write_kernel(tmp_path, "k", parameters, types=types, params=params)).k
    calls = [
        ((v, np.ones(3, u)), dict(zip(params, chosen)))
        for u in ("f4", "f8") for v in (1, 1.0, np.float32(1)) for chosen in product(*params.values())
    ]  # fmt: skip
    random.Random(0).shuffle(calls)
    for args, chosen in calls:
        kernel(*args, **chosen)
    dispatcher = kernel._dispatcher
    assert len(dispatcher.loaded) == len(calls) == 72
    counts = {
        label: ctypes.c_int64.in_dll(loaded.library, "calls") for (label, _), loaded in dispatcher.loaded.items()
    }
    dispatcher.call = refuse  # what is bound keeps its own
    before = [sys.getrefcount(x) for (_, x), _ in calls]
    for args, chosen in calls:
        label = dispatcher.checked(args, chosen)[0].specialisation.name
        was = {name: count.value for name, count in counts.items()}
        by_name = dict(zip("vx", args)) | chosen
        kernel.func(**by_name)
        kernel.func(*args, **dict(reversed(chosen.items())))
        if (chosen["TILE"], chosen["FAST"], chosen["EPS"]) == (16, True, 0.5):
            kernel.func(*args)
        now = {name: count.value for name, count in counts.items()}
        assert {name for name in now if now[name] != was[name]} == {label}
    del by_name
    assert before == [sys.getrefcount(x) for (_, x), _ in calls]
    with pytest.raises(ValueError, match="TILE=64 is not declared; TILE may be 16, 32, 8"):
        kernel(1, np.ones(3), TILE=64)
    assert kernel(1, np.ones(3), TILE=np.int8(32), FAST=1).shape == (3,)  # equal, so the same


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


@pytest.mark.slow
def test_outputs_of_every_dtype(tmp_path):
    pytest.importorskip("ml_dtypes")
    dtypes = DTYPES
    parameters = [array("x", "float32", "n")]
    parameters += [array(f"a{d}", d, "n", role="out", fill="True" if d == "bool" else "3") for d in dtypes]
    parameters += [scalar(f"s{d}", d, "out", fill="True" if d == "bool" else "3") for d in dtypes]
    native = Native(write_kernel(tmp_path, "k", parameters))
    for run in (native.entry(), native.kernel._dispatcher.call):
        results = run(f4(2))
        for k, dtype in enumerate(dtypes):
            made, single = results[k], results[len(dtypes) + k]
            wanted = np.dtype(dtype).type(3)
            assert made.dtype == np.dtype(dtype) and made.dtype.isbuiltin and (made == wanted).all()
            if dtype not in ("int64", "float64"):  # where the recorder writes a 7
                assert type(single) is np.dtype(dtype).type and single == wanted


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


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bfloat16"])  # NumPy alone has none
def test_fills_of_any_length_reach_the_last_element_and_no_further(tmp_path, dtype):
    """Whole lines at once, then what is left; the bytes behind it are somebody else's."""
    fill = "True" if dtype == "bool" else "3"
    parameters = [array("x", "float32", "n"), array("o", dtype, "n", role="out", fill=fill)]
    native = Native(write_kernel(tmp_path, "k", parameters))
    for n in (1, 3, 4, 5, 31, 32, 33, 63, 64, 65, 129):
        room = np.zeros(n + 130, dtype)
        for first in (0, 1, 7):
            room[...] = 0
            native.entry()(f4(n), room[first : first + n])
            assert (room[first : first + n] == 3 if dtype != "bool" else room[first : first + n]).all(), (n, first)
            assert not room[:first].any() and not room[first + n :].any(), (n, first)


def test_scratch_lives_as_long_as_the_call(tmp_path):
    """Both paths allocate it, fill it, and give it back; nobody passes it."""
    parameters = [
        array("x", "float32", "n"), array("o", "float32", "n", role="out"), scalar("e", "float64", "out"),
        array("q", "float32", "n * n", role="temp", fill="2"), array("w", "int64", 1 << 20, role="temp"),
        scalar("s", "int64", "temp", fill="5"),
    ]  # fmt: skip
    native = Native(write_kernel(tmp_path, "k", parameters))
    loaded = next(iter(native.bound.values()))[0]
    for run in (native.entry(), native.kernel._dispatcher.call):
        made = run(f4(3))
        assert [type(a) for a in made] == [np.ndarray, np.float64] and made[0].shape == (3,)
        x, o, e, q, w, s = read_seen(loaded.library, loaded.artifact)[:6]
        assert len({x, o, e, q, w, s}) == 6 and all((x, o, e, q, w, s))
        with pytest.raises((TypeError, Refused)):
            run(f4(3), f4(3), np.zeros(()), f4(9))
        given, total = f4(3), np.zeros(())
        before = sys.getrefcount(given), sys.getrefcount(total)
        tracemalloc.start()
        for _ in range(50):
            assert run(f4(3), given, total) == (given, total)
            run(f4(3))
        left, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert left < 1 << 20 and 1 << 23 <= most < 1 << 25
        assert (sys.getrefcount(given), sys.getrefcount(total)) == before
    assert inspect.signature(native.kernel).parameters.keys() == {"x", "o", "e"}


def test_scratch_that_cannot_be_had(tmp_path):
    parameters = [
        scalar("n", "int64"), array("o", "float32", 2, role="out"), scalar("e", "float64", "out"),
        array("p", "int8", "n - 1", role="temp"), array("q", "float64", "n * 4", role="temp"),
    ]  # fmt: skip
    native = Native(write_kernel(tmp_path, "k", parameters))
    given, total = f4(2), np.zeros(())
    before = sys.getrefcount(given), sys.getrefcount(total)
    assert native.serves(1) and not native.serves(0) and not native.serves(0, given, total)
    assert not native.serves(1 << 45) and not native.serves(1 << 45, given, total)
    assert (sys.getrefcount(given), sys.getrefcount(total)) == before
    with pytest.raises(ValueError, match="k: a dimension of scratch 'p' is negative: n - 1 = -1 for n = 0"):
        native.kernel(0)
    with pytest.raises(MemoryError):
        native.kernel(1 << 45, given, total)


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


def test_overlap_is_looked_at_by_address(tmp_path):
    parameters = [
        array("x", "float32", "n"),
        array("y", "float32", "n", role="inout"),
        array("o", "float32", "n", role="out"),
    ]
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


def test_an_interpreter_that_lies_differently_takes_the_python_path(tmp_path, monkeypatch):
    from pydotcompute.backends.cpu import native

    monkeypatch.setattr(native, "problem", lambda: "longer headers")
    saxpy = pydotcompute.load(write_saxpy(tmp_path)).saxpy
    x = f4(5)
    for _ in range(2):
        np.testing.assert_array_equal(saxpy(2.0, x, x), 3 * x)
    assert saxpy.func == saxpy._dispatcher.call
    (loaded,) = saxpy._dispatcher.loaded.values()
    assert isinstance(loaded, CPUKernel)


def test_keywords_reach_the_entry_without_a_dictionary(tmp_path):
    """Whatever the interpreter's version lets a subclass of functools.partial inherit."""
    saxpy, x = pydotcompute.load(write_saxpy(tmp_path)).saxpy, f4(5)
    assert saxpy(a=2.0, x=x, y=x).tolist() == (3 * x).tolist()
    assert type(saxpy).__flags__ & functools.partial.__flags__ & 1 << 11
    assert saxpy(y=x, x=x, a=2.0).tolist() == (3 * x).tolist()
    assert not type("Mine", (functools.partial,), {}).__flags__ & 1 << 11 or sys.version_info >= (3, 12)


def test_the_interpreter_under_test_has_the_expected_layout():
    from pydotcompute.backends.cpu import native

    assert native.problem() == ""
