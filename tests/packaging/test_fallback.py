"""A bundle on a machine that none of its machine code is for: here, where it has code for AArch64 alone."""

import os
import pickle
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

import pydotcompute
from pydotcompute.artifact.cpu_levels import machine
from pydotcompute.errors import KernelNotBuiltError, ReferenceFallbackWarning

pytestmark = pytest.mark.skipif(machine() != "x86-64", reason="needs a machine that is not AArch64")
ROOT = Path(__file__).parents[2]
KERNELS = """
    version: 1
    targets: [cpu:aarch64]
    kernels:
      axpy:
        signature: "(a: T, x: T[...], y: T[...]) -> (out: T[...])"
        types: {T: [float32, float64]}
        body: |
          for i in grid(size):
              out[i] = a * x[i] + y[i]
        reference: a * x + y
      least_and_greatest:
        signature: "(x: float32[..., n]) -> (low: float32[...], high: float32[...])"
        requires: ["n > 0"]
        body: |
          for r in grid(rows):
              low[r] = min(x[r, k] for k in range(n))
              high[r] = max(x[r, k] for k in range(n))
        reference: own.py:least_and_greatest
      positive:
        signature: "(x: float64[n]) -> (out: float64[<= n: count], count: int64)"
        unordered: [out]
        body: |
          for i in grid(n):
              if x[i] > 0:
                  k = atomic_add(count, 1)
                  out[k] = x[i]
        reference: x[x > 0], (x > 0).sum()
      scale:
        signature: "(x: inout float32[n])"
        params: {FACTOR: [2, 3]}
        body: |
          for i in grid(n):
              x[i] *= FACTOR
        reference: x * FACTOR
      below:
        signature: "(x: float64[n], k: uint32) -> (out: float64[n])"
        body: |
          for i in grid(n):
              out[i] = x[i] * (int64(k) - 3)
        reference: x * (k - 3)
"""
OWN = """
    loaded = []

    def least_and_greatest(x, n):
        loaded.append(n)
        return x.min(axis=-1), x.max(axis=-1)
"""


def write(folder, kernels=KERNELS, fallback='fallback = "reference"'):
    (folder / "templates").mkdir(parents=True)
    (folder / "kernels.yaml").write_text(textwrap.dedent(kernels))
    (folder / "templates" / "own.py").write_text(textwrap.dedent(OWN))
    (folder / "pyproject.toml").write_text(f'[tool.pydotcompute]\nbundle = "own/kernels"\n{fallback}\n')
    return folder


def bundle(folder):
    from pydotcompute.packaging.wheel import make_bundle

    make_bundle(str(folder))
    return folder / "own" / "kernels"


@pytest.fixture(scope="module")
def carried(tmp_path_factory):
    return bundle(write(tmp_path_factory.mktemp("package")))


@pytest.fixture
def library(carried, monkeypatch):
    monkeypatch.setattr("pydotcompute.runtime.reference._told", set())
    return pydotcompute.load(carried)


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReferenceFallbackWarning)
        yield


@pytest.mark.slow
def test_references_serve_calls_and_a_library_says_so_once(library, carried):
    x = np.linspace(-1, 1, 6, dtype="f4").reshape(2, 3)
    with pytest.warns(ReferenceFallbackWarning) as said:
        got = library.axpy(0.1, x, x)
        low, high = library.least_and_greatest(x)
    assert [str(w.message) for w in said] == [
        f"{carried}: no machine code of axpy runs here, on {sys.platform} x86-64 (cpu:aarch64: this processor is "
        "x86-64); its declared reference serves in its place, in NumPy"
    ]
    assert said[0].filename == __file__
    # as `check` asks a reference: in float64, rounded once to the output's own type
    wanted = (np.float64(np.float32(0.1)) * x.astype("f8") + x).astype("f4")
    assert got.dtype == np.float32 and got.tobytes() == wanted.tobytes()
    assert low.tolist() == x.min(1).tolist() and high.tolist() == x.max(1).tolist()


@pytest.mark.slow
def test_outputs_params_and_mistakes_are_those_of_any_call(library, quiet):
    x = np.arange(5, dtype="f4")
    assert library.scale(x, FACTOR=3) is None and x.tolist() == [0, 3, 6, 9, 12]
    out = np.empty(5, "f4")
    assert library.axpy(1, x, x, out) is out and out.tolist() == (2 * x).tolist()
    values, count = library.positive(np.array([-1.0, 2.0, 0.0, 3.0]))
    assert values.tolist() == [2.0, 3.0] and count == 2
    with pytest.raises(TypeError, match="axpy is missing argument 'y'"):
        library.axpy(1, x)
    with pytest.raises(ValueError, match="n > 0"):
        library.least_and_greatest(np.empty((2, 0), "f4"))
    assert pickle.loads(pickle.dumps(library.axpy))(1, x, x).tolist() == (2 * x).tolist()


@pytest.mark.slow
def test_a_scalar_does_not_wrap(library, quiet):
    """To the reference it is a number of Python's, as `check` gives it."""
    assert library.below(np.array([1.0, 2.0]), 1).tolist() == [-2.0, -4.0]


@pytest.mark.slow
def test_which_says_what_serves(library):
    x = np.ones(3)
    found = library.axpy.which(1.0, x, x)
    assert found.artifact is None and found.target is None
    assert "axpy[T=float64]: no machine code of axpy runs here" in str(found) and "its declared reference" in str(found)


@pytest.mark.slow
def test_a_pinned_target_has_no_substitute(carried):
    x = np.ones(3)
    with pytest.raises(KernelNotBuiltError, match="cannot run as cpu:aarch64 here: this processor is x86-64"):
        pydotcompute.load(carried, target="cpu:aarch64").axpy(1.0, x, x)


@pytest.mark.slow
def test_nothing_is_carried_unasked(tmp_path):
    folder = bundle(write(tmp_path, fallback=""))
    assert not (folder / "references").exists()
    with pytest.raises(KernelNotBuiltError, match="axpy.*is not built for cpu:x86-64"):
        pydotcompute.load(folder).axpy(1.0, np.ones(3), np.ones(3))


@pytest.mark.slow
def test_every_kernel_must_have_one(tmp_path):
    kernels = KERNELS.replace("        reference: a * x + y\n", "").replace("        reference: x * FACTOR\n", "")
    with pytest.raises(Exception) as found:
        bundle(write(tmp_path, kernels))
    assert str(found.value) == (
        f'{tmp_path}/kernels.yaml: fallback = "reference", and axpy, scale declare none; give each kernel a reference, '
        "or take the setting away"
    )
    assert not (tmp_path / "own").exists()


@pytest.mark.slow
def test_a_system_without_the_functions_of_posix(carried):
    """As Windows' Python has it: no forks, no fcntl, no uname, and none of those flags."""
    program = f"""
import os, sys
import numpy as np  # which asks the system that it was built for
for name in dir(os):
    if name.startswith("O_") and name not in ("O_RDONLY", "O_WRONLY", "O_RDWR", "O_CREAT", "O_EXCL", "O_TRUNC"):
        delattr(os, name)
for name in ("register_at_fork", "uname", "fork", "geteuid", "getuid", "memfd_create", "sched_getaffinity", "fchmod"):
    delattr(os, name)
sys.modules.update(dict.fromkeys(("fcntl", "pwd", "grp", "resource", "termios")))
import pydotcompute

x = np.ones(3, "f4")
print(pydotcompute.load({str(carried)!r}).axpy(2, x, x).tolist())
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout == "[3.0, 3.0, 3.0]\n", done.stderr
