"""The rules of a call, each with the exact words of its error; on the Python path, and through the native entry."""

import numpy as np
import pytest
from support import array, scalar, write_kernel, write_saxpy

import pydotcompute

X = np.arange(6, dtype="f4")


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    made = {}

    def get(name):
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            if name == "saxpy":
                path = write_saxpy(folder)
            else:
                parameters, more = KERNELS[name]
                path = write_kernel(folder, name, parameters, **more)
            made[name] = pydotcompute.load(path)[name]
        return made[name]

    return get


T = {"types": {"T": ["float32", "float64"]}}
KERNELS = {
    "matmul": ([array("a", "T", "m", "k"), array("b", "T", "k", "n"), array("out", "T", "m", "n", role="out")], T),
    "rope": ([array("x", "T", "heads", "dim", role="inout"), array("cos", "T", "half")],
             {**T, "requires": ["dim % 2 == 0", "half * 2 == dim"]}),
    "window": ([array("x", "float32", "n"), array("out", "float32", "n - 2", role="out")], {}),
    "add": ([array("x", "T", ..., layout="broadcast"), array("y", "T", ..., layout="broadcast"),
             array("out", "T", ..., role="out")], T),
    "norm": ([array("x", "T", ..., "n"), array("w", "T", "n"), array("out", "T", ..., "n", role="out")], T),
    "view": ([array("x", "float32", ..., role="inout", layout="strided")], {}),
    "fixed": ([array("x", "int32", 3), scalar("flag", "bool"), scalar("i", "int8"), scalar("u", "uint64"),
               scalar("f", "float32"), scalar("z", "complex64")], {}),
    "full": ([scalar("n", "int64"), scalar("value", "T"), array("out", "T", "n", role="out")], T),
    "shaped": ([scalar("value", "T"), array("out", "T", ..., role="out")], T),
    "table": ([scalar("n", "int64"), scalar("m", "int64"), array("out", "float32", "n", "m", role="out")], {}),
    "rows": ([array("row", "int32", "n + 1"), array("x", "float32", "n"), array("w", "float32", "2 * n - m"),
              scalar("m", "int64"), array("grown", "int8", ..., "rows + n", layout="strided")], {}),
    "part": ([array("x", "float32", "n"), array("out", "float32", "n * S", role="out")], {"params": {"S": [1.5]}}),
    "total": ([array("x", "float64", ...), scalar("sum", "float64", "out")], {}),
}  # fmt: skip

