"""Ctrl-C in a call: it ends soon, with what the signal's handler raises, on both paths and on any number of threads."""

import subprocess
import sys

import numpy as np
import pytest

import pydotcompute

pytestmark = pytest.mark.slow

GO = """\
      def go(v, steps):
          k = 0
          while k < steps:
              v = v * 0.999 + 1.0
              k += 1
          return v
"""
DECLARATION = """
version: 1
targets: [cpu:x86-64]
kernels:
  turns:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
      for i in grid(n):
          s = x[i]
          for k in range(steps):
              s = s * 0.999 + k
          out[i] = s
  endless:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
      def go(v, steps):
          k = 0
          while k < steps:
              if v < -1.0:
                  return v
              v = v * 0.999 + 1.0
              k += 1
          return v
      for i in grid(n):
          out[i] = go(x[i], steps)
  nested:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
      for i in blocks(n):
          s = x[i]
          for k in range(steps):
              for j in range(n):
                  s = s * 0.999 + x[j] * k
          out[i] = s
  ragged:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
      for i in grid(n):
          s = x[i]
          k = 0
          while k < 1000:
              for j in range(k, k + steps * int64(x[i])):
                  s = s * 0.999 + j
              k += 1
          out[i] = s
  phases:
    signature: "(x: inout float64[n], steps: int64) -> ()"
    body: |
      for t in range(steps):
          for i in grid(n):
              x[i] = x[i] * 0.5 + 1.0
  slices:
    signature: "(x: float64[n], steps: int64) -> (out: float64)"
    body: |
      s = 0.0
      for i in grid(steps):
          s += sin(x[0] + i)
      out[()] = s
  counted:
    signature: "(x: float64[n], steps: int64) -> (out: int64[n])"
    body: |
      for i in grid(n):
          out[i] = 0
      for i in grid(steps):
          atomic_add(out, i % n, 1)
  checked:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
      for i in grid(n):
          s = 0.0
          for k in range(steps):
              s += x[int64(x[i])] + k
          out[i] = s
  sums:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
      for i in grid(n):
          out[i] = sum(sum(x[i] * j + k for j in range(100000)) for k in range(steps))
  extremes:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
      def most(x, k):
          return max(-abs(j - 65536.0) * x for j in range(k))
      for i in grid(n):
          out[i] = most(x[i], steps)
  lanes:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
      for i in blocks(n):
          k = int64(0)
          for a, b, c in threads(steps, steps, 3):
              k += (a + b) >> c
          out[i] = k * x[i]
  within:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
      for i in grid(n):
          s = x[i]
          for k in range(steps):
              c = int64(0)
              while c < steps // 100:
                  c += 1 + (c & 1)
              s += c
          out[i] = s
  apart:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
      for i in grid(n):
          s = x[i]
          k = 0
          while k < steps and s < 1e9:
              s = s * 0.999 + i
              k += 1
          out[i] = s
  back:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
      for i in grid(n):
          s = x[i]
          for k in range(steps, 0, -1):
              s = s * 0.999 + k
          out[i] = s
  counting:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
      for i in grid(n):
          s = x[i]
          k = 0
          while k < steps:
              s = s * 0.999 + k
              k += 1
          out[i] = s
  inner:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
      for i in grid(n):
          s = x[i]
          for k in range(100):
              for j in range(steps):
                  s = s * 0.999 + j * k
          out[i] = s
  parts:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
      for i in grid(n):
          s = x[i]
          for k in range(steps):
              terms = min(200, steps - k)
              for j in range(terms):
                  s = s * 0.999 + j
          out[i] = s
  calls:
    signature: "(x: float64[n], steps: int64) -> (out: float64[n])"
    body: |
GO
      for i in grid(n):
          v = x[i]
          for k in range(steps):
              v = go(v, 10000)
          out[i] = v
  many:
    signature: "(x: float64[n], steps: int64) -> (out: float64[1000000])"
    body: |
GO
      for i in grid(1000000):
          out[i] = go(x[i % n], steps >> 23)
  rows:
    signature: "(x: float64[n], steps: int64) -> (out: float64[1000000, 3])"
    body: |
      for i, j in grid(1000000, 3):
          v, k = x[i % n], 0
          while k < steps >> 23:
              v = v * 0.999 + j
              k += 1
          out[i, j] = v
  within_blocks:
    signature: "(x: float64[n], steps: int64) -> (out: float64[1000000])"
    body: |
GO
      for b in blocks(10000):
          for j in threads(100):
              out[b * 100 + j] = go(x[j % n], steps >> 23)
  short_rows:
    signature: "(x: float64[n], steps: int64) -> (out: float64)"
    body: |
      s = 0.0
      for i, j in grid(steps, 3):
          s += sin(x[0] + i + j)
      out[()] = s
  of_blocks:
    signature: "(x: float64[n], steps: int64) -> (out: float64)"
    body: |
      s = 0.0
      for b in blocks(steps):
          s += sin(x[0] + b)
      out[()] = s
  of_items:
    signature: "(x: float64[n], steps: int64) -> (out: float64)"
    body: |
      s = 0.0
      for b in blocks(steps >> 6):
          t = 0.0
          for k in threads(100):
              t += sin(x[0] + b + k)
          s += t
      out[()] = s
  tallied:
    signature: "(x: float64[n], steps: int64) -> (out: int64[n])"
    body: |
      for i in grid(n):
          out[i] = 0
      for i in blocks(1):
          for c in threads(steps):
              atomic_add(out, c % n, c >> 1)
""".replace("GO\n", GO)
BOTH = ["turns", "endless", "nested", "ragged", "phases", "slices", "checked", "counted", "many"]
# of one thread's own: as on several
ONE = ["calls", "rows", "within_blocks", "short_rows", "of_blocks", "of_items", "sums", "extremes", "lanes", "tallied",
       "back", "counting", "inner", "parts", "within", "apart"]  # fmt: skip

