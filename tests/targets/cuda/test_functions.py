"""`CUDABackend.compile_kernel` without a device: what is compiled, kept and marshalled; the PTX interpreted."""

import os
import re
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest
from tests.targets.cuda.cuda_support import ROOT
from tests.targets.cuda.cuda_support import same
from numba import cuda

from pydotcompute.backends.cuda import function as cuda_function
from pydotcompute.targets.cuda import nvvm as cuda_nvvm, ptxas as cuda_ptxas
from pydotcompute.targets.cuda.entry_point import EntryPoint
from pydotcompute.jit import cuda as cuda_plain
from pydotcompute.jit.store import FunctionStore
from pydotcompute.errors import CompilationError
from pydotcompute.calls import arrays
from tests.ptx import Memory, Module

UNKNOWN = (8, 8)  # no toolchain knows it: what comes is PTX


def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.shape[0]:
        c[i] = a[i] + b[i]


@cuda.jit(device=True)
def twice(x):
    return 2 * x


@cuda.jit
def scaled(scale, x, out):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        out[i, j] = twice(x[i, j]) * scale


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cuda_function, "_made", {})
    return FunctionStore()


def launch(function, grid, block, *args):
    """What CUDAFunction.launch does on a device, by the interpreter, for NumPy arrays."""
    memory, known = Memory(), {}

    class Looked:
        noun, owns, plain, place = "a NumPy array", arrays.owns, arrays.plain, arrays.place

        @staticmethod
        def address(array):
            base = array if array.base is None else array.base
            if id(base) not in known:
                known[id(base)] = memory.add("argument", base)
            return known[id(base)] + arrays.address(array) - arrays.address(base)

    words = cuda_function.marshalled(function.name, function.arguments, args, Looked, "the host")
    Module(function.code.decode()).launch(function.name, grid, block, words, memory)


def test_a_function_by_numpy_types(store):
    kernel = cuda_function.compile_function(vector_add, ("float32[::1]",) * 3, 0, UNKNOWN, True)
    assert (
        kernel.name == "vector_add"
        and kernel.suffix == ".ptx"
        and ".visible .entry vector_add(" in kernel.code.decode()
    )
    a, b = np.random.default_rng(0).normal(size=(2, 1000)).astype("f4")
    c = np.full(1000, np.nan, "f4")
    launch(kernel, (4,), (256,), a, b, c)  # 24 threads past the end
    assert (c == a + b).all()


def test_a_jitted_dispatcher_with_scalars_and_strides(store):
    signature = (np.float64, "float64[:, :]", np.dtype("float64").name + "[:, ::1]")
    kernel = cuda_function.compile_function(scaled, signature, 0, UNKNOWN, True)
    x, out = np.arange(60.0).reshape(6, 10), np.zeros((3, 5))
    launch(kernel, (1, 1), (4, 8), 1.5, x[::2, ::2], out)
    same(out, x[::2, ::2] * 3, "out")


def test_complex_and_bool_scalars(store):
    def fill(z, on, out):
        if on:
            out[cuda.grid(1)] = z

    kernel = cuda_function.compile_function(fill, (np.complex64, np.bool_, "complex64[:]"), 0, UNKNOWN, True)
    out = np.zeros(8, "c8")
    launch(kernel, (2,), (4,), 1 - 2j, True, out)
    assert (out == 1 - 2j).all()


def test_the_same_request_gives_the_same_object(store):
    def compiled(function=vector_add, signature=("float32[:]",) * 3, device=0, caching=True):
        return cuda_function.compile_function(function, signature, device, (8, 0), caching)

    first = compiled()
    assert first is compiled() and first is compiled(cuda.jit(vector_add)) and first.suffix == ".cubin"
    assert first is not compiled(signature=("float64[:]",) * 3) and first is not compiled(device=1)
    fresh = compiled(caching=False)
    assert fresh is not first and fresh is not compiled(caching=False) and fresh.code == first.code


def test_without_caching_nothing_is_looked_up_or_kept(store):
    cuda_function.compile_function(vector_add, ("float32[:]",) * 3, 0, (8, 0), False)
    assert not os.path.exists(store.folder) and not cuda_function._made
    cuda_function.compile_function(vector_add, ("float32[:]",) * 3, 0, (8, 0), True)
    assert len(os.listdir(store.folder)) == 1