TOO_MANY = "kernels take arrays of fewer than 2**48 elements (sizes of 0 left out)"
ERRORS = [
    # ------------------------------------------------------------------------------------- which is which
    ("saxpy", (2.0, X), {}, TypeError,
     "saxpy is missing argument 'y': (a: T, x: T[...], y: T[...]) -> (out: T[...])"),
    ("saxpy", (), {}, TypeError,
     "saxpy is missing arguments 'a', 'x', 'y': (a: T, x: T[...], y: T[...]) -> (out: T[...])"),
    ("saxpy", (2.0, X, X, X, X), {}, TypeError, "saxpy takes 3 to 4 arguments (a, x, y, out), got 5"),
    ("saxpy", (2.0, X, X), {"x": X}, TypeError, "saxpy got two values for argument 'x'"),
    ("saxpy", (2.0, X), {"yy": X}, TypeError, "saxpy has no argument 'yy'; did you mean 'y'?"),
    ("saxpy", (2.0, X, X), {"where": X}, TypeError, "saxpy has no argument 'where'; it takes a, x, y, out"),
    # ------------------------------------------------------------------------- more elements than memory has
    ("matmul", (np.empty((2**47, 0), "f4"), np.empty((0, 2), "f4")), {}, ValueError,
     f"matmul: 'out' has shape (140737488355328, 2); {TOO_MANY}"),
    ("matmul", (np.empty((2**50, 0), "f4"), np.empty((0, 0), "f4")), {}, ValueError,
     f"matmul: 'a' has shape (1125899906842624, 0); {TOO_MANY}"),
    ("add", (np.broadcast_to(X[:1], (2**24, 2**24)), X[:1]), {}, ValueError,
     f"add: 'x' has shape (16777216, 16777216); {TOO_MANY}"),
    ("total", (np.empty((2**50, 0)),), {}, ValueError, f"total: 'x' has shape (1125899906842624, 0); {TOO_MANY}"),
    ("table", (2**50, 0), {}, ValueError, f"table: 'out' has shape (1125899906842624, 0); {TOO_MANY}"),
    ("full", (2**48, np.float32(1)), {}, ValueError, f"full: 'out' has shape (281474976710656,); {TOO_MANY}"),
    # --------------------------------------------------------------------------------------------- dtypes
    ("saxpy", (2.0, X.astype("i4"), X), {}, TypeError, "saxpy: 'x' must be float32 or float64, got int32"),
    ("saxpy", (2.0, X, X.astype("f8")), {}, TypeError, "saxpy: 'y' is float64, but 'x' is float32: both are T"),
    ("saxpy", (2.0, X, X, X.astype("f8")), {}, TypeError, "saxpy: 'out' is float64, but 'x' is float32: both are T"),
    ("saxpy", (2.0, X.astype(">f4"), X), {}, TypeError,
     "saxpy: 'x' is byte-swapped (>f4); x.astype('float32') makes a native copy"),
    ("saxpy", (2.0, X.astype("O"), X), {}, TypeError,
     "saxpy: 'x' has dtype object, which no kernel knows; there are bool, int8, int16, int32, int64, uint8, uint16, "
     "uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128"),
    ("saxpy", (2.0, [1.0], X), {}, TypeError,
     "saxpy: argument 'x' must be a NumPy array, got list; np.asarray(x) makes one"),
    ("saxpy", (2.0, None, X), {}, TypeError, "saxpy: argument 'x' must be a NumPy array, got NoneType"),
    ("saxpy", (2.0, X, X, [1.0]), {}, TypeError, "saxpy: output 'out' must be a NumPy array, got list"),
    ("saxpy", (2.0, np.ma.masked_array(X), X), {}, TypeError,
     "saxpy: 'x' is a masked array; kernels know no masks: pass its .data, or .filled(value)"),
    ("fixed", (np.zeros(3), True, 1, 1, 1.0, 1j), {}, TypeError, "fixed: 'x' must be int32, got float64"),
    ("saxpy", (2.0, np.float32, X), {}, TypeError,
     "saxpy: argument 'x' must be a NumPy array, got the class float32: give an array"),
    # -------------------------------------------------------------------------------------------- scalars
    ("saxpy", ("2", X, X), {}, TypeError, "saxpy: argument 'a' must be float32, got str"),
    ("saxpy", (1j, X, X), {}, TypeError, "saxpy: argument 'a' must be float32, got complex (1j)"),
    ("saxpy", (X, X, X), {}, TypeError, "saxpy: argument 'a' is a scalar (float32), got an array of shape (6,)"),
    ("saxpy", (np.float32, X, X), {}, TypeError,
     "saxpy: argument 'a' must be float32, got the class float32: give a value of it"),
    ("full", (3, int), {}, TypeError,
     "full: argument 'value' must be float32, got the class int: give a value of it"),
    ("saxpy", (1e39, X, X), {}, OverflowError, "saxpy: argument 'a': 1e+39 does not fit float32"),
    ("saxpy", (10**39, X, X), {}, OverflowError,
     "saxpy: argument 'a': 1000000000000000000000000000000000000000 does not fit float32"),
    ("saxpy", (10**400, X, X), {}, OverflowError,
     "saxpy: argument 'a': 1000000000000000000000000000000000000... does not fit float32"),
    ("saxpy", (np.complex64(1), X, X), {}, TypeError,
     "saxpy: argument 'a' must be float32, got numpy.complex64 ((1+0j))"),
    ("saxpy", (np.float64(1e39), X, X), {}, OverflowError, "saxpy: argument 'a': 1e+39 does not fit float32"),
    ("fixed", (np.zeros(3, "i4"), 1, 1, 1, 1.0, 1j), {}, TypeError, "fixed: argument 'flag' must be bool, got int (1)"),
    ("fixed", (np.zeros(3, "i4"), True, 1.0, 1, 1.0, 1j), {}, TypeError,
     "fixed: argument 'i' must be int8, got float (1.0)"),
    ("fixed", (np.zeros(3, "i4"), True, 128, 1, 1.0, 1j), {}, OverflowError,
     "fixed: argument 'i': 128 does not fit int8 (-128 to 127)"),
    ("fixed", (np.zeros(3, "i4"), True, np.int64(-129), 1, 1.0, 1j), {}, OverflowError,
     "fixed: argument 'i': -129 does not fit int8 (-128 to 127)"),
    ("fixed", (np.zeros(3, "i4"), True, np.float32(1), 1, 1.0, 1j), {}, TypeError,
     "fixed: argument 'i' must be int8, got numpy.float32 (1.0)"),
    ("fixed", (np.zeros(3, "i4"), True, 1, -1, 1.0, 1j), {}, OverflowError,
     "fixed: argument 'u': -1 does not fit uint64 (0 to 18446744073709551615)"),
    ("fixed", (np.zeros(3, "i4"), True, 1, 1, 1.0, 1e39j), {}, OverflowError,
     "fixed: argument 'z': 1e+39j does not fit complex64"),
    ("fixed", (np.zeros(3, "i4"), True, 1, 1, np.datetime64(0, "s"), 1j), {}, TypeError,
     "fixed: argument 'f' must be float32, got numpy.datetime64 (1970-01-01T00:00:00)"),
    # --------------------------------------------------------------------------------------------- shapes
    ("matmul", (np.zeros((2, 3)), np.zeros((4, 5))), {}, ValueError,
     "matmul: 'b' has k = 4 (shape (4, 5)), but 'a' (shape (2, 3)) has k = 3"),
    ("matmul", (np.zeros(3), np.zeros((3, 5))), {}, ValueError,
     "matmul: 'a' must have 2 dimensions (T[m, k]), got 1 (shape (3,))"),
    ("matmul", (np.zeros((2, 3)), np.zeros((3, 5)), np.zeros((2, 4))), {}, ValueError,
     "matmul: output 'out' must have shape (2, 5) (T[m, n]), got (2, 4)"),
    ("matmul", (np.zeros((2, 3)), np.zeros((3, 5)), np.zeros(10)), {}, ValueError,
     "matmul: 'out' must have 2 dimensions (T[m, n]), got 1 (shape (10,))"),
    ("fixed", (np.zeros(4, "i4"), True, 1, 1, 1.0, 1j), {}, ValueError,
     "fixed: 'x' must have 3 elements in dimension 0 (int32[3]), got 4 (shape (4,))"),
    ("rows", (X.astype("i4"), X, X, 6, np.zeros((3, 9), "i1")), {}, ValueError,
     "rows: 'row' must have n + 1 = 7 elements in dimension 0 (int32[n + 1], n = 6), got 6 (shape (6,))"),
    ("rows", (np.zeros(7, "i4"), X, X, 5, np.zeros((3, 9), "i1")), {}, ValueError,
     "rows: 'w' must have 2 * n - m = 7 elements in dimension 0 (float32[2 * n - m], n = 6, m = 5), got 6 (shape (6,))"),
    ("rows", (np.zeros(1, "i4"), X[:0], X[:0], 1, np.zeros((3, 3), "i1")), {}, ValueError,
     "rows: a dimension of argument 'w' is negative: 2 * n - m = -1 for n = 0, m = 1"),
    ("rows", (np.zeros(7, "i4"), X, X, 6, np.zeros((1, 3, 10), "i1")), {}, ValueError,
     "rows: 'grown' must have rows + n = 9 elements in dimension 2 (int8[..., rows + n], rows = 3, n = 6), got 10 "
     "(shape (1, 3, 10))"),
    ("saxpy", (2.0, X, X[:3]), {}, ValueError, "saxpy: 'y' has shape (3,) for '...', but 'x' has (6,)"),
    ("saxpy", (2.0, X, X.reshape(2, 3)), {}, ValueError, "saxpy: 'y' has shape (2, 3) for '...', but 'x' has (6,)"),
    ("saxpy", (2.0, X, X.copy(), X[:4].copy()), {}, ValueError,
     "saxpy: 'out' has shape (4,) for '...', but 'x' has (6,)"),
    ("norm", (np.zeros(()), np.zeros(3)), {}, ValueError,
     "norm: 'x' must have at least 1 dimension (T[..., n]), got 0 (shape ())"),
    ("norm", (np.zeros((2, 4)), np.zeros(3)), {}, ValueError,
     "norm: 'w' has n = 3 (shape (3,)), but 'x' (shape (2, 4)) has n = 4"),
    ("add", (np.zeros(3), np.zeros(4)), {}, ValueError,
     "add: 'y' with shape (4,) cannot be broadcast together with (3,)"),
    ("add", (np.zeros(3), np.zeros(3), np.zeros((2, 3))), {}, ValueError,
     "add: 'out' has shape (2, 3) for '...', but 'x' has (3,)"),
    ("add", (np.zeros((2, 1)), np.zeros(3), np.zeros((3, 2))), {}, ValueError,
     "add: 'out' has shape (3, 2) for '...', but the arguments broadcast to (2, 3)"),
    ("add", (np.zeros(3), np.zeros((2, 3)), np.zeros(3)), {}, ValueError,
     "add: 'out' has shape (3,) for '...', but 'y' has (2, 3)"),
    ("full", (2, "three"), {}, TypeError, "full: argument 'value' must be float32, got str"),
    ("full", (-1, 1.0), {}, ValueError, "full: n = -1 is a dimension, and negative"),
    ("full", (3, 1.0, np.zeros(4)), {}, ValueError, "full: output 'out' must have shape (3,) (T[n]), got (4,)"),
    ("shaped", (1.0,), {}, ValueError,
     "shaped: nothing says which shape output 'out' (T[...]) has; pass an array for it"),
    ("window", (X[:1],), {}, ValueError, "window: a dimension of output 'out' is negative: n - 2 = -1 for n = 1"),
    ("part", (X[:3],), {}, ValueError,
     "part: a dimension of output 'out' is not a whole number: n * S = 4.5 for n = 3, S = 1.5"),
    ("rope", (np.zeros((2, 3)), np.zeros(1)), {}, ValueError, "rope: requires dim % 2 == 0, got dim = 3"),
    ("rope", (np.zeros((2, 4)), np.zeros(1)), {}, ValueError, "rope: requires half * 2 == dim, got half = 1, dim = 4"),
    # --------------------------------------------------------------------------------------------- memory
    ("saxpy", (2.0, X[::2], X[:3]), {}, ValueError,
     "saxpy: 'x' must be C-contiguous, got shape (3,) with strides (8,); np.ascontiguousarray(x) makes a copy"),
    ("matmul", (np.zeros((3, 2)).T, np.zeros((3, 5))), {}, ValueError,
     "matmul: 'a' must be C-contiguous, got shape (2, 3) with strides (8, 16); np.ascontiguousarray(a) makes a copy"),
    ("saxpy", (2.0, X[:3], X[:3], X[::2]), {}, ValueError,
     "saxpy: 'out' must be C-contiguous, got shape (3,) with strides (8,)"),
    ("saxpy", (2.0, np.zeros(13, "u1")[1:].view("f4"), X[:3]), {}, ValueError,
     "saxpy: 'x' is not aligned to its float32 elements; x.copy() is"),
    ("saxpy", (2.0, X, X, np.frombuffer(bytes(24), "f4")), {}, ValueError,
     "saxpy: 'out' is written by the kernel, but it is read-only"),
    ("view", (np.lib.stride_tricks.as_strided(X.copy(), (3, 3), (4, 4)),), {}, ValueError,
     "view: 'x' is written by the kernel, but elements of it share memory (shape (3, 3), strides (4, 4))"),
    ("saxpy", (2.0, X[:4], X[:4].copy(), X[1:5]), {}, ValueError,
     "saxpy: 'x' and 'out' share memory, 'out' is written, and they are not the same view"),
    ("norm", (X.reshape(2, 3), X[:3], None), {"out": X}, TypeError, "norm got two values for argument 'out'"),
    ("matmul", (X[:4].reshape(2, 2),) * 2, {"out": X[:4].reshape(2, 2)}, ValueError,
     "matmul: 'a' and 'out' share memory, 'out' is written, and the kernel does not work in place there"),
]  # fmt: skip


