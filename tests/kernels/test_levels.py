"""Processors of just one level, emulated: the level is chosen rightly, and no instruction is illegal there."""

import json
import shutil
import subprocess
import sys

import pytest
from tests import emulated
from tests.budget import EVERYTHING

from pydotcompute import declare

pytestmark = pytest.mark.skipif(not shutil.which("qemu-x86_64"), reason="needs qemu-user")

PROGRAM = """
import json, sys
import numpy as np
import pydotcompute

lib = pydotcompute.load(sys.argv[1])
rng = np.random.default_rng(0)
x, table = rng.standard_normal(1003).astype("f4"), rng.standard_normal((7, 33)).astype("f4")
square = rng.standard_normal((37, 37))


def attention(q, scale):
    weights = np.exp(scale * q @ q.T)
    return weights / weights.sum(axis=1, keepdims=True) @ q


results = {
    "axpy": (lib.axpy(2.0, x, x), 2 * x + x),
    "exp": (lib.exp(x), np.exp(x)),
    "sum": (lib.sum(square), square.sum()),
    "softmax": (lib.softmax(table), np.exp(table) / np.exp(table).sum(axis=1, keepdims=True)),
    "matmul": (lib.matmul(square, square), square @ square),
    "attention": (lib.attention(table, table, table, 0.2), attention(table.astype("f8"), 0.2)),
    "histogram": (lib.histogram(x, -4.0, 4.0, 8), np.histogram(x, 8, (-4, 4))[0]),
}
print(json.dumps({
    "targets": sorted({lib.axpy.which(2.0, x, x).target, lib.softmax.which(table).target}),
    "errors": {name: float(np.abs(got - want).max()) for name, (got, want) in results.items()},
}))
"""


@pytest.mark.parametrize(
    ("processor", "level"), [("Nehalem", "x86-64-v2"), ("Haswell", "x86-64-v3")], ids=["v2", "v3"]
)
def test_a_processor_runs_its_own_level(built, processor, level):
    done = subprocess.run(
        emulated.on(processor, sys.executable, "-c", PROGRAM, str(built)),
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["targets"] == [f"cpu:{level}"]
    assert max(told["errors"].values()) < 1e-4


@pytest.mark.parametrize(
    ("processor", "level", "part"), [("Nehalem", "x86-64-v2", 0), ("Haswell", "x86-64-v3", 3)], ids=["v2", "v3"]
)
def test_check_holds_on_a_processor_of_the_level(built, processor, level, part):
    """Of every sixth kernel: what instructions there are is decided for all of them alike."""
    every = list(declare.load(built).kernels)
    kernels = every if EVERYTHING else every[part::6]
    command = [sys.executable, "-m", "pydotcompute", "check", *kernels, "--quick", "-C", str(built), "--json"]
    done = subprocess.run(
        emulated.on(processor, *command, "-t", f"cpu:{level}"), capture_output=True, text=True, timeout=800
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    rows = json.loads(done.stdout)["artifacts"]
    assert {row["kernel"] for row in rows} == set(kernels) and {row["status"] for row in rows} == {"ok"}
