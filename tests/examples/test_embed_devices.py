"""The sentence encoder on the devices of OpenCL and WebGPU, of a size that a processor is quick at, against float64."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pydotcompute
from pydotcompute import kernels
from pydotcompute.examples.minilm import Encoder
from tests.examples import small
from tests.targets.built import marked

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def own_kernels():
    """`pydotcompute.kernels`, for a test to set what it is of; all that is looked up is forgotten afterwards."""
    before = dict(vars(kernels))
    for name, value in before.items():
        if isinstance(value, pydotcompute.Kernel):
            delattr(kernels, name)
    yield kernels
    vars(kernels).clear()
    vars(kernels).update(before)


@pytest.mark.slow
@pytest.mark.parametrize("target", [marked("opencl:1.2"), marked("webgpu")])
def test_every_layer_runs_on_the_device(target, tmp_path, own_kernels):
    shutil.copy(ROOT / "kernels.yaml", tmp_path)
    shutil.copytree(ROOT / "templates", tmp_path / "templates")
    build = [sys.executable, "-m", "pydotcompute", "build", "-q", "-C", tmp_path, "-t", target, *small.USED]
    subprocess.run(build, check=True)
    own_kernels._library = pydotcompute.load(str(tmp_path), target=target)
    small.agree(Encoder(small.CONFIG, small.weights(), target.partition(":")[0]))