@pytest.mark.parametrize("name, args, kwargs, kind, text", ERRORS, ids=[f"{e[0]}: {e[4]}"[:70] for e in ERRORS])
def test_error(lib, name, args, kwargs, kind, text):
    kernel = lib(name)
    for door in (kernel, kernel._dispatcher.call, kernel.which):
        with pytest.raises(kind) as caught:
            door(*args, **kwargs)
        assert str(caught.value) == text and type(caught.value) is kind


def test_more_memory_than_there_is(lib):
    for door in (lib("full"), lib("full")._dispatcher.call):
        with pytest.raises((MemoryError, ValueError)):
            door(2**60, 1.0)


def test_arguments_by_name_in_any_order_and_none_for_an_output(lib):
    x, y, o = X, X + 1, np.zeros(6, "f4")
    wanted = 2 * x + y
    for kwargs in (
        {"a": 2.0, "y": y, "x": x},
        {"out": o, "x": x, "y": y, "a": 2},
        {"a": 2, "x": x, "y": y, "out": None},
    ):
        np.testing.assert_array_equal(lib("saxpy")(**kwargs), wanted)
    assert lib("saxpy")(2.0, x, y=y, out=o) is o
    np.testing.assert_array_equal(lib("saxpy")(2.0, x, y, None), wanted)


