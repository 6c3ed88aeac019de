"""Kernels are read by the workers of a build: what they say is what this process reads, and one that dies costs nothing."""

import os
import pickle
import signal
from dataclasses import replace

from pydotcompute.builder.build import Project, Request, build
from pydotcompute.builder.pool import Started, Workers
from pydotcompute.builder.reading import Reading, internal_error
from pydotcompute.builder.refusals import read

from .project import edit, plan_project, stale


def loaded(found):
    return {place: pickle.loads(data) for place, data in found.trees.items() if data}


def test_workers_read_what_this_process_reads(fresh, tmp_path):
    edit(fresh, "templates/cube.py.j2", "x * x * x", "x * x * y")
    plan = plan_project(fresh)
    here, begun = read(plan), []
    with Workers(2, str(tmp_path)) as workers:
        there = read(plan, workers, begun.append)
    assert there.refused == here.refused
    assert loaded(there) == loaded(here)
    assert len({event.worker for event in begun}) == 2
    assert [str(event.task) for event in begun] == [
        "saxpy T=float32", "cube T=float32", "cube T=float64", "scale FACTOR=2", "scale FACTOR=3",
    ]  # fmt: skip
    assert {name[0] for name in here.refused} == {"cube"} and len(loaded(there)) == 3
    assert all(reason.startswith(str(fresh / "templates" / "cube.py.j2:2:")) for reason in here.refused.values())


def test_what_a_worker_dies_of_as_it_reads_is_read_again_by_the_job(fresh):
    killed, told = [], []

    def report(event):
        reads = isinstance(event, Started) and isinstance(event.task, Reading) and str(event.task) == "cube T=float64"
        if reads and not killed:  # one that is gone before it is given the task leaves it to the next
            killed.append(event.worker)
            os.kill(event.worker, signal.SIGKILL)

    _, outcome = build(Project(str(fresh), told.append), Request(jobs=2), report)
    assert len(killed) == 1 and not told and not outcome.failed
    assert {result.status for result in outcome.results} == {"built"} and stale(plan_project(fresh)) == {}


def test_a_fault_of_ours_in_the_front_end_fails_its_kernel_alone(fresh, tmp_path):
    """Of a declaration that is none, which no user can bring in here."""
    plan = plan_project(fresh)
    place = next(place for place in plan.rendered if place[0] == "saxpy")
    plan.rendered[place] = replace(plan.rendered[place], text=None)
    with Workers(1, str(tmp_path)) as workers:
        found = read(plan, workers)
    assert {name[0] for name in found.refused} == {"saxpy"} and read(plan).refused == found.refused
    (reason,) = set(found.refused.values())
    assert reason.startswith("internal error while reading saxpy T=float32: ") and "\n" not in reason


def test_too_little_memory_is_no_fault_of_ours():
    for error in (MemoryError(), SystemError("error return without exception set")):
        assert internal_error(error, "compiling k") == "not enough memory while compiling k; fewer jobs with -j need less"
