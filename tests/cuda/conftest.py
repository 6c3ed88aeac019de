"""The repository's kernels, built for CUDA once: PTX for compute_80, and cubins for every architecture that counts."""

import os
import shutil
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [p for p in (os.path.dirname(os.path.abspath(__file__)), ROOT) if p not in sys.path]
ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """A copy of the repository's declaration with everything built for CUDA."""
    root = tmp_path_factory.mktemp("project")
    shutil.copy(f"{ROOT}/kernels.yaml", root)
    shutil.copytree(f"{ROOT}/templates", root / "templates")
    targets = [part for arch in ARCHITECTURES for part in ("-t", f"cuda:sm_{arch}")]
    command = [sys.executable, "-m", "pydotcompute", "build", "-k", "-C", str(root), "-t", "cuda:compute_80", *targets]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return str(root)
