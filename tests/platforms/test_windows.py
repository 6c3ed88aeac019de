"""DLLs for Windows: executed under Wine by a program in C, threads included; what they import and export."""

import shutil
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

import pydotcompute
from pydotcompute.cache.objects import read

from tests.platforms.wine import Recorded, Wine

pytestmark = pytest.mark.slow
LEVELS = ("cpu:x86-64-v2", "cpu:x86-64-v3")
DECLARATION = """
version: 1
targets: [cpu:x86-64-v2, cpu:x86-64-v3, cpu:x86-64-v2@windows, cpu:x86-64-v3@windows]
kernels:
  saxpy:
    signature: "(a: float32, x: broadcast float32[...], y: broadcast float32[...]) -> (out: float32[...])"
    body: |
      for i in grid(size):
          out[i] = a * x[i] + y[i]
  softmax:
    signature: "(x: strided float64[..., cols]) -> (out: float64[..., cols])"
    body: |
      for r in blocks(rows):
          m = max(x[r, c] for c in threads(cols))
          s = float64(0)
          for c in threads(cols):
              e = exp(x[r, c] - m)
              out[r, c] = e
              s += e
          for c in threads(cols):
              out[r, c] /= s
  counts:
    signature: "(x: int32[n], bins: int64) -> (out: int64[bins] = 0)"
    body: |
      for i in grid(n):
          atomic_add(out, x[i] % bins, 1)
  take:
    signature: "(x: float32[n], rows: int64[m]) -> (out: float32[m])"
    body: |
      for i in grid(m):
          out[i] = x[rows[i]]
  tiles:
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for b in blocks((n + 4095) // 4096):
          t = shared(8192, float32)
          for c in threads(4096):
              t[2 * c] = x[min(b * 4096 + c, n - 1)]
              t[2 * c + 1] = sin(t[2 * c]) * tanh(t[2 * c])
          for c in threads(4096):
              if b * 4096 + c < n:
                  out[b * 4096 + c] = t[2 * (4095 - c)] + t[2 * (4095 - c) + 1]
  long:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
      for i in grid(n):
          s = x[i]
          for k in range(steps):
              s = s * 0.999999 + 1e-3
          out[i] = s
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "kernels.yaml").write_text(DECLARATION)
    done = subprocess.run([sys.executable, "-m", "pydotcompute", "build", "-C", str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    if not shutil.which("wine"):
        pytest.skip("needs Wine")
    return Wine(tmp_path_factory.mktemp("wine"))


def code(project, kernel, target):
    record = pydotcompute.load(project)[kernel]._record
    (specialisation,) = record.specialisations.values()
    return read(next(a for a in specialisation.artifacts if a.target == target))


def arguments():
    """Kernel → the arguments of its calls; large enough for several slices, and for none."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(300_001).astype("f4")
    table, strided = rng.standard_normal((900, 333)), rng.standard_normal((7, 40, 66))[::2, :, ::2]
    rows = rng.integers(0, len(x), 100_000)
    return {
        "saxpy": [(2.5, x, x[::-1].copy()), (2.5, x[::3], x[:100_001]), (1.0, x[:0], x[:0])],
        "softmax": [(table,), (strided,)],
        "counts": [(rng.integers(0, 1000, 500_000).astype("i4"), 37)],
        "take": [(x, rows)],
        "tiles": [(x,)],
        "long": [(table[0], 40_000)],
    }


EXPECTED = {
    "saxpy": lambda a, x, y: np.float32(a) * x + y,
    "softmax": lambda x: np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True),
    "counts": lambda x, bins: np.bincount(x % bins, minlength=bins),
    "take": lambda x, rows: x[rows],
}


@pytest.fixture(scope="module")
def results(project, wine):
    """(level, threads, kernel, arguments, the result here, that under Wine) of each call; all of them in one process."""
    calls, told = [], []
    for level in LEVELS:
        lib = pydotcompute.load(project, target=level)
        for name, every in arguments().items():
            dll = code(project, name, f"{level}@windows")
            for threads, given in product((1, 4), every):
                export = ("run", "run_unlocked")[len(calls) % 2]
                calls.append(Recorded(dll, lib[name], *given, threads=threads, export=export))
                told.append((level, threads, name, given, lib[name](*given)))
    return [(*call, result) for call, result in zip(told, wine.run(calls))]


def test_calls_give_what_they_give_on_linux(results):
    """To the bit: it is the code of the same level. With NumPy within rounding."""
    assert len(results) == 2 * 2 * 9
    for level, threads, name, given, here, result in results:
        assert result.status == 0
        np.testing.assert_array_equal(result.value, here, err_msg=f"{level} {threads} {name}")
        if name in EXPECTED:
            np.testing.assert_allclose(result.value, EXPECTED[name](*given), 1e-5, 1e-6)


def test_threads_are_made_and_do_the_work(results):
    assert {result.threads for _, threads, *_, result in results if threads == 1} == {0}
    made = {(level, name) for level, threads, name, *_, result in results if result.threads == 3}
    assert made == set(product(LEVELS, ("softmax", "tiles", "long"))), made


def test_an_index_outside_is_told(project, wine):
    lib = pydotcompute.load(project, target="cpu:x86-64-v3")
    rows = np.zeros(50_000, np.int64)
    rows[33_333] = 9
    dll = code(project, "take", "cpu:x86-64-v3@windows")
    (result,) = wine.run([Recorded(dll, lib.take, np.ones(9, "f4"), rows, threads=4)])
    assert result.status == 1 and result.fault[2:] == [9, 9]


def test_what_a_dll_needs_and_has(project):
    import lief

    for level in LEVELS:
        for kernel in arguments():
            data = code(project, kernel, f"{level}@windows")
            dll = lief.PE.parse(list(data))
            needs = {entry.name for library in dll.imports for entry in library.entries}
            assert needs - {"__chkstk", "memcpy", "memset", "memmove"} == {
                "CreateThread", "WaitForSingleObject", "CloseHandle", "GetCurrentThreadId", "QueryPerformanceCounter",
                "QueryPerformanceFrequency",
            }, kernel  # fmt: skip
            assert "__chkstk" in needs or kernel != "tiles"
            exports = {entry.name for entry in dll.get_export().entries}
            assert {"run", "run_unlocked", "entry", "serve", "threads", "python", "table", "fallback"} <= exports
            assert not exports & {"body", "share", "in_parts", "interrupted"}
            unwound = next(d for d in dll.data_directories if d.type == lief.PE.DataDirectory.TYPES.EXCEPTION_TABLE)
            assert unwound.size // 12 >= 8, kernel  # what a stack is walked by: an entry for each function
            assert dll.has_relocations
