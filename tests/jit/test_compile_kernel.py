"""`compile_kernel` of the CPU: types, errors, one object a request, machine code from the disk."""

import os
import pickle
import subprocess
import sys
import textwrap
import time
from hashlib import sha256
from pathlib import Path

import numba
import numpy as np
import pytest

from pydotcompute.backends import CPUBackend
from pydotcompute.jit import cpu as jit, cuda
from pydotcompute.jit.fingerprint import Unknown, fingerprint
from pydotcompute.jit.store import FunctionStore
from pydotcompute.errors import CompilationError
from pydotcompute.artifact.remedies import install


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "pydotcompute" / "functions"


@pytest.fixture
def cpu():
    return CPUBackend()


def saxpy(a, x, y, out):
    for i in range(x.size):
        out[i] = a * x[i] + y[i]


SAXPY = (np.float32, "float32[::1]", "float32[::1]", "float32[::1]")


def test_a_function_is_compiled_and_launched(cpu):
    kernel = cpu.compile_kernel(saxpy, SAXPY)
    x, out = np.arange(5, dtype="f4"), cpu.allocate(5)
    assert cpu.launch_kernel(kernel, (1,), (5,), 2.0, x, x, out) is None
    np.testing.assert_array_equal(out, 3 * x)
    with pytest.raises(TypeError, match="No matching definition"):
        kernel(2.0, x, x, out.astype("f8"))


def test_the_same_request_is_the_same_object(cpu):
    kernel = cpu.compile_kernel(saxpy, SAXPY)
    assert cpu.compile_kernel(saxpy, list(SAXPY)) is kernel
    assert cpu.compile_kernel(saxpy, (numba.float32, *[numba.float32[::1]] * 3)) is kernel
    assert cpu.compile_kernel(numba.njit(saxpy), SAXPY) is kernel
    assert CPUBackend().compile_kernel(saxpy, (np.dtype("f4"), *SAXPY[1:])) is kernel
    assert cpu.compile_kernel(saxpy, (np.float64, *SAXPY[1:])) is not kernel


def identity(x):
    return x


@pytest.mark.parametrize(
    "given, wanted",
    [(np.float32, "float32"), (np.int8, "int8"), (np.bool_, "bool"), (np.complex64, "complex64"),
     (np.dtype("u2"), "uint16"),
     (float, "float64"), (int, "int64"), (bool, "bool"), (complex, "complex128"), ("float64", "float64"),
     (" int32 [ : ] ", "array(int32, 1d, A)"), ("float32[:, ::1]", "array(float32, 2d, C)"),
     ("float32[::1]", "array(float32, 1d, C)"), ("complex64[::1, :]", "array(complex64, 2d, F)"),
     ("bool[:,:,:]", "array(bool, 3d, A)"), (numba.int64, "int64")],
)  # fmt: skip
def test_types_of_arguments(cpu, given, wanted):
    kernel = cpu.compile_kernel(identity, (given,))
    assert [str(t) for t in kernel.signatures[0]] == [wanted]


@pytest.mark.parametrize(
    "func, signature, kind, text",
    [
        (saxpy, (np.float32,), TypeError, "saxpy takes 4 arguments (a, x, y, out), the signature has 1"),
        (identity, (), TypeError, "identity takes 1 argument (x), the signature has 0"),
        (saxpy, "float32", TypeError, "a signature is a tuple of types, one an argument, got 'float32'"),
        (identity, (np.ndarray,), TypeError,
         "<class 'numpy.ndarray'> is not an argument type; write an array's as a string, such as 'float32[:, ::1]'"),
        (identity, (str,), TypeError, "<class 'str'> is not an argument type"),
        (identity, ("float31",), TypeError, "'float31' is not an argument type: there is no dtype 'float31'"),
        (identity, ("float32[n]",), TypeError,
         "'float32[n]' is not an argument type; write one such as 'float32' or 'float32[:, ::1]'"),
        (identity, ("float32[::1, :, ::1]",), TypeError,
         "'float32[::1, :, ::1]' is not an argument type: each dimension is ':', the first or last may be '::1'"),
        (identity, ("object[:]",), TypeError, "'object[:]' is not an argument type: there is no dtype 'object'"),
        (len, (np.float32,), TypeError, "only a Python function can be compiled, got builtin_function_or_method"),
    ],
)  # fmt: skip
def test_mistakes(cpu, func, signature, kind, text):
    with pytest.raises(kind) as caught:
        cpu.compile_kernel(func, signature)
    assert str(caught.value) == text


