"""Every kernel of the repository with arrays of every rank, in every way of giving them: the same results, or a
ValueError; never another rank's memory. In a process of its own: what goes wrong here ends it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pydotcompute import declare
from pydotcompute.backends.cpu import levels
from tests.budget import EVERYTHING
from tests.emulator.environment import environment
from tests.targets.opencl import run as opencl

ROOT = Path(__file__).parents[2]

PROGRAM = r"""
import sys
import numpy as np
import pydotcompute
from pydotcompute import declare
from pydotcompute.check.cases import cases_of
from pydotcompute.check.draw import draw

root, target, backend, ranks, *chosen = sys.argv[1:]
lib = pydotcompute.load(root, target=target)
most = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
ranks = [min(int(rank), most) for rank in ranks.split(",")] if ranks else range(most + 1)
there, move, back, times, each = {}, np.array, np.asarray, 1, not chosen
if backend == "cuda":  # arrays of an emulated device
    from pydotcompute.backends.cuda.backend import CUDABackend
    from tests.emulator import replay
    device = CUDABackend()
    move, back, times, each = device.to_device, device.to_host, 3, False  # the third time it is served without the rules
    done = replay.install()
elif backend:
    there = {"backend": backend}
counted = dict.fromkeys(("calls", "refused"), 0)

def deeper(parameters, values, count):
    # with so many dimensions of one more before those of `...`; without `...`, of a wrong rank
    loose = [p for p in parameters if p.ellipsis] or [p for p in parameters if p.is_array]
    chosen = {p.name for p in loose}
    return {n: v.reshape((1,) * count + v.shape) if n in chosen else v for n, v in values.items()}

def given(values, apart=""):
    # where they are taken; one may have its elements two apart
    def laid(name, v):
        return move(np.repeat(v, 2, -1))[..., ::2] if name == apart else move(v) if isinstance(v, np.ndarray) else v
    return {n: laid(n, v) for n, v in values.items()}

def same(got, wanted, what):
    got, wanted = ([v] if not isinstance(v, tuple) else v for v in (got, wanted))
    for g, w in zip(got, wanted, strict=True):
        assert (g is None) == (w is None), what
        assert g is None or np.array_equal(g.ravel(), w.ravel(), equal_nan=g.dtype.kind in "fc"), what

def host(array):
    return None if array is None else np.array(back(array))

def run(kernel, inputs, outputs, by_name, apart=""):
    # the results, then what the arguments hold
    inputs, outputs = given(inputs, apart), given(outputs)
    result = kernel(**inputs, **outputs) if by_name else kernel(*inputs.values(), *outputs.values())
    counted["calls"] += 1
    written = [inputs[p.name] for p in parameters if p.role == "inout"]
    return tuple(map(host, (*(result if isinstance(result, tuple) else (result,)), *written)))

def equal(kernel, inputs, outputs, by_name, wanted, what, apart=""):
    for _ in range(times):
        same(run(kernel, inputs, outputs, by_name, apart), wanted, what)

def refused(kernel, inputs, outputs, by_name, what, apart=""):
    try:
        run(kernel, inputs, outputs, by_name, apart)
    except ValueError:
        counted["refused"] += 1
        return
    raise SystemExit(f"{what}: not refused")

for name, declared in declare.load(root).kernels.items():
    if chosen and name not in chosen:
        continue
    kernel, parameters = lib[name], declared.signature.parameters
    loose = any(p.ellipsis for p in parameters)
    for specialisation in declared.specialisations[: None if each else 1]:
        params = dict(specialisation.params)
        dims = next(d for d, kind in cases_of(declared, specialisation, 0) if not kind and 3 <= np.prod(list(d.values())) < 5000)
        case = draw(declared, specialisation, dims, np.random.default_rng(0), root)
        inputs, outputs = {**case.arguments}, case.outputs
        call = lambda *args, **given: kernel(*args, **given, **params, **there)
        wanted = run(call, inputs, {}, False)
        base = max(v.ndim for v in (*inputs.values(), *outputs.values()) if isinstance(v, np.ndarray))
        for count in (rank - base for rank in ranks if rank >= base):
            what = name, str(specialisation), base + count
            more, ours = deeper(parameters, inputs, count), deeper(parameters, outputs, count)
            for by_name in (False, True):
                if count and not loose:
                    if any(p.is_array and p.is_input for p in parameters):
                        refused(call, more, {}, by_name, what)
                    refused(call, more, ours, by_name, what)
                    continue
                for outs in ({}, ours):
                    equal(call, more, outs, by_name, wanted, what)
                for p in parameters:
                    value = more.get(p.name)
                    if isinstance(value, np.ndarray) and value.size and value.shape[-1] > 1:
                        if p.layout == "C":
                            refused(call, more, {}, by_name, (*what, p.name), p.name)
                        else:
                            equal(call, more, {}, by_name, wanted, (*what, p.name), p.name)
        flat = [p for p in parameters if p.is_array and p.is_input]
        if flat and all(p.ellipsis and not p.dims for p in flat):
            one = {n: v.reshape(-1)[:1] if isinstance(v, np.ndarray) else v for n, v in inputs.items()}
            none = {n: v.reshape(()) if isinstance(v, np.ndarray) else v for n, v in one.items()}
            for by_name in (False, True):
                equal(call, none, {}, by_name, run(call, one, {}, by_name), (name, "0-d"))
print(counted["calls"], counted["refused"], *(done.values() if backend == "cuda" else ()))
"""


def run(folder, *words, **more):
    command = [sys.executable, "-c", PROGRAM, str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stderr[-3000:]
    return map(int, done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v4"])
def test_every_rank(built, level):
    if levels.unfit(level):
        pytest.skip(levels.unfit(level))
    calls, refused = run(built, f"cpu:{level}", "", "")
    assert calls > 10_000 and refused > 10_000


@pytest.mark.slow
def test_every_rank_on_an_emulated_cuda_device(project, tmp_path):
    """Of every third kernel."""
    chosen = list(declare.load(ROOT).kernels)[:: 1 if EVERYTHING else 3]
    told = run(project, "cuda:compute_80", "cuda", "", *chosen, env=environment(str(tmp_path)))
    calls, refused, interpreted, again = told
    least = (30_000, 5_000, 50) if EVERYTHING else (8_000, 1_000, 10)
    assert calls > least[0] and refused > least[1] and least[2] < interpreted < again


@pytest.mark.slow
def test_ranks_of_arrays_that_opencl_is_given(tmp_path):
    if reason := opencl.missing():
        pytest.skip(reason)
    names = ("add", "sum_last", "gather", "swap_axes", "softmax_inplace")
    shutil.copy(ROOT / "kernels.yaml", tmp_path)
    shutil.copytree(ROOT / "templates", tmp_path / "templates")
    build = [sys.executable, "-m", "pydotcompute", "build", "-q", "-C", tmp_path, "-t", "opencl:1.2", *names]
    subprocess.run(build, check=True)
    calls, refused = run(tmp_path, "opencl:1.2", "opencl", "1,2,3,16,17,33,64", *names)
    assert calls > 100 and refused > 40