def test_what_outputs_are(lib):
    x = np.zeros((2, 3), "f4")
    assert lib("saxpy")(1.0, x, x).shape == (2, 3)
    assert lib("saxpy")(1.0, np.zeros((), "f4"), np.zeros((), "f4")).shape == ()
    assert lib("saxpy")(1.0, np.zeros((0, 3)), np.zeros((0, 3))).shape == (0, 3)
    assert lib("window")(X).shape == (4,) and lib("window")(X[:2]).shape == (0,)
    assert type(lib("total")(np.zeros(3))) is np.float64
    given = np.zeros(())
    assert lib("total")(np.zeros(3), given) is given
    assert lib("view")(X.copy()) is None


def test_the_same_view_may_be_output_where_the_kernel_allows_it(lib):
    x, y = X.copy(), X + 1
    wanted = 2 * x + y
    assert lib("saxpy")(2.0, x, y, out=y) is y
    np.testing.assert_array_equal(y, wanted)
    view = x[:]
    lib("saxpy")(2.0, x, np.zeros(6, "f4"), view)
    np.testing.assert_array_equal(x, 2 * X)


def test_overlap_is_exact_where_arrays_interleave(tmp_path):
    parameters = [
        array("x", "float32", "n", layout="strided"),
        array("y", "float32", "n", role="inout", layout="strided"),
    ]
    kernel = pydotcompute.load(write_kernel(tmp_path, "k", parameters)).k
    data = np.zeros(10, "f4")
    for _ in range(2):
        assert kernel(data[::2], data[1::2]) is None  # one range of addresses, no byte in common
        with pytest.raises(ValueError, match="share memory"):
            kernel(data[::2], data[:5])