def test_what_numba_refuses_is_raised_here(cpu):
    def wrong(x):
        return x.no_such_thing

    with pytest.raises(CompilationError) as caught:
        cpu.compile_kernel(wrong, (np.float64,))
    told = str(caught.value)
    assert told.startswith(
        "test_what_numba_refuses_is_raised_here.<locals>.wrong(float64) cannot be compiled: Unknown attribute"
    )
    assert "return x.no_such_thing" in told and "pipeline" not in told


PROGRAM = """
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from mine import kernel
from pydotcompute.backends import CPUBackend
made = CPUBackend().compile_kernel(kernel, ("float64[::1]",))
x = np.ones(3)
made(x)
print(x[0], sum(made._cache_hits.values()))
"""


def in_new_process(folder: Path, text: str, helper: str = "") -> tuple[float, int]:
    folder.mkdir(exist_ok=True)
    (folder / "mine.py").write_text(textwrap.dedent(text))
    (folder / "other.py").write_text(textwrap.dedent(helper))
    done = subprocess.run([sys.executable, "-B", "-c", PROGRAM, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    value, hits = done.stdout.split()
    return float(value), int(hits)


MINE = """
import numba
import other
K = 3.0
@numba.njit
def helper(v):
    return v * K
def kernel(x):
    for i in range(x.size):
        x[i] = helper(x[i]) + other.shift(x[i])
"""
OTHER = """
import numba
@numba.njit
def shift(v):
    return v + 10
"""


def test_machine_code_comes_from_the_disk_and_never_stale(tmp_path, cache):
    one = tmp_path / "one"
    assert in_new_process(one, MINE, OTHER) == (14, 0)
    assert in_new_process(one, MINE, OTHER) == (14, 1)
    assert in_new_process(tmp_path / "two", "# a comment and another folder\n" + MINE, OTHER) == (14, 1)
    assert in_new_process(one, MINE.replace("K = 3.0", "K = 4.0"), OTHER) == (15, 0), "a constant"
    assert in_new_process(one, MINE.replace("v * K", "v - K"), OTHER) == (9, 0), "a helper"
    assert in_new_process(one, MINE, OTHER.replace("10", "20")) == (24, 0), "a helper of another module"
    assert in_new_process(one, MINE, OTHER) == (14, 1)
    assert (cache.stat().st_mode & 0o777) == 0o700 and {f.stat().st_mode & 0o777 for f in cache.iterdir()} == {0o600}


def test_damaged_entries_are_misses_and_replaced(tmp_path, cache):
    assert in_new_process(tmp_path / "one", MINE, OTHER) == (14, 0)
    (entry,) = cache.iterdir()
    whole = entry.read_bytes()
    for damaged in (whole[:-1], b"", whole[:40] + b"?" + whole[41:]):
        entry.write_bytes(damaged)
        assert in_new_process(tmp_path / "one", MINE, OTHER) == (14, 0)
        assert len(entry.read_bytes()) == len(whole)
    assert in_new_process(tmp_path / "one", MINE, OTHER) == (14, 1)


@pytest.mark.parametrize("body", [
    b"no pickle", pickle.dumps(7), pickle.dumps((1, 2)), pickle.dumps((None,) * 9), pickle.dumps(({},) * 9),
    b"cno_such_module\nname\n.",
])  # fmt: skip
def test_an_entry_of_another_shape_is_a_miss_and_replaced(tmp_path, cache, body):
    assert in_new_process(tmp_path / "one", MINE, OTHER) == (14, 0)
    (entry,) = cache.iterdir()
    entry.write_bytes(sha256(body).digest() + body)
    assert in_new_process(tmp_path / "one", MINE, OTHER) == (14, 0)
    assert in_new_process(tmp_path / "one", MINE, OTHER) == (14, 1)


def test_an_entry_for_other_types_is_a_miss(tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "_compiled", {})
    store = FunctionStore(str(tmp_path / "store"))

    def kernel(x):
        return x + 1

    for kind in (float, int):
        jit.compile_function(kernel, (kind,), store)
    one, other = (tmp_path / "store").iterdir()
    one.write_bytes(other.read_bytes())
    jit._compiled.clear()
    assert jit.compile_function(kernel, (float,), store)(1.5) == 2.5
    assert jit.compile_function(kernel, (int,), store)(1) == 2
    assert one.read_bytes() != other.read_bytes()


def test_what_killed_writers_left_is_swept(tmp_path):
    store = FunctionStore(str(tmp_path))
    for name, age in (("old.new", 4000), ("young.new", 60), ("entry", 10**6)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    store.put("key", b"data")
    assert sorted(os.listdir(tmp_path)) == ["entry", "key", "young.new"]


def test_what_others_can_write_is_not_read(tmp_path):
    store = FunctionStore(str(tmp_path / "store"))
    store.put("key", b"data")
    assert store.get("key") == b"data" and store.get("other") is None
    (tmp_path / "store" / "key").chmod(0o666)
    assert store.get("key") is None
    (tmp_path / "store" / "key").chmod(0o600)
    (tmp_path / "store").chmod(0o777)
    assert store.get("key") is None
    (tmp_path / "store").chmod(0o700)
    assert store.get("key") == b"data"
    nowhere = FunctionStore(str(tmp_path / "store" / "key" / "below"))
    nowhere.put("key", b"data")
    assert nowhere.get("key") is None
    assert os.listdir(tmp_path / "store") == ["key"], "nothing unfinished is left"


def test_a_function_that_cannot_be_told_by_its_content_is_compiled_all_the_same(cpu, cache):
    class Mine:
        pass

    thing = Mine()

    def kernel(x):
        return x + 1

    def odd(x):
        if x is None:
            thing
        return x

    with pytest.raises(Unknown):
        fingerprint(odd)
    assert fingerprint(kernel)

    calls = numba.types.float64(numba.types.float64)
    pointer = numba.cfunc(calls)(kernel)

    def through_a_pointer(x):
        return pointer(x)

    with pytest.raises(Unknown):
        fingerprint(through_a_pointer)
    made = cpu.compile_kernel(through_a_pointer, (float,))
    assert made(1.0) == 2.0 and cpu.compile_kernel(through_a_pointer, (float,)) is made
    assert not cache.exists()


def test_fingerprints_tell_functions_apart():
    table = np.arange(3.0)

    def make(constant, default=1):
        def function(x, y=default):
            return x * constant + y

        return function

    def recursive(n):
        return 1 if n < 2 else n * recursive(n - 1)

    assert fingerprint(make(1)) == fingerprint(make(1))
    different = [make(1), make(2), make(1.0), make(True), make(1, 2), make("1"), make(table), make(table.astype("f4")),
                 make(np.float32), make(np.float64), make(np.float32(1)), make((1, 2)), make([1, 2]), make(np.add),
                 make(np.sum), make(make(1)), make(make(2)), make(numba.njit(make(1))), make(numba.float32), make(np),
                 make(len), make(None), recursive]  # fmt: skip
    assert len({fingerprint(f) for f in different}) == len(different)


@pytest.mark.parametrize("name", ["numba", "llvmlite"])
def test_without_the_build_half(name):
    program = f"""
        import sys
        sys.modules[{name!r}] = None
        from pydotcompute import CompilerNotInstalledError
        from pydotcompute.backends import CPUBackend
        try:
            CPUBackend().compile_kernel(lambda x: x, (float,))
        except CompilerNotInstalledError as error:
            print(error, end="")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert (
        done.stdout == f"compiling a function needs {name}, which is not installed: {install('build', name)}"
    ), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("body", [b"", b"7", b"x:{}", b"2:{}code", b"2:[]code", b'9:{"a": 1} code'])
def test_an_entry_for_a_gpu_of_another_shape_is_a_miss_and_replaced(tmp_path, body):
    def kernel(x):
        x[0] = 1

    store = FunctionStore(str(tmp_path / "store"))
    wanted = cuda.request(kernel, (numba.float32[::1],), (8, 0))
    code = cuda.obtain(wanted, (8, 0), store)
    store.put(wanted.key, body)
    assert cuda.obtain(wanted, (8, 0), store) == code == store.get(wanted.key)
