"""The ROCm backend on emulated devices, in a process of its own: its kernels are the texts of code objects, executed.

That shows what the run half asks of CuPy and of the HIP runtime, and that calls and code objects fit each other; it proves
nothing about a GPU."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.emulator.environment import ROOT, environment
from tests.hip import missing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

KERNELS = ("axpy", "add", "sub", "sum", "softmax", "argmax_last", "histogram", "gather", "counted_up")
SEVERAL_LAUNCHES = """
  counted_up:
    signature: "(x: float32[n], w: float32, k: int64) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = x[i]
      for t in range(k):
          for i in grid(n):
              out[i] += w * t
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("rocm")
    shutil.copytree(f"{ROOT}/templates", root / "templates")
    (root / "kernels.yaml").write_text(Path(f"{ROOT}/kernels.yaml").read_text() + SEVERAL_LAUNCHES)
    targets = ["-t", "hip:gfx90a", "-t", "hip:gfx1100"]
    build = [sys.executable, "-m", "pydotcompute", "build", "-q", "-C", str(root), *targets, *KERNELS]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return str(root)


@pytest.fixture(scope="module")
def emulated(tmp_path_factory, project):
    folder = str(tmp_path_factory.mktemp("runtime"))
    made = environment(folder, architecture="gfx90a", texts=f"{project}/build")
    return made | {"EMULATED_PROJECT": project}


def python(code, emulated, **more):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**emulated, **more})
    return done.stdout.strip() + done.stderr


def test_cases(emulated):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", "-o", "python_files=case_*.py"]
    done = subprocess.run(
        [*command, f"{ROOT}/tests/emulator/rocm"], capture_output=True, text=True, cwd=ROOT, env=emulated
    )
    assert done.returncode == 0 and re.search(r"\d+ passed", done.stdout), done.stdout[-8000:] + done.stderr
    assert not re.search(r"skipped|xfailed", done.stdout), done.stdout[-8000:]


def test_check_runs_its_kernels_on_the_device(emulated, project):
    done = subprocess.run(
        [sys.executable, "-m", "pydotcompute", "check", "-C", project, "-t", "hip:gfx90a", "axpy", "gather"],
        capture_output=True, text=True, env=emulated,
    )  # fmt: skip
    assert done.returncode == 0 and "not run" not in done.stdout, done.stdout + done.stderr


ASK = "from pydotcompute.backends.rocm.backend import unavailable; print(unavailable(start=False))"


def test_why_there_is_none(emulated):
    assert python(ASK, emulated) == ""
    assert python(ASK, emulated, EMULATED_DEVICES="0") == "AMD's HIP runtime has no device for this process"
    assert "counts no devices (hipErrorNotInitialized)" in python(ASK, emulated, EMULATED_DEVICES="-1")
    assert python(ASK, emulated, EMULATED_ARCHITECTURE="").startswith("the installed CuPy is for CUDA; pip install")
    plain = {**os.environ, "PYTHONPATH": ROOT, "LD_LIBRARY_PATH": ""}
    told = python(ASK, plain)
    assert told == "there is no HIP runtime (libamdhip64.so cannot be loaded): install AMD's ROCm"
    code = "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n: None if n == 'cupy' else f(n);" + ASK
    assert python(code, plain).startswith("CuPy is not installed; pip install")


def test_it_is_imported_only_when_asked_for():
    code = "import sys, pydotcompute; pydotcompute.load; print([m for m in sys.modules if 'rocm' in m or m == 'cupy'])"
    assert python(code, {**os.environ, "PYTHONPATH": ROOT}) == "[]"