def test_size_zero_shares_nothing(lib):
    empty = np.zeros((0,), "f4")
    assert lib("saxpy")(2.0, empty, empty, empty) is empty
    inside = X[3:3]
    assert lib("saxpy")(2.0, inside, inside.copy(), inside) is inside


def test_subclasses_are_taken_as_their_memory(lib, tmp_path):
    class Mine(np.ndarray):
        pass

    x = X.view(Mine)
    made = lib("saxpy")(2.0, x, x)
    assert type(made) is np.ndarray
    out = np.zeros(6, "f4").view(Mine)
    assert lib("saxpy")(2.0, x, x, out) is out and type(out) is Mine
    np.testing.assert_array_equal(np.asarray(out), 3 * X)
    memory = np.memmap(tmp_path / "file", "f4", "w+", shape=6)
    lib("saxpy")(1.0, X, X, memory)
    np.testing.assert_array_equal(np.asarray(memory), 2 * X)


@pytest.mark.parametrize(
    "value, dtype",
    [(1.0, "f8"), (1, "f4"), (True, "f4"), (np.float32(1), "f4"), (np.float64(1), "f8"), (np.float16(1), "f4"),
     (np.int8(1), "f4")],
)  # fmt: skip
def test_scalars_decide_types_where_no_array_does(lib, value, dtype):
    assert lib("full")(2, value).dtype == dtype
    assert lib("shaped")(value, np.zeros(3, "f4")).dtype == "f4"


