"""Machine code for AArch64, built on this machine and executed on an emulated one: the choice of a level, native entry
points, results, `check`."""

import hashlib
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import pydotcompute

from tests.aarch64.machine import ROOT, Machine, Missing
from tests.budget import EVERYTHING

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("qemu-aarch64"), reason="needs qemu-user"),
]
KERNELS = ("axpy", "exp", "log", "tanh", "sum", "mean", "argmax", "softmax", "layernorm", "matmul", "histogram",
           "gather", "transpose", "laplacian")  # fmt: skip
TARGETS = ("cpu:aarch64", "cpu:aarch64-v8.2")

# What a program calls, here and there. `x` has NaN, infinities, both zeros and a denormal in it.
CALLS = """
import numpy as np

rng = np.random.default_rng(0)
x = rng.standard_normal(1003).astype("f4")
x[:6] = np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42
table, square = rng.standard_normal((7, 33)), rng.standard_normal((37, 37))
rows = rng.integers(0, 7, 50)
finite = x[6:]


def results(lib):
    return {
        "axpy": lib.axpy(2.0, x, x), "exp": lib.exp(x), "log": lib.log(np.abs(x)), "tanh": lib.tanh(x),
        "sum": lib.sum(square), "sums": lib.sum(finite), "mean": lib.mean(square), "argmax": lib.argmax(finite),
        "softmax": lib.softmax(table), "layernorm": lib.layernorm(table, table[0], table[1], 1e-5),
        "matmul": lib.matmul(square, square), "histogram": lib.histogram(finite, -4.0, 4.0, 8),
        "gather": lib.gather(table, rows), "transpose": lib.transpose(square), "laplacian": lib.laplacian(square),
    }
"""
PROGRAM = CALLS + """
import hashlib, json, sys
import pydotcompute
from pydotcompute.backends.cpu.native import problem

lib = pydotcompute.load(sys.argv[1])
assert problem() == "", problem()
target = lib.axpy.which(2.0, x, x).target
lib = pydotcompute.load(sys.argv[1], target=target)  # without NumPy's own product of matrices
told = {name: hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest() for name, a in results(lib).items()}
print(json.dumps({"target": target, "results": told}))
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    try:
        return Machine(tmp_path_factory.mktemp("aarch64"))
    except Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Some of the repository's kernels, built for both levels of AArch64 and, to compare with, one of this machine's."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "kernels.yaml", folder)
    shutil.copytree(ROOT / "templates", folder / "templates")
    targets = [word for target in (*TARGETS, "cpu:x86-64-v3") for word in ("-t", target)]
    build = [sys.executable, "-m", "pydotcompute", "build", "-C", str(folder), *KERNELS, *targets]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


@pytest.fixture(scope="module")
def here(project):
    names: dict = {}
    exec(CALLS, names)
    found = names["results"](pydotcompute.load(project, target="cpu:x86-64-v3"))
    return {name: hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest() for name, a in found.items()}


@pytest.mark.parametrize("threads", ["1", "4"])
@pytest.mark.parametrize("processor, level", [("cortex-a53", "aarch64"), ("max", "aarch64-v8.2")])
def test_a_processor_runs_its_own_level_with_the_bits_of_another_architecture(
    machine, project, here, processor, level, threads
):
    done = machine.run("-c", PROGRAM, str(project), processor=processor, PYDOTCOMPUTE_THREADS=threads)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["target"] == f"cpu:{level}"
    assert [name for name, digest in told["results"].items() if digest != here[name]] == []


@pytest.mark.parametrize("processor, level, part", [("cortex-a53", "aarch64", 0), ("max", "aarch64-v8.2", 1)])
def test_check_holds_there(machine, project, processor, level, part):
    """Of every second kernel: what instructions there are is decided for all of them alike."""
    kernels = KERNELS if EVERYTHING else KERNELS[part::2]
    command = ["-m", "pydotcompute", "check", "--quick", "-C", str(project), "--json", "-t", f"cpu:{level}", *kernels]
    done = machine.run(*command, processor=processor)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    rows = json.loads(done.stdout)["artifacts"]
    assert {row["kernel"] for row in rows} == set(kernels) and {row["status"] for row in rows} == {"ok"}


def test_what_is_wrong_is_said_in_the_terms_of_that_machine(machine, project):
    program = """
import sys
import numpy as np
import pydotcompute

def told(error, call, *arguments, **more):
    try:
        call(*arguments, **more)
    except error as found:
        print(type(found).__name__, found)

x = np.ones(5, "f4")
lib = pydotcompute.load(sys.argv[1])
told(TypeError, lib.axpy, 2.0, x)
told(IndexError, lib.gather, np.ones((3, 4)), np.array([0, 3]))
told(pydotcompute.KernelNotBuiltError, pydotcompute.load(sys.argv[1], target="cpu:x86-64-v3").axpy, 2.0, x, x)
told(pydotcompute.KernelNotBuiltError, pydotcompute.load(sys.argv[1], target="cpu:aarch64-v8.2").axpy, 2.0, x, x)
told(ValueError, pydotcompute.load, sys.argv[1], target="cpu:neoverse-n1")
"""
    done = machine.run("-c", program, str(project), processor="cortex-a53")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("TypeError axpy is missing argument 'y'")
    assert lines[1].startswith("IndexError") and "3" in lines[1]
    assert "cannot run as cpu:x86-64-v3 here: this processor is aarch64;" in lines[2]
    assert "cannot run as cpu:aarch64-v8.2 here: this processor has the level aarch64;" in lines[3]
    assert lines[4] == "ValueError target='cpu:neoverse-n1' is not a target: did you mean 'cpu:aarch64-v8.2'?"


def test_a_machine_of_this_architecture_refuses_the_other(project):
    lib = pydotcompute.load(project, target="cpu:aarch64")
    with pytest.raises(pydotcompute.KernelNotBuiltError, match="cannot run as cpu:aarch64 here: this processor is x86-64"):
        lib.axpy(2.0, np.ones(3, "f4"), np.ones(3, "f4"))
