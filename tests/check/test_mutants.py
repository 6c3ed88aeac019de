"""Compilers with one mistake each: `check` finds what is wrong only for some layouts, sizes or values."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pydotcompute

TARGET = "cpu:x86-64-v2"
PACKAGE = Path(pydotcompute.__file__).parent
COPY = '"(x: strided T[m, n]) -> (out: T[m, n])"', "for i, j in grid(m, n):\n          out[i, j] = x[i, j]", "x"
DOUBLE = '"(x: inout strided T[...])"', "for i in grid(size):\n          x[i] = 2 * x[i]", "2 * x"
TOTAL = '"(x: T[n]) -> (total: T)"', "s = T(0)\n      for i in grid(n):\n          s += x[i]\n      total[()] = s", "x.sum()"
LARGER = '"(x: T[n], y: T[n]) -> (out: T[n])"', "for i in grid(n):\n          out[i] = max(x[i], y[i])", "np.maximum(x, y)"
TWICE = '"(x: T[n]) -> (out: T[n])"', "for i in grid(n):\n          out[i] = 2 * x[i]", "2 * x"

# file, what stands there, the mistake, the kernel, of which cases alone, what is found
MUTANTS = {
    "strides taken for contiguous": (
        "targets/cpu/loop_versioning.py", 'f"eq({a.strides[-1]}, {size})"', '"eq(int64(1), int64(1))"',
        COPY, " strided", "by the reference",
    ),
    "one element more, in the gap of a view": (
        "targets/cpu/innermost_loops.py", "writer.for_(counter or name, start, stop)", "writer.for_(counter or name, start, f'add({stop}, int64(1))')",
        DOUBLE, "", "bytes outside its elements were written",
    ),
    "the end of a sum that is no multiple of eight": (
        "targets/cpu/innermost_loops.py", 'f"sub({left}, {before})"', 'f"band(sub({left}, {before}), int64(-8))"',
        TOTAL, "", "by the reference",
    ),
    "NaN is no maximum": (
        "targets/cpu/dialect.py", '("", f"{op}imum")', '("", f"{op}num")', LARGER, " extreme", "by the interpreter (forward) nan",
    ),
    "stores of whole vectors": (
        "targets/llvm/memory.py", "1 if in_bytes else alignment(t)", "16", TWICE, " misaligned", "the process ended by SIG",
    ),
}  # fmt: skip


def run(*arguments, package=PACKAGE.parent):
    """The command line of the package that lies in this folder."""
    return subprocess.run(
        [sys.executable, "-m", "pydotcompute", *map(str, arguments)], cwd=package, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(package)},
    )  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_compiler_with_a_mistake_is_found(tmp_path, mutant):
    file, right, wrong, (signature, body, reference), kind, finding = MUTANTS[mutant]
    shutil.copytree(PACKAGE, tmp_path / "pydotcompute", ignore=shutil.ignore_patterns("__pycache__"))
    source = (tmp_path / "pydotcompute" / file).read_text()
    assert right in source
    (tmp_path / "pydotcompute" / file).write_text(source.replace(right, wrong))
    project = tmp_path / "a project"
    project.mkdir()
    (project / "kernels.yaml").write_text(
        f"version: 1\ntargets: [{TARGET}]\nkernels:\n  k:\n    signature: {signature}\n    types: {{T: [float32, float64]}}\n"
        f"    body: |\n      {body}\n    reference: {reference}\n"
    )
    assert run("build", "-C", project, package=tmp_path).returncode == 0

    done = run("check", "-C", project)
    assert done.returncode == 1 and not done.stderr.count("Traceback")
    found = [line.partition(", seed 0: ") for line in done.stdout.splitlines() if ", seed 0: " in line]
    assert found and all(case.endswith(kind) for case, _, _ in found)
    assert any(finding in what for _, _, what in found), done.stdout
    first = next(line for line in done.stdout.splitlines() if "repeat: " in line).partition("repeat: ")[2]
    again = run(*shlex.split(first)[1:])
    assert again.returncode == 1
    assert again.stderr.startswith("1 case of 1 artifact, 1 failed")
    assert found[0] == next(line for line in again.stdout.splitlines() if ", seed 0: " in line).partition(", seed 0: ")
