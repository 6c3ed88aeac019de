"""A package from outside brings a target and a backend by entry points, and nothing of ours is edited for it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KERNELS = """
version: 1
targets: [cpu:x86-64-v3, abacus]
kernels:
  saxpy:
    signature: "(a: T, x: T[...], y: T[...]) -> (out: T[...])"
    types: {T: [float32, float64]}
    body: |
      for i in grid(size):
          out[i] = a * x[i] + y[i]
    reference: a * x + y
  twice:
    doc: a raw kernel of the abacus
    signature: "(x: float64[n]) -> (out: float64[n])"
    launch: {block: 1}
    body: |
      for i in abacus.all(x):
          out[i] = x[i] + x[i]
    reference: 2 * x
  half:
    doc: of a dtype that the abacus does not have
    signature: "(x: int8[n]) -> (out: int8[n])"
    body: |
      for i in grid(n):
          out[i] = x[i] // 2
    reference: x // 2
"""


def run(*arguments: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "kernels.yaml").write_text(KERNELS)
    done = run("-m", "pydotcompute", "build", "-C", str(folder))
    assert done.returncode == 0, done.stderr
    return str(folder)


def test_its_artifacts_are_built_beside_ours(project):
    done = run("-m", "pydotcompute", "cache", "list", "--json", "-C", project)
    built = {(a["kernel"], a["specialization"], a["target"]) for a in json.loads(done.stdout)["artifacts"]}
    assert built == {
        ("saxpy", "T=float32", "cpu:x86-64-v3"), ("saxpy", "T=float32", "abacus:beads"),
        ("saxpy", "T=float64", "cpu:x86-64-v3"), ("saxpy", "T=float64", "abacus:beads"),
        ("twice", "-", "abacus:beads"), ("half", "-", "cpu:x86-64-v3"),
    }  # fmt: skip


@pytest.mark.slow
def test_a_call_on_its_arrays_and_one_that_moves(project):
    program = """
import sys, numpy as np, pydotcompute
lib, abacus = pydotcompute.load(sys.argv[1]), pydotcompute.get_backend("abacus")
x = np.arange(6, dtype="f4").reshape(2, 3)
beads = lib.saxpy(2.0, abacus.to_device(x), abacus.to_device(x))
assert type(beads).__name__ == "Beads" and (abacus.to_host(beads) == 3 * x).all()
assert (lib.saxpy(2.0, x, x, backend="abacus") == 3 * x).all()
assert (lib.saxpy(2.0, x, x) == 3 * x).all() and lib.saxpy.which(2.0, x, x).target == "cpu:x86-64-v3"
assert lib.saxpy.which(2.0, x, x, backend="abacus").target == "abacus:beads"
assert (lib.twice(np.ones(3), backend="abacus") == 2).all()
pinned = pydotcompute.load(sys.argv[1], target="abacus:beads")
assert (abacus.to_host(pinned.saxpy(1.0, beads, beads)) == 6 * x).all()
assert (pinned.saxpy(2.0, x, x, backend="abacus") == 3 * x).all()
assert pinned.saxpy.which(2.0, x, x, backend="abacus").target == "abacus:beads"
for ask in (pinned.saxpy, pinned.saxpy.which):
    try:
        ask(2.0, x, x)
    except ValueError as error:
        assert str(error).endswith("the target abacus:beads is pinned; backend='abacus' moves it there"), error
    else:
        raise AssertionError("host arrays are not of the pinned target's backend")
assert "numba" not in sys.modules
print(*(info.name for info in pydotcompute.discover_backends() if info.available))
"""
    done = run("-c", program, project)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) >= {"abacus", "cpu"}


@pytest.mark.slow
def test_check_holds_it_to_the_reference(project):
    done = run("-m", "pydotcompute", "check", "--quick", "--json", "-C", project)
    assert done.returncode == 0, done.stderr
    rows = {(r["kernel"], r["specialization"], r["target"]): r["status"] for r in json.loads(done.stdout)["artifacts"]}
    assert rows["saxpy", "T=float32", "abacus:beads"] == rows["twice", "-", "abacus:beads"] == "ok"


@pytest.mark.slow
def test_the_commands_show_it(project):
    assert "abacus" in run("-m", "pydotcompute", "backends").stdout
    shown = run("-m", "pydotcompute", "cache", "show", "saxpy", "-C", project).stdout
    assert "abacus:beads" in shown
    Path(project, "kernels.yaml").write_text(KERNELS.replace("a * x[i] + y[i]", "y[i] + a * x[i]"))
    explained = run("-m", "pydotcompute", "explain", "saxpy", "-C", project)
    Path(project, "kernels.yaml").write_text(KERNELS)
    assert "abacus:beads" in explained.stdout and "source changed" in explained.stdout


@pytest.mark.slow
def test_what_it_cannot_do_is_told_by_name(tmp_path):
    (tmp_path / "kernels.yaml").write_text(KERNELS.replace("y[i]\n", "exp(y[i])\n", 1))
    done = run("-m", "pydotcompute", "build", "saxpy", "-t", "abacus", "-C", str(tmp_path))
    assert done.returncode == 1 and "abacus has no beads for Call" in done.stderr
    (tmp_path / "kernels.yaml").write_text(KERNELS.replace("cpu:x86-64-v3, ", "").replace("float32, float64", "float16"))
    done = run("-m", "pydotcompute", "build", "-C", str(tmp_path))
    told = "kernels.yaml:7:17: float16 cannot be had on any of the targets: abacus:beads"
    assert done.returncode == 1 and told in done.stderr and "add one to targets: " in done.stderr
    done = run("-m", "pydotcompute", "build", "-t", "abacus:stones", "-C", str(tmp_path))
    assert done.returncode == 2 and "unknown target 'abacus:stones'; did you mean 'abacus:beads'?" in done.stderr
