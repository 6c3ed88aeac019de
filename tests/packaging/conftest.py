"""A small project whose bundle is a package, built once for all tests here."""

import subprocess
import sys

import pytest

KERNELS = """\
version: 1
targets: [cpu:x86-64-v2]
kernels:
  saxpy:
    doc: a * x + y
    signature: "(a: T, x: T[...], y: T[...]) -> (out: T[...])"
    types: {T: [float32, float64]}
    body: |
      for i in grid(size):
          out[i] = a * x[i] + y[i]
    reference: a * x + y
  full:
    signature: "(n: int64, value: T) -> (out: T[n])"
    types: {T: [float32, float64]}
    body: |
      for i in grid(n):
          out[i] = value
  Any:
    doc: "Adds to x in place. What it is called, and this: a \\\\ and \\"\\"\\", are words that a stub needs"
    signature: "(x: inout int32[n], float: bool)"
    params: {STEP: [2, 3]}
    requires: ["n % 2 == 0"]
    body: |
      for i in grid(n):
          if float:
              x[i] += STEP
  span:
    signature: "(x: strided uint8[n]) -> (low: uint8, high: uint8, wide: complex64[n]) temp (seen: int8[n + 1])"
    body: |
      lowest = uint8(255)
      highest = uint8(0)
      for i in grid(n):
          lowest = min(lowest, x[i])
          highest = max(highest, x[i])
          wide[i] = x[i]
      low[()] = lowest
      high[()] = highest
"""


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """The project, and beside it `lib/mylib`, whose `kernels` is its bundle."""
    root = tmp_path_factory.mktemp("packaging")
    (root / "kernels.yaml").write_text(KERNELS)
    library = root / "lib" / "mylib"
    library.mkdir(parents=True)
    for name in ("__init__.py", "py.typed"):
        (library / name).touch()
    done = build(root, "--bundle", str(library / "kernels"), "--stubs", str(root / "lib" / "declared.pyi"))
    assert done.returncode == 0, done.stderr
    return root


def build(root, *arguments):
    command = [sys.executable, "-m", "pydotcompute", "build", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)
