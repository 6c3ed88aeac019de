"""Calls of built kernels with float16, bfloat16, dates and masks: the native entry, and CUDA's on an emulated device."""

import subprocess
import sys

import pytest

from pydotcompute.artifact.dtypes import STORED
from tests.emulator.environment import environment

pytestmark = pytest.mark.slow
KERNELS = """
version: 1
targets: [cpu:x86-64-v2, cuda:compute_80]
kernels:
  axpy:
    signature: "(a: T, x: T[...], y: T[...]) -> (out: T[...])"
    types: {T: [float32, float16, bfloat16]}
    body: |
      for i in grid(size):
          out[i] = a * x[i] + y[i]
  late:
    signature: "(pickup: int64[n], dropoff: int64[n], limit: int64, known: bool[n]) -> (out: bool[n], longest: int64)"
    body: |
      for i in grid(n):
          out[i] = known[i] and dropoff[i] - pickup[i] > limit
      longest[()] = max(dropoff[i] - pickup[i] for i in grid(n))
  narrowed:
    signature: "(x: float32[n]) -> (out: bfloat16[n] = 0.1, first: bfloat16)"
    body: |
      for i in grid(n):
          out[i] += x[i]
      first[()] = x[0]
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "kernels.yaml").write_text(KERNELS)
    done = subprocess.run([sys.executable, "-m", "pydotcompute", "build", "-C", str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return str(folder)


def run(project, program, **settings):
    done = subprocess.run([sys.executable, "-c", program, project], capture_output=True, text=True, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_imports_ml_dtypes_and_a_call_that_needs_it_says_so(project):
    assert STORED == ("float16", "bfloat16")
    program = """
import sys
import numpy as np, pydotcompute
lib = pydotcompute.load(sys.argv[1])
x = np.arange(5, dtype="f2")
assert (lib.axpy(0.1, x, x) == (np.float32(np.float16(0.1)) * x.astype("f4") + x).astype("f2")).all()
assert "ml_dtypes" not in sys.modules
try:
    lib.narrowed(np.ones(3, "f4"))
except ImportError as error:
    assert "bfloat16 is a type of ml_dtypes', which this program has not imported: import ml_dtypes" in str(error)
else:
    raise AssertionError
import ml_dtypes
out, first = lib.narrowed(np.full(3, 2.5, "f4"))
assert out.dtype == ml_dtypes.bfloat16 and type(first) is ml_dtypes.bfloat16 and first == 2.5
assert (out == (np.float32(ml_dtypes.bfloat16(0.1)) + np.float32(2.5)).astype(ml_dtypes.bfloat16)).all()
"""
    run(project, program)


def test_native_calls(project):
    """Each through the native entry alone: the Python path is taken away once a specialisation is loaded."""
    program = """
import sys
import ml_dtypes, numpy as np, pydotcompute
lib = pydotcompute.load(sys.argv[1])
times = np.array(["2026-01-01T10:00", "2026-01-01T23:00", "NaT"], "M8[s]")
ends = times + np.timedelta64(90, "m")
known = np.array([True, False, True])
for dtype in ("float16", ml_dtypes.bfloat16):
    lib.axpy(1.0, np.ones(1, dtype), np.ones(1, dtype))
lib.late(times, ends, 0, known)
def no_more(*args, **kwargs):
    raise AssertionError("the Python path")
for kernel in (lib.axpy, lib.late):
    kernel._dispatcher.checked = no_more
for dtype in (np.float16, ml_dtypes.bfloat16):
    x = np.linspace(-3, 3, 40).astype(dtype).reshape(4, 10)
    for a in (0.1, 3, np.float16(0.5), ml_dtypes.bfloat16(0.25), np.float32(0.1), True):
        got = lib.axpy(a, x, x)
        wanted = (np.float32(dtype(float(a))) * x.astype("f4") + x.astype("f4")).astype(dtype)
        assert got.dtype == dtype and (got == wanted).all(), (a, got, wanted)
out, longest = lib.late(times, ends, 3600, known)
assert out.tolist() == [True, False, False] and longest == 5400 and type(longest) is np.int64
given = np.empty(3, bool)
assert lib.late(times.astype("i8"), ends, 3600, known, given, np.zeros((), "m8[s]"))[0] is given
"""
    run(project, program)


def test_what_is_refused(project):
    program = """
import sys
import ml_dtypes, numpy as np, pydotcompute
lib = pydotcompute.load(sys.argv[1])
x, y = np.ones(3, "f2"), np.ones(3, ml_dtypes.bfloat16)
day = np.array(["2026-01-01"] * 3, "M8[D]")
def told(kind, *args):
    try:
        lib.axpy(*args)
    except kind as error:
        return str(error)
    raise AssertionError(args)
assert told(OverflowError, 65520.0, x, x) == "axpy: argument 'a': 65520.0 does not fit float16"
assert told(OverflowError, 3.4e38, y, y) == "axpy: argument 'a': 3.4e+38 does not fit bfloat16"
assert told(TypeError, 1.0, x, y) == "axpy: 'y' is bfloat16, but 'x' is float16: both are T"
assert told(TypeError, 1j, y, y) == "axpy: argument 'a' must be bfloat16, got complex (1j)"
assert told(TypeError, 1.0, day, day).startswith("axpy: 'x' must be float32 or float16 or bfloat16, got int64")
assert told(TypeError, 1.0, x.view("V2"), x).startswith("axpy: 'x' has dtype |V2, which no kernel knows")
assert "byte-swapped" in told(TypeError, 1.0, x.astype(">f2"), x)
assert lib.axpy(65519.0, x, 16 * x)[0] == np.inf and lib.axpy(65519.0, x, 15 * x)[0] == 65504 and lib.axpy(float("inf"), y, y)[0] == np.inf
"""
    run(project, program)


def test_calls_on_an_emulated_device(project, tmp_path):
    """By the rules, by those that remember, and without them: a scalar is rounded alike."""
    program = """
import sys
import ml_dtypes, numpy as np, pydotcompute, torch
from pydotcompute.backends.cuda.backend import CUDABackend
lib, backend = pydotcompute.load(sys.argv[1]), CUDABackend()
for dtype in (np.float16, ml_dtypes.bfloat16):
    host = np.linspace(-3, 3, 40).astype(dtype)
    x, out = backend.to_device(host), backend.to_device(np.zeros(40, dtype))
    for call in range(4):
        a = 0.1 + call
        assert lib.axpy(a, x, x, out) is out
        wanted = (np.float32(dtype(a)) * host.astype("f4") + host.astype("f4")).astype(dtype)
        assert (backend.to_host(out) == wanted).all(), (dtype, call)
    try:
        lib.axpy(1e39, x, x, out)
    except OverflowError as error:
        assert "does not fit" in str(error)
    else:
        raise AssertionError
tensor = torch.Tensor(np.arange(8, dtype="f2"))
assert (backend.to_host(lib.axpy(2.0, tensor, tensor)) == 3 * np.arange(8)).all()
"""
    run(project, program, env=environment(str(tmp_path)))