def test_numpy_scalars_convert_same_kind(lib):
    for value in (np.float64(2), np.float16(2), np.int32(2), np.bool_(True), np.longdouble(2), 2, True):
        np.testing.assert_array_equal(lib("saxpy")(value, X, X), np.float32(value) * X + X)
    assert np.isinf(lib("saxpy")(float("inf"), X, X)[1])
    assert np.isinf(lib("saxpy")(np.longdouble("inf"), X, X)[1])


def test_each_part_of_a_scalar_fits_its_type_or_is_refused(lib):
    beyond = np.ldexp(np.longdouble(1), 1024)  # infinite as a float64, where longdouble is more
    for x in (X, X.astype("f8")) if np.isfinite(beyond) else ():
        with pytest.raises(OverflowError, match=r"saxpy: argument 'a': 1\.79\d+e\+308 does not fit float"):
            lib("saxpy")(beyond, x, x)
    good = np.zeros(3, "i4"), True, 0, 0, 0.0
    assert lib("fixed")(*good, complex(np.inf, 1)) is None
    for wide in (complex(np.inf, 1e39), np.complex128(complex(1e39, np.inf))):
        with pytest.raises(OverflowError, match="fixed: argument 'z': .* does not fit complex64"):
            lib("fixed")(*good, wide)


def test_a_scalar_of_another_kind_is_shown_in_short(lib):
    with pytest.raises(TypeError, match=r"must be float32, got numpy\.str_ \(x{37}\.\.\.\)$"):
        lib("saxpy")(np.str_("x" * 1000), X, X)


def test_params_are_chosen_by_keyword(tmp_path):
    from support import bound, elementwise, entry_ir, kernel_entry, shared_object, write_project

    parameters = [
        scalar("a", "float32"),
        *(array(n, "float32", ...) for n in "xy"),
        array("out", "float32", ..., role="out"),
    ]
    scaled = elementwise().replace("%m = fmul float %a, %xv", "%k = fmul float %a, %xv\n  %m = fmul float %k, 2.0")
    plain, double = (
        bound(shared_object(entry_ir(parameters, ["size"]), run), "k", parameters, label)
        for run, label in ((elementwise(), "TILE=1"), (scaled, "TILE=2"))
    )
    entry = kernel_entry(
        "k", parameters,
        {"TILE=1": ({}, {"TILE": 1}, (), {"cpu:x86-64": plain}),
         "TILE=2": ({}, {"TILE": 2}, (), {"cpu:x86-64": double})},
        params={"TILE": [1, 2]},
    )  # fmt: skip
    k = pydotcompute.load(write_project(tmp_path, {"k": entry}, [plain, double])).k
    for _ in range(2):
        np.testing.assert_array_equal(k(1.0, X, X, TILE=2), 3 * X)
        np.testing.assert_array_equal(k(1.0, X, X), 2 * X)
        np.testing.assert_array_equal(k(1.0, X, X, TILE=1), 2 * X)
    with pytest.raises(ValueError) as caught:
        k(1.0, X, X, TILE=3)
    assert str(caught.value) == "k: TILE=3 is not declared; TILE may be 1, 2"
    assert [s.params for s in k.specializations] == [{"TILE": 1}, {"TILE": 2}]


def test_a_device_array_and_a_numpy_array_in_one_call(lib):
    class OnDevice:
        __cuda_array_interface__ = {"shape": (6,), "typestr": "<f4", "data": (0, False), "version": 3}

    for door in (lib("saxpy"), lib("saxpy")._dispatcher.call):
        with pytest.raises(ValueError) as caught:
            door(2.0, X, OnDevice())
        assert str(caught.value) == "saxpy: 'y' is an array of the backend 'cuda', but 'x' of 'cpu'"