PROGRAM = """
    import sys
    from pydotcompute.backends.cuda import function as cuda_function
    from pydotcompute.targets.cuda import nvvm as cuda_nvvm
    from numba import cuda

    def f(x):
        x[cuda.grid(1)] = {}

    if len(sys.argv) > 1:
        def refuse(*args):
            raise AssertionError("compiled")
        cuda_nvvm.functions_ir = refuse
    print(len(cuda_function.compile_function(f, ("float32[:]",), 0, (9, 0), True).code))
"""


def test_a_new_process_takes_it_from_the_disk(tmp_path):
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": ROOT}

    def run(value, *args):
        program = textwrap.dedent(PROGRAM).replace("{}", value)
        return subprocess.run([sys.executable, "-c", program, *args], env=environment, capture_output=True, text=True)

    first = run("1")
    assert first.returncode == 0, first.stderr
    assert run("1", "again").stdout == first.stdout
    assert "AssertionError: compiled" in run("2", "again").stderr  # another function


def test_mistakes_are_raised_where_they_are_made(store):
    def compiled(function, signature):
        return cuda_function.compile_function(function, signature, 0, (8, 0), True)

    with pytest.raises(TypeError, match="vector_add takes 3 arguments"):
        compiled(vector_add, (np.float32,))
    with pytest.raises(TypeError, match="is not an argument type"):
        compiled(vector_add, ("float32[:]", "float32[:]", list))
    with pytest.raises(CompilationError, match="numba-cuda refused"):
        compiled(vector_add, (np.float32,) * 3)
    with pytest.raises(CompilationError, match=r"compiles for compute capability 5.0 and later, not for 3.5"):
        cuda_plain.nearest((3, 5))
    kernel = compiled(vector_add, ("float32[::1]",) * 3)
    with pytest.raises(TypeError, match="launch it by backend.launch_kernel"):
        kernel()

    def marshal(*args):
        return cuda_function.marshalled("k", kernel.arguments, args, arrays, "the host")

    x = np.zeros(8, "f4")
    with pytest.raises(TypeError, match="k was compiled for 3 arguments, got 2"):
        marshal(x, x)
    with pytest.raises(TypeError, match="argument 1 must be a NumPy array, got float"):
        marshal(x, 1.0, x)
    with pytest.raises(TypeError, match="argument 0 must be float32, 1 dimension; got float64"):
        marshal(x.astype("f8"), x, x)
    with pytest.raises(ValueError, match=r"argument 2 must be float32, 1 dimension; got shape \(2, 4\)"):
        marshal(x, x, x.reshape(2, 4))
    with pytest.raises(ValueError, match="argument 0 must be C-contiguous"):
        marshal(x[::2], x, x)
    with pytest.raises(ValueError, match="argument 0 is on the host, but k is for CUDA device 3"):
        cuda_function.marshalled("k", kernel.arguments, (x, x, x), arrays, "CUDA device 3")


@cuda.jit(device=True)
def added(total, value):
    cuda.atomic.add(total, 0, value)  # an instruction from 6.0 on, a loop before


@cuda.jit(device=True)
def counted(total, n):
    for _ in range(n):
        added(total, 1.0)


HELPERS = types.ModuleType("helpers")
HELPERS.counted = counted


@pytest.mark.parametrize("archs", [("90", "50", "60"), ("50", "90", "60")])
def test_what_a_kernel_calls_is_compiled_for_its_capability(archs):
    """Not for the current device's, nor for that of the kernel before; called by name, or as a module's."""

    def by_name(total):
        added(total, 2.0)

    def by_module(total):
        HELPERS.counted(total, 3)

    for function in (by_name, by_module):
        entry = EntryPoint("k", ("float64[::1]",))
        for arch in archs:
            modules = cuda_nvvm.functions_ir([(function, entry)], cuda_nvvm.capability_of(arch))
            ptx = cuda_nvvm.to_ptx(modules, arch)
            used = set(re.findall(r"atom\.(?:global\.)?(\w+)", ptx))
            assert used == ({"cas"} if arch == "50" else {"add"})
            assert cuda_ptxas.assemble(ptx, arch)[1]["k"].registers
