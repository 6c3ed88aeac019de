"""An artifact's bytes depend neither on the order in which things are compiled, nor on what else is, nor on who does
it: random orders and subsets of kernels and targets, in processes of their own."""

import json
import random
import subprocess
import sys
import textwrap
from collections import defaultdict

import numpy as np
import pytest

import pydotcompute
from pydotcompute.builder.execute import jobs_of

from .project import build_project, copy_project, objects, plan_project

FLAGS = ("[fast]", "[]", "[reassoc, nsz]", "[contract]", "[nnan, arcp, afn]")
BODIES = {  # (signature, body): library functions, lanes, folds, atomics, remainders, views, complex numbers, helpers
    "power": ("(x: float64[n]) -> (out: float64[n])", "for i in grid(n):\n    out[i] = x[i] ** 2.5 + exp2(x[i])"),
    "root": ("(x: float32[n], y: float32[n]) -> (out: float32[n])",
             "for i in grid(n):\n    out[i] = cbrt(x[i]) % y[i] - fma(x[i], y[i], 1) + sin(x[i])"),
    "rows": ("(x: strided T[..., n]) -> (out: T[...], at: int64[...])",
             "for r in blocks(rows):\n    out[r] = log1p(sum(exp(x[r, c]) for c in threads(n)))\n"
             "    at[r] = argmax(x[r, c] for c in threads(n))"),
    "total": ("(x: float64[n]) -> (out: float64)", "out[()] = sum(x[i] ** 2 for i in grid(n))"),
    "counted": ("(k: int64[n], x: T[n], m: int64) -> (out: T[m])",
                "for i in grid(n):\n    atomic_max(out, k[i] % m, x[i])"),
    "added": ("(k: int64[n], x: float64[n], m: int64) -> (out: float64[m])",
              "for i in grid(n):\n    atomic_add(out, k[i] % m, exp2(x[i]))"),
    "turned": ("(z: complex64[n], w: complex64[n]) -> (out: complex64[n])",
               "for i in grid(n):\n    out[i] = z[i] / w[i] * abs(z[i])"),
}  # fmt: skip
TYPES = {"rows": "{T: [float32, float64]}", "counted": "{T: [int16, float64]}"}
HELPED = """\
def step(v, k):
    for j in range(k):
        v = v * v % 3.5 + tanh(v)
    return v

def helped(x, out):
    for i in grid(n):
        out[i] = step(x[i], 3) + step(x[i], 1)
"""
CPU = ("cpu:x86-64", "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4")
CUDA = ("cuda:compute_50", "cuda:sm_60", "cuda:compute_75", "cuda:sm_75", "cuda:sm_90")
PROGRAM = """
import dataclasses, hashlib, json, sys
from pydotcompute import declare
from pydotcompute.builder.worker import answer as compile_job
from pydotcompute.targets.base import Job
root, folder, jobs = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
kernels = declare.load(root).kernels
for name, choice, targets in jobs:
    specialisation = kernels[name].specialisations[choice]
    rendered = declare.render(kernels[name], specialisation, targets[0].partition(":")[0], root)
    answer = compile_job(Job(kernels[name], specialisation, rendered, tuple(targets), folder))
    assert not answer.failures, answer.failures
    for target, artifact in answer.artifacts.items():
        said = hashlib.sha256(artifact.data + json.dumps(artifact.meta, sort_keys=True).encode()).hexdigest()
        print(name, choice, target, said)
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("order")
    (root / "templates").mkdir()
    (root / "templates/helped.py.j2").write_text(HELPED)
    lines = ["version: 1", "targets: [cpu:x86-64-v3]", "kernels:"]
    for number, (name, (signature, body)) in enumerate(BODIES.items()):
        lines += [f"  {name}:", f'    signature: "{signature}"', f"    fastmath: {FLAGS[number % len(FLAGS)]}"]
        lines += [f"    types: {TYPES[name]}"] if name in TYPES else []
        lines += ["    body: |", textwrap.indent(body, "      ")]
    lines += ["  helped:", '    signature: "(x: float64[n]) -> (out: float64[n])"', "    template: helped.py.j2"]
    (root / "kernels.yaml").write_text("\n".join(lines) + "\n")
    return root


def drawn(seed, targets):
    """Jobs: some of the kernels, each for some of the targets, in any order."""
    rng = random.Random(seed)
    places = [(name, choice) for name in (*BODIES, "helped") for choice in range(2 if name in TYPES else 1)]
    chosen = rng.sample(places, 6)
    jobs = [(*place, rng.sample(targets, rng.randint(1, 3))) for place in chosen if place != ("counted", 0)]
    return [*jobs, ("counted", 0, rng.sample(targets, len(targets)))]  # the instructions differ from target to target


@pytest.mark.parametrize("targets", [CPU, CUDA], ids=["cpu", "cuda"])
def test_the_same_bytes_in_any_order_and_company(root, tmp_path, targets):
    found = defaultdict(list)
    orders = [drawn(seed, targets) for seed in (1, 2)]
    if targets is CPU:
        orders = [jobs + [(*jobs[0][:2], [target + "+bounds" for target in CPU[1:3]])] for jobs in orders]
    backwards = [(name, choice, some[::-1]) for name, choice, some in orders[0][::-1]]
    for number, jobs in enumerate([*orders, backwards]):
        command = [sys.executable, "-c", PROGRAM, str(root), str(tmp_path / str(number)), json.dumps(jobs)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        for line in done.stdout.splitlines():
            *place, said = line.split()
            found[tuple(place)].append(said)
    several = {place: set(said) for place, said in found.items() if len(said) > 1}
    assert len(several) > 10
    assert {place for place, said in several.items() if len(said) > 1} == set()


def test_the_same_bytes_by_any_number_of_workers_and_alone(root, tmp_path):
    """As reported: with one worker, the flags of the first kernel changed the function that the second calls."""
    made = []
    for jobs, kernels in ((1, ("power", "total", "root")), (2, ("power", "total", "root")), (1, ("total",))):
        copy = copy_project(root, tmp_path / f"{jobs}{len(kernels)}")
        _, outcome = build_project(copy, jobs=jobs, kernels=kernels)
        assert not outcome.failed, outcome.failed
        made.append(objects(copy))
    assert made[0] == made[1] and made[2].items() <= made[0].items() and len(made[2]) == 1
    total = pydotcompute.load(tmp_path / "13").total
    assert total(np.array([1.0, 3.0, 10.0])) == 110


def test_jobs_with_checks_of_indices_are_jobs_of_their_own(root):
    """One pass of the front end serves the targets of a job, and it is another one with checks."""
    plan = plan_project(root, kernels=("power",), targets=("cpu:x86-64-v2", "cpu:x86-64-v2+bounds", "cpu:x86-64-v3"))
    jobs = jobs_of(plan, list(plan.stale), str(root), "")
    assert sorted(job.targets for job in jobs) == [("cpu:x86-64-v2", "cpu:x86-64-v3"), ("cpu:x86-64-v2+bounds",)]
