"""`pydotcompute bench`: what it is asked, what it refuses, and the shape of its figures. The figures are not judged."""

import json
import os
import subprocess
import sys

import pytest

from pydotcompute.bench import SUBJECTS
from pydotcompute.cli import main

SAXPY = """\
version: 1
targets: [cpu:x86-64-v3]
kernels:
  build:
    signature: "(a: T, x: T[...]) -> (out: T[...])"
    types: {T: [float32]}
    body: |
      for i in grid(size):
          out[i] = a * x[i]
"""


def call(capsys, *arguments):
    code = main(["bench", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def figures(capsys, subject, *arguments):
    """The rows, of which each has no other columns than the subject says."""
    code, out, err = call(capsys, "--subject", subject, "--json", *arguments)
    assert code == 0, err
    data = json.loads(out)
    assert (data["version"], data["subject"]) == (1, subject)
    assert all(set(row) <= set(data["columns"]) for row in data["figures"])
    return data["figures"]


@pytest.mark.parametrize(
    "arguments, line",
    [
        ((), "pydotcompute bench: error: the following arguments are required: --subject"),
        (("--subject", "cals"), "pydotcompute: no subject 'cals' in pydotcompute bench; did you mean 'calls'?"),
        (("--subject", "calls", "--rounds", "0"),
         "pydotcompute bench: error: argument --rounds: '0' is not a whole number from 1"),
        (("--subject", "calls", "--elements", "10"),
         "pydotcompute: --elements does not apply to --subject calls; it is for bandwidth"),
        (("--subject", "start", "-C", "."),
         "pydotcompute: -C does not apply to --subject start; it is for kernels, code, build"),
        (("--subject", "build", "-C", "nowhere"), "pydotcompute: -C nowhere: there is no such folder"),
        (("--subject", "functions", "--function", "sine"),
         "pydotcompute: no function 'sine' in pydotcompute bench --subject functions; did you mean 'sin'?"),
    ],
)  # fmt: skip
def test_what_is_not_understood(capsys, arguments, line):
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == line


def test_help_names_every_subject(capsys):
    code, out, _ = call(capsys, "--help")
    assert code == 0
    for name, subject in SUBJECTS.items():
        assert f"  {name} " in out and subject.summary in out


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_subject_takes_what_it_says(name):
    """What a subject lists are the arguments of its `measure`, besides how often."""
    import importlib
    import inspect

    module = importlib.import_module(f"pydotcompute.bench.{SUBJECTS[name].module}")
    taken = inspect.signature(module.measure).parameters
    assert "rounds" in taken and set(SUBJECTS[name].options) <= set(taken)
    assert all(p.default is not p.empty for n, p in taken.items() if n not in ("directory", "targets", "functions", "kernels"))


def test_a_project_without_a_declaration(tmp_path, capsys):
    code, out, err = call(capsys, "--subject", "build", "-C", str(tmp_path))
    assert (code, out) == (1, "") and err == f"{tmp_path}/kernels.yaml: No such file or directory\n"


@pytest.mark.slow
def test_a_build(tmp_path, capsys):
    """Of a project whose only kernel has a subject's name. Its own cache is not touched."""
    (tmp_path / "kernels.yaml").write_text(SAXPY)
    rows = figures(capsys, "build", "-C", str(tmp_path), "--rounds", "1")
    assert [row.get("artifacts") for row in rows] == [1, 1, None, 0]
    assert all(row["s"] > 0 for row in rows) and not (tmp_path / "build").exists()


@pytest.mark.slow
def test_functions_in_columns_and_as_json(capsys):
    chosen = ("--function", "exp", "-t", "cpu:x86-64-v2", "--rounds", "1")
    rows = figures(capsys, "functions", *chosen)
    assert [(row["function"], row["dtype"], row["target"]) for row in rows] == [
        ("exp", "float32", "cpu:x86-64-v2"), ("exp", "float64", "cpu:x86-64-v2"),
    ]  # fmt: skip
    for row in rows:
        assert row["times as fast"] == pytest.approx(row["NumPy"] / row["ns an element"])
    code, out, _ = call(capsys, "--subject", "functions", *chosen)
    head, *lines = out.splitlines()
    assert code == 0 and head.split()[:3] == ["function", "dtype", "target"] and len(lines) == 2


@pytest.mark.slow
def test_calls_starts_and_kernels(built, capsys):
    run = [sys.executable, "-m", "pydotcompute", "bench", "--json", "--rounds", "1"]
    kernels = ("-C", str(built), "--kernel", "axpy")
    for subject, rows, more in (("calls", 90, ()), ("start", 2, ()), ("kernels", 4, kernels)):
        done = subprocess.run([*run, "--subject", subject, *more], capture_output=True, text=True, cwd=built)
        assert done.returncode == 0, done.stderr
        assert len(json.loads(done.stdout)["figures"]) == rows
    limit = ["--subject", "start", "--limit", "0.5", "0"]
    done = subprocess.run([*run, *limit], capture_output=True, text=True, cwd=built)
    assert done.returncode == 1 and done.stderr == "above the limit of 0.5 times and 0 MiB\n"


def test_a_machine_without_a_device():
    """Said, and a failure: no figures are not good figures. Where CuPy finds a device, one that cannot be seen."""
    run = [sys.executable, "-m", "pydotcompute", "bench", "--subject", "launches"]
    done = subprocess.run(run, capture_output=True, text=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("nothing was measured: ") and done.stderr.count("\n") == 1
