"""Settings of the whole suite."""

import fcntl
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import settings

# A shared machine stops for longer than any deadline now and then; how fast things are is the benchmarks' matter.
settings.register_profile("project", deadline=None, print_blob=True)
settings.load_profile("project")


ROOT = Path(__file__).resolve().parents[1]
USED = """fill add sub mul div sum mean min max argmax sum_last mean_last min_last max_last argmax_last sum_axis
    transpose matmul matmul_vec attention_scores weighted_sum_rows rmsnorm rmsnorm_inplace softmax_inplace silu apply_rope
    gather swap_axes attention layernorm gelu""".split()


@pytest.fixture(scope="session")
def standard_kernels(tmp_path_factory):
    """`pydotcompute.kernels` with these kernels of the repository built for this processor, in a folder of the test
    run's own, once for all its workers. What the checkout has built already is taken from there if it is current."""
    from pydotcompute import kernels, load
    from pydotcompute.runtime.levels import level

    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "standard-kernels"
    with open(f"{root}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root / "done").exists():
            shutil.copytree(ROOT / "templates", root / "templates")
            shutil.copy(ROOT / "kernels.yaml", root)
            if (ROOT / "build" / "cache").is_dir():
                shutil.copytree(ROOT / "build" / "cache", root / "build" / "cache")
            build = ["build", *USED, "-C", str(root), "-t", f"cpu:{level()}"]
            done = subprocess.run([sys.executable, "-m", "pydotcompute", *build], capture_output=True, text=True)
            assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
            (root / "done").touch()
    before = dict(vars(kernels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of kernels that were not asked for
        kernels._library = load(root)
    yield kernels
    vars(kernels).clear()
    vars(kernels).update(before)
