"""The repository's kernels, built for CUDA once: PTX for compute_80, and cubins of every other one for a newer architecture,
of every third one for the oldest, or, as a campaign, of all for each that counts."""

import fcntl
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from tests.budget import EVERYTHING

from pydotcompute import declare

ROOT = Path(__file__).resolve().parents[1]
EVERY = (75, 80, 86, 89, 90, 100, 120)
LONG = "attention"  # a fifth of the time, and ../kernels/test_sass.py makes cubins of it
LOADED = ("axpy", "matmul", "silu")  # of which tests ask for a cubin
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
            _build(root, ["cuda:compute_80"])
            names = list(declare.load(root).kernels)
            for arch in EVERY:
                if chosen := [name for name in names if arch in architectures(name)]:
                    _build(root, [f"cuda:sm_{arch}"], chosen)
            (root / "done").touch()
    return str(root)


def architectures(name):
    """Those that the project has cubins of a kernel for."""
    if EVERYTHING:
        return EVERY
    number = zlib.crc32(name.encode())
    oldest, newer = number % 3 == 0, number % 2 == 0 or name in LOADED
    return () if name == LONG else (*(75,) * oldest, *(90,) * newer)


def _build(root, targets, names=()):
    words = [part for target in targets for part in ("-t", target)]
    command = [sys.executable, "-m", "pydotcompute", "build", "-k", "-C", str(root), *words, *names]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def skip_without_compilers(items):
    """Without the CUDA compilers no test of CUDA's folders can run but what was built elsewhere: the extra
    `build-cuda` brings them."""
    from pydotcompute.targets.cuda import toolchain

    if missing := toolchain.missing():
        for item in items:
            if item.path.parent.name == "cuda" and not (BUILT and item.get_closest_marker("gpu")):
                item.add_marker(pytest.mark.skip(reason=f"not installed: {', '.join(missing)} (extra build-cuda)"))
