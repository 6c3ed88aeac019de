"""Kernels in other processes: they travel by name and digest, with the packages that people send them by."""

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
from pathlib import Path

import dask
import dask.array
import joblib
import numpy as np
import pytest
from support import edit_manifest, write_saxpy

import pydotcompute
from pydotcompute import KernelNotBuiltError

X, Y = np.arange(64, dtype="f4"), np.ones(64, "f4")
WANTED = (2 * X + Y).tolist()


@pytest.fixture
def saxpy(tmp_path):
    return pydotcompute.load(write_saxpy(tmp_path / "project")).saxpy


@pytest.mark.slow
def test_multiprocessing_with_spawn(saxpy):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for result in pool.starmap(saxpy, [(2.0, X, Y)] * 3):
            assert result.tolist() == WANTED


@pytest.mark.slow
def test_joblib(saxpy):
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(saxpy)(2.0, X, Y) for _ in range(3))
    assert [result.tolist() for result in found] == [WANTED] * 3


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["processes", "threads"])
def test_dask_map_blocks(saxpy, scheduler):
    x, y = (dask.array.from_array(v, chunks=16) for v in (X, Y))
    mapped = dask.array.map_blocks(lambda x, y: saxpy(2.0, x, y), x, y, dtype="f4")
    with dask.config.set(scheduler=scheduler, num_workers=2):
        assert mapped.compute().tolist() == WANTED


def test_a_kernel_that_is_another_one_there_is_refused(saxpy, tmp_path):
    sent = pickle.dumps(saxpy)
    edit_manifest(tmp_path / "project", lambda manifest: manifest["kernels"]["saxpy"].update(doc="another"))
    with pytest.raises(KernelNotBuiltError) as caught:
        pickle.loads(sent)
    assert str(caught.value) == (
        f"the kernel 'saxpy' of {tmp_path / 'project'} is not the one that was sent here: it was built again in the "
        "meantime, or another version of its package is installed; let all processes have the same"
    )
    assert copy.copy(saxpy) is copy.deepcopy(saxpy) is saxpy and saxpy(2.0, X, Y).tolist() == WANTED


@pytest.mark.slow
def test_an_imported_bundle_is_found_where_it_lies_there(tmp_path):
    """By the name of its package: two machines have it in two places."""
    project = Path(write_saxpy(tmp_path / "project"))
    sent = b""
    for place in ("here", "there"):
        bundle = tmp_path / place / "mine" / "kernels"
        bundle.parent.mkdir(parents=True)
        (bundle.parent / "__init__.py").write_text("")
        (project / "build" / "cache").rename(bundle)
        (bundle / "__init__.py").write_text(
            "from pydotcompute.runtime.module import bundle\n"
            "__getattr__, __dir__ = bundle(__name__, globals())\n"
        )
        program = {
            "here": "from mine.kernels import saxpy; sys.stdout.buffer.write(pickle.dumps(saxpy))",
            "there": "k = pickle.load(sys.stdin.buffer); k = pickle.loads(pickle.dumps(k)); "
                     "print(*k._origin.sent, k(2.0, *np.ones((2, 3), 'f4')))",
        }[place]
        environment = dict(os.environ, PYDOTCOMPUTE_TARGET="cpu:x86-64")
        done = subprocess.run(
            [sys.executable, "-c", f"import pickle, sys, numpy as np; {program}"], capture_output=True,
            cwd=tmp_path / place, input=sent, env=environment if place == "here" else None,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()
        bundle.rename(project / "build" / "cache")
        sent = done.stdout
    place = str(tmp_path / "there" / "mine" / "kernels")
    assert sent.decode().split() == ["mine.kernels", place, "cpu:x86-64", "False", "[3.", "3.", "3.]"]
