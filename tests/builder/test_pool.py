"""Worker processes as such: reuse, death between jobs, death in a job, an end before the work is done."""

import os
import signal
from collections import deque

import pytest

from pydotcompute.builder.execute import jobs_of
from pydotcompute.builder.pool import Died, Finished, Started, Workers

from .project import plan_project


@pytest.fixture
def jobs(fresh):
    plan = plan_project(fresh, targets=("cpu:x86-64-v3",))
    found = jobs_of(plan, list(plan.stale), str(fresh / "build" / "rendered"), "")
    return {str(job): job for job in found}


def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return {int(number) for number in file.read().split()}


def test_a_worker_that_dies_between_two_jobs_costs_neither(jobs, tmp_path):
    before = children()
    two = [jobs["saxpy T=float32"], jobs["scale FACTOR=2"]]
    finished = []
    with Workers(1, str(tmp_path)) as workers:
        for event in workers.run(deque(two)):
            assert not isinstance(event, Died)
            if isinstance(event, Finished):
                finished.append(event.task)
                if len(finished) == 1:
                    (worker,) = children() - before
                    os.kill(worker, signal.SIGKILL)
                    while os.waitid(os.P_PID, worker, os.WEXITED | os.WNOWAIT) is None:
                        pass
    assert finished == two
    assert children() == before


def test_a_worker_is_used_again(jobs, tmp_path):
    before = children()
    todo = deque([jobs["saxpy T=float32"], jobs["scale FACTOR=2"], jobs["scale FACTOR=3"]])
    used, answers = set(), []
    with Workers(1, str(tmp_path)) as workers:
        assert list(workers.run(deque())) == [] and children() == before
        for more in (todo, deque([jobs["saxpy T=float32"]])):
            for event in workers.run(more):
                used |= children() - before
                answers += [event.answer] if isinstance(event, Finished) else []
    assert len(used) == 1 and children() == before
    assert [set(answer.artifacts) for answer in answers] == [{"cpu:x86-64-v3"}] * 4


def test_closing_the_generator_ends_the_workers_at_once(jobs, tmp_path):
    before = children()
    with Workers(2, str(tmp_path)) as workers:
        events = workers.run(deque(jobs.values()))
        assert isinstance(next(events), Started) and isinstance(next(events), Started)
        assert len(children() - before) == 2
        events.close()
        assert children() == before
