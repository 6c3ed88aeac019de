"""The repository's kernels on the devices of OpenCL and WebGPU, as `pydotcompute check` holds them to their references and
to the interpreter: each of the dtypes that the target has, and no others are left out."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pydotcompute import declare
from pydotcompute.targets import registry
from tests.targets.built import marked
from tests.targets.references import EVERY, PROJECT, named

PARTS = 2  # of the kernels, for as many processes
LONGEST = 240  # seconds of a part on a busy machine; on two free cores a quarter of it


@pytest.mark.slow
@pytest.mark.parametrize("target, part", [marked(t, part) for t in ("opencl:1.2", "webgpu") for part in range(PARTS)])
def test_every_kernel_is_checked(target, part, tmp_path):
    shutil.copy(Path(PROJECT, "kernels.yaml"), tmp_path)
    shutil.copytree(Path(PROJECT, "templates"), tmp_path / "templates")
    own, backend = registry.get(target), target.partition(":")[0]
    chosen = sorted({name for name, _ in EVERY})[part::PARTS]
    fitting = {
        (name, label) for name, label in EVERY if name in chosen
        and not own.refusal(*named(name, label), declare.render(*named(name, label), backend, PROJECT))
    }  # fmt: skip
    assert len({name for name, _ in fitting}) > 0.8 * len(chosen)
    program = [sys.executable, "-m", "pydotcompute"]
    where = ["-C", str(tmp_path), "-t", target, *chosen]
    subprocess.run([*program, "build", "-q", "-k", *where], check=True)
    done = subprocess.run([*program, "check", "--quick", "--json", *where], capture_output=True, text=True, timeout=LONGEST)
    told = json.loads(done.stdout)
    assert not told["findings"], told["findings"]
    checked = {(one["kernel"], one["specialization"]): one for one in told["artifacts"] if one["status"] == "ok"}
    assert checked.keys() == fitting and all(one["cases"] > 3 for one in checked.values())
