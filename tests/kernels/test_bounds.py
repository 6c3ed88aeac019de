"""Every other kernel of the repository in the build that checks every index: it raises nothing, and gives the same."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.budget import EVERYTHING

from pydotcompute import declare
from pydotcompute.check.run import check

ROOT = Path(__file__).parents[2]
TARGET = "cpu:x86-64-v2+bounds"
NAMES = list(declare.load(ROOT).kernels)[:: 1 if EVERYTHING else 2]


def test_kernels_keep_their_bounds(tmp_path):
    shutil.copy(ROOT / "kernels.yaml", tmp_path)
    shutil.copytree(ROOT / "templates", tmp_path / "templates")
    build = [sys.executable, "-m", "pydotcompute", "build", "-C", str(tmp_path), "-t", "cpu:x86-64-v2", "--bounds", *NAMES]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]

    verdicts = list(check(str(tmp_path), NAMES, targets=[TARGET], quick=True))
    kernels = [declare.load(tmp_path).kernels[name] for name in NAMES]
    assert {(v.kernel, v.specialisation, v.target) for v in verdicts} == {
        (kernel.name, str(s), TARGET) for kernel in kernels for s in kernel.specialisations
    }
    assert [(v.kernel, v.failures, v.not_run) for v in verdicts if v.failures or v.not_run] == []