PROGRAM = r"""
import os, signal, sys, threading, time
import numpy as np
import pydotcompute

class Heard(Exception):
    pass

def handler(number, frame):
    raise Heard

lib, wanted = pydotcompute.load(sys.argv[1]), sys.argv[2:]
x = np.ones(4)
kernel = lib[wanted[0]]
kernel(x, 0)                                           # the native entry is in front from here on
native, python = kernel, kernel._dispatcher.call
assert type(kernel.func).__name__ == "builtin_function_or_method"
for call in (native, python):
    for raised, number in ((KeyboardInterrupt, signal.SIGINT), (Heard, signal.SIGTERM)):
        signal.signal(number, signal.default_int_handler if raised is KeyboardInterrupt else handler)
        sent = []
        def send():
            time.sleep(0.2)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), number)
        thread = threading.Thread(target=send)
        thread.start()
        before = sys.getrefcount(x)
        try:
            call(x, 10**11)
        except raised:
            print(f"{time.perf_counter() - sent[0]:.3f}")
        thread.join()
        assert sys.getrefcount(x) == before
assert np.isfinite(kernel(np.ones(4), 3) if wanted[0] != "phases" else kernel(x, 3) or 0).all()  # calls go on
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    (root / "kernels.yaml").write_text(DECLARATION)
    command = [sys.executable, "-m", "pydotcompute", "build", "-C", str(root)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return root


@pytest.mark.parametrize(
    "name, threads", [(name, k) for name in BOTH for k in ("1", "2")] + [(name, "1") for name in ONE]
)
def test_a_call_of_minutes_ends_soon_after_a_signal(project, name, threads):
    command = ["env", f"PYDOTCOMPUTE_THREADS={threads}", sys.executable, "-c", PROGRAM, str(project), name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    waited = sorted(map(float, done.stdout.split()))
    assert len(waited) == 4 and waited[0] < 0.2 and waited[-1] < 2, waited  # others may have the processor for a while


def test_loops_that_are_longer_than_arrays_give_what_they_give_in_one_piece(project):
    lib = pydotcompute.load(project)
    x = np.array([1.0, 0.0, np.nan, -np.inf])
    for steps in (0, 1, 65535, 65536, 65537, 131072, 200_001):
        terms = np.arange(steps)
        np.testing.assert_array_equal(lib.tallied(x, steps), np.bincount(terms % 4, terms >> 1, 4))
        if steps:
            with np.errstate(invalid="ignore"):
                wanted = np.max(-np.abs(terms - 65536.0) * x[:, None], 1)
            found = lib.extremes(x, steps)
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(np.signbit(found[:2]), np.signbit(wanted[:2]))
    a, b, c = np.ogrid[:700, :700, :3]
    np.testing.assert_array_equal(lib.lanes(np.ones(1), 700), [((a + b) >> c).sum()])


def test_a_call_of_another_thread_goes_on_and_the_main_thread_hears(project):
    """Signals are the main thread's."""
    program = r"""
import os, signal, sys, threading, time
import numpy as np
import pydotcompute

signal.signal(signal.SIGINT, signal.default_int_handler)
turns, found = pydotcompute.load(sys.argv[1]).turns, []
thread = threading.Thread(target=lambda: found.append(turns(np.ones(1), 3 * 10**8)))
thread.start()
threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while thread.is_alive():
        time.sleep(0.01)
    print("not heard")
except KeyboardInterrupt:
    assert not found
    thread.join()
    assert found[0][0] > 0
"""
    done = subprocess.run([sys.executable, "-c", program, str(project)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
