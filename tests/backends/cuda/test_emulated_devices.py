"""The run half on emulated devices, each file of cases in a process of its own: tests/emulator says what that shows."""

import inspect
import json
import os
import re
import subprocess
import sys

import pytest
from tests.targets.cuda.cuda_support import ROOT

from tests.emulator.environment import environment

CASES = f"{ROOT}/tests/emulator/cases"
MEMBERS = (
    "arange", "array", "asarray", "asnumpy", "broadcast_to", "empty", "from_dlpack", "zeros", "cuda.Device",
    "_core._routines_linalg.get_compute_type", "_core._routines_linalg.set_compute_type",
    "cuda.device.get_cublas_handle", "cuda.Event", "cuda.MemoryPointer", "cuda.Stream", "cuda.Stream.from_external",
    "cuda.UnownedMemory",
    "cuda.get_current_stream", "cuda.memory.OutOfMemoryError", "cuda.driver.CUDADriverError",
    "cuda.driver.ctxCreate", "cuda.driver.ctxDestroy", "cuda.driver.ctxGetCurrent", "cuda.driver.ctxSetCurrent",
    "cuda.driver.launchKernel", "cuda.runtime.CUDARuntimeError", "cuda.runtime.eventRecord",
    "cuda.runtime.memcpyAsync", "cuda.runtime.memcpyPeerAsync", "cuda.runtime.memsetAsync",
    "cuda.runtime.streamIsCapturing", "cuda.runtime.streamWaitEvent",
    "cuda.runtime.deviceSynchronize", "cuda.runtime.getDevice",
    "cuda.runtime.getDeviceCount", "cuda.runtime.getDeviceProperties", "cuda.runtime.hostAlloc", "cuda.runtime.memGetInfo",
    "cuda.runtime.pointerGetAttributes", "cuda.runtime.setDevice", "cuda.runtime.streamSynchronize",
)  # fmt: skip
A_TEST, A_FILE = 300, 900  # seconds; what takes longer hangs, and fails with the place of every thread
RENAMED = {"ptr": "pointer"}  # what the callers give by position


@pytest.fixture(scope="session")
def emulated(tmp_path_factory):
    return environment(str(tmp_path_factory.mktemp("driver")))


def session(emulated, project, *more, limit=A_TEST):
    return subprocess.run(
        [
            sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.emulator.fixtures", "-rs",
            "-o", "python_files=case_*.py", "-o", f"faulthandler_timeout={limit}",
            "-o", "faulthandler_exit_on_timeout=true", *more,
        ],
        capture_output=True, text=True, cwd=ROOT, env={**emulated, "PYDOTCOMPUTE_CUDA_PROJECT": project},
        timeout=A_FILE,
    )  # fmt: skip


@pytest.mark.parametrize("name", sorted(n for n in os.listdir(CASES) if n.startswith("case_")))
def test_cases(emulated, project, name):
    done = session(emulated, project, f"{CASES}/{name}")
    assert done.returncode == 0 and re.search(r"\d+ passed", done.stdout), done.stdout[-8000:] + done.stderr
    assert not re.search(r"skipped|xfailed", done.stdout), done.stdout[-8000:]


def test_a_case_that_hangs_fails_and_says_where(emulated, tmp_path):
    (tmp_path / "case_hanging.py").write_text("import time\n\ndef test_waits_for_ever():\n    time.sleep(1e6)\n")
    done = session(emulated, "", str(tmp_path / "case_hanging.py"), limit=3)
    assert done.returncode and "Timeout" in done.stderr and "in test_waits_for_ever" in done.stderr, done.stderr


def test_what_is_emulated_is_called_as_cupy_is(emulated):
    """Every function takes the parameters of CuPy's, in its order; it may lack later ones that have defaults."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    code = f"""
import cupy, cupy._core._routines_linalg, cupy.cuda.device, inspect, json
from operator import attrgetter
print(json.dumps({{n: list(inspect.signature(attrgetter(n)(cupy)).parameters) for n in {MEMBERS!r}}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=emulated, check=True)
    different = []
    for name, ours in json.loads(done.stdout).items():
        member = cupy
        for part in name.split("."):
            member = getattr(member, part)
        theirs = parameters(member)
        if [RENAMED.get(n, n) for n in theirs[: len(ours)]] != [RENAMED.get(n, n) for n in ours]:
            different.append((name, ours, theirs))
    assert not different


def parameters(member) -> list[str]:
    """The names of parameters, by the signature, or by the first line of the docstring of what Cython compiled."""
    try:
        found = list(inspect.signature(member).parameters)
        if found != ["args", "kwargs"]:
            return found
    except ValueError:
        pass
    text = re.search(r"\((.*?)\)(?:\s|$|\s*->)", member.__doc__, re.S)[1]
    words = [part.split("=")[0].split(":")[0].split()[-1] for part in text.split(",") if part.strip(" *")]
    return [w for w in words if w not in ("self", "*")]
