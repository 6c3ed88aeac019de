"""The repository's kernels, built for CUDA once: PTX for compute_80, and cubins for the oldest architecture and a newer
one, or, as a campaign, for each that counts."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.budget import EVERYTHING

ROOT = Path(__file__).resolve().parents[1]
EVERY = (75, 80, 86, 89, 90, 100, 120)
ARCHITECTURES = EVERY if EVERYTHING else (75, 90)
# A machine with a device may have no CUDA compilers: then this is a project that was built on another one.
BUILT = os.environ.get("PYDOTCOMPUTE_CUDA_PROJECT", "")


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """A copy of the repository's declaration with everything built for CUDA, once for all workers of a run."""
    if BUILT:
        return BUILT
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cuda-project"
    with open(f"{root}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root / "done").exists():
            shutil.copytree(ROOT / "templates", root / "templates")
            shutil.copy(ROOT / "kernels.yaml", root)
            targets = [part for arch in ARCHITECTURES for part in ("-t", f"cuda:sm_{arch}")]
            build = ["build", "-k", "-C", str(root), "-t", "cuda:compute_80", *targets]
            done = subprocess.run(
                [sys.executable, "-m", "pydotcompute", *build], capture_output=True, text=True, cwd=root
            )
            assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
            (root / "done").touch()
    return str(root)


def skip_without_compilers(items):
    """Without the CUDA compilers no test of CUDA's folders can run but what was built elsewhere: the extra
    `build-cuda` brings them."""
    from pydotcompute.targets.cuda import toolchain

    if missing := toolchain.missing():
        for item in items:
            if item.path.parent.name == "cuda" and not (BUILT and item.get_closest_marker("gpu")):
                item.add_marker(pytest.mark.skip(reason=f"not installed: {', '.join(missing)} (extra build-cuda)"))
